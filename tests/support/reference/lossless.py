"""The decoder of `lossless` in plain numpy: slow, to be read beside docs/codecs/lossless.md.

`core/src/reader/lossless.cpp` is the native twin. What the encoder needs too is the encoder's: how
columns relate, the value of a curve, the scales of columns.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decode_series import decode_series
from mocpack.codecs.lossless.curves import Curve, evaluate
from mocpack.codecs.lossless.decimals import BY_ULPS, MAX_DIGITS, MAX_WHOLE, POWERS, Scale
from mocpack.codecs.lossless.relations import (
    MatrixColumns,
    channel_columns,
    mesh_columns,
    motion_columns,
)
from mocpack.codecs.lossless.unwrapping import wrap
from mocpack.coding.fields import FieldReader, inflate
from mocpack.coding.planes import decode_plane
from mocpack.common.arrays import F64, I64, U8, U64, Mask
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.model.clip import AnyClip, AnyHeader, Clip, ClipHeader, VertexClip, VertexHeader
from mocpack.model.dofs import from_channels

CHANNELS, MOTION = 1, 2  # kinds of payload
BINARY_SCALE = 31  # in place of a number of digits
TURN_DIGITS = 6
MAX_DEGREE = 24
MAX_COEFFICIENT = 2**44
WHOLE_POWERS = 10 ** np.arange(16, dtype=np.int64)


def decode(payload: bytes, header: AnyHeader) -> AnyClip:
    """Return the clip that a payload holds."""
    read = FieldReader(payload, "lossless payload")
    try:
        # corrupt bytes may overflow; the clip then rejects the result
        with np.errstate(all="ignore"):
            if isinstance(header, VertexHeader):
                return _read_vertices(read, header)
            return _read_clip(read, header)
    except InvalidClipError as error:
        raise CorruptionError(f"lossless payload: {error}") from error


def _read_clip(read: FieldReader, header: ClipHeader) -> Clip:
    held = read.u8()
    if not 1 <= held <= CHANNELS | MOTION:
        raise CorruptionError(f"lossless payload: unknown kind {held}")
    channels = motion = None
    if held & CHANNELS:
        channels = _read_matrix(read, header.frame_count, channel_columns(header.skeleton))
    if held & MOTION:
        motion = _read_matrix(read, header.frame_count, motion_columns(header))
    read.end()
    if motion is None:
        assert channels is not None
        return from_channels(channels, header)
    turns = 4 * len(header.skeleton)
    rotations = motion[:, :turns].reshape(header.frame_count, -1, 4)
    places = motion[:, turns:].reshape(header.frame_count, -1, 3)
    return Clip(header, rotations, places, channels)


def _read_vertices(read: FieldReader, header: VertexHeader) -> VertexClip:
    values = _read_matrix(read, header.frame_count, mesh_columns(header))
    read.end()
    return VertexClip(header, values.reshape(header.frame_count, -1, 3))


def _read_matrix(read: FieldReader, frames: int, layout: MatrixColumns) -> F64:
    lead = read.u8()
    if lead > 1 or lead >= frames:
        raise CorruptionError(f"lossless payload: {lead} of {frames} frames stand apart")
    columns, negative = _read_negative_zeros(read, frames, len(layout.angles))
    blocks = [_read_block(read, count, layout) for count in (lead, frames - lead) if count]
    matrix = np.concatenate(blocks) if len(blocks) > 1 else blocks[0]
    for column, signs in zip(columns, negative.T, strict=True):
        matrix[(matrix[:, column] == 0) & (signs != 0), column] = -0.0
    return matrix


def _read_negative_zeros(read: FieldReader, frames: int, columns: int) -> tuple[list[int], I64]:
    count = read.varint(columns)
    at = -1
    places: list[int] = []
    patterns: list[int] = []
    for _ in range(count):
        at += read.varint(columns) + 1
        places.append(at)
        patterns.append(read.varint(max([-1, *patterns]) + 1))
    if at >= columns:
        raise CorruptionError("lossless payload: negative zeros in a column that does not exist")
    if not count:
        return [], np.zeros((frames, 0), np.int64)
    width = max(patterns) + 1
    signs = decode_plane(read.sized(), frames, width, np.arange(width)).astype(np.int64)
    return places, signs[:, patterns]


def _read_block(read: FieldReader, frames: int, layout: MatrixColumns) -> F64:
    columns = len(layout.angles)
    moving = read.mask(columns)
    count = int(moving.sum())
    still = inflate(read.sized(), 8 * (columns - count), what="lossless still columns")
    if len(still) != 8 * (columns - count):
        raise CorruptionError("lossless payload: the number of still columns is wrong")
    matrix = np.empty((frames, columns))
    matrix[:, ~moving] = np.frombuffer(still, "<f8")
    if not count:
        return matrix
    scales, intervals = _read_scales(read, count)
    whole = _read_whole(read, frames, moving, layout)
    kinds, amounts = _read_remainders(read, frames, count)
    _wrap_all(whole, scales, intervals)
    for c, column in enumerate(np.flatnonzero(moving)):
        try:
            matrix[:, column] = put_together(whole[:, c], scales[c], kinds[:, c], amounts[:, c])
        except ValueError as error:
            raise CorruptionError(f"lossless payload: {error}") from error
    return matrix


def _read_scales(read: FieldReader, count: int) -> tuple[list[Scale], list[int]]:
    data = inflate(read.sized(), 3 * count, what="lossless scales")
    fields = FieldReader(data, "lossless scales")
    codes = [fields.u8() for _ in range(count)]
    scales = [_read_scale(fields, code & 31) for code in codes]
    fields.end()
    if any(code >> 5 and (code > 127 or code & 31 > TURN_DIGITS) for code in codes):
        raise CorruptionError("lossless scales: an interval where none can stand")
    return scales, [code >> 5 for code in codes]


def _read_scale(fields: FieldReader, digits: int) -> Scale:
    exponent = fields.signed() if digits == BINARY_SCALE else digits
    try:
        return Scale(digits != BINARY_SCALE, exponent)
    except ValueError as error:
        raise CorruptionError(f"lossless scales: {error}") from error


def _read_whole(read: FieldReader, frames: int, moving: Mask, layout: MatrixColumns) -> I64:
    count = int(moving.sum())
    curves = [_read_curve(read, count) for _ in range(read.varint(count))]
    free = np.ones(count, bool)
    free[[curve.column for curve in curves]] = False
    followers = {curve.column for curve in curves}
    if len(followers) < len(curves) or any(d in followers for c in curves for d in c.drivers):
        raise CorruptionError("lossless payload: a curve follows another")
    groups = layout.groups(_only(moving, free))
    series = decode_series(read.sized(), frames, int(free.sum()), groups)
    whole = np.zeros((frames, count), np.int64)
    whole[:, free] = series
    if curves:
        distances = decode_plane(read.sized(), frames, len(curves), np.arange(len(curves)))
        for curve, distance in zip(curves, distances.T, strict=True):
            whole[:, curve.column] = follow(curve, whole, distance.astype(np.int64))
    return whole


def _only(moving: Mask, free: Mask) -> Mask:
    """Return the mask of the columns that move and follow no curve."""
    mask = moving.copy()
    mask[moving] = free
    return mask


def _read_curve(read: FieldReader, columns: int) -> Curve:
    column = read.varint(columns - 1)
    code = read.u8()
    degree, two = code & 127, code >> 7
    if degree > MAX_DEGREE:
        raise CorruptionError(f"lossless payload: a curve of degree {degree}")
    drivers, low, high = [], [], []
    for _ in range(1 + two):
        drivers.append(read.varint(columns - 1))
        low.append(read.signed())
        high.append(low[-1] + 1 + read.varint(2 * MAX_WHOLE))
    coefficients = np.zeros((degree + 1, degree + 1 if two else 1), np.int64)
    for p, row in enumerate(coefficients):
        for q in range(min(len(row), degree + 1 - p)):
            row[q] = max(-MAX_COEFFICIENT, min(read.signed(), MAX_COEFFICIENT))
    return Curve(column, tuple(drivers), tuple(low), tuple(high), coefficients)


def _wrap_all(whole: I64, scales: list[Scale], intervals: list[int]) -> None:
    for c, (scale, interval) in enumerate(zip(scales, intervals, strict=True)):
        if interval:
            whole[:, c] = wrap(whole[:, c], 360 * 10**scale.exponent, interval)


def follow(curve: Curve, columns: I64, residuals: I64) -> I64:
    """Return the column that lies `residuals` from its curve, on the side of the exact value."""
    value = evaluate(curve, columns)
    nearest = np.floor(value + 0.5)
    return np.asarray(nearest.astype(np.int64) + residuals * np.where(value >= nearest, 1, -1))


def put_together(whole: I64, scale: Scale, kinds: npt.NDArray[np.uint8], amounts: I64) -> F64:
    """Return the doubles of whole numbers and remainders; `decimals.split_values` inverts it.

    Kinds that do not fit the scale are a `ValueError`.
    """
    values = scale.values(whole)
    by_ulps = kinds == BY_ULPS
    distance = amounts[by_ulps].astype(np.int64).view(np.uint64)
    values[by_ulps] = _from_order(_order(values[by_ulps]) + distance)
    longer = (kinds > 0) & ~by_ulps
    if longer.any():
        count = kinds[longer].astype(np.int64) + (scale.exponent if scale.decimal else MAX_DIGITS)
        if count.max() > MAX_DIGITS:
            raise ValueError(f"at most {MAX_DIGITS} digits can stand, got {count.max()}")
        shift = WHOLE_POWERS[np.minimum(kinds[longer], len(WHOLE_POWERS) - 1)]
        values[longer] = (whole[longer] * shift + amounts[longer]) / POWERS[count]
    return values


def _read_remainders(read: FieldReader, frames: int, count: int) -> tuple[U8, I64]:
    kinds = np.zeros((frames, count), np.uint8)
    amounts = np.zeros((frames, count), np.int64)
    if not read.u8():
        return kinds, amounts
    columns = read.mask(count)
    classes = np.arange(int(columns.sum()))
    kind = decode_plane(read.sized(), frames, len(classes), classes)
    length = decode_plane(read.sized(), frames, len(classes), classes)
    if ((kind < 0) | (kind > BY_ULPS) | (length < 0) | (length > 64) | (length > 64 * kind)).any():
        raise CorruptionError("lossless payload: a remainder of unknown kind or length")
    folded = _read_bits(read, length[kind > 0].astype(np.int64))
    part = np.zeros(kind.shape, np.int64)
    part[kind > 0] = (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(
        np.int64
    )
    kinds[:, columns], amounts[:, columns] = kind, part
    return kinds, amounts


def _read_bits(read: FieldReader, lengths: I64) -> npt.NDArray[np.uint64]:
    values = np.zeros(len(lengths), np.uint64)
    for k in range(int(lengths.max(initial=1)) - 1):
        longer = np.flatnonzero(lengths - 1 > k)
        values[longer] |= read.mask(len(longer)).astype(np.uint64) << np.uint64(k)
    long = lengths > 0
    values[long] |= np.uint64(1) << (lengths[long] - 1).astype(np.uint64)
    return values


def _order(values: F64) -> U64:
    """Number all doubles in increasing order, negative zero just before zero."""
    bits = np.ascontiguousarray(values).view(np.int64)
    return (bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.uint64)


def _from_order(order: U64) -> F64:
    bits = order.view(np.int64)
    return (bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.float64)
