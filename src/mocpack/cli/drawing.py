"""Pictures of skeletons and their error, with matplotlib (extra `plot`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mocpack.clip import Clip, measure_error
from mocpack.display import draw_bones
from mocpack.file_errors import add_path_to_errors
from mocpack.optional_packages import require
from mocpack.units import format_length

ORIGINAL, DECODED = "#b0b0b0", "#c0392b"


def draw_error(original: Clip, decoded: Clip, path: Path) -> None:
    """Draw both skeletons at the worst frame, the error over time and the error per joint."""
    figures = require("matplotlib.figure", extra="plot", purpose="a picture of the error")
    error = measure_error(original, decoded)
    figure = figures.Figure(figsize=(11, 6), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.4])
    space = figure.add_subplot(grid[:, 0], projection="3d")
    _draw_poses(space, original, decoded, error.worst_frame)
    times = np.arange(original.frame_count) * original.frame_time
    over_time = figure.add_subplot(grid[0, 1])
    over_time.plot(times, 1000 * error.frames, color=DECODED, linewidth=1)
    over_time.axvline(times[error.worst_frame], color="#888888", linewidth=0.8, linestyle=":")
    over_time.set(xlabel="time, s", ylabel="maximum error, mm", ylim=(0, None))
    by_joint = figure.add_subplot(grid[1, 1])
    by_joint.bar(original.skeleton.names, 1000 * error.joints, color=DECODED)
    by_joint.set(ylabel="maximum error, mm")
    by_joint.tick_params(axis="x", rotation=90, labelsize=7)
    name = original.skeleton.names[error.worst_joint]
    figure.suptitle(
        f"maximum error {format_length(error.max)} at frame {error.worst_frame}, {name}"
        f" — mean error {format_length(error.joint_mean)}"
    )
    with add_path_to_errors(path):
        figure.savefig(path, dpi=110)


def _draw_poses(axes: Any, original: Clip, decoded: Clip, frame: int) -> None:
    """Draw the original in gray and the decoded skeleton over it."""
    for clip, color, width in ((original, ORIGINAL, 4.0), (decoded, DECODED, 1.4)):
        draw_bones(axes, clip.bones([frame])[0], color=color, linewidth=width)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.view_init(elev=8, azim=-60)
