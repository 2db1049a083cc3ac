"""Exact: the numbers of the source come back bit for bit, predicted in time and entropy coded.

Numbers are taken apart into whole numbers of each column's last digit and a remainder, which is
nothing for nearly every file (`codecs/lossless/decimals.py`). Angles lose their jumps by full turns
(`turns.py`); those that follow from others of their joint are written as curves (`curves.py`); the
rest is coded as a series (`coding/series.py`). `docs/codecs/lossless.md` has the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.arrays import F64, I64, Mask
from mocpack.clip import AnyClip, AnyHeader, Clip, ClipHeader, VertexClip, VertexHeader
from mocpack.codec import Codec
from mocpack.codecs.lossless.curves import MOST_DEGREE, Curve, find_curves, follow, residual
from mocpack.codecs.lossless.decimals import (
    LARGEST_WHOLE,
    Scale,
    choose_scale,
    count_digits,
    put_together,
    take_apart,
)
from mocpack.codecs.lossless.relations import Owner, column_groups
from mocpack.codecs.lossless.remainders import read_remainders, write_remainders
from mocpack.codecs.lossless.turns import unwrap, wrap
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.coding.planes import decode_plane, encode_plane
from mocpack.coding.series import ColumnGroup, decode_series, encode_series
from mocpack.dofs import from_channels
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.skeleton import Skeleton

CHANNELS, MOTION = 1, 2  # what a payload holds
BINARY = 31  # in place of a number of digits
TURN_DIGITS = 6  # with more, a full turn is beyond the largest whole number
FARTHEST_COEFFICIENT = 2**44
JUMP = 8  # a first frame this many times as far from the second as that from the third stands apart


@dataclass(frozen=True)
class Lossless(Codec):
    """Every number of the source, bit for bit."""

    codec_id = "lossless"
    bitstream_version = 1
    decoder_params = ()
    decode_memory = 12.0
    kinds = ("skeleton", "vertices")

    def encode(self, clip: AnyClip) -> bytes:
        out = FieldWriter()
        if isinstance(clip, VertexClip):
            _write_matrix(out, clip.vertices.reshape(clip.frame_count, -1), _mesh(clip.header))
            return out.bytes()
        held = (CHANNELS if clip.channels is not None else 0) | (0 if _implied(clip) else MOTION)
        out.u8(held)
        if clip.channels is not None:
            _write_matrix(out, clip.channels, _channels(clip.skeleton))
        if held & MOTION:
            _write_matrix(out, _motion_matrix(clip), _motion(clip.header))
        return out.bytes()

    def decode(self, payload: bytes, header: AnyHeader) -> AnyClip:
        read = FieldReader(payload, "lossless payload")
        try:
            with np.errstate(all="ignore"):  # what broken bytes overflow, the clip refuses
                if isinstance(header, VertexHeader):
                    return _read_vertices(read, header)
                return _read_clip(read, header)
        except InvalidClipError as error:
            raise CorruptionError(f"lossless payload: {error}") from error


@dataclass(frozen=True)
class MatrixColumns:
    """What the columns of a matrix are."""

    angles: Mask
    """Which are in degrees, so that 360 is a full turn."""
    groups: Callable[[Mask], Sequence[ColumnGroup]]
    """How those that move relate."""

    @property
    def column_count(self) -> int:
        return len(self.angles)


def _channels(skeleton: Skeleton) -> MatrixColumns:
    angles = skeleton.columns.is_angle
    joints = skeleton.columns.joints
    owners = [(int(j), not a) for j, a in zip(joints, angles, strict=True)]
    return MatrixColumns(angles, lambda moving: _groups(skeleton, owners, moving))


def _motion(header: ClipHeader) -> MatrixColumns:
    owners = [(j, False) for j in range(len(header.skeleton)) for _ in range(4)]
    owners += [(j, True) for j in header.translated_joints for _ in range(3)]
    still = np.zeros(len(owners), bool)
    return MatrixColumns(still, lambda moving: _groups(header.skeleton, owners, moving))


def _mesh(header: VertexHeader) -> MatrixColumns:
    def groups(moving: Mask) -> list[ColumnGroup]:
        points = np.flatnonzero(moving) // 3
        first, counts = np.unique(points, return_index=True, return_counts=True)[1:]
        return [ColumnGroup(tuple(range(a, a + n))) for a, n in zip(first, counts, strict=True)]

    return MatrixColumns(np.zeros(3 * header.vertex_count, bool), groups)


def _groups(skeleton: Skeleton, owners: list[Owner], moving: Mask) -> list[ColumnGroup]:
    return column_groups(skeleton, [owners[c] for c in np.flatnonzero(moving)])


def _implied(clip: Clip) -> bool:
    """Say whether a clip's channels tell its motion, up to rounding and quaternion signs."""
    if clip.channels is None:
        return False
    told = from_channels(clip.channels, clip.header)
    cosines = np.abs(np.sum(told.rotations * clip.rotations, axis=-1))
    moved = np.abs(told.translations - clip.translations).max(initial=0.0)
    return bool(cosines.min(initial=1.0) > 1 - 1e-12 and moved < 1e-9)


