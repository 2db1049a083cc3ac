"""``mocpack edit``: brings joints to places at times, and says what else moved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.clip import AnyHeader, ClipHeader
from mocpack.container import unpack
from mocpack.errors import FormatError, UsageError
from mocpack.io import files_to_write, supported_extensions
from mocpack.papers.mukai.editing import (
    FALLOFF,
    LIKENESS,
    Edit,
    EditableSpline,
    Handle,
    open_spline,
)
from mocpack.units import format_length, format_size

EDITABLE = "latent-spline"
FINE = f"{EDITABLE}:tolerance=0.001"  # what a motion that is not a spline yet is made first
SHOWN = 8  # joints in the list of what moved


def run(
    source: Annotated[str, typer.Argument(help="Motion file; best a latent-spline .mocp.")],
    output: Annotated[str, typer.Option("--output", "-o", help="File to write; - for a pipe.")],
    at: Annotated[list[float], typer.Option("--at", help="Seconds; once for each --joint.")],
    joint: Annotated[list[str], typer.Option("--joint", help="Joint, or number of a vertex.")],
    to: Annotated[list[str] | None, typer.Option("--to", help="Where: x,y,z in metres.")] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="Or by how much: x,y,z in metres.")
    ] = None,
    turn: Annotated[
        list[str] | None, typer.Option("--turn", help="Or its rotation in the world: x,y,z,w.")
    ] = None,
    falloff: Annotated[float, typer.Option(help="Seconds to either side that change.")] = FALLOFF,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="How much a joint minds: Head=10.")
    ] = None,
    contacts: Annotated[bool, typer.Option(help="Keep what stands on the ground.")] = True,
    likeness: Annotated[
        float, typer.Option(help="0: only the limb moves; 10: as the body moves elsewhere.")
    ] = LIKENESS,
    unit: options.Unit = None,
    skeleton: options.SkeletonFile = None,
    allow_outside: options.AllowOutside = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Bring a joint to a place at a time: --at 1.5 --joint LeftHand --to 0.4,1.2,0.3."""
    handles = _handles(at, joint, to or [], by or [], turn or [])
    suffix = ".mocp" if output == files.PIPE else Path(output).suffix
    if suffix != ".mocp" and suffix.lower() not in supported_extensions(writable=True):
        raise UsageError(f"cannot write {suffix!r} files")
    if output != files.PIPE:
        for path in files_to_write(output):
            files.check_free(str(path), force=force, sources=[source])
    spline = _open(source, unit=unit, skeleton=skeleton, allow_outside=allow_outside)
    edit = spline.pulled(
        handles, falloff=falloff, keep=_weights(keep or []), contacts=contacts, likeness=likeness
    )
    data = edit.spline.pack()
    if suffix == ".mocp":
        files.write_output(data, output, force=force)
    else:
        _api.write(_api.decode(data), output)
    if as_json:
        print_json([_facts(edit, handles, len(data))], to_stderr=output == files.PIPE)
        return 0
    console = files.stderr() if output == files.PIPE else files.stdout()
    console.print(_said(edit, handles), markup=False)
    return 0


def _open(source: str, **reading: Any) -> EditableSpline:
    """Open a latent-spline file as it is, any other motion by making it one."""
    data = files.read_input(source)
    try:
        ours = unpack(data).codec_id == EDITABLE
    except FormatError:
        ours = False
    if ours:
        return open_spline(data)
    clip = files.clip_of(data, source, **reading)
    return open_spline(_api.encode(clip, FINE))


def _handles(
    at: list[float], joint: list[str], to: list[str], by: list[str], turn: list[str]
) -> list[Handle]:
    """Return the handles of options that come in the same order."""
    kinds = [(name, texts) for name, texts in (("to", to), ("by", by), ("rotation", turn)) if texts]
    if len(kinds) != 1:
        raise UsageError("give one of --to, --by and --turn, once for each --joint")
    name, texts = kinds[0]
    if not len(at) == len(joint) == len(texts):
        raise UsageError(
            f"--at, --joint and the goal belong together: {len(at)} times, {len(joint)} joints, "
            f"{len(texts)} goals"
        )
    pairs = zip(at, joint, texts, strict=True)
    return [Handle(j, t, **{name: _numbers(text)}) for t, j, text in pairs]


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"write numbers as 0.4,1.2,0.3, got {text!r}") from None


def _weights(texts: list[str]) -> dict[str | int, float]:
    weights: dict[str | int, float] = {}
    for text in texts:
        name, sign, number = text.partition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise UsageError(f"write what to keep as Head=10, got {text!r}")
    return weights


def _said(edit: Edit, handles: list[Handle]) -> str:
    """Return sentences: how near each handle came, which joints moved, and when."""
    rotated = [h.rotation is not None for h in handles]
    lines = [
        f"{h.joint} at {h.time:g} s: "
        + (f"{np.degrees(miss):.3f}° off" if turned else f"{format_length(float(miss))} off")
        for h, miss, turned in zip(handles, edit.misses, rotated, strict=True)
    ]
    names = _names(edit.spline.header)
    order = np.argsort(-edit.changes_at_handles)[:SHOWN]
    moved = [f"{names[k]} {format_length(float(edit.changes_at_handles[k]))}" for k in order]
    lines.append("moved there: " + ", ".join(moved))
    if edit.frames:
        lines.append(
            f"frames {edit.frames.start} to {edit.frames.stop - 1} changed by 1 mm or more"
        )
    lines.append(format_size(len(edit.spline.pack())))
    return "\n".join(lines)


def _facts(edit: Edit, handles: list[Handle], size: int) -> dict[str, Any]:
    names = _names(edit.spline.header)
    return {
        "handles": [
            {"joint": h.joint, "time": h.time, "off": float(miss)}
            for h, miss in zip(handles, edit.misses, strict=True)
        ],
        "moved": {name: float(x) for name, x in zip(names, edit.changes, strict=True)},
        "moved_at_handles": {
            name: float(x) for name, x in zip(names, edit.changes_at_handles, strict=True)
        },
        "frames": [edit.frames.start, edit.frames.stop],
        "bytes": size,
    }


def _names(header: AnyHeader) -> list[str]:
    if isinstance(header, ClipHeader):
        return list(header.skeleton.names)
    return [f"vertex {k}" for k in range(header.vertex_count)]
