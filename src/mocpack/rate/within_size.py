"""Reach a size or a ratio with the smallest error."""

from __future__ import annotations

from mocpack.codec import Codec
from mocpack.common.units import format_sizes
from mocpack.container import Errors
from mocpack.errors import BoundError, UsageError
from mocpack.model.clip import AnyClip
from mocpack.rate.attempts import Attempt, attempt, pack_file
from mocpack.rate.preparing import PreparedClip
from mocpack.rate.quality_search import log_excess, search_quality
from mocpack.rate.ratio_baseline import raw_size
from mocpack.rate.target import NO_BOUNDS, Bounds, Target
from mocpack.rate.within_error import apply_bounds


def encode_within_size(prepared: PreparedClip, codec: Codec, target: Target) -> Attempt:
    limit = _size_limit(prepared.clip, target)
    _check_size_without_motion(prepared, codec, limit)
    if codec.keeps_bounds:
        codec = codec.with_bounds()
    if target.joint_errors and not codec.keeps_joint_bounds:
        raise UsageError(f"{codec.codec_id} does not support joint_errors with a size or ratio")
    if target.joint_errors and prepared.needs_retries:
        raise UsageError(
            "joint_errors with a size or ratio need a clip with one root, without scales and "
            "without motion between frames: give max_error"
        )

    def bounds_of(changed: Codec) -> tuple[Codec, Bounds]:
        if not target.joint_errors:
            return changed, NO_BOUNDS
        own = Target(max_error=changed.error_bound, joint_errors=target.joint_errors)
        bounds = own.bounds(prepared.clip)
        return apply_bounds(prepared, changed, bounds), bounds

    if codec.quality is not None:
        best = search_quality(
            prepared,
            codec,
            lambda made: log_excess(len(made.data), limit),
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
