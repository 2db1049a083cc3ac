"""Reach an error with the smallest file."""

from __future__ import annotations

import math

import numpy as np

from mocpack import progress
from mocpack.codec import Codec
from mocpack.common.units import format_angles, format_lengths
from mocpack.container import Errors
from mocpack.errors import BoundError, UsageError
from mocpack.rate.attempts import Attempt, attempt
from mocpack.rate.preparing import PreparedClip
from mocpack.rate.quality_search import log_excess, search_quality
from mocpack.rate.target import Bounds

MIN_BOUND_USE = 0.9  # retry a scaled clip if it uses less of its bound than this
MAX_SCALED_TRIES = 6
# tried in turn, times the bound that would fit if errors were proportional to it
BOUND_FACTORS = (1.0, 0.9, 0.75, 0.6, 0.4, 0.2, 0.1)


def encode_within_error(prepared: PreparedClip, codec: Codec, bounds: Bounds) -> Attempt:
    """Return the smallest file within error bounds."""
    if codec.keeps_bounds and prepared.needs_retries:
        best = _adjust_bound(prepared, codec, bounds)
    elif codec.keeps_bounds:
        best = attempt(prepared, apply_bounds(prepared, codec, bounds), bounds)
    elif codec.quality is not None:
        best = _search_alternatives(prepared, codec, bounds)
    else:
        best = attempt(prepared, codec, bounds)
    _check_bounds(prepared, codec, best, bounds)
    return best


def apply_bounds(
    prepared: PreparedClip, codec: Codec, bounds: Bounds, aim: float | None = None
) -> Codec:
    """Return the codec that keeps these bounds; `aim` takes the place of the bound on lengths."""
    if bounds.mean_error:
        return codec.with_bounds(mean_error=aim or bounds.mean_error)
    share = 1.0 if aim is None else aim / bounds.error
    bound = None if bounds.max_error is None else share * bounds.max_error
    if bounds.joints is None:
        return codec.with_bounds(max_error=bound, max_angle=bounds.max_angle)
    if not codec.keeps_joint_bounds:
        raise UsageError(f"{codec.codec_id} does not support joint_errors")
    added, errors, angles = prepared.added_joints, bounds.joints.errors, bounds.joints.angles
    return codec.with_bounds(
        max_error=share * bounds.joints.default_error,
        joint_errors=(errors.max(),) * added + tuple(share * errors),
        joint_angles=(0.0,) * added + tuple(angles),
    )


def _adjust_bound(prepared: PreparedClip, codec: Codec, bounds: Bounds) -> Attempt:
    """Encode with several bounds of the codec, until the error of the file is within its own.

    The two differ if scales change lengths, or if the bound also applies between frames.
    """
    bound = bounds.error
    tried: list[tuple[float, float, Attempt]] = []

    def encode_with(aim: float) -> float:
        try:
            made = attempt(prepared, apply_bounds(prepared, codec, bounds, aim), bounds)
        except BoundError:
            if not tried:
                raise
            return math.inf  # too fine for the codec
        error = bounds.error_of(made.errors)
        tried.append((aim, error, made))
        return error

    near, aim = MIN_BOUND_USE if prepared.clip.header.is_scaled else 0.0, bound
    for _ in range(MAX_SCALED_TRIES if prepared.changes_lengths else 1):
        error = encode_with(aim)
        if near * bound <= error <= bound or error == math.inf:
            break
        aim *= min(max(math.sqrt(MIN_BOUND_USE) * bound / max(error, 1e-300), 0.02), 10.0)
    if all(error > bound for _, error, _ in tried):
        right = min(aim * bound / error for aim, error, _ in tried)
        # errors vary irregularly with the aim, so small reductions are tried first
        for share in BOUND_FACTORS:
            if not bound < encode_with(share * right) < math.inf:
                break
    kept = [made for _, error, made in tried if error <= bound]
    return min(kept, key=lambda made: len(made.data)) if kept else tried[-1][2]


def _search_alternatives(prepared: PreparedClip, codec: Codec, bounds: Bounds) -> Attempt:
    """Search the quality of each of the codec's alternatives; return the smallest file."""

    def log_excess_of(made: Attempt) -> float:
        error = log_excess(bounds.error_of(made.errors), bounds.error)
        return max(error, _angle_excess(made.errors))

    def rank(made: Attempt) -> tuple[float, int]:
        error = bounds.error_of(made.errors) - bounds.error
        return max(0.0, error, _angle_excess(made.errors)), len(made.data)

    starts = codec.alternatives()
    progress.expect(len(starts))
    made = []
    for start in starts:
        with progress.stage():
            made.append(
                search_quality(
                    prepared,
                    start,
                    log_excess_of,
                    finest=False,
                    bounds_of=lambda changed: (changed, bounds),
                )
            )
    return min(made, key=rank)


def _check_bounds(prepared: PreparedClip, codec: Codec, best: Attempt, bounds: Bounds) -> None:
    """Raise `BoundError` if the best file exceeds a bound."""
    error, joints = bounds.error_of(best.errors), best.errors.joints
    if not error <= bounds.error:
        where = ""
        wanted, found = format_lengths(bounds.error, error)
        if joints is not None:
            where = f"joint {prepared.clip.header.point_names[joints.worst]!r} of "
            wanted, found = format_lengths(
                float(joints.declared[joints.worst]), float(joints.max[joints.worst])
            )
        raise BoundError(
            f"{codec.codec_id} cannot encode {where}this clip within {wanted}; "
            f"the smallest error is {found}"
        )
    if _angle_excess(best.errors) > 0:
        wanted, found = format_angles(*_worst_angle(best.errors))
        raise BoundError(
            f"{codec.codec_id} cannot encode this clip's angles within {wanted}; "
            f"the smallest error is {found}"
        )


def _angle_excess(errors: Errors) -> float:
    """Return the logarithm of the angle error over its bound; at most 0 within it."""
    if errors.declared_angle is None and errors.joints is None:
        return -math.inf
    bound, found = _worst_angle(errors)
    return log_excess(found, bound)


def _worst_angle(errors: Errors) -> tuple[float, float]:
    """Return the bound and the error of the angle that uses most of its bound."""
    if errors.joints is None:
        return errors.declared_angle or math.inf, errors.max_angle or 0.0
    bounds, found = errors.joints.declared_angle, errors.joints.max_angle
    bounds = np.where(bounds > 0, bounds, math.inf)
    worst = int((found / bounds).argmax())
    return float(bounds[worst]), float(found[worst])
