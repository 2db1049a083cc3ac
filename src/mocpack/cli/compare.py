"""``mocpack compare``: every metric of one motion against another."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.progress import watched
from mocpack.cli.terminal import complain, print_json
from mocpack.container import Errors
from mocpack.errors import FormatError
from mocpack.metrics import compare
from mocpack.units import format_angle, format_length, to_degrees, to_millimeters


def run(
    original: Annotated[str, typer.Argument(help="The motion as it was.")],
    packed: Annotated[str, typer.Argument(help="The motion as it came back: .mocp or any other.")],
    unit: options.Unit = None,
    frames: Annotated[
        str | None, typer.Option(help="Only these frames of the original, like 1:.")
    ] = None,
    skeleton: options.SkeletonFile = None,
    allow_outside: options.AllowOutside = False,
    clip: options.ClipName = None,
    memory_limit: options.MemoryLimit = options.DEFAULT_MEMORY_LIMIT,
    as_json: options.Json = False,
) -> int:
    """Print every metric, the worst joints and frames; exit 1 if a file breaks its own bound."""
    reading: dict[str, Any] = {"unit": unit, "skeleton": skeleton, "memory_limit": memory_limit}
    reading["allow_outside"] = allow_outside
    before = files.read_clip(original, frames=frames, **reading)
    data = files.read_input(packed)
    after = files.clip_of(data, packed, clip=clip, **reading)
    comparison = watched(f"comparing {packed}", lambda: compare(before, after))
    errors = _declared(data, clip)
    declared, angle = errors.declared, errors.declared_angle
    broken = None
    if declared is not None and not comparison.is_within(declared):
        broken = _broken(packed, declared, (comparison["max_error_mm"] or 0.0) / 1000)
    elif angle is not None and not comparison.is_within_angle(angle):
        largest = math.radians(comparison["angle_deg_max"] or 0.0)
        broken = (
            f"{packed} declares angles within {format_angle(angle)}, "
            f"but is {format_angle(largest)} off"
        )
    if as_json:
        pair = {"ok": broken is None, "error": broken, "original": original, "input": packed}
        bound = {
            "declared_mm": to_millimeters(declared),
            "declared_angle_deg": to_degrees(angle),
        }
        print_json([pair | bound | comparison.to_dict()])
    else:
        verdict = comparison.verdict(declared, angle)
        files.stdout().print(f"{verdict}\n\n{comparison.table()}")
    if broken is not None:
        complain(broken)
        return 1
    return 0


def _broken(path: str, declared: float, largest: float) -> str:
    return f"{path} declares {format_length(declared)}, but is {format_length(largest)} off"


def _declared(data: bytes, clip: str | None) -> Errors:
    """Return the bounds that a .mocp file declares; other files declare none."""
    try:
        with _api.Motion(data, clip=clip) as motion:
            return motion.errors
    except FormatError:
        return Errors()
