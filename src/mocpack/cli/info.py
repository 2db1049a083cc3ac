"""``mocpack info``: what is in a .mocp file, where its bytes are and how far off it is."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.batch import ask_each
from mocpack.cli.inputs import PACKED, find_sources
from mocpack.cli.terminal import print_json
from mocpack.clip import ClipHeader
from mocpack.codec import PayloadLayout, SupportsPartial
from mocpack.container import FORMAT_VERSION
from mocpack.errors import FormatError, TruncatedError
from mocpack.units import format_length, format_size


def run(
    paths: Annotated[
        list[str],
        typer.Argument(help=".mocp files, folders of them, patterns; - reads standard input."),
    ],
    as_json: options.Json = False,
) -> int:
    """Show skeleton, frames, codec, bytes by part, declared and measured error."""
    found = [source.path for source in find_sources(paths, PACKED)]
    rows, code = ask_each(_facts, found)
    if as_json:
        print_json(rows)
        return code
    for row in rows:
        if row["ok"]:
            files.stdout().print(_table(row))
    return code


def _facts(path: str) -> dict[str, Any]:
    data = files.read_input(path)
    try:
        return _facts_of_cut(data) or _facts_of_whole(data)
    except FormatError as error:
        raise type(error)(f"{path}: {error}") from error


def _facts_of_whole(data: bytes) -> dict[str, Any]:
    with _api.Motion(data) as motion:
        return _facts_of(motion)


def _facts_of_cut(data: bytes) -> dict[str, Any] | None:
    """Return the facts of a file that was cut and can be played in part, else None."""
    with _api.Motion(data, partial=True) as motion:
        if motion.cut and isinstance(motion.codec, SupportsPartial):
            return _facts_of(motion)
    return None


def _facts_of(motion: _api.Motion) -> dict[str, Any]:
    header, sizes, errors = motion.header, motion.sizes, motion.errors
    try:
        layout = motion.layout()
    except TruncatedError:
        if not motion.cut:
            raise
        layout = PayloadLayout()  # the cut is before what says how the rest is divided
    return {
        "format_version": FORMAT_VERSION,
        "codec": motion.codec.codec_id,
        "bitstream_version": motion.bitstream_version,
        "params": motion.params,
        "frames": header.frame_count,
        "frame_rate": header.frame_rate,
        "joints": len(header.skeleton) if isinstance(header, ClipHeader) else None,
        "root": header.skeleton.names[0] if isinstance(header, ClipHeader) else None,
        "vertices": None if isinstance(header, ClipHeader) else header.vertex_count,
        "unit": header.unit if isinstance(header, ClipHeader) else None,
        "bytes": {
            "file": sizes["file"],
            "payload": sizes["file"] - sizes["skeleton"] - sizes["metadata"],
            "skeleton": sizes["skeleton"],
            "index": layout.index_bytes,
            "model": layout.model_bytes,
            "metadata": sizes["metadata"],
        },
        "error_mm": {
            name: _mm(getattr(errors, name)) for name in ("declared", "max", "mean", "rms", "p99")
        },
        "cut": _cut(motion, layout) if motion.cut else None,
        "groups": layout.groups,
        "layers": layout.layers,
        "layer_errors_mm": [1000 * error for error in layout.layer_errors],
        "metadata": dict(header.metadata),
    }


def _cut(motion: _api.Motion, layout: PayloadLayout) -> dict[str, Any]:
    """Return what a file that was cut still has: bytes, and layers with what they leave."""
    whole = [
        e
        for e, end in zip(layout.layer_errors, layout.layer_ends, strict=False)
        if end <= motion.sizes["payload"]
    ]
    return {
        "payload_bytes": motion.sizes["payload"],
        "missing_bytes": motion.missing,
        "whole_layers": len(whole) if layout.layer_ends else None,
        "error_mm": 1000 * whole[-1] if whole else None,
    }


def _mm(metres: float | None) -> float | None:
    return None if metres is None else 1000 * metres


def _table(facts: dict[str, Any]) -> Table:
    table = Table(
        box=None, show_header=False, pad_edge=False, title=facts["input"], title_justify="left"
    )
    table.add_column(style="bold")
    table.add_column()
    seconds = facts["frames"] / facts["frame_rate"]
    table.add_row(
        "motion", f"{facts['frames']} frames at {facts['frame_rate']:.6g} a second, {seconds:.2f} s"
    )
    if facts["joints"] is not None:
        table.add_row("skeleton", f"{facts['joints']} joints from {facts['root']!r}")
        table.add_row("unit", format_length(facts["unit"]))
    else:
        table.add_row("mesh", f"{facts['vertices']} vertices")
    params = ", ".join(f"{k}={v}" for k, v in facts["params"].items())
    table.add_row("codec", f"{facts['codec']} {params}".strip())
    size = facts["bytes"]
    rate = 8 * size["file"] / facts["frames"]
    table.add_row("file", f"{format_size(size['file'])}, {rate:.1f} bits a frame")
    for part in ("payload", "skeleton", "metadata"):
        table.add_row(f"  {part}", f"{size[part]} bytes, {100 * size[part] / size['file']:.1f} %")
    table.add_row("  of it index", f"{size['index']} bytes for {facts['groups']} groups")
    if facts["layers"] > 1:
        errors = ", ".join(format_length(mm / 1000) for mm in facts["layer_errors_mm"])
        table.add_row(
            "layers", f"{facts['layers']}, coarser ones within {errors or 'no stated error'}"
        )
    cut = facts["cut"]
    if cut is not None:
        words = f"{cut['missing_bytes']} bytes of the payload are missing"
        if cut["whole_layers"] is not None:
            words += f"; {cut['whole_layers']} of {facts['layers']} layers are whole"
        if cut["error_mm"] is not None:
            words += f", within {format_length(cut['error_mm'] / 1000)}"
        table.add_row("cut", words)
    for name, title in (
        ("declared", "error declared"),
        ("max", "  largest"),
        ("p99", "  99th percentile"),
        ("rms", "  RMS"),
        ("mean", "  mean"),
    ):
        value = facts["error_mm"][name]
        table.add_row(title, "-" if value is None else format_length(value / 1000))
    return table
