"""Encode a clip once: decode the result, measure it, and pack the file."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

from mocpack import progress
from mocpack.codec import Codec, Encoded
from mocpack.codecs.registry import non_default_params
from mocpack.container import Errors, FileContents, pack
from mocpack.errors import LosslessWarning
from mocpack.model.clip import AnyClip
from mocpack.rate.measuring import measure
from mocpack.rate.preparing import PreparedClip, prepare_clip
from mocpack.rate.target import NO_BOUNDS, Bounds


@dataclass(frozen=True)
class Attempt:
    """A file, its codec and its measured errors.

    Attributes
    ----------
    data : bytes
        The whole file.
    errors : Errors
        Measured on the decoded file.
    codec : Codec
        The codec with the parameters of this file.
    payload_size : int
        Bytes of the codec's payload.
    lossless_reason : str or None
        Why the automatic choice stored the clip without loss; None if it did not.
    work_share : float
        Share of the encoder's budget of work that was spent.
    """

    data: bytes
    errors: Errors
    codec: Codec
    payload_size: int
    lossless_reason: str | None = None
    work_share: float = 0.0

    def warn_if_lossless(self, *, stacklevel: int = 2) -> None:
        """Warn if the automatic choice stored the clip without loss."""
        if self.lossless_reason is not None:
            message = f"stored without loss: {self.lossless_reason}"
            warnings.warn(message, LosslessWarning, stacklevel=stacklevel + 1)


def attempt(
    prepared: PreparedClip | AnyClip,
    codec: Codec,
    bounds: Bounds = NO_BOUNDS,
) -> Attempt:
    """Encode a clip, decode the result, measure it, and pack the file."""
    prepared = prepared if isinstance(prepared, PreparedClip) else prepare_clip(prepared)
    with progress.stage():
        made = round_trip(prepared, codec)
    if bounds.joints is None:
        own = None if prepared.needs_retries else codec.error_bound
        bounds = Bounds(bounds.max_error or own, bounds.max_angle or codec.angle_bound)
    errors = measure(prepared.clip, made.decoded, bounds)
    data = pack_file(prepared, codec, made.payload, errors)
    return Attempt(data, errors, codec, len(made.payload), work_share=made.work_share)


def round_trip(prepared: PreparedClip, codec: Codec) -> Encoded[AnyClip]:
    """Encode a clip and decode the result.

    A payload that the decoder rejects is a `BoundError`.
    """
    measure_frames = prepared.measure_frames if prepared.clip.header.is_scaled else None
    made: Encoded[AnyClip] = codec.encode_verified(prepared.codec_clip, measure_frames)
    is_same = prepared.codec_clip is prepared.clip
    return made if is_same else replace(made, decoded=prepared.restore(made.decoded))


def pack_file(prepared: PreparedClip, codec: Codec, payload: bytes, errors: Errors) -> bytes:
    """Return the .mocp file of a payload."""
    params = non_default_params(codec, without=codec.encoder_params)
    needed, version, header = codec.needed_params(), codec.bitstream_version, prepared.clip.header
    return pack(
        FileContents(
            header, codec.codec_id, version, params, payload, errors, needed, prepared.chunks
        )
    )
