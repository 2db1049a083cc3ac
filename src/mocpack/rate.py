"""Reaches a target error, ratio or size with any codec, by its own bound or by searching its knob.

Every file made here has been decoded by the real decoder and measured; one that misses its target
is never returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mocpack.clip import AnyClip, VertexClip, promised_error
from mocpack.codec import Codec, SupportsAlternatives, SupportsBound, SupportsQuality
from mocpack.container import Errors, Packed, pack
from mocpack.dofs import moving_dofs, to_dofs
from mocpack.errors import BoundError, UsageError
from mocpack.knob import CONTENT, Scale, close_in
from mocpack.registry import non_default_params
from mocpack.units import format_length, format_size


@dataclass(frozen=True)
class Target:
    """What is asked of a file; at most one of these.

    Attributes
    ----------
    max_error, mean_error : float, metres
        Bound on the promised error; on the mean over frames and joints.
    ratio : float
        Float32 of the moving channels over the file.
    size : int, bytes
        Of the whole file.
    """

    max_error: float | None = None
    mean_error: float | None = None
    ratio: float | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        given = [n for n in ("max_error", "mean_error", "ratio", "size") if getattr(self, n)]
        if len(given) > 1:
            raise UsageError(f"give one target, not {' and '.join(given)}")

    def __bool__(self) -> bool:
        return any((self.max_error, self.mean_error, self.ratio, self.size))


@dataclass(frozen=True)
class Attempt:
    """A file and what it achieved."""

    data: bytes
    errors: Errors


def encode_to_target(clip: AnyClip, codec: Codec, target: Target, *, effort: str) -> bytes:
    """Return the smallest file that keeps an error, or the most faithful one of a size."""
    if not target:
        return attempt(clip, codec).data
    if target.max_error or target.mean_error:
        return _within_error(clip, codec, target, effort).data
    return _within_size(clip, codec, _size_limit(clip, target), effort).data


def attempt(clip: AnyClip, codec: Codec, *, declared: float | None = None) -> Attempt:
    """Encode, decode the very bytes with the real decoder, measure, and pack."""
    payload = codec.encode(clip)
    decoded = codec.decode(payload, clip.header)
    if declared is None and isinstance(codec, SupportsBound):
        declared = codec.promised
    errors = measure(clip, decoded, declared)
    packed = Packed(
        clip.header,
        codec.codec_id,
        codec.bitstream_version,
        non_default_params(codec),
        payload,
        errors,
    )
    return Attempt(pack(packed), errors)


def measure(clip: AnyClip, decoded: AnyClip, declared: float | None = None) -> Errors:
    """Measure `decoded` against `clip`: the promised error, and mean, RMS and 99th percentile."""
    if isinstance(clip, VertexClip) or isinstance(decoded, VertexClip):
        assert isinstance(clip, VertexClip)
        assert isinstance(decoded, VertexClip)
        distances = np.linalg.norm(clip.vertices - decoded.vertices, axis=-1)
        largest = float(distances.max())
    else:
        distances = np.linalg.norm(clip.positions() - decoded.positions(), axis=-1)
        largest = promised_error(clip, decoded).max
    return Errors(
        declared,
        largest,
        float(distances.mean()),
        float(np.sqrt(np.mean(distances**2))),
        float(np.percentile(distances, 99)),
    )


def raw_size(clip: AnyClip) -> int:
    """Return the clip's bytes as float32 of the channels that move: the yardstick of ratios."""
    return 4 * clip.frame_count * moving_channels(clip)


def moving_channels(clip: AnyClip) -> int:
    if isinstance(clip, VertexClip):
        return 3 * clip.header.vertex_count
    return max(1, int(moving_dofs(to_dofs(clip)).sum()))


def _within_error(clip: AnyClip, codec: Codec, target: Target, effort: str) -> Attempt:
    bound = target.max_error or target.mean_error
    assert bound is not None

    def error(made: Attempt) -> float:
        found = made.errors.max if target.max_error else made.errors.mean
        assert found is not None
        return found

    if isinstance(codec, SupportsBound):
        bounded = codec.with_bound(
            max_error=target.max_error, mean_error=target.mean_error, effort=effort
        )
        best = attempt(clip, bounded, declared=target.max_error)
    elif isinstance(codec, SupportsQuality):
        starts = codec.alternatives() if isinstance(codec, SupportsAlternatives) else [codec]
        found = [
            _search(
                clip,
                start,
                lambda made: _over(error(made), bound),
                finest=False,
                declared=target.max_error,
            )
            for start in starts
        ]
        best = min(found, key=lambda made: (max(0.0, error(made) - bound), _size(made)))
    else:
        best = attempt(clip, codec, declared=target.max_error)
    if not error(best) <= bound:
        raise BoundError(
            f"{codec.codec_id} cannot keep this clip within {format_length(bound)}; "
            f"it reaches {format_length(error(best))}"
        )
    return best


def _within_size(clip: AnyClip, codec: Codec, limit: int, effort: str) -> Attempt:
    if isinstance(codec, SupportsBound):
        codec = codec.with_bound(max_error=None, mean_error=None, effort=effort)
    if isinstance(codec, SupportsQuality):
        best = _search(clip, codec, lambda made: _over(len(made.data), limit), finest=True)
    else:
        best = attempt(clip, codec)
    if len(best.data) > limit:
        raise BoundError(
            f"{codec.codec_id} cannot pack this clip into {format_size(limit)}; "
            f"it needs {format_size(len(best.data))}"
        )
    return best


def _size_limit(clip: AnyClip, target: Target) -> int:
    if target.size:
        return target.size
    assert target.ratio is not None
    limit = int(raw_size(clip) / target.ratio)
    if limit < 1:
        raise BoundError(f"no file of this clip can be {target.ratio:g} times smaller")
    return limit


def _search(
    clip: AnyClip,
    codec: Codec,
    excess: Callable[[Attempt], float],
    *,
    finest: bool,
    declared: float | None = None,
) -> Attempt:
    """Return the best setting of the knob whose `excess` over the target is not above 0.

    With `finest`, the finest one (a size is kept by coarse settings), else the one of the
    smallest file (an error is kept by fine ones). Where none keeps the target, the one that comes
    nearest to it.
    """
    assert isinstance(codec, SupportsQuality)
    scale = Scale(codec.quality, finest=finest)
    tried: dict[float, Attempt] = {}

    def made(place: float) -> Attempt:
        value = scale.value(place)
        if value not in tried:
            setting = int(value) if codec.quality.integer else value
            changed = replace(codec, **{codec.quality.field: setting})
            tried[value] = attempt(clip, changed, declared=declared)
        return tried[value]

    def worth(kept: float, missed: float) -> bool:
        bytes_apart = abs(_size(made(kept)) - _size(made(missed)))
        return bytes_apart > CONTENT * _size(made(kept)) and scale.apart(kept, missed)

    start = scale.place(getattr(codec, codec.quality.field))
    close_in(lambda place: excess(made(place)), start, worth=worth)
    good = {v: one for v, one in tried.items() if excess(one) <= 0}
    if not good:
        return min(tried.values(), key=excess)
    return good[max(good, key=scale.place)] if finest else min(good.values(), key=_size)


def _size(made: Attempt) -> int:
    return len(made.data)


def _over(found: float, limit: float) -> float:
    """Return how far `found` is over the limit, as a logarithm: 0 is just kept."""
    return math.log(max(found, 1e-300) / limit)
