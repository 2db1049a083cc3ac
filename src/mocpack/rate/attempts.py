"""Encode a clip once: decode the result, measure it, and pack the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mocpack import progress
from mocpack.codec import Codec, Encoded
from mocpack.codecs.registry import non_default_params
from mocpack.common.arrays import F64
from mocpack.common.source import BytesSource
from mocpack.container import Chunk, Errors, FileContents, Reader, pack, pack_take_data
from mocpack.model.clip import AnyClip, Clip, ClipHeader, VertexClip, measure_error
from mocpack.model.codec_clip import drop_take_data, restore_take_data
from mocpack.model.kinematics import SHELL_RADIUS_M
from mocpack.model.take_data import TakeData
from mocpack.rate.measuring import distances, measure
from mocpack.rate.target import NO_BOUNDS, Bounds

SCALE_ERROR_SHARE = 0.1  # share of the error bound that rounding of scales may use


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


@dataclass(frozen=True)
class PreparedClip:
    """A clip prepared for encoding: what the codec encodes, and the chunks for the rest.

    Attributes
    ----------
    clip : Clip or VertexClip
    codec_clip : Clip or VertexClip
        The clip that the codec encodes.
    chunks : sequence of (tag, body)
        Chunks of the take data.
    take_data : TakeData
        The take data as decoded from these chunks.
    """

    clip: AnyClip
    codec_clip: AnyClip
    chunks: Sequence[Chunk] = ()
    take_data: TakeData = field(default_factory=TakeData)

    @property
    def is_scaled(self) -> bool:
        """Whether joints have scales."""
        return isinstance(self.clip, Clip) and self.clip.header.is_scaled

    @property
    def changes_lengths(self) -> bool:
        """Whether lengths in the codec's clip differ from those of the original."""
        return self.is_scaled or (isinstance(self.clip, Clip) and len(self.clip.skeleton.roots) > 1)

    @property
    def is_interpolated(self) -> bool:
        """Whether the error bound also applies between frames."""
        return isinstance(self.clip, Clip) and self.clip.header.interpolated


def prepare_clip(clip: AnyClip, scale_bound: float | None = None) -> PreparedClip:
    """Split a clip into the codec's clip and chunks of take data.

    Animated scales are stored exactly, or rounded so that the error is a small share of
    `scale_bound`, in meters.
    """
    if isinstance(clip, VertexClip):
        return PreparedClip(clip, clip)
    header = clip.header
    step = _scale_step(clip, scale_bound) if scale_bound and header.scaled_joints else 0.0
    chunks = pack_take_data(header, clip.take_data, step)
    take_data = _decode_take_data(header, chunks) if chunks else TakeData()
    return PreparedClip(clip, drop_take_data(clip), chunks, take_data)


def _decode_take_data(header: ClipHeader, chunks: Sequence[Chunk]) -> TakeData:
    """Return the take data that a reader decodes from chunks."""
    file = pack(FileContents(header, "prepared", 1, {}, b"", chunks=chunks))
    return Reader(BytesSource(file)).take_data


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
        own = None if prepared.changes_lengths or prepared.is_interpolated else codec.error_bound
        bounds = Bounds(bounds.max_error or own, bounds.max_angle or codec.angle_bound)
    known = None if prepared.changes_lengths else made.error
    errors = measure(prepared.clip, made.decoded, bounds, known)
    data = pack_file(prepared, codec, made.payload, errors)
    return Attempt(data, errors, codec, len(made.payload), work_share=made.work_share)


def round_trip(prepared: PreparedClip, codec: Codec) -> Encoded:
    """Encode a clip and decode the result.

    A payload that the decoder rejects is a `BoundError`.
    """
    clip, codec_clip = prepared.clip, prepared.codec_clip
    if not isinstance(clip, Clip) or not isinstance(codec_clip, Clip) or codec_clip is clip:
        return codec.encode_verified(codec_clip)
    joints = len(codec_clip.skeleton)

    def restore(decoded: Clip) -> Clip:
        return restore_take_data(decoded, clip.header, prepared.take_data)

    def measure_frames(decoded: Clip) -> tuple[F64, F64]:
        whole = restore(decoded)
        # a mean in a payload counts all joints of the codec, also one at the origin
        return measure_error(clip, whole).frames, distances(clip, whole).sum(-1) / joints

    if prepared.is_scaled:
        made = codec.encode_verified(codec_clip, measure_frames)
    else:
        made = codec.encode_verified(codec_clip)
    return replace(made, decoded=restore(made.decoded))


def pack_file(prepared: PreparedClip, codec: Codec, payload: bytes, errors: Errors) -> bytes:
    """Return the .mocp file of a payload."""
    params = non_default_params(codec, without=codec.encoder_params)
    needed, version, header = codec.needed_params(), codec.bitstream_version, prepared.clip.header
    return pack(
        FileContents(
            header, codec.codec_id, version, params, payload, errors, needed, prepared.chunks
        )
    )


def _scale_step(clip: Clip, bound: float) -> float:
    """Return the rounding step of scales that moves points by a small share of the bound."""
    # imported here, so that reading files does not load the metrics
    from mocpack.metrics.pair import scaled_end_positions

    scales = clip.take_data.scales
    assert scales is not None
    points = np.concatenate([clip.positions(), scaled_end_positions(clip)], axis=1)
    reach = SHELL_RADIUS_M + float(np.linalg.norm(points - points[:, :1], axis=-1).max())
    below = np.zeros(len(clip.skeleton), int)
    for j, parent in enumerate(clip.skeleton.parents):
        below[j] = (below[parent] if parent >= 0 else 0) + (j in clip.header.scaled_joints)
    typical = max(float(np.median(np.abs(scales))), 1e-3)
    return 2 * SCALE_ERROR_SHARE * bound * typical / (reach * int(below.max()))
