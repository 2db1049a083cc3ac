"""The metrics of the five papers, each by its formula. Units are meters and radians.

ME (Váša and Brunnett 2014, eq. 9) and E_position (Li 2008, eq. 26) are the mean of all distances.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mocpack.common.arrays import F64
from mocpack.metrics.position import distances
from mocpack.model.skeleton import Skeleton, rotation_order

TED_DISTANCE_M = 0.0005  # d of SkTED: the paper gives no value
TED_WINDOW_FRAMES = 5  # to each side, for the speed in SkTED: the paper gives no value


def eps_x(
    skeleton: Skeleton,
    points: tuple[F64, F64],
    ends: tuple[F64, F64],
    *,
    at: Literal["end", "center"] = "end",
) -> float | None:
    """Return the RMS position error over bones, weighted by length (Beaudoin 2007, §3.1).

    Parameters
    ----------
    points, ends : joints (T, J, 3) and end sites (T, E, 3) of both motions
    at : where the error of a bone is measured: at its far end, or at the center of the joint that
        moves it, which ignores the rotation of the last joint of a limb

    None for a skeleton whose bones all have length 0.
    """
    lengths, drivers = bones(skeleton)
    if lengths.sum() == 0:
        return None
    if at == "end":
        moved = np.concatenate([distances(*points)[:, 1:], distances(*ends)], axis=1)
    else:
        moved = distances(*points)[:, drivers]
    return float(np.sqrt(np.mean(moved**2 @ (lengths / lengths.sum()))))


def bones(skeleton: Skeleton) -> tuple[F64, list[int]]:
    """Return the length and parent joint of each bone: to joints 1…J-1, then to end sites."""
    offsets = np.concatenate([skeleton.offsets[1:], skeleton.end_sites])
    drivers = [*skeleton.parents[1:], *skeleton.end_site_joints]
    return np.asarray(np.linalg.norm(offsets, axis=1)), drivers


def displacement_error(lengths: F64) -> float:
    """Return DEF: joint distances (T, J) summed over joints, mean over frames (Chattopadhyay)."""
    return float(lengths.sum(1).mean())


def e_d(original: F64, decoded: F64) -> float | None:
    """Return E_D in percent of animations (T, ...): error against movement (Mukai; Karni–Gotsman).

    None for an animation without movement.
    """
    movement = np.sum((original - original.mean(0)) ** 2)
    if movement == 0:
        return None
    return float(100 * np.sqrt(np.sum((original - decoded) ** 2) / movement))


def sk_ted(
    original: F64, decoded: F64, *, d: float = TED_DISTANCE_M, window: int = TED_WINDOW_FRAMES
) -> float | None:
    """Return SkTED of points (T, P, 3): change of speed relative to speed (eq. 10 and 11).

    Parameters
    ----------
    d : distance in meters that represents the time between frames; avoids division by 0
    window : frames to each side over which the original's speed is averaged

    None for a single frame.
    """
    if len(original) < 2:
        return None
    lengths, found = temporal_edges(original, d), temporal_edges(decoded, d)
    return float(np.mean(np.abs(lengths - found) / windowed_mean(lengths, window)))


def temporal_edges(points: F64, d: float) -> F64:
    """Return the lengths (T - 1, P) of edges from each point to itself in the next frame."""
    return np.asarray(np.sqrt(np.sum(np.diff(points, axis=0) ** 2, axis=-1) + d**2))


def windowed_mean(values: F64, window: int) -> F64:
    """Return the mean of `values` (T, ...) over `window` frames to each side."""
    count = len(values)
    sums = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    frames = np.arange(count)
    first, last = np.maximum(frames - window, 0), np.minimum(frames + window + 1, count)
    return np.asarray((sums[last] - sums[first]) / (last - first)[:, np.newaxis])


def e_angle(skeleton: Skeleton, original: F64, decoded: F64) -> float | None:
    """Return the mean length in radians of joints' Euler angle errors (Li 2008, eq. 27 and 28).

    Parameters
    ----------
    original, decoded : degrees of freedom (T, C), unwrapped equally

    The mean is over frames and the joints that have rotation channels; None if none has.
    """
    by_joint, start = [], 0
    for channels in skeleton.channels:
        _, at = rotation_order(channels)
        columns = [start + k for k in at]
        if columns:
            by_joint.append(distances(original[:, columns], decoded[:, columns]).mean())
        start += len(channels)
    return float(np.mean(by_joint)) if by_joint else None
