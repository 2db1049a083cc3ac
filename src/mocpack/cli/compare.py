"""``mocpack compare``: every metric of one motion against another."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.errors import FormatError
from mocpack.metrics import compare
from mocpack.units import format_length

SLACK = 1e-6  # metres that a decoder's arithmetic may differ from the encoder's


def run(
    original: Annotated[str, typer.Argument(help="The motion as it was.")],
    packed: Annotated[str, typer.Argument(help="The motion as it came back: .mocp or any other.")],
    unit: options.Unit = None,
    frames: Annotated[
        str | None, typer.Option(help="Only these frames of the original, like 1:.")
    ] = None,
    skeleton: options.SkeletonFile = None,
    memory_limit: options.MemoryLimit = options.DEFAULT_MEMORY_LIMIT,
    as_json: options.Json = False,
) -> int:
    """Print every metric, the worst joints and frames; exit 1 if a file breaks its own bound."""
    limit = memory_limit
    before = files.read_clip(
        original, unit=unit, frames=frames, skeleton=skeleton, memory_limit=limit
    )
    data = files.read_input(packed)
    after = files.clip_of(data, packed, unit=unit, skeleton=skeleton, memory_limit=limit)
    comparison = compare(before, after)
    found = comparison.to_dict()
    if as_json:
        print_json(found)
    else:
        files.stdout().print(str(comparison))
    declared = _declared(data)
    largest = (found["max_error_mm"] or 0.0) / 1000
    if declared is not None and largest > declared + SLACK:
        files.stderr().print(
            f"mocpack: {packed} declares {format_length(declared)}, "
            f"but is {format_length(largest)} off"
        )
        return 1
    return 0


def _declared(data: bytes) -> float | None:
    """Return the bound that a .mocp file declares; other files declare none."""
    try:
        with _api.Motion(data) as motion:
            return motion.errors.declared
    except FormatError:
        return None
