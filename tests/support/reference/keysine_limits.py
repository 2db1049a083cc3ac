"""Limits of hinges: values past a kept limit are clamped to it."""

from __future__ import annotations

import numpy as np

from keysine_tracks import hinges_of
from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.hinges import rotation_about
from mocpack.model.skeleton import Skeleton
from reference.keysine_plan import Track


def clamp_channels(track: Track, channels: F64) -> F64:
    """Return the channels (T, C) of hinges within their limits. Full turns stay."""
    clamped = channels.copy()
    for own, (lowest, highest), turn in zip(clamped.T, track.limits, track.turns, strict=True):
        past = (own < lowest) | (own > highest)
        if turn > 0:
            away = turn * np.floor((own[past] - 0.5 * (lowest + highest)) / turn + 0.5)
            own[past] = away + np.clip(own[past] - away, lowest, highest)
        else:
            own[past] = np.clip(own[past], lowest, highest)
    return clamped


def clamp_turns(track: Track, skeleton: Skeleton, local: F64) -> F64:
    """Return the rotations (T, 4) of a joint that moves freely, turned back to its limits."""
    axes, rest = hinges_of(skeleton)[track.joint].turns, skeleton.rest[track.joint]
    turned = rotations.multiply(rotations.conjugate(rest), local)
    after = axes[-1]
    if len(axes) == 2:
        first, second = axes
        flat = second - (second @ first) * first
        there = rotations.rotate(turned, np.broadcast_to(second, (len(turned), 3)))
        outer = np.arctan2(rotations.cross(flat, there) @ first, there @ flat)
        inside = rotations.multiply(rotation_about(first, -outer), turned)
        before = rotation_about(first, _way_back(outer, track.free_limits[0]))
        turned = rotations.multiply(before, turned)
    else:
        inside = turned
    twist = 2 * np.arctan2(inside[:, :3] @ after, inside[:, 3])
    back = rotation_about(after, _way_back(twist, track.free_limits[-1]))
    return rotations.multiply(rest, rotations.multiply(turned, back))


def clamp_places(track: Track, skeleton: Skeleton, places: F64) -> F64:
    """Return the places (T, 3) of a joint that moves freely, moved back to its limits."""
    axes, rest = hinges_of(skeleton)[track.joint].slides, skeleton.rest[track.joint]
    away = rotations.rotate(rotations.conjugate(rest), places - skeleton.offsets[track.joint])
    ways = away @ np.linalg.pinv(axes)
    back = np.clip(ways, *track.free_limits.T) - ways
    return places + rotations.rotate(rest, back @ axes)


def _way_back(angles: F64, limits: F64) -> F64:
    """Return the turns (T,) that bring angles back to the nearer limit, 0 within both."""
    if not np.isfinite(limits).all():
        return np.zeros_like(angles)
    near = angles - 2 * np.pi * np.round((angles - limits.mean()) / (2 * np.pi))
    return np.asarray(np.clip(near, *limits) - near)
