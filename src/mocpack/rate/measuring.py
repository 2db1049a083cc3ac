"""Measure the errors of a decoded clip."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mocpack.common.arrays import F64
from mocpack.container import Errors, JointErrors
from mocpack.model.clip import AnyClip, Clip, measure_error, require_skeleton
from mocpack.model.kinematics import MotionError
from mocpack.rate.joint_bounds import JointBounds
from mocpack.rate.target import NO_BOUNDS, Bounds
from mocpack.rate.windows import split_windows

MIN_SMALL_TURN_COSINE = math.cos(math.radians(5))  # 10° per frame
MAX_SAMPLES_BETWEEN = 12  # samples between frames of clips with larger rotations


def measure(clip: AnyClip, decoded: AnyClip, bounds: Bounds = NO_BOUNDS) -> Errors:
    """Measure the errors of `decoded`: maximum, mean, RMS and 99th percentile.

    For interpolated clips, the maximum includes poses between frames. Angles, and the errors of
    each joint, are measured if they have bounds.
    """
    found = measure_error(clip, decoded)
    largest, angle, joints = found.max, None, None
    if bounds.joints is not None or bounds.max_angle is not None or clip.header.interpolated:
        pair = require_skeleton(clip, "this bound"), require_skeleton(decoded, "this bound")
        if bounds.joints is not None:
            joints = _measure_joints(*pair, found, bounds.joints)
            largest = float(joints.max.max())
        elif clip.header.interpolated:
            largest = max(largest, _error_between(*pair, found.frames))
        if bounds.max_angle is not None:
            # imported here, so that reading files does not load the metrics
            from mocpack.metrics.angles import largest_angle

            angle = largest_angle(*pair)
    return Errors(
        bounds.max_error,
        largest,
        found.joint_mean,
        found.joint_rms,
        float(np.percentile(found.distances, 99, overwrite_input=True)),
        bounds.max_angle,
        angle,
        joints=joints,
    )


def _measure_joints(
    clip: Clip, decoded: Clip, found: MotionError, bounds: JointBounds
) -> JointErrors:
    """Measure the errors of each joint, for interpolated clips also between frames."""
    from mocpack.metrics.angles import joint_angles

    largest = found.joints
    if clip.header.interpolated:
        largest = np.maximum(largest, _joint_errors_between(clip, decoded))
    return JointErrors(bounds.errors, largest, bounds.angles, joint_angles(clip, decoded))


def _error_between(clip: Clip, decoded: Clip, at_frames: F64) -> float:
    """Return the largest error of interpolated poses between frames.

    `at_frames` (T,) is the error of each frame.
    """
    found = _errors_between(clip, decoded, at_frames, lambda a, b: measure_error(a, b).frames)
    return float(found.max(initial=0.0))


def _joint_errors_between(clip: Clip, decoded: Clip) -> F64:
    """Return the largest error (J,) of each joint in interpolated poses between frames."""
    from mocpack.metrics.pair import SkeletonPair

    windows = zip(split_windows(clip), split_windows(decoded), strict=True)
    at_frames = np.concatenate([SkeletonPair(a, b).displacements for a, b in windows])
    return _errors_between(clip, decoded, at_frames, lambda a, b: SkeletonPair(a, b).displacements)


def _errors_between(
    clip: Clip, decoded: Clip, at_frames: F64, errors_of: Callable[[Clip, Clip], F64]
) -> F64:
    """Return the maximum over time of errors between frames.

    `at_frames` (T, …) are the errors of each frame, as `errors_of` returns them. One sample per gap
    is enough if joints rotate little.
    """
    turned = np.abs((clip.rotations[1:] * clip.rotations[:-1]).sum(-1))
    parts = MAX_SAMPLES_BETWEEN if turned.min(initial=1.0) < MIN_SMALL_TURN_COSINE else 2
    largest, start = np.zeros(at_frames.shape[1:]), 0
    windows = split_windows(clip, overlap=1), split_windows(decoded, overlap=1)
    for window, made in zip(*windows, strict=True):
        gaps = window.frame_count - 1
        if gaps < 1:
            continue
        ends = at_frames[start : start + gaps + 1]
        start += gaps
        gap = np.empty((gaps, parts + 1, *at_frames.shape[1:]))
        gap[:, 0], gap[:, -1] = ends[:-1], ends[1:]
        for part in range(1, parts):
            at = np.arange(gaps) + part / parts
            gap[:, part] = errors_of(window.poses_at(at), made.poses_at(at))
        inside = gap[:, 1:-1]
        # a parabola exceeds three of its points by at most an eighth of the second difference
        bend = np.maximum(2 * inside - gap[:, :-2] - gap[:, 2:], 0)
        largest = np.maximum(largest, (inside + bend / 8).max(axis=(0, 1)))
    return largest
