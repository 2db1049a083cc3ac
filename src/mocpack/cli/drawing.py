"""A picture of the error of a compressed clip, with matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.file_errors import add_path_to_errors
from mocpack.common.optional_packages import require
from mocpack.common.units import format_length
from mocpack.model.clip import Clip, measure_error
from mocpack.model.kinematics import MotionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

INK, MUTED, PALE, BOUND = "#1f2a33", "#6b7680", "#c9ced3", "#c42f28"
SCALE = ("#7d90a5", "#a9a58f", "#e3a63f", "#de6b2c", "#c42f28")  # as in the viewer
MAX_JOINTS = 12  # in the bars
VIEW_RAD = np.radians(35)  # about the vertical, from the front


def draw_error(original: Clip, decoded: Clip, path: Path, *, title: str, bound: float) -> None:
    """Draw the worst frame, the error over time and the worst joints; `bound` is in meters."""
    figures = require("matplotlib.figure", extra="plot", purpose="a picture of the error")
    colors = require("matplotlib.colors", extra="plot", purpose="a picture of the error")
    error, name = measure_error(original, decoded), original.skeleton.names
    hue = colors.LinearSegmentedColormap.from_list("error", SCALE)
    figure = figures.Figure(figsize=(12.8, 7.2), facecolor="white")
    figure.text(0.04, 0.93, title, size=21, weight="bold", color=INK, va="center")
    summary = (
        f"largest error {format_length(error.max)} at {name[error.worst_joint]}, frame "
        f"{error.worst_frame}  ·  mean {format_length(error.joint_mean)}"
    )
    figure.text(0.04, 0.875, summary, size=13, color=MUTED, va="center")
    pose = figure.add_axes((0.02, 0.06, 0.36, 0.77))
    _draw_poses(pose, original, decoded, error, hue, bound)
    _draw_over_time(figure.add_axes((0.52, 0.545, 0.44, 0.245)), original, error, bound)
    means = np.linalg.norm(original.positions() - decoded.positions(), axis=-1).mean(0)
    _draw_joints(figure.add_axes((0.52, 0.085, 0.44, 0.33)), name, means, error, hue, bound)
    with add_path_to_errors(path):
        figure.savefig(path, dpi=125)


def _draw_joints(
    axes: Axes, names: Sequence[str], means: F64, error: MotionError, hue: Colormap, bound: float
) -> None:
    """Draw the joints with the largest mean errors, with their largest errors behind."""
    worst = np.argsort(-means)[:MAX_JOINTS][::-1]
    labels = [names[j] for j in worst]
    axes.barh(labels, 1000 * error.joints[worst], color="#e8eaec", height=0.7)
    axes.barh(labels, 1000 * means[worst], color=hue(means[worst] / bound), height=0.7)
    axes.axvline(1000 * bound, color=BOUND, linewidth=1.4, linestyle=(0, (5, 3)))
    axes.set(xlim=(0, 1080 * bound))
    _style(axes, "Joints: mean error, and largest in gray", "mm", grid="x")


def _draw_over_time(axes: Axes, clip: Clip, error: MotionError, bound: float) -> None:
    times, values = clip.times - clip.times[0], 1000 * error.frames
    axes.fill_between(times, values, color=SCALE[2], alpha=0.25, linewidth=0)
    axes.plot(times, values, color=SCALE[3], linewidth=1.3)
    axes.axhline(1000 * bound, color=BOUND, linewidth=1.4, linestyle=(0, (5, 3)))
    axes.text(times[-1], 1030 * bound, f"bound {1000 * bound:g} mm", color=BOUND, ha="right")
    axes.plot(times[error.worst_frame], 1000 * error.max, "o", color=BOUND, markersize=6)
    axes.set(xlim=(0, times[-1]), ylim=(0, 1180 * bound), xlabel="time, s")
    _style(axes, "Largest error in each frame", "mm", grid="y")


def _draw_poses(
    axes: Axes, original: Clip, decoded: Clip, error: MotionError, hue: Colormap, bound: float
) -> None:
    """Draw the original in gray at the worst frame, and the decoded bones in error colors."""
    skeleton, frame = original.skeleton, error.worst_frame
    # the joint of each bone, in the order of `Clip.bones`
    joints = [j for j, parent in enumerate(skeleton.parents) if parent >= 0]
    joints += list(skeleton.end_site_joints)
    moved = measure_error(original[frame], decoded[frame]).joints
    for clip, width in ((original, 11.0), (decoded, 4.0)):
        pose = clip.bones([frame])[0]
        across = pose[..., 0] * np.cos(VIEW_RAD) + pose[..., 2] * np.sin(VIEW_RAD)
        for joint, x, y in zip(joints, across, pose[..., 1], strict=True):
            color = PALE if clip is original else hue(moved[joint] / bound)
            axes.plot(x, y, color=color, linewidth=width, solid_capstyle="round")
    axes.set_aspect("equal")
    axes.set_axis_off()
    for color, label in (
        (PALE, "original"),
        (SCALE[0], "compressed, error 0"),
        (BOUND, "at bound"),
    ):
        axes.plot([], [], color=color, linewidth=5, label=label)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.02),
        ncols=3,
        frameon=False,
        labelcolor=MUTED,
        handlelength=1.2,
        columnspacing=1.4,
    )


def _style(axes: Axes, title: str, label: str, *, grid: Literal["x", "y"]) -> None:
    axes.set_title(title, loc="left", size=13, weight="bold", color=INK, pad=10)
    (axes.set_ylabel if grid == "y" else axes.set_xlabel)(label, color=MUTED)
    axes.spines[["top", "right", "left" if grid == "y" else "bottom"]].set_visible(False)
    axes.spines[["bottom" if grid == "y" else "left"]].set_color(PALE)
    axes.tick_params(colors=MUTED, length=0)
    axes.xaxis.label.set_color(MUTED)
    axes.grid(axis=grid, color="#e8eaec", linewidth=0.8)
    axes.set_axisbelow(True)
