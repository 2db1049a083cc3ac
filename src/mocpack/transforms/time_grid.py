"""A motion on a grid, frame by frame: for bounds so tight that transforms no longer pay.

Channels (`joint_axes.py`) are whole numbers of steps, each frame by itself, in groups that stand
alone. A low-pass (`low_pass.py`), chosen for each channel, is part of the decoder. A frame may be
on a grid 2, 4, … times as fine; such a frame is not smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.clip import Clip, ClipHeader
from mocpack.transforms.joint_axes import Axes, joint_rotations
from mocpack.transforms.low_pass import low_pass

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

STEPS_AN_OCTAVE = 4


@dataclass(frozen=True, eq=False)
class Grid:
    """A motion as whole numbers.

    Attributes
    ----------
    axes : Axes
    steps : array, shape (C,)
        In metres or radians.
    group_length : int
        Frames of each group but the last.
    coarseness : array of int, shape (G,)
        Of each group: its steps are 2^(coarseness / 4) as large.
    filters : array of int, shape (C,)
        Which low-pass each channel passes.
    numbers : array of int, shape (T, C)
        Position of each frame on its grid.
    levels : array of int, shape (T,)
        Each frame's grid is 2^level times as fine as its group's.
    """

    axes: Axes
    steps: F64
    group_length: int
    coarseness: I64
    filters: I64
    numbers: I64
    levels: I64


def group_slices(frames: int, length: int) -> list[slice]:
    """Return the frames of each group."""
    return [slice(start, min(start + length, frames)) for start in range(0, frames, length)]


def decode_grid(grid: Grid, header: ClipHeader) -> Clip:
    """Return the clip that a grid stands for."""
    return channel_clip(grid.axes, dequantise(grid), header)


def channel_clip(axes: Axes, channels: F64, header: ClipHeader) -> Clip:
    """Return the clip that channels (T, C) stand for."""
    local = np.empty((len(channels), len(header.skeleton), 4))
    for j, joint in enumerate(axes.joints):
        local[:, j] = joint_rotations(joint, channels[:, joint.first : joint.first + joint.count])
    places = np.tile(axes.origins, (len(channels), 1, 1))
    for m, first in enumerate(axes.places):
        if first >= 0:
            places[:, m] += channels[:, first : first + 3]
    return Clip(header, local, places)


def dequantise(grid: Grid) -> F64:
    """Return the channels (T, C) that the whole numbers stand for, smoothed."""
    sizes = frame_scales(grid.coarseness, grid.levels, grid.group_length)
    raw = grid.numbers * (grid.steps * sizes[:, np.newaxis])
    return smooth(raw, grid.filters, grid.levels, grid.group_length)


def frame_scales(coarseness: I64, levels: I64, group_length: int) -> F64:
    """Return how large each frame's steps are (T,), relative to the clip's."""
    of_frame = np.repeat(coarseness, group_length)[: len(levels)]
    return np.asarray(2.0 ** (of_frame / STEPS_AN_OCTAVE - levels))


def smooth(channels: F64, filters: I64, levels: I64, group_length: int) -> F64:
    """Low-pass channels (T, C) group by group, but for frames on a finer grid."""
    out = channels.copy()
    for group in group_slices(len(channels), group_length):
        plain = np.flatnonzero(levels[group] == 0)
        for strength in np.unique(filters[filters > 0]):
            own = np.flatnonzero(filters == strength)
            smoothed = low_pass(channels[group][:, own], int(strength))
            out[group][np.ix_(plain, own)] = smoothed[plain]
    return out
