"""Meet a target error, ratio or size with any codec.

A codec with error bounds gets them; for any other, its quality parameter is searched. Every file is
decoded and measured before it is returned; a file that misses its target is never returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from mocpack import progress
from mocpack.codec import Codec
from mocpack.common.units import Length, format_angles, format_lengths, format_sizes
from mocpack.container import Errors
from mocpack.errors import BoundError, UsageError
from mocpack.model.clip import AnyClip, Clip, VertexClip
from mocpack.rate.attempts import (
    Attempt,
    PreparedClip,
    attempt,
    pack_file,
    prepare_clip,
    round_trip,
)
from mocpack.rate.measuring import measure, moving_channels, raw_size
from mocpack.rate.root_search import (
    MAX_EVALUATIONS,
    TARGET_TOLERANCE,
    ParameterScale,
    search_root,
)
from mocpack.rate.target import NO_BOUNDS, Bounds, Target

__all__ = [
    "Attempt",
    "Bounds",
    "PreparedClip",
    "Target",
    "attempt",
    "effective_bounds",
    "encode_to_target",
    "measure",
    "moving_channels",
    "pack_file",
    "prepare_clip",
    "raw_size",
    "round_trip",
]

MIN_BOUND_USE = 0.9  # retry a scaled clip if it uses less of its bound than this
MAX_SCALED_TRIES = 6
# tried in turn, times the bound that would fit if errors between frames were proportional
BOUND_FACTORS = (1.0, 0.9, 0.75, 0.6, 0.4, 0.2, 0.1)
EXPECTED_TRIES = 8  # of a parameter search, for the progress display
MAX_SEARCH_ENCODES = MAX_EVALUATIONS + 1  # of a search for a quality; 1: the safe end
# work of all encodes of a search, in budgets of one encode: after the first number, they take
# effort fast; after the second, the search ends
FAST_WORK, MAX_SEARCH_WORK = 0.3, 1.0
HOPELESS_EXCESS = math.log(
    1.1
)  # of the file at the safe end: sizes hardly depend on coarse settings
UNREACHABLE_EXCESS = 2.0  # logarithm of the excess for settings that cannot encode the clip


class _WorkSpentError(Exception):
    """A search has spent its budget of work."""


def encode_to_target(
    clip: AnyClip, codec: Codec, target: Target, *, effort: str | None = None
) -> Attempt:
    """Return the smallest file within an error, or the file with the smallest error within a size.

    Without a target, the codec uses its own parameters. `effort` replaces that of the codec.

    A codec that keeps bounds encodes the clip at most ``MAX_SCALED_TRIES + len(BOUND_FACTORS)``
    times, usually once. A search takes at most `MAX_SEARCH_ENCODES` encodes for each of the codec's
    `alternatives`, usually less than ten. A size that is clearly too small is refused after none or
    two. Encodes of a hard clip share `MAX_SEARCH_WORK`; the best file until then is returned.
    """
    if effort is not None:
        codec = codec.with_effort(effort)
    if target.joint_errors and isinstance(clip, VertexClip):
        raise UsageError("joint_errors apply to skeletons, got a vertex animation")
    promised = codec.error_bound
    scale_bound = target.max_error or target.mean_error or (None if target else promised)
    lengths = [float(bound) for _, bound in target.joint_errors if isinstance(bound, Length)]
    prepared = prepare_clip(clip, min([scale_bound, *lengths]) if scale_bound else None)
    if not target and promised and (prepared.changes_lengths or prepared.is_interpolated):
        # the codec bounds the error of its own clip; the file must bound that of the original
        return _encode_within_error(prepared, codec, Target(max_error=promised))
    if not target:
        return attempt(prepared, codec)
    if target.max_angle and isinstance(clip, VertexClip):
        raise UsageError("max_angle applies to skeletons, got a vertex animation")
    if target.max_angle or (target.joint_errors and not target.size and not target.ratio):
        target = effective_bounds(codec, target)
        if target.joint_errors and not target.max_error:
            raise UsageError(f"joint_errors with codec {codec.codec_id} need max_error as well")
    if target.max_error or target.mean_error or target.max_angle:
        return _encode_within_error(prepared, codec, target)
    return _encode_within_size(prepared, codec, target)


def effective_bounds(codec: Codec, target: Target) -> Target:
    """Return the target, with the codec's own `max_error` if it has no error bound."""
    bounded = target.max_error or target.mean_error
    return target if bounded else replace(target, max_error=codec.error_bound)


