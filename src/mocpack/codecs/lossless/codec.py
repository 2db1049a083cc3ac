"""Lossless codec: the numbers of the source, predicted over time and entropy coded.

Numbers are split into integers in units of the last digit of their column and a remainder, which is
0 for nearly every file (`decimals.py`). Angles are unwrapped (`unwrapping.py`). Angles that are a
function of others of their joint are written as curves (`curves.py`), the rest as a series
(`series.py`). `docs/codecs/lossless.md` specifies the bits. The core decodes them
(`core/src/reader/lossless.cpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mocpack import _core
from mocpack.codec import Codec, Decoder, Payload
from mocpack.codecs.lossless.curves import Curve, find_curves, residual
from mocpack.codecs.lossless.decimals import (
    MAX_WHOLE,
    Scale,
    choose_scale,
    count_digits,
    split_values,
)
from mocpack.codecs.lossless.relations import (
    MatrixColumns,
    channel_columns,
    mesh_columns,
    motion_columns,
)
from mocpack.codecs.lossless.remainders import write_remainders
from mocpack.codecs.lossless.series import encode_series
from mocpack.codecs.lossless.unwrapping import unwrap
from mocpack.coding.fields import FieldWriter, deflate
from mocpack.coding.planes import encode_plane
from mocpack.common.arrays import F64, I64, Mask
from mocpack.errors import InvalidClipError, convert_errors
from mocpack.model.clip import AnyClip, AnyHeader, Clip, ClipHeader, VertexClip, VertexHeader
from mocpack.model.dofs import from_channels

CHANNELS, MOTION = 1, 2  # kinds of payload
BINARY_SCALE = 31  # instead of a number of digits
MAX_TURN_DIGITS = 6  # with more digits, a full turn exceeds MAX_WHOLE
WORKING_MEMORY_BYTES = 1_000_000_000  # allowed for decoding any clip, as in libmocpack
JOINT_COLUMN_BYTES = 16_000  # of the predictors of a related column
VERTEX_COLUMN_BYTES = 4_000  # of the predictors of a mesh column
# distance between the first two frames, relative to the distance between the next two
LEADING_FRAME_RATIO = 8


@dataclass(frozen=True)
class Lossless(Codec[AnyClip, AnyHeader]):
    """The numbers of the source, bit for bit."""

    codec_id = "lossless"
    bitstream_version = 1
    is_frozen = True
    decoder_params = ()
    decode_memory = 9.0
    kinds = ("skeleton", "vertices")

    def encode(self, clip: AnyClip) -> bytes:
        out = FieldWriter()
        if isinstance(clip, VertexClip):
            write_matrix(
                out, clip.vertices.reshape(clip.frame_count, -1), mesh_columns(clip.header)
            )
            return out.bytes()
        contents = (CHANNELS if clip.channels is not None else 0) | (
            0 if _channels_imply_motion(clip) else MOTION
        )
        out.u8(contents)
        if clip.channels is not None:
            write_matrix(out, clip.channels, channel_columns(clip.skeleton))
        if contents & MOTION:
            write_matrix(out, motion_matrix(clip), motion_columns(clip.header))
        return out.bytes()

    def open(self, payload: Payload | bytes, header: AnyHeader) -> LosslessDecoder:
        return LosslessDecoder(self, payload, header)

    def decode(self, payload: bytes, header: AnyHeader) -> AnyClip:
        limit = max(WORKING_MEMORY_BYTES, _memory_needed(header))
        rejected = convert_errors(InvalidClipError, "lossless payload")
        with rejected, np.errstate(all="ignore"):  # the clip rejects overflowed values
            if isinstance(header, VertexHeader):
                return _decode_mesh(payload, header, limit)
            return _decode_clip(payload, header, limit)


class LosslessDecoder(Decoder[AnyClip, AnyHeader]):
    """One open payload."""

    def memory_needed(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        return _memory_needed(self.header) if start < stop else 0


def _memory_needed(header: AnyHeader) -> int:
    """Return the approximate memory of decoding in bytes, if every column moves."""
    arrays = int(Lossless.decode_memory * header.array_bytes())
    if isinstance(header, VertexHeader):
        return arrays + VERTEX_COLUMN_BYTES * 3 * header.vertex_count
    columns = 4 * len(header.skeleton) + 3 * len(header.translated_joints)
    return arrays + JOINT_COLUMN_BYTES * (columns + header.skeleton.channel_count)


def _channels_imply_motion(clip: Clip) -> bool:
    """Return whether the channels give the same motion, up to rounding and quaternion signs."""
    if clip.channels is None:
        return False
    derived = from_channels(clip.channels, clip.header)
    cosines = np.abs(np.sum(derived.rotations * clip.rotations, axis=-1))
    moved = np.abs(derived.translations - clip.translations).max(initial=0.0)
    return bool(cosines.min(initial=1.0) > 1 - 1e-12 and moved < 1e-9)


def motion_matrix(clip: Clip) -> F64:
    """Return rotations and translations side by side, shape (T, 4 J + 3 M)."""
    parts = (clip.rotations, clip.translations)
    return np.concatenate([p.reshape(clip.frame_count, -1) for p in parts], axis=1)


def _decode_clip(payload: bytes, header: ClipHeader, limit: int) -> Clip:
    skeleton, frames = header.skeleton, header.frame_count
    channels, motion = _core.lossless_decode(
        payload,
        frames,
        skeleton.to_core(header.translated_joints),
        skeleton.names,
        skeleton.columns.joints.astype(np.int32),
        (~skeleton.columns.is_angle).astype(np.uint8),
        limit,
    )
    if motion is None:
        assert channels is not None
        return from_channels(channels, header)
    rotations, translations = np.split(motion, [4 * len(skeleton)], axis=1)
    return Clip(
        header,
        rotations.reshape(frames, -1, 4),
        translations.reshape(frames, -1, 3),
        channels,
    )


def _decode_mesh(payload: bytes, header: VertexHeader, limit: int) -> VertexClip:
    frames, vertices = header.frame_count, header.vertex_count
    matrix = _core.lossless_decode_mesh(payload, frames, vertices, limit)
    return VertexClip(header, matrix.reshape(frames, vertices, 3))


def write_matrix(out: FieldWriter, matrix: F64, layout: MatrixColumns) -> None:
    """Write a matrix; a first frame far from the rest (an inserted pose) is a separate block."""
    lead = _leading_frames(matrix)
    out.u8(lead)
    _write_negative_zeros(out, matrix)
    positive = np.where(matrix == 0, 0.0, matrix)
    if lead:
        _write_block(out, positive[:lead], layout)
    _write_block(out, positive[lead:], layout)


def _write_negative_zeros(out: FieldWriter, matrix: F64) -> None:
    """Write which values are negative zeros; columns with the same pattern share it.

    Exporters print -0.0000 for noise below the last digit, often equally on both sides of a body.
    """
    negative = (matrix == 0) & np.signbit(matrix)
    columns = np.flatnonzero(negative.any(axis=0))
    out.varint(len(columns))
    first: dict[bytes, int] = {}
    for before, column in zip((-1, *columns), columns, strict=False):
        out.varint(int(column - before - 1))
        out.varint(first.setdefault(negative[:, column].tobytes(), len(first)))
    kept = [np.frombuffer(signs, bool) for signs in first]
    if kept:
        out.sized(encode_plane(np.stack(kept, axis=1).astype(np.int32), np.arange(len(kept))))


def _leading_frames(matrix: F64) -> int:
    if len(matrix) < 4:
        return 0
    first, second = np.abs(np.diff(matrix[:3] / 2, axis=0)).sum(axis=1)
    return int(first > LEADING_FRAME_RATIO * second)


def _write_block(out: FieldWriter, matrix: F64, layout: MatrixColumns) -> None:
    moving = (matrix != matrix[0]).any(axis=0)
    out.mask(moving)
    out.sized(deflate(matrix[0, ~moving].astype("<f8").tobytes()))
    if not moving.any():
        return
    columns = [np.ascontiguousarray(column) for column in matrix[:, moving].T]
    digits = [count_digits(column) for column in columns]
    scales = [choose_scale(*pair) for pair in zip(columns, digits, strict=True)]
    parts = [split_values(*given) for given in zip(columns, scales, digits, strict=True)]
    whole, kinds, amounts = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    intervals = _unwrap_all(whole, scales, layout.angles[moving])
    _write_scales(out, scales, intervals)
    _write_whole(out, whole, moving, layout)
    write_remainders(out, kinds, amounts)


def _write_whole(out: FieldWriter, whole: I64, moving: Mask, layout: MatrixColumns) -> None:
    """Write curves, the other columns as a series, and the residuals of the curves."""
    curves = find_curves(whole, _group_angles(layout, moving))
    out.varint(len(curves))
    for curve in curves:
        _write_curve(out, curve)
    free = _select_free_columns(curves, whole.shape[1])
    out.sized(encode_series(whole[:, free], layout.groups(_combine_masks(moving, free))))
    if curves:
        distances = np.stack([residual(curve, whole) for curve in curves], axis=1)
        out.sized(encode_plane(distances, np.arange(len(curves))))


def _group_angles(layout: MatrixColumns, moving: Mask) -> list[list[int]]:
    """Return the moving angle columns of each joint, as indices of moving columns."""
    angles = layout.angles[moving]
    return [[c for c in group.columns if angles[c]] for group in layout.groups(moving)]


def _select_free_columns(curves: Sequence[Curve], count: int) -> Mask:
    free = np.ones(count, bool)
    free[[curve.column for curve in curves]] = False
    return free


def _combine_masks(moving: Mask, free: Mask) -> Mask:
    """Return the mask of moving columns without a curve."""
    mask = moving.copy()
    mask[moving] = free
    return mask


def _write_curve(out: FieldWriter, curve: Curve) -> None:
    out.varint(curve.column)
    out.u8(curve.degree | (len(curve.drivers) - 1) << 7)
    for driver, low, high in zip(curve.drivers, curve.low, curve.high, strict=True):
        out.varint(driver)
        out.signed(low)
        out.varint(high - low - 1)
    for p, row in enumerate(curve.coefficients):
        for coefficient in row[: curve.degree + 1 - p]:
            out.signed(int(coefficient))


def _unwrap_all(whole: I64, scales: list[Scale], angles: Mask) -> list[int]:
    """Unwrap angle columns in place; return the interval of each column."""
    intervals = []
    for c, scale in enumerate(scales):
        interval = 0
        if angles[c] and scale.decimal and scale.exponent <= MAX_TURN_DIGITS:
            turn = 360 * 10**scale.exponent
            interval, whole[:, c] = unwrap(whole[:, c], turn, MAX_WHOLE)
        intervals.append(interval)
    return intervals


def _write_scales(out: FieldWriter, scales: list[Scale], intervals: list[int]) -> None:
    """Write one byte per column (five bits of digits, two of interval), then binary exponents."""
    fields = FieldWriter()
    for scale, interval in zip(scales, intervals, strict=True):
        fields.u8((scale.exponent if scale.decimal else BINARY_SCALE) | interval << 5)
    for scale in scales:
        if not scale.decimal:
            fields.signed(scale.exponent)
    out.sized(deflate(fields.bytes()))
