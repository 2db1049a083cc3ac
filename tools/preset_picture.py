"""Draw docs/pictures/presets.png and print the table of presets for docs/cli.md.

``python tools/preset_picture.py docs/pictures [clips or folders]``. The picture shows the bundled
jump at its worst frame and joint, the original in gray. The table measures the named clips, or the
bundled jump.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mocpack
from mocpack import rate
from mocpack.common.arrays import F64
from mocpack.common.units import format_length, format_size
from mocpack.io import supported_extensions
from mocpack.model.clip import measure_error
from mocpack.model.kinematics import end_positions
from mocpack.rate.presets import PRESETS
from mocpack.samples import JUMP

ORIGINAL, DECODED = "#b8b8b8", "#c0392b"
COLUMNS = (
    "preset",
    "maximum error",
    "bytes per frame",
    "compression ratio",
    "size of an hour",
    "mean error",
)
MARGIN_M = 0.16  # shown on each side of the worst joint


def project_bones(clip: mocpack.Clip, frame: int) -> tuple[F64, F64]:
    """Return bones (B, 2, 2) and joints (J, 2) of one frame, seen from the front."""
    pose = clip.frames(frame, frame + 1)
    positions, world = pose.world()
    ends = end_positions(clip.skeleton, positions, world)[0]
    joints = positions[0]
    pairs = [(joints[p], joints[j]) for j, p in enumerate(clip.skeleton.parents) if p >= 0]
    pairs += [(joints[j], ends[e]) for e, j in enumerate(clip.skeleton.end_site_joints)]
    return np.array(pairs)[..., :2], joints[:, :2]


def draw_pose(
    axes: Any, clip: mocpack.Clip, decoded: mocpack.Clip, frame: int, joint: int, *, close: bool
) -> None:
    for shown, color, width in ((clip, ORIGINAL, 5 if close else 3), (decoded, DECODED, 1.2)):
        lines, joints = project_bones(shown, frame)
        for line in lines:
            axes.plot(*line.T, color=color, linewidth=width, solid_capstyle="round")
        if close:
            axes.plot(*joints.T, ".", color=color, markersize=5)
    if close:
        center = project_bones(clip, frame)[1][joint]
        axes.set_xlim(center[0] - MARGIN_M, center[0] + MARGIN_M)
        axes.set_ylim(center[1] - MARGIN_M, center[1] + MARGIN_M)
    axes.set_aspect("equal")
    axes.set_axis_off()


def read_clips(words: Iterable[str]) -> list[mocpack.Clip]:
    """Read the clips of these files and folders."""
    paths = []
    for path in map(Path, words):
        inside = sorted(
            p for p in path.rglob("*") if p.suffix in {*supported_extensions(), ".mocp"}
        )
        paths += inside if path.is_dir() else [path]
    return [mocpack.read(path) for path in paths]


def measure_cost(clips: list[mocpack.Clip], preset: str) -> dict[str, float]:
    """Return size, bytes per frame, ratio, mean error and bytes per hour of all clips."""
    packed = [mocpack.encode(clip, preset=preset) for clip in clips]
    size, frames = sum(map(len, packed)), sum(clip.frame_count for clip in clips)
    comparisons = [
        mocpack.compare(c, mocpack.decode(p)) for c, p in zip(clips, packed, strict=True)
    ]
    return {
        "size": size,
        "rate": size / frames,
        "ratio": sum(map(rate.raw_size, clips)) / size,
        "mean": float(np.mean([f["mean_mm"] for f in comparisons])) / 1000,
        "hour": size * 3600 / sum(c.frame_count * c.frame_time for c in clips),
    }


def main(folder: str, *words: str) -> None:
    jump = mocpack.read(JUMP)
    clips = read_clips(words) or [jump]
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    grid = figure.subplots(2, len(PRESETS), height_ratios=[1.5, 1])
    print(f"| {' | '.join(COLUMNS)} |")
    print(f"|---|{'--:|' * (len(COLUMNS) - 1)}")
    for column, (preset, bound) in enumerate(PRESETS.items()):
        decoded = mocpack.decode(mocpack.encode(jump, preset=preset))
        worst = measure_error(jump, decoded)
        place = worst.worst_frame, worst.worst_joint
        draw_pose(grid[0, column], jump, decoded, *place, close=False)
        draw_pose(grid[1, column], jump, decoded, *place, close=True)
        cost = measure_cost(clips, preset)
        grid[0, column].set_title(
            f"{preset}\nmaximum error {1000 * bound:g} mm\n{cost['rate']:.0f} bytes per frame\n"
            f"ratio {cost['ratio']:.0f}",
            fontsize=9,
        )
        print(
            f"| `{preset}` | {1000 * bound:g} mm | {cost['rate']:.1f} | {cost['ratio']:.0f} | "
            f"{format_size(cost['hour'])} | {format_length(cost['mean'])} |"
        )
    figure.savefig(Path(folder) / "presets.png", dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