def _encode_within_error(prepared: PreparedClip, codec: Codec, target: Target) -> Attempt:
    bounds = target.bounds(prepared.clip)
    bound = bounds.max_error or target.mean_error or math.inf

    def error(made: Attempt) -> float:
        joints = made.errors.joints
        if joints is not None:  # the largest share that a joint uses of its bound
            return bound * float((joints.max / joints.declared).max())
        found = made.errors.mean if target.mean_error else made.errors.max
        assert found is not None
        return found

    if codec.keeps_bounds:
        best = _encode_with_bounds(prepared, codec, bounds, target.mean_error, error)
    elif codec.quality is not None:
        starts = codec.alternatives()
        progress.expect(len(starts))
        made = []
        for start in starts:
            with progress.stage():
                made.append(
                    _search_quality(
                        prepared,
                        start,
                        lambda made: max(_log_excess(error(made), bound), _angle_log_excess(made)),
                        finest=False,
                        bounds_of=lambda changed: (changed, bounds),
                    )
                )
        best = min(made, key=lambda one: (_excess(one, error(one), bound), _size(one)))
    else:
        best = attempt(prepared, codec, bounds)
    if not error(best) <= bound:
        where = ""
        wanted, found = format_lengths(bound, error(best))
        if best.errors.joints is not None and isinstance(prepared.clip, Clip):
            joint = best.errors.joints.worst
            where = f"joint {prepared.clip.skeleton.names[joint]!r} of "
            wanted, found = format_lengths(
                float(best.errors.joints.declared[joint]), float(best.errors.joints.max[joint])
            )
        raise BoundError(
            f"{codec.codec_id} cannot encode {where}this clip within {wanted}; "
            f"the smallest error is {found}"
        )
    if _angle_log_excess(best) > 0:
        wanted, found = format_angles(*_worst_angle(best.errors))
        raise BoundError(
            f"{codec.codec_id} cannot encode this clip's angles within {wanted}; "
            f"the smallest error is {found}"
        )
    return best


def _worst_angle(errors: Errors) -> tuple[float, float]:
    """Return the bound and the error of the angle that uses most of its bound."""
    if errors.joints is None:
        return errors.declared_angle or math.inf, errors.max_angle or 0.0
    bounds, found = errors.joints.declared_angle, errors.joints.max_angle
    bounds = np.where(bounds > 0, bounds, math.inf)
    worst = int((found / bounds).argmax())
    return float(bounds[worst]), float(found[worst])


def _angle_log_excess(made: Attempt) -> float:
    """Return the logarithm of the angle error over its bound; at most 0 within it."""
    bound, found = _worst_angle(made.errors)
    return _log_excess(found, bound)


def _excess(made: Attempt, error: float, bound: float) -> float:
    """Return how far the errors of a file exceed their bounds; 0 within them."""
    return max(0.0, error - bound, _angle_log_excess(made))


def _with_bounds(prepared: PreparedClip, codec: Codec, bounds: Bounds, share: float = 1.0) -> Codec:
    """Return the codec that keeps these bounds, or a share of those on lengths."""
    bound = None if bounds.max_error is None else share * bounds.max_error
    if bounds.joints is None:
        return codec.with_bounds(max_error=bound, max_angle=bounds.max_angle)
    if not codec.keeps_joint_bounds:
        raise UsageError(f"{codec.codec_id} does not support joint_errors")
    # the codec's skeleton has one more joint if there are several roots
    assert isinstance(prepared.codec_clip, Clip)
    added = len(prepared.codec_clip.skeleton) - len(bounds.joints.errors)
    errors, angles = bounds.joints.errors, bounds.joints.angles
    return codec.with_bounds(
        max_error=share * bounds.joints.default_error,
        joint_errors=(errors.max(),) * added + tuple(share * errors),
        joint_angles=(0.0,) * added + tuple(angles),
    )


def _encode_with_bounds(
    prepared: PreparedClip,
    codec: Codec,
    bounds: Bounds,
    mean_error: float | None,
    error: Callable[[Attempt], float],
) -> Attempt:
    """Encode with a codec that bounds its own error.

    The codec's bound is adjusted in several tries if scales change lengths, or if the bound also
    applies between frames.
    """
    bound = bounds.max_error or mean_error
    assert bound is not None
    tried: list[tuple[float, Attempt]] = []

    def encode_with(aim: float) -> float:
        if mean_error:
            setting = codec.with_bounds(mean_error=aim)
        else:
            setting = _with_bounds(prepared, codec, bounds, aim / bound)
        made = attempt(prepared, setting, bounds)
        tried.append((aim, made))
        return error(made)

    near, aim = MIN_BOUND_USE if prepared.is_scaled else 0.0, bound
    for _ in range(MAX_SCALED_TRIES if prepared.changes_lengths else 1):
        found = encode_with(aim)
        if near * bound <= found <= bound:
            break
        aim *= min(max(math.sqrt(MIN_BOUND_USE) * bound / max(found, 1e-300), 0.02), 10.0)
    if prepared.is_interpolated and all(error(made) > bound for _, made in tried):
        right = min(aim * bound / error(made) for aim, made in tried)
        # errors between frames vary irregularly, so small reductions are tried first
        for share in BOUND_FACTORS:
            if encode_with(share * right) <= bound:
                break
    kept = [made for _, made in tried if error(made) <= bound]
    return min(kept, key=_size) if kept else tried[-1][1]


