"""Split a clip into what the codec encodes and the chunks for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.source import BytesSource
from mocpack.container import Chunk, FileContents, Reader, pack, pack_take_data
from mocpack.model.clip import AnyClip, Clip, ClipHeader, measure_error
from mocpack.model.codec_clip import drop_take_data, restore_take_data
from mocpack.model.kinematics import SHELL_RADIUS_M
from mocpack.model.take_data import NO_TAKE_DATA, TakeData

SCALE_ERROR_SHARE = 0.1  # share of the error bound that rounding of scales may use


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
    chunks: Sequence[Chunk]
    take_data: TakeData

    @property
    def added_joints(self) -> int:
        """Joints that only the codec's skeleton has: an origin, if there are several roots."""
        return self.codec_clip.header.point_count - self.clip.header.point_count

    @property
    def changes_lengths(self) -> bool:
        """Whether lengths in the codec's clip differ from those of the original."""
        return self.clip.header.is_scaled or self.added_joints > 0

    @property
    def needs_retries(self) -> bool:
        """Whether a codec that keeps bounds of its own clip may miss those of the original."""
        return self.changes_lengths or self.clip.header.interpolated

    def restore(self, decoded: AnyClip) -> AnyClip:
        """Return what the codec decoded as a reader of the file returns it."""
        return restore_take_data(decoded, self.clip.header, self.take_data)

    def measure_frames(self, decoded: AnyClip) -> tuple[F64, F64]:
        """Return the largest and the mean error of each frame, (T,), of what the codec decoded."""
        found = measure_error(self.clip, self.restore(decoded))
        # a mean in a payload counts all joints of the codec, also one at the origin
        return found.frames, found.distances.sum(-1) / self.codec_clip.header.point_count


def prepare_clip(clip: AnyClip, scale_bound: float | None = None) -> PreparedClip:
    """Split a clip into the codec's clip and chunks of take data.

    Animated scales are stored exactly, or rounded so that the error is a small share of
    `scale_bound`, in meters.
    """
    if not isinstance(clip, Clip):
        return PreparedClip(clip, clip, (), NO_TAKE_DATA)
    header = clip.header
    step = _scale_step(clip, scale_bound) if scale_bound and header.scaled_joints else 0.0
    chunks = pack_take_data(header, clip.take_data, step)
    take_data = _decode_take_data(header, chunks) if chunks else NO_TAKE_DATA
    return PreparedClip(clip, drop_take_data(clip), chunks, take_data)


def _decode_take_data(header: ClipHeader, chunks: Sequence[Chunk]) -> TakeData:
    """Return the take data that a reader decodes from chunks."""
    file = pack(FileContents(header, "prepared", 1, {}, b"", chunks=chunks))
    return Reader(BytesSource(file)).take_data


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
