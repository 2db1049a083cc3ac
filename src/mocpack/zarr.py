"""A zarr 3 codec that compresses chunks of motion within a maximum error.

An array has one row per frame: 4 values per joint (x, y, z, w), then 3 per translated joint. Each
chunk is a whole .mocp file with head and skeleton, so one-second chunks are about 40 % larger than
one file. zarr finds the codec ``mocpack`` by its entry point. Importing this module imports zarr.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from mocpack import _api
from mocpack.common.arrays import F32
from mocpack.common.json_object import JsonObject, get_member, is_object
from mocpack.container import pack_skeleton, read_skeleton
from mocpack.errors import CorruptionError, MissingExtraError, UsageError
from mocpack.model.clip import Clip, ClipHeader

try:
    from zarr.abc.codec import ArrayBytesCodec
except ModuleNotFoundError as error:
    raise MissingExtraError("mocpack.zarr needs zarr 3, which is not installed") from error

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer
    from zarr.core.chunk_grids import ChunkGrid
    from zarr.core.dtype import TBaseDType, TBaseScalar, ZDType

__all__ = ["MocpackCodec", "RowCodec"]
NAME = "mocpack"


@dataclass(frozen=True)
class RowCodec:
    """Encodes and decodes rows of one skeleton.

    Parameters
    ----------
    skeleton : str
        The body of a file's SKEL chunk, in base64.
    frame_time : float
        Seconds.
    max_error : str
        Bound on the promised error of each chunk, such as "1mm".
    """

    skeleton: str
    frame_time: float
    max_error: str = "1mm"

    @classmethod
    def from_header(cls, header: ClipHeader, max_error: str = "1mm") -> Self:
        """Return the codec for a clip's skeleton."""
        body = pack_skeleton(header.skeleton, header.translated_joints, header.unit)
        return cls(base64.b64encode(body).decode(), header.frame_time, max_error)

    def header(self, frames: int) -> ClipHeader:
        skeleton, translated, unit = read_skeleton(base64.b64decode(self.skeleton))
        return ClipHeader(skeleton, frames, self.frame_time, translated, unit)

    def encode(self, rows: F32) -> bytes:
        """Encode rows (T, 4 J + 3 M); trailing rows of zeros are fill values and are left out."""
        used = len(rows) - int(np.argmax(rows[::-1].any(axis=1))) if rows.any() else 0
        if not used:
            return b""
        header = self.header(used)
        joints, moving = len(header.skeleton), len(header.translated_joints)
        if rows.shape[1] != 4 * joints + 3 * moving:
            raise UsageError(
                f"rows must have {4 * joints + 3 * moving} values for {joints} joints and "
                f"{moving} translations, got {rows.shape[1]}"
            )
        turns = rows[:used, : 4 * joints].reshape(used, joints, 4)
        places = rows[:used, 4 * joints :].reshape(used, moving, 3)
        clip = Clip(header, turns.astype(np.float64), places.astype(np.float64))
        return _api.encode(clip, max_error=self.max_error)

    def decode(self, data: bytes, shape: tuple[int, ...]) -> F32:
        """Decode a chunk to an array of `shape`; missing rows are zeros."""
        out = np.zeros(shape, np.float32)
        if not data:
            return out
        clip = _api.decode(data)
        rows = np.concatenate(
            [np.asarray(a).reshape(len(clip), -1) for a in (clip.rotations, clip.translations)], 1
        )
        if rows.shape[1:] != shape[1:] or len(rows) > shape[0]:
            raise CorruptionError(f"chunk: expected rows of shape {shape}, got {rows.shape}")
        out[: len(rows)] = rows
        return out


class MocpackCodec(ArrayBytesCodec):
    """Compresses chunks of rows; `from_header` creates it."""

    is_fixed_size = False

    def __init__(self, rows: RowCodec) -> None:
        self.rows = rows

    @classmethod
    def from_header(cls, header: ClipHeader, max_error: str = "1mm") -> Self:
        """Return the codec for a clip's skeleton and a maximum error."""
        return cls(RowCodec.from_header(header, max_error))

    @classmethod
    def from_dict(cls, data: JsonObject) -> Self:
        fields = data["configuration"]
        if not is_object(fields):
            raise UsageError(f"codec {NAME}: configuration must be an object, got {fields!r:.80}")
        where = f"codec {NAME}"
        skeleton = get_member(fields, "skeleton", str, where, UsageError)
        frame_time = get_member(fields, "frame_time", float, where, UsageError)
        return cls(RowCodec(skeleton, frame_time, str(fields.get("max_error", "1mm"))))

    def to_dict(self) -> JsonObject:
        return {"name": NAME, "configuration": vars(self.rows).copy()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MocpackCodec) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.rows)

    def validate(
        self,
        *,
        shape: tuple[int, ...],
        dtype: ZDType[TBaseDType, TBaseScalar],
        chunk_grid: ChunkGrid,
    ) -> None:
        if len(shape) != 2 or dtype.to_native_dtype() != np.float32:
            raise UsageError(
                f"mocpack needs a float32 array of shape (frames, values), got {shape}"
            )

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError  # zarr expects this of codecs without a fixed size

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        rows = self.rows.decode(chunk_data.to_bytes(), chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(rows)

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        data = self.rows.encode(chunk_data.as_numpy_array())
        return chunk_spec.prototype.buffer.from_bytes(data)
