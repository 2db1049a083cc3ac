"""The payload of the simple codecs: moving columns, the first row and a coded plane.

Payload: a bit for each column that moves, the first row of all columns on their grid, the plane of
those that move; docs/codecs/last-frame.md.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from mocpack.codec import Codec
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import decode_plane, encode_plane
from mocpack.common.arrays import F64, I32, I64, Mask
from mocpack.errors import CorruptionError, InvalidClipError, convert_errors
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_dofs, select_coded_dofs, to_dofs
from mocpack.papers.li.codec.channel_grid import channel_steps

LARGEST = 2**53  # larger integers are not exact in float64


class Columns(NamedTuple):
    """First row of all columns on their grid (C,), plane of those that move, which move (C,)."""

    first: I64
    plane: I64
    moving: Mask


@dataclass(frozen=True)
class ColumnCodec(Codec[Clip, ClipHeader]):
    """Code each moving channel separately, as integer multiples of a step.

    Parameters
    ----------
    step : float, radians
        Quantizer step of angles.
    lever : float, meters
        A length is rounded as finely as an angle moves a point at this distance.
    """

    coarsest: ClassVar[float]
    """Largest step, in radians."""

    step: float = 0.01
    lever: float = 0.5

    def __post_init__(self) -> None:
        self.check_range("step", 1e-6, self.coarsest)
        self.check_range("lever", 1e-3, 1e3)

    @abstractmethod
    def quantize(self, clip: Clip) -> Columns:
        """Return the clip in whole numbers."""

    @abstractmethod
    def plane_rows(self, frames: int) -> int:
        """Return the number of rows of the plane for a number of frames."""

    @abstractmethod
    def restored(self, first: I64, plane: I32, moving: Mask, frames: int) -> F64:
        """Return the matrix (T, C) of degrees of freedom, in steps."""

    def encode(self, clip: Clip) -> bytes:
        first, plane, moving = self.quantize(clip)
        out = FieldWriter()
        out.mask(moving)
        write_row(out, first)
        out.raw(encode_plane(plane))
        return out.bytes()

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        name, columns = f"{self.codec_id} payload", header.skeleton.channel_count
        read = FieldReader(payload, name)
        moving = read.mask(columns)
        first = read_row(read, columns)
        if columns and not moving[0]:  # limits memory: the payload grows with the rows
            raise CorruptionError(f"{name}: the first channel must be coded")
        plane = decode_plane(read.rest(), self.plane_rows(header.frame_count), int(moving.sum()))
        matrix = self.restored(first, plane, moving, header.frame_count)
        with convert_errors(InvalidClipError, f"{name}"):
            return from_dofs(matrix * channel_steps(header.skeleton, self.step, self.lever), header)

    def symbols(self, clip: Clip) -> I64:
        """Return the integers that are entropy coded, shape (rows, moving channels)."""
        return self.quantize(clip).plane

    def angle_columns(self, clip: Clip) -> Mask:
        """Return which columns of `symbols` are angles."""
        return np.asarray(clip.skeleton.columns.is_angle[select_coded_dofs(to_dofs(clip))])


def write_row(out: FieldWriter, row: I64) -> None:
    """Append integers of magnitude at most 2^53 as signed varints."""
    for value in row.tolist():
        out.signed(value)


def read_row(read: FieldReader, count: int) -> I64:
    row = [read.signed() for _ in range(count)]
    if any(abs(value) > LARGEST for value in row):
        raise CorruptionError("first frame: values must be within ±2^53 (file is corrupt)")
    return np.array(row, np.int64)
