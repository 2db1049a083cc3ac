"""``mocpack edit``: move joints to positions at given times and report what else moved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.reading import SourceOptions
from mocpack.cli.terminal import print_json
from mocpack.common.optional_packages import load_part
from mocpack.common.units import format_length, format_size, to_millimeters
from mocpack.container import unpack
from mocpack.errors import UsageError
from mocpack.io import files_to_write
from mocpack.model.clip import AnyClip, Clip, require_skeleton
from mocpack.model.editing import Edit, edit_clip, measure_edit
from mocpack.model.handles import Handle

SPLINE_CODEC = "latent-spline"
SPLINES = "mocpack.papers.mukai.editing"
CONVERSION_CODEC = f"{SPLINE_CODEC}:tolerance=0.001"  # for vertex animations that are not splines
MAX_LISTED_JOINTS = 8  # in the list of joints that moved


def run(
    source: Annotated[str, typer.Argument(help="Motion file.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Write to this file; - writes to standard output.")
    ],
    at: Annotated[
        list[float], typer.Option("--at", help="Set the time in seconds; once per --joint.")
    ],
    joint: Annotated[
        list[str],
        typer.Option("--joint", help="Move this joint, or the vertex with this index; repeatable."),
    ],
    position: Annotated[
        list[str] | None,
        typer.Option(help="Move to this position: x,y,z in meters; once per --joint."),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="Or move by this offset: x,y,z in meters.")
    ] = None,
    turn: Annotated[
        list[str] | None,
        typer.Option("--turn", help="Or set the world rotation: quaternion x,y,z,w."),
    ] = None,
    *,
    reading: SourceOptions,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Move a joint to a position at a time; prints what else moved."""
    targets = {"to": position or [], "by": by or [], "rotation": turn or []}
    handles = _parse_handles(at, joint, targets)
    suffix = ".mocp" if output == files.PIPE else Path(output).suffix
    if output != files.PIPE:
        files.check_extension(suffix)
        for path in files_to_write(output):
            files.check_output(str(path), force=force, sources=[source])
    before, spline = _read(source, reading)
    bound = None
    if spline is None:
        moving = require_skeleton(before, source)
        edit = edit_clip(moving, handles)
        after, data = edit.clip, b""
        if suffix == ".mocp":
            made = _api.encode_measured(after)
            data, bound = made.data, made.errors.declared
            edit = measure_edit(moving, _api.decode(data), handles)
    else:
        splines = load_part(SPLINES, purpose="editing splines and vertices")
        edit = splines.open_spline(spline).apply_handles(handles)
        data = edit.spline.pack()
        after = _api.decode(data)
    if suffix == ".mocp":
        files.write_output(data, output, force=force)
        size = len(data)
    else:
        files.write_clip(after, output, suffix, source=source)
        size = Path(output).stat().st_size
    header = before.header
    if isinstance(before, Clip):
        names = list(before.skeleton.unique_names)
    else:
        names = [f"vertex {k}" for k in range(header.point_count)]
    if as_json:
        print_json([_facts(edit, names, handles, size, bound)], to_stderr=output == files.PIPE)
        return 0
    console = files.stderr() if output == files.PIPE else files.stdout()
    lines = _describe_edit(edit, names, handles)
    if tracks := before.tracks:
        lines.append(f"tracks kept as they were, contacts too: {', '.join(tracks)}")
    within = f", encoded within {format_length(bound)}" if bound else ""
    lines.append(f"size {format_size(size)}{within}")
    console.print("\n".join(lines), markup=False)
    return 0


def _read(source: str, reading: SourceOptions) -> tuple[AnyClip, bytes | None]:
    """Return a motion, and the file to edit if it is edited as a spline.

    Those are latent-spline files, and vertex animations, which are converted to one.
    """
    file = files.open_input(source, **reading.to_arguments())
    motion = files.read_motion(file)
    if file.is_packed:
        data = file.extract()
        if unpack(data).codec_id == SPLINE_CODEC:
            return motion, data
    is_mesh = motion.header.kind == "vertices"
    return motion, _api.encode(motion, CONVERSION_CODEC) if is_mesh else None


def _parse_handles(
    at: list[float], joint: list[str], targets: dict[str, list[str]]
) -> list[Handle]:
    """Return one handle per --joint; `targets` are the texts by parameter of `Handle`."""
    kinds = [(name, texts) for name, texts in targets.items() if texts]
    if len(kinds) != 1:
        raise UsageError("give one of --position, --by and --turn, once per --joint")
    kind, texts = kinds[0]
    if not len(at) == len(joint) == len(texts):
        raise UsageError(
            f"--at, --joint and --position, --by or --turn must occur equally often, got {len(at)} "
            f"times, {len(joint)} joints and {len(texts)} targets"
        )
    pairs = zip(at, joint, texts, strict=True)
    handles = []
    for time, name_of_joint, text in pairs:
        try:
            numbers = [float(word) for word in text.split(",")]
        except ValueError:
            raise UsageError(f"expected numbers like 0.4,1.2,0.3, got {text!r}") from None
        handles.append(Handle(name_of_joint, time, **{kind: numbers}))
    return handles


def _describe_edit(edit: Edit, names: Sequence[str], handles: list[Handle]) -> list[str]:
    """Describe the error of each handle, the joints that moved, and the frames that changed."""
    lines = []
    for handle, miss in zip(handles, edit.misses.tolist(), strict=True):
        is_angle = handle.rotation is not None
        distance = f"{np.degrees(miss):.3f}°" if is_angle else format_length(miss)
        lines.append(f"{handle.joint} at {handle.time:g} s: {distance} from the target")
    order = np.argsort(-edit.changes_at_handles)[:MAX_LISTED_JOINTS]
    moved = [f"{names[k]} {format_length(float(edit.changes_at_handles[k]))}" for k in order]
    lines.append("joints that moved at these times: " + ", ".join(moved))
    if edit.frames:
        lines.append(
            f"frames {edit.frames.start} to {edit.frames.stop - 1} changed by at least 1 mm"
        )
    return lines


def _facts(
    edit: Edit, names: Sequence[str], handles: list[Handle], size: int, bound: float | None
) -> dict[str, object]:
    return {
        "handles": [
            {"joint": h.joint, "time": h.time, "off": miss}
            for h, miss in zip(handles, edit.misses.tolist(), strict=True)
        ],
        "moved": dict(zip(names, edit.changes.tolist(), strict=True)),
        "moved_at_handles": dict(zip(names, edit.changes_at_handles.tolist(), strict=True)),
        "frames": [edit.frames.start, edit.frames.stop],
        "bytes": size,
        "max_error_mm": to_millimeters(bound),
    }
