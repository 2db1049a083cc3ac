"""Channels on a grid: degrees of freedom to integers and back, angles and lengths to one scale."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64, I64
from mocpack.errors import UnsupportedClipError
from mocpack.model.skeleton import Skeleton

LARGEST = 2**30  # maximum integer of a coded plane
FARTHEST = 2**53  # maximum integer of a first frame


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
        raise UnsupportedClipError(
            f"step is too small: values reach {np.abs(grid).max():.3g} steps, at most "
            f"{FARTHEST} fit"
        )
    return grid.astype(np.int64)


def check_plane(values: I64) -> I64:
    """Return `values`, or raise an error if they are too large for a coded plane."""
    if np.abs(values).max(initial=0) > LARGEST:
        raise UnsupportedClipError(
            f"step is too small: changes reach {np.abs(values).max()} steps, at most {LARGEST} fit"
        )
    return values
