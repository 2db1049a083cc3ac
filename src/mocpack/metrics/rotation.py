"""Angles between rotations, in radians."""

from __future__ import annotations

from mocpack.arrays import F64
from mocpack.rotations import angle_between


def largest(a: F64, b: F64) -> float:
    """Return the largest angle, 0 to π, between rotations (..., 4)."""
    return float(angle_between(a, b).max())


def mean(a: F64, b: F64) -> float:
    """Return the mean angle between rotations (..., 4)."""
    return float(angle_between(a, b).mean())