def _motion_matrix(clip: Clip) -> F64:
    parts = (clip.rotations, clip.translations)
    return np.concatenate([p.reshape(clip.frame_count, -1) for p in parts], axis=1)


def _read_clip(read: FieldReader, header: ClipHeader) -> Clip:
    held = read.u8()
    if not 1 <= held <= CHANNELS | MOTION:
        raise CorruptionError(f"lossless payload: unknown kind {held}")
    channels = motion = None
    if held & CHANNELS:
        channels = _read_matrix(read, header.frame_count, _channels(header.skeleton))
    if held & MOTION:
        motion = _read_matrix(read, header.frame_count, _motion(header))
    read.end()
    if motion is None:
        assert channels is not None
        return from_channels(channels, header)
    turns = 4 * len(header.skeleton)
    rotations = motion[:, :turns].reshape(header.frame_count, -1, 4)
    places = motion[:, turns:].reshape(header.frame_count, -1, 3)
    return Clip(header, rotations, places, channels)


def _read_vertices(read: FieldReader, header: VertexHeader) -> VertexClip:
    values = _read_matrix(read, header.frame_count, _mesh(header))
    read.end()
    return VertexClip(header, values.reshape(header.frame_count, -1, 3))


def _write_matrix(out: FieldWriter, matrix: F64, layout: MatrixColumns) -> None:
    """A first frame that stands apart (a pose that some tool put there) is a block of its own."""
    lead = _leading_frames(matrix)
    out.u8(lead)
    _write_negative_zeros(out, matrix)
    positive = np.where(matrix == 0, 0.0, matrix)
    if lead:
        _write_block(out, positive[:lead], layout)
    _write_block(out, positive[lead:], layout)


def _read_matrix(read: FieldReader, frames: int, layout: MatrixColumns) -> F64:
    lead = read.u8()
    if lead > 1 or lead >= frames:
        raise CorruptionError(f"lossless payload: {lead} of {frames} frames stand apart")
    columns, negative = _read_negative_zeros(read, frames, layout.column_count)
    blocks = [_read_block(read, count, layout) for count in (lead, frames - lead) if count]
    matrix = np.concatenate(blocks) if len(blocks) > 1 else blocks[0]
    for column, signs in zip(columns, negative.T, strict=True):
        matrix[(matrix[:, column] == 0) & (signs != 0), column] = -0.0
    return matrix


