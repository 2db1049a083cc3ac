"""Show a clip: a text summary, a picture in a notebook, a plot."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.optional_packages import require
from mocpack.common.texts import count_of
from mocpack.model.header import ClipHeader
from mocpack.model.skeleton import Skeleton
from mocpack.model.take_data import TakeData

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

PICTURE_PX = 160  # longer side of the notebook picture
LINE_COLOR = "#c0392b"


def summarize(header: ClipHeader, take_data: TakeData) -> list[str]:
    """Return three lines about a clip: length, joints, and what moves besides rotations."""
    return [
        f"{count_of(header.frame_count, 'frame')} at {header.frame_rate:g} fps, "
        f"{header.frame_count * header.frame_time:.3f} s",
        f"{count_of(len(header.skeleton), 'joint')}: {_abbreviate(header.skeleton.unique_names)}",
        "; ".join(_describe_contents(header, take_data)),
    ]


def _describe_contents(header: ClipHeader, take_data: TakeData) -> list[str]:
    names = header.skeleton.unique_names
    moving = _abbreviate([names[j] for j in header.translated_joints]) or "no joint"
    parts = [f"translated: {moving}"]
    if header.is_scaled:
        parts.append("with scales")
    if take_data.times is not None:
        parts.append("uneven times")
    if take_data.valid is not None:
        parts.append(f"{1 - take_data.valid.mean():.1%} not seen")
    if take_data.tracks:
        parts.append(f"tracks: {_abbreviate(list(take_data.tracks))}")
    return parts


def bones(skeleton: Skeleton, positions: F64, ends: F64) -> F64:
    """Return both ends (B, 2, 3) of all bones of a pose with end sites `ends` (E, 3)."""
    pairs = [(positions[p], positions[j]) for j, p in enumerate(skeleton.parents) if p >= 0]
    pairs += [(positions[j], ends[e]) for e, j in enumerate(skeleton.end_site_joints)]
    return np.array(pairs).reshape(-1, 2, 3)


def _abbreviate(names: Sequence[str], most: int = 4) -> str:
    """Return a comma-separated list, shortened with dots to `most` names.

    >>> _abbreviate(["Hips", "Spine", "Neck", "Head", "Arm", "Hand"])
    'Hips, Spine, Neck … Hand'
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} … {names[-1]}"


def render_html(title: str, lines: Sequence[str], pose: F64) -> str:
    """Return HTML for notebooks: a picture of the bones (B, 2, 3) of a pose, and text."""
    rows = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return (
        '<div style="display:flex;gap:1em;align-items:center">'
        f"{_draw_svg(pose)}<div><b>{escape(title)}</b>{rows}</div></div>"
    )


def _draw_svg(pose: F64) -> str:
    """Return bones (B, 2, 3) as SVG, seen from the front or the side, whichever is wider."""
    if not len(pose):
        return ""
    spans = np.ptp(pose.reshape(-1, 3), axis=0)
    across = 0 if spans[0] >= spans[2] else 2
    flat = pose[..., [across, 1]] * (1.0, -1.0)  # SVG counts from the top
    low = flat.reshape(-1, 2).min(0)
    size = np.maximum(np.ptp(flat.reshape(-1, 2), axis=0), 1e-9)
    scale = (PICTURE_PX - 8) / size.max()
    width, height = np.ceil(size * scale + 8)
    ends = (flat - low) * scale + 4
    lines = "".join(
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>' for a, b in ends
    )
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" stroke="{LINE_COLOR}" stroke-width="2" '
        f'stroke-linecap="round">{lines}</svg>'
    )


def plot_poses(poses: Sequence[F64], path: F64, axes: Axes3D | None = None) -> Axes3D:
    """Draw the bones (B, 2, 3) of poses and the path (T, 3) of the root; return the axes.

    Parameters
    ----------
    axes : matplotlib's 3-d axes, optional
        New axes by default.
    """
    if axes is None:
        figures = require("matplotlib.figure", extra="plot", purpose="a plot of a clip")
        figure = figures.Figure(figsize=(7, 5), layout="constrained")
        require("matplotlib.backends.backend_agg", extra="plot", purpose="a plot").FigureCanvasAgg(
            figure
        )
        axes = figure.add_subplot(projection="3d")
    for k, pose in enumerate(poses):
        alpha = 0.35 + 0.65 * (k + 1) / len(poses)
        for x, y, z in pose.transpose(0, 2, 1):  # clips are y up, matplotlib is z up
            axes.plot(
                x, -z, y, color=LINE_COLOR, alpha=alpha, linewidth=1.6, solid_capstyle="round"
            )
    axes.plot(path[:, 0], -path[:, 2], path[:, 1], color="#888888", linewidth=0.8)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.view_init(elev=8, azim=-60)
    return axes