def _encode_within_size(prepared: PreparedClip, codec: Codec, target: Target) -> Attempt:
    limit = _size_limit(prepared.clip, target)
    _check_size_without_motion(prepared, codec, limit)
    if codec.keeps_bounds:
        codec = codec.with_bounds()
    if target.joint_errors and not codec.keeps_joint_bounds:
        raise UsageError(f"{codec.codec_id} does not support joint_errors with a size or ratio")
    if target.joint_errors and (prepared.changes_lengths or prepared.is_interpolated):
        raise UsageError(
            "joint_errors with a size or ratio need a clip with one root, without scales and "
            "without motion between frames: give max_error"
        )

    def bounds_of(changed: Codec) -> tuple[Codec, Bounds]:
        if not target.joint_errors:
            return changed, NO_BOUNDS
        own = Target(max_error=changed.error_bound, joint_errors=target.joint_errors)
        bounds = own.bounds(prepared.clip)
        return _with_bounds(prepared, changed, bounds), bounds

    if codec.quality is not None:
        best = _search_quality(
            prepared,
            codec,
            lambda made: _log_excess(len(made.data), limit),
            finest=True,
            bounds_of=bounds_of,
        )
    else:
        best = attempt(prepared, codec)
    if len(best.data) > limit:
        wanted, found = format_sizes(limit, len(best.data))
        raise BoundError(
            f"{codec.codec_id} cannot encode this clip within {wanted}; "
            f"the smallest file has {found}"
        )
    return best


def _check_size_without_motion(prepared: PreparedClip, codec: Codec, limit: int) -> None:
    """Raise `BoundError` if the header alone, with its skeleton and take data, is too large."""
    header_size = len(pack_file(prepared, codec, b"", Errors()))
    if header_size > limit:
        wanted, found = format_sizes(limit, header_size)
        raise BoundError(
            f"{codec.codec_id} cannot encode this clip within {wanted}; "
            f"the file has {found} without any motion"
        )


def _size_limit(clip: AnyClip, target: Target) -> int:
    if target.size:
        return target.size
    assert target.ratio is not None
    limit = int(raw_size(clip) / target.ratio)
    if limit < 1:
        raise BoundError(
            f"a ratio of {target.ratio:g} is impossible: the file would be less than 1 byte"
        )
    return limit


def _search_quality(
    prepared: PreparedClip,
    codec: Codec,
    excess: Callable[[Attempt], float],
    *,
    finest: bool,
    bounds_of: Callable[[Codec], tuple[Codec, Bounds]],
) -> Attempt:
    """Return the best file whose `excess` over the target is at most 0.

    With `finest`, the finest setting (for a size target), else the smallest file (for an error
    target). If no setting meets the target, the nearest one. A setting that cannot encode the clip
    misses the target; if all are such, a `BoundError` is raised. `bounds_of` returns the codec and
    the bounds of a setting.
    """
    parameter = codec.quality
    assert parameter is not None
    progress.expect(EXPECTED_TRIES)
    scale = ParameterScale(parameter, finest=finest)
    tried: dict[float, Attempt | BoundError] = {}

    def is_spent(most: float) -> bool:
        return sum(one.work_share for one in tried.values()) >= most

    def made(place: float) -> Attempt | BoundError:
        value = scale.value(place)
        if value not in tried:
            setting = int(value) if parameter.integer else value
            changed = replace(codec, **{parameter.field: setting})
            if is_spent(FAST_WORK):
                changed = changed.with_effort("fast")
            try:
                tried[value] = attempt(prepared, *bounds_of(changed))
            except BoundError as error:
                tried[value] = error
        return tried[value]

    def excess_at(place: float) -> float:
        if is_spent(MAX_SEARCH_WORK):
            raise _WorkSpentError
        found = made(place)
        return UNREACHABLE_EXCESS if isinstance(found, BoundError) else excess(found)

    def is_far_from_target(place: float) -> bool:
        found = made(place)
        return not isinstance(found, BoundError) and excess(found) > HOPELESS_EXCESS

    def is_worthwhile(kept: float, missed: float) -> bool:
        one, other = made(kept), made(missed)
        if isinstance(one, BoundError) or isinstance(other, BoundError):
            return scale.apart(kept, missed)
        bytes_apart = abs(_size(one) - _size(other))
        return bytes_apart > TARGET_TOLERANCE * _size(one) and scale.apart(kept, missed)

    start = scale.place(getattr(codec, parameter.field))
    # a size that even the safe end misses is refused after two encodes
    is_hopeless = finest and excess_at(start) > 0 and is_far_from_target(0.0)
    if not is_hopeless:
        with suppress(_WorkSpentError):
            search_root(excess_at, start, is_worthwhile=is_worthwhile)
    reached = {v: one for v, one in tried.items() if not isinstance(one, BoundError)}
    if not reached:
        raise next(error for error in tried.values() if isinstance(error, BoundError))
    good = {v: one for v, one in reached.items() if excess(one) <= 0}
    if not good:
        return min(reached.values(), key=excess)
    return good[max(good, key=scale.place)] if finest else min(good.values(), key=_size)


def _size(made: Attempt) -> int:
    return len(made.data)


def _log_excess(found: float, limit: float) -> float:
    """Return log(found / limit); 0 is exactly at the limit."""
    return math.log(max(found, 1e-300) / limit) if limit < math.inf else -math.inf