def _write_negative_zeros(out: FieldWriter, matrix: F64) -> None:
    """Which columns have any, the first of the listed that is its equal (or itself), and where.

    Tools print -0.0000 for noise below the last digit, often the same on both sides of a body.
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


def _leading_frames(matrix: F64) -> int:
    if len(matrix) < 4:
        return 0
    first, second = np.abs(np.diff(matrix[:3] / 2, axis=0)).sum(axis=1)
    return int(first > JUMP * second)


def _write_block(out: FieldWriter, matrix: F64, layout: MatrixColumns) -> None:
    moving = (matrix != matrix[0]).any(axis=0)
    out.mask(moving)
    out.sized(deflate(matrix[0, ~moving].astype("<f8").tobytes()))
    if not moving.any():
        return
    columns = [np.ascontiguousarray(column) for column in matrix[:, moving].T]
    digits = [count_digits(column) for column in columns]
    scales = [choose_scale(*pair) for pair in zip(columns, digits, strict=True)]
    parts = [take_apart(*given) for given in zip(columns, scales, digits, strict=True)]
    whole, kinds, amounts = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    intervals = _unwrap_all(whole, scales, layout.angles[moving])
    _write_scales(out, scales, intervals)
    _write_whole(out, whole, moving, layout)
    write_remainders(out, kinds, amounts)


def _read_block(read: FieldReader, frames: int, layout: MatrixColumns) -> F64:
    columns = layout.column_count
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
    kinds, amounts = read_remainders(read, frames, count)
    _wrap_all(whole, scales, intervals)
    for c, column in enumerate(np.flatnonzero(moving)):
        try:
            matrix[:, column] = put_together(whole[:, c], scales[c], kinds[:, c], amounts[:, c])
        except ValueError as error:
            raise CorruptionError(f"lossless payload: {error}") from error
    return matrix


def _write_whole(out: FieldWriter, whole: I64, moving: Mask, layout: MatrixColumns) -> None:
    """Curves; the columns that follow none, as a series; how far the others lie from theirs."""
    curves = find_curves(whole, _families(layout, moving))
    out.varint(len(curves))
    for curve in curves:
        _write_curve(out, curve)
    free = _free_columns(curves, whole.shape[1])
    out.sized(encode_series(whole[:, free], layout.groups(_only(moving, free))))
    if curves:
        distances = np.stack([residual(curve, whole) for curve in curves], axis=1)
        out.sized(encode_plane(distances, np.arange(len(curves))))


def _read_whole(read: FieldReader, frames: int, moving: Mask, layout: MatrixColumns) -> I64:
    count = int(moving.sum())
    curves = [_read_curve(read, count) for _ in range(read.varint(count))]
    free = _free_columns(curves, count)
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


def _families(layout: MatrixColumns, moving: Mask) -> list[list[int]]:
    """Return the moving angles of each joint, numbered among the moving columns."""
    angles = layout.angles[moving]
    return [[c for c in group.columns if angles[c]] for group in layout.groups(moving)]


def _free_columns(curves: Sequence[Curve], count: int) -> Mask:
    free = np.ones(count, bool)
    free[[curve.column for curve in curves]] = False
    return free


def _only(moving: Mask, free: Mask) -> Mask:
    """Return the mask of the columns that move and follow no curve."""
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


def _read_curve(read: FieldReader, columns: int) -> Curve:
    column = read.varint(columns - 1)
    code = read.u8()
    degree, two = code & 127, code >> 7
    if degree > MOST_DEGREE:
        raise CorruptionError(f"lossless payload: a curve of degree {degree}")
    drivers, low, high = [], [], []
    for _ in range(1 + two):
        drivers.append(read.varint(columns - 1))
        low.append(read.signed())
        high.append(low[-1] + 1 + read.varint(2 * LARGEST_WHOLE))
    coefficients = np.zeros((degree + 1, degree + 1 if two else 1), np.int64)
    for p, row in enumerate(coefficients):
        for q in range(min(len(row), degree + 1 - p)):
            row[q] = max(-FARTHEST_COEFFICIENT, min(read.signed(), FARTHEST_COEFFICIENT))
    return Curve(column, tuple(drivers), tuple(low), tuple(high), coefficients)


def _unwrap_all(whole: I64, scales: list[Scale], angles: Mask) -> list[int]:
    """Take the jumps out of angles, in place; return the interval of each column."""
    intervals = []
    for c, scale in enumerate(scales):
        interval = 0
        if angles[c] and scale.decimal and scale.exponent <= TURN_DIGITS:
            turn = 360 * 10**scale.exponent
            interval, whole[:, c] = unwrap(whole[:, c], turn, LARGEST_WHOLE)
        intervals.append(interval)
    return intervals


def _wrap_all(whole: I64, scales: list[Scale], intervals: list[int]) -> None:
    for c, (scale, interval) in enumerate(zip(scales, intervals, strict=True)):
        if interval:
            whole[:, c] = wrap(whole[:, c], 360 * 10**scale.exponent, interval)


def _write_scales(out: FieldWriter, scales: list[Scale], intervals: list[int]) -> None:
    """One byte a column, deflated: digits in five bits, interval in two; then binary exponents."""
    fields = FieldWriter()
    for scale, interval in zip(scales, intervals, strict=True):
        fields.u8((scale.exponent if scale.decimal else BINARY) | interval << 5)
    for scale in scales:
        if not scale.decimal:
            fields.signed(scale.exponent)
    out.sized(deflate(fields.bytes()))


def _read_scales(read: FieldReader, count: int) -> tuple[list[Scale], list[int]]:
    data = inflate(read.sized(), 3 * count, what="lossless scales")
    fields = FieldReader(data, "lossless scales")
    codes = [fields.u8() for _ in range(count)]
    try:
        scales = [
            Scale(False, fields.signed()) if code & 31 == BINARY else Scale(True, code & 31)
            for code in codes
        ]
    except ValueError as error:
        raise CorruptionError(f"lossless scales: {error}") from error
    fields.end()
    if any(code >> 5 and (code > 127 or code & 31 > TURN_DIGITS) for code in codes):
        raise CorruptionError("lossless scales: an interval where none can stand")
    return scales, [code >> 5 for code in codes]
