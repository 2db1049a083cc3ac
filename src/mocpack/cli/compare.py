"""``mocpack compare``: measure every metric between two motions."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.joint_bounds import describe_excess, find_broken_joint, joint_bound_facts
from mocpack.cli.progress import run_with_progress
from mocpack.cli.reading import Reading
from mocpack.cli.terminal import print_error, print_json
from mocpack.common.units import format_angle, format_length, to_degrees, to_millimeters
from mocpack.container import Errors
from mocpack.errors import UsageError, name_errors
from mocpack.io.motion_file import MotionFile, match_versions
from mocpack.metrics import compare
from mocpack.motion import Motion


def run(
    original: Annotated[str, typer.Argument(help="Original motion file.")],
    packed: Annotated[
        str, typer.Argument(help="Compressed or converted motion file, .mocp or any other format.")
    ],
    frames: Annotated[
        str | None, typer.Option(help="Use only these frames of the original, like 1:.")
    ] = None,
    *,
    source_options: Reading,
    memory_limit: options.MemoryLimit = options.DEFAULT_MEMORY_LIMIT,
    papers: Annotated[
        bool,
        typer.Option("--papers", help="Also print metrics that only papers use, like eps_x."),
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Compare two motions; prints every metric, the worst joints and the worst frames.

    Exits with 1 if a .mocp file exceeds the error that it declares.
    """
    reading = source_options.to_arguments(memory_limit=memory_limit)
    paths = (original, packed)
    first, second = match_versions([files.open_input(path, **reading) for path in paths])
    if source_options.clip is None:
        for path, file in zip(paths, (first, second), strict=True):
            if not file.is_packed and len(file.clip_names) > 1:
                files.print_choice(path, file.clip_names, "compared")
    before = files.read_motion(first, frames=frames)
    after = files.read_motion(second)
    with name_errors(f"{original} and {packed}", UsageError):
        comparison = run_with_progress(f"comparing {packed}", lambda: compare(before, after))
    errors = _read_declared(second)
    declared, angle = errors.declared, errors.declared_angle
    broken = None
    joints = errors.joints
    if joints is not None:
        broken = find_broken_joint(packed, before, after, joints)
    if broken is not None:
        pass
    elif declared is not None and not comparison.is_within(declared):
        measured = format_length((comparison["max_error_mm"] or 0.0) / 1000)
        broken = describe_excess(packed, "error", format_length(declared), measured)
    elif angle is not None and not comparison.is_within_angle(angle):
        measured = format_angle(math.radians(comparison["angle_deg_max"] or 0.0))
        broken = describe_excess(packed, "angle error", format_angle(angle), measured)
    if as_json:
        pair: dict[str, object] = {
            "ok": broken is None,
            "error": broken,
            "original": original,
            "input": packed,
        }
        bound: dict[str, object] = {
            "declared_mm": to_millimeters(declared),
            "declared_angle_deg": to_degrees(angle),
            "joint_bounds": joint_bound_facts(after.header, errors),
        }
        print_json([pair | bound | comparison.to_dict()])
    else:
        verdict = comparison.verdict(declared, angle)
        if joints is not None:
            kept = "Every joint is" if broken is None else "NOT every joint is"
            verdict += f" {kept} within its own bound."
        files.stdout().print(f"{verdict}\n\n{comparison.table(papers=papers)}")
    if broken is not None:
        print_error(broken)
        return 1
    return 0


def _read_declared(file: MotionFile) -> Errors:
    """Return the error bounds that a .mocp file declares; other files declare none."""
    if not file.is_packed:
        return Errors()
    with Motion(file.data, clip=file.clip) as motion:
        return motion.errors
