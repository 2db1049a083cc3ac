"""Measure the errors of a decoded clip, and the size that ratios refer to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mocpack.common.arrays import F64
from mocpack.container import Errors, JointErrors
from mocpack.errors import UnsupportedClipError
from mocpack.model.clip import AnyClip, Clip, VertexClip, measure_error
from mocpack.model.codec_clip import drop_take_data
from mocpack.model.dofs import moving_dofs, to_dofs
from mocpack.model.kinematics import MotionError
from mocpack.model.skeleton import DEFAULT_ROOT
from mocpack.model.take_data import WIDTHS
from mocpack.rate.joint_bounds import JointBounds
from mocpack.rate.target import NO_BOUNDS, Bounds

WINDOW_FRAMES = 4096  # measured at once
MIN_SMALL_TURN_COSINE = math.cos(math.radians(5))  # 10° per frame
MAX_SAMPLES_BETWEEN = 12  # samples between frames of clips with larger rotations


def measure(
    clip: AnyClip,
    decoded: AnyClip,
    bounds: Bounds = NO_BOUNDS,
    known: MotionError | None = None,
) -> Errors:
    """Measure the errors of `decoded`: maximum, mean, RMS and 99th percentile.

    For interpolated clips, the maximum includes poses between frames. Angles, and the errors of
    each joint, are measured if they have bounds. `known` is the error at frames, if the encoder has
    measured it.
    """
    apart = distances(clip, decoded)
    joints = None
    if bounds.joints is not None:
        assert isinstance(clip, Clip)
        assert isinstance(decoded, Clip)
        joints = _measure_joints(clip, decoded, bounds.joints)
        largest = float(joints.max.max())
    elif isinstance(clip, Clip) and isinstance(decoded, Clip):
        promised = measure_error(clip, decoded) if known is None else known
        largest = promised.max
        if clip.header.interpolated:
            largest = max(largest, _error_between(clip, decoded, promised.frames))
    else:
        largest = float(apart.max())
    mean, rms = float(apart.mean()), float(np.sqrt(np.mean(apart**2)))
    p99 = float(np.percentile(apart, 99, overwrite_input=True))
    angle = None
    if bounds.max_angle is not None and isinstance(clip, Clip) and isinstance(decoded, Clip):
        # imported here, so that reading files does not load the metrics
        from mocpack.metrics.angles import largest_angle

        angle = largest_angle(clip, decoded)
    return Errors(bounds.max_error, largest, mean, rms, p99, bounds.max_angle, angle, joints=joints)


def _measure_joints(clip: Clip, decoded: Clip, bounds: JointBounds) -> JointErrors:
    """Measure the errors of each joint, for interpolated clips also between frames."""
    from mocpack.metrics.angles import joint_angles

    largest = measure_error(clip, decoded).joints
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

    windows = zip(_windows(clip), _windows(decoded), strict=True)
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
    for window, made in zip(_windows(clip, overlap=1), _windows(decoded, overlap=1), strict=True):
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


def distances(clip: AnyClip, decoded: AnyClip) -> F64:
    """Return the distance (T, J) of each joint or vertex from its original position.

    Computed in windows, to limit memory.
    """
    found = []
    for pair in zip(_windows(clip), _windows(decoded), strict=True):
        a, b = (p.vertices if isinstance(p, VertexClip) else p.positions() for p in pair)
        found.append(np.linalg.norm(a - b, axis=-1))
    return np.concatenate(found)


def _windows(clip: AnyClip, *, overlap: int = 0) -> Iterator[Any]:
    """Yield a clip in windows of `WINDOW_FRAMES` frames, plus `overlap` frames."""
    if clip.frame_count <= WINDOW_FRAMES:
        yield clip
        return
    for start in range(0, clip.frame_count, WINDOW_FRAMES):
        yield clip.frames(start, min(start + WINDOW_FRAMES + overlap, clip.frame_count))


def raw_size(clip: AnyClip) -> int:
    """Return the size of the moving channels as float32 in bytes, the baseline of ratios.

    Numbers in tracks count 4 bytes, flags and labels 1 byte.
    """
    size = 4 * clip.frame_count * moving_channels(clip)
    if isinstance(clip, VertexClip):
        return size
    exact = ("flag", "label")
    tracks = clip.tracks.values()
    return size + sum(len(t) * (1 if t.kind in exact else 4 * WIDTHS[t.kind]) for t in tracks)


def moving_channels(clip: AnyClip) -> int:
    """Return the number of moving channels, of the source's numbers if the clip has them."""
    if isinstance(clip, VertexClip):
        return 3 * clip.header.vertex_count
    scales = clip.take_data.scales
    scaled = 0 if scales is None else int((np.ptp(scales, axis=0) > 0).sum())
    if clip.channels is not None:
        return max(1, int(moving_dofs(clip.channels).sum()) + scaled)
    single = drop_take_data(clip)
    try:
        return max(1, _count_moving_dofs(single) + scaled)
    except UnsupportedClipError:  # the channels of the skeleton cannot express the motion
        channels = (DEFAULT_ROOT,) * len(single.skeleton)
        header = replace(single.header, skeleton=replace(single.skeleton, channels=channels))
        full = Clip(header, single.rotations, single.translations)
        return max(1, _count_moving_dofs(full) + scaled)


def _count_moving_dofs(clip: Clip) -> int:
    # windows overlap by a frame, to detect motion between them
    moving = [moving_dofs(to_dofs(window)) for window in _windows(clip, overlap=1)]
    return int(np.any(moving, axis=0).sum())
