"""Velocity errors of points, in meters per second."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.metrics.position import distances


def velocities(points: F64, frame_rate: float) -> F64:
    """Return velocities (T - 1, P, 3) of points (T, P, 3), from frame to frame."""
    return np.diff(points, axis=0) * frame_rate


def velocity_errors(a: F64, b: F64, frame_rate: float) -> F64 | None:
    """Return |v - v̂| (T - 1, P) of two motions; None for a single frame."""
    if len(a) < 2:
        return None
    return distances(velocities(a, frame_rate), velocities(b, frame_rate))


def mean(a: F64, b: F64, frame_rate: float) -> float | None:
    errors = velocity_errors(a, b, frame_rate)
    return None if errors is None else float(errors.mean())


def largest(a: F64, b: F64, frame_rate: float) -> float | None:
    errors = velocity_errors(a, b, frame_rate)
    return None if errors is None else float(errors.max())
