"""Encode a clip: choose the codec, and reach the target with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from mocpack.codec import Codec
from mocpack.codecs.registry import AUTO_CODEC, describe_wrong_kind, parse_codecs
from mocpack.common.units import Length
from mocpack.errors import BoundError, UsageError
from mocpack.model.clip import AnyClip, check_coordinates, require_skeleton
from mocpack.rate.attempts import Attempt, attempt
from mocpack.rate.preparing import prepare_clip
from mocpack.rate.target import Bounds, Target, TargetOptions, parse_target
from mocpack.rate.within_error import encode_within_error
from mocpack.rate.within_size import encode_within_size


class EncoderOptions(TargetOptions, total=False):
    """The options of `mocpack.encode` besides the codec."""

    effort: str | None


class EncodingOptions(EncoderOptions, total=False):
    """All options of `mocpack.encode`."""

    codec: Codec | str


def parse_encoding(
    codec: Codec | str = AUTO_CODEC,
    *,
    effort: str | None = None,
    **target: Unpack[TargetOptions],
) -> tuple[Sequence[Codec], Target]:
    """Parse the options of `mocpack.encode`: return the codecs to try in turn, and the target."""
    if isinstance(codec, str):
        codecs = parse_codecs(codec, effort=effort)
    elif isinstance(codec, Codec):
        codecs = (codec if effort is None else codec.with_effort(effort),)
    else:
        raise UsageError(f"codec must be a Codec or a spec such as 'keysine', got {codec!r:.80}")
    return codecs, parse_target(**target)


def encode_clip(clip: AnyClip, codecs: Sequence[Codec], target: Target) -> Attempt:
    """Encode with the first codec that supports the clip.

    If it cannot keep an error bound, the next one stores the clip, and `lossless_reason` says why.
    """
    check_coordinates(clip)
    kind, reason, target = clip.header.kind, None, target.for_clip(clip)
    for codec in codecs:
        if kind not in codec.kinds:
            continue
        try:
            made = encode_to_target(clip, codec, target)
            return made if reason is None else replace(made, lossless_reason=reason)
        except BoundError as error:
            if len(codecs) > 1 and kind == "vertices":
                raise BoundError(f"{error}; codec latent-spline makes vertices smaller") from error
            if codec is codecs[-1] or target.size or target.ratio:
                raise
            reason, target = str(error), _with_own_bound(codec, target)
    raise describe_wrong_kind(codecs[0], kind)


def encode_to_target(clip: AnyClip, codec: Codec, target: Target) -> Attempt:
    """Return the smallest file within an error, or the file with the smallest error within a size.

    Without a target, the codec uses its own parameters.

    A codec that keeps bounds encodes the clip at most ``MAX_SCALED_TRIES + len(BOUND_FACTORS)``
    times, usually once. A search takes at most `MAX_SEARCH_ENCODES` encodes for each of the codec's
    `alternatives`, usually less than ten. A size that is clearly too small is refused after none or
    two.
    """
    for name in ("joint_errors", "max_angle"):
        if getattr(target, name):
            require_skeleton(clip, name)
    promised = codec.error_bound
    scale_bound = target.max_error or target.mean_error or (None if target else promised)
    if scale_bound and target.joint_errors:
        lengths = [float(bound) for _, bound in target.joint_errors if isinstance(bound, Length)]
        scale_bound = min([scale_bound, *lengths])
    prepared = prepare_clip(clip, scale_bound)
    if not target and promised and prepared.needs_retries:
        # the codec bounds the error of its own clip; the file must bound that of the original
        return encode_within_error(prepared, codec, Bounds(promised))
    if not target:
        return attempt(prepared, codec)
    if target.max_angle or (target.joint_errors and not target.size and not target.ratio):
        target = _with_own_bound(codec, target)
        if target.joint_errors and not target.max_error:
            raise UsageError(f"joint_errors with codec {codec.codec_id} need max_error as well")
    if target.size or target.ratio:
        return encode_within_size(prepared, codec, target)
    return encode_within_error(prepared, codec, target.bounds(clip))


def _with_own_bound(codec: Codec, target: Target) -> Target:
    """Return the target, with the codec's own `max_error` if it has no error bound."""
    bounded = target.max_error or target.mean_error
    return target if bounded else replace(target, max_error=codec.error_bound)
