"""Quantizer steps of bones: one length in meters, turned into radians by how far a bone reaches."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import UsageError
from mocpack.model.skeleton import Skeleton
from mocpack.papers.li.codec.bodies import Bodies


def direction_steps(bodies: Bodies, step: float, weights: F64) -> F64:
    """Return the radians (B,) that move the farthest point of each body by `step` meters."""
    return step * weights / bodies.levers


def twist_steps(bodies: Bodies, step: float, weights: F64, twist_scale: float) -> F64:
    """Return the twist step of each body (B,) in radians; coarser where twist moves no joint."""
    scale = np.where(bodies.twist_places, 1.0, twist_scale)
    return scale * step * weights / bodies.twist_levers


def joint_weights(text: str, skeleton: Skeleton, bodies: Bodies) -> F64:
    """Return the factor of each body's steps (B,) from a text such as ``LeftHand=0.5;Head=2``."""
    weights = np.ones(len(bodies))
    for item in filter(None, text.split(";")):
        name, _, factor = item.partition("=")
        weights[bodies.owners[skeleton.index(name.strip())]] = _factor(factor, item)
    return weights


def _factor(text: str, item: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = np.nan
    if not 1e-3 <= factor <= 1e3:
        raise UsageError(f"write a weight as joint=factor, the factor in 0.001..1000, got {item!r}")
    return factor
