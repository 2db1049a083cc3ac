"""No compression: float32 of every moving channel, the baseline of all ratios.

Payload of a skeleton clip: one bit per channel, padded to bytes, set if the channel moves (always
for the first); f4 of each constant channel; then f4 of the moving channels, frame by frame. Payload
of a vertex animation: f4 coordinates, frame by frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mocpack.codec import Codec
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.floats import read_finite_floats
from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, InvalidClipError, convert_errors
from mocpack.model.clip import AnyClip, AnyHeader, VertexClip, VertexHeader
from mocpack.model.dofs import from_dofs, select_coded_dofs, to_dofs


@dataclass(frozen=True)
class Raw(Codec[AnyClip, AnyHeader]):
    """Float32 of every moving channel."""

    codec_id = "raw"
    bitstream_version = 1
    is_frozen = True
    decoder_params = ()
    decode_memory = 4.0
    kinds = ("skeleton", "vertices")

    def encode(self, clip: AnyClip) -> bytes:
        if isinstance(clip, VertexClip):
            return clip.vertices.astype("<f4").tobytes()
        matrix = to_dofs(clip)
        moving = select_coded_dofs(matrix)
        out = FieldWriter()
        out.mask(moving)
        out.raw(matrix[0, ~moving].astype("<f4").tobytes())
        out.raw(matrix[:, moving].astype("<f4").tobytes())
        return out.bytes()

    def decode(self, payload: bytes, header: AnyHeader) -> AnyClip:
        read = FieldReader(payload, "raw payload")
        with convert_errors(InvalidClipError, "raw payload"):
            if isinstance(header, VertexHeader):
                shape = (header.frame_count, header.vertex_count, 3)
                vertices = _floats(read, int(np.prod(shape))).reshape(shape)
                read.end()
                return VertexClip(header, vertices)
            matrix = _read_matrix(read, header.frame_count, header.skeleton.channel_count)
            read.end()
            return from_dofs(matrix, header)


def _read_matrix(read: FieldReader, frames: int, columns: int) -> F64:
    moving = read.mask(columns)
    if columns and not moving[0]:
        raise CorruptionError(
            "raw payload: the first channel must be marked as moving (file is corrupt)"
        )
    still = _floats(read, int(columns - moving.sum()))
    values = _floats(read, frames * int(moving.sum()))
    matrix = np.empty((frames, columns))
    matrix[:, ~moving] = still
    matrix[:, moving] = values.reshape(frames, -1)
    return matrix


def _floats(read: FieldReader, count: int) -> F64:
    return read_finite_floats(read.raw(4 * count), "raw payload").astype(np.float64)
