"""Channels on a grid: degrees of freedom to integers and back, angles and lengths to one scale."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64, I64
from mocpack.errors import UnsupportedClipError
from mocpack.skeleton import Skeleton

LARGEST = 2**30  # what a coded plane can hold
FARTHEST = 2**53  # what a first frame can hold


def channel_steps(skeleton: Skeleton, step: float, lever: float) -> F64:
    """Return the grid step of each channel, shape (C,): radians of angles, meters of lengths.

    Parameters
    ----------
    step : float
        Radians.
    lever : float
        Meters; a length is rounded as finely as an angle moves a point at this distance.
    """
    return np.where(skeleton.columns.is_angle, step, step * lever)


def to_grid(matrix: F64, steps: F64) -> I64:
    """Return the nearest grid point of each value of (T, C)."""
    grid = np.rint(matrix / steps)
    if np.abs(grid).max(initial=0.0) > FARTHEST:
        raise UnsupportedClipError("the step is too fine for numbers this large")
    return grid.astype(np.int64)


def check_plane(values: I64) -> I64:
    """Return `values`, or say that the step is too fine for a coded plane to hold them."""
    if np.abs(values).max(initial=0) > LARGEST:
        raise UnsupportedClipError("the step is too fine for a motion this fast")
    return values
