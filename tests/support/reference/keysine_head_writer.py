"""Write the head of a `keysine` payload in plain Python, for tests that change it.

It writes what `keysine_head.py` reads, in the same order. Fields may be out of range, so that tests
can make files that no encoder writes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from keysine_payload import Grid, PayloadHead, checksum
from keysine_tracks import (
    AXES_BITS,
    BASIS,
    HELD,
    MEAN,
    ORIGIN,
    ROTATION_KEY_STEP,
    ROTATION_KIND,
    SHARES_REFERENCE,
    TRANSLATION_KEY_STEP,
    TRANSLATION_KIND,
    UNIT_STEP,
    Rotation,
    Translation,
    first_channels,
    hinges_of,
)
from mocpack.coding.fields import FieldWriter
from mocpack.common.arrays import F64, I32, U8
from mocpack.model.clip import ClipHeader
from reference.keysine_head import (
    BAND_NUMBER,
    CHANNEL_NUMBER,
    COUNT_NUMBER,
    FACTOR_NUMBER,
    HINGE_STARTS,
    KEY_STEP_NUMBER,
    MEAN_NUMBER,
    ORIGIN_NUMBER,
    PLACE_NUMBER,
    PRECISION_NUMBER,
    ROTATION_KINDS,
    SCALE_NUMBER,
    SIZE_NUMBER,
    SOURCE_NUMBER,
    STILL_NUMBER,
    TURN_NUMBER,
    can_hold,
    shift_starts,
)
from reference.keysine_symbols import COARSE, ESCAPE, plain_bits, symbol_floor, symbol_of, tables
from reference.table_writer import TableWriter


def write_payload(head: PayloadHead, header: ClipHeader, parts: Sequence[bytes]) -> bytes:
    """Return a payload of these parts, in their order; the head states their sizes."""
    return b"".join((write_head(head, header, parts), *parts))


def write_head(head: PayloadHead, header: ClipHeader, parts: Sequence[bytes]) -> bytes:
    """Return the bytes of a head that states the sizes of these parts."""
    writer = HeadWriter()
    writer.fields(head)
    writer.sizes([len(part) for part in parts])
    writer.table(head.table, header, on_grid=head.grid is not None, shared=head.shared)
    firsts = first_channels(head.table, header.skeleton).tolist()
    writer.predictors(head.predictors, firsts)
    writer.shifts(head.shifts)
    if head.grid is not None:
        writer.grid(head.grid, firsts)
    return seal_head(writer.finish())


def seal_head(body: bytes) -> bytes:
    """Return a head: its size, which counts itself and the checksum, the body, the checksum."""
    start = FieldWriter()
    start.varint(len(body) + 2 + next(n for n in (1, 2, 3, 4) if len(body) + 2 + n < 128**n))
    whole = start.bytes() + body
    return whole + checksum(whole)


class HeadWriter:
    """Writes the numbers of a head, in their order."""

    def __init__(self) -> None:
        self._coder = TableWriter()
        self.finish = self._coder.finish

    def fields(self, head: PayloadHead) -> None:
        """Write what stands before the sizes."""
        bits = self._coder.bits
        bits(4, head.mode)
        bits(4, head.layer_count - 1)
        bits(6, head.fine_bits)
        if head.group_frames or not head.tempo:  # a tempo of 0 announces a streamed payload
            bits(8, 0)
            self._number(COUNT_NUMBER, max(head.group_frames - 1, 0), signed=False)
        bits(8, head.tempo)
        (unit,) = struct.unpack("<I", struct.pack("<f", head.unit))
        bits(16, unit >> 16)
        for count in (head.group_count, head.groups_per_segment, len(head.predictors)):
            self._number(COUNT_NUMBER, count, signed=False)
        bits(8, head.coarse)
        for errors in head.errors:
            for error in errors:
                bits(8, error)

    def sizes(self, sizes: Sequence[int]) -> None:
        """Write the sizes of parts, each symbol by its difference from the one before."""
        before = 0
        for size in sizes:
            symbol = symbol_of(size, COARSE)
            change = symbol - before
            code = min(2 * change - 1 if change > 0 else -2 * change, ESCAPE)
            self._direct(SIZE_NUMBER, code)
            if code == ESCAPE:
                self._coder.bits(5, symbol)
            self._rest(symbol, size)
            before = symbol

    def table(self, table: I32, header: ClipHeader, *, on_grid: bool, shared: bool = False) -> None:
        """Write the plan (J, 15)."""
        turn = place = precision = 0
        step = UNIT_STEP
        hinges = hinges_of(header.skeleton)
        for j, (row, own) in enumerate(zip(table.tolist(), hinges, strict=True)):
            turns, slides = len(own.turns), len(own.slides)
            kind = row[ROTATION_KIND]
            if not (turns and self._hinged(kind, Rotation.HINGE)):
                self._kind(turn, kind)
                turn = kind
            if kind == Rotation.STILL:
                self._numbers(STILL_NUMBER, row[MEAN][: turns or 3])
            if kind in (Rotation.VECTOR, Rotation.HINGE):
                self._numbers(MEAN_NUMBER, row[MEAN][: turns if kind == Rotation.HINGE else 3])
            if kind == Rotation.VECTOR:
                precision = self._axes(row[BASIS], precision, on_grid=on_grid)
            if kind >= Rotation.VECTOR and shared:
                self._coder.bits(1, row[SHARES_REFERENCE])
            if kind >= Rotation.VECTOR:
                narrow = kind != Rotation.HINGE
                self._limit_flags(row[HELD] >> slides, own.turn_limits, narrow=narrow)
                self._number(KEY_STEP_NUMBER, row[ROTATION_KEY_STEP] - step)
                step = row[ROTATION_KEY_STEP]
            if j not in header.translated_joints:
                continue
            kind = row[TRANSLATION_KIND]
            if not (slides and self._hinged(kind, Translation.SLIDING)):
                self._kind(ROTATION_KINDS + place, kind)
                place = kind
            if kind == Translation.STILL:
                self._numbers(PLACE_NUMBER, row[ORIGIN][: slides or 3])
            if kind == Translation.MOVING:
                self._numbers(ORIGIN_NUMBER, row[ORIGIN])
            if kind >= Translation.MOVING:
                self._limit_flags(row[HELD], own.slide_limits)
                self._number(KEY_STEP_NUMBER, row[TRANSLATION_KEY_STEP] - step)
                step = row[TRANSLATION_KEY_STEP]

    def predictors(self, predictors: I32, firsts: Sequence[int]) -> None:
        """Write predictors (N, 4); `firsts` is the first channel of each channel's track."""
        before = 0
        for channel, source, band, factor in predictors.tolist():
            first = firsts[channel] if channel < len(firsts) else 0
            self._number(CHANNEL_NUMBER, channel - before, signed=False)
            self._number(SOURCE_NUMBER, first - 1 - source, signed=False)
            self._direct(BAND_NUMBER, band)
            self._number(FACTOR_NUMBER, factor)
            before = channel

    def shifts(self, shifts: U8) -> None:
        """Write the shifts (layers - 1, 2, tracks) of keys and coefficients."""
        for layer, by_kind in enumerate(shifts.tolist()):
            for kind, row in enumerate(by_kind):
                for t, shift in enumerate(row):
                    if layer:
                        most = int(shifts[layer - 1, kind, t])
                        self._coder.symbol(shift_starts(most), shift)
                    else:
                        self._number(KEY_STEP_NUMBER, shift - (row[t - 1] if t else 0))

    def grid(self, grid: Grid, firsts: Sequence[int]) -> None:
        """Write the steps of tracks and the initial scales of channels of a grid in time."""
        for before, step in pairwise((UNIT_STEP, *grid.steps)):
            self._number(KEY_STEP_NUMBER, step - before)
        for c, scale in enumerate(grid.initial_scales):
            self._direct(SCALE_NUMBER + c - firsts[c], scale)

    def _hinged(self, kind: int, moving: int) -> bool:
        """Write the kind of what has hinges; returns False if it does not move along them."""
        symbol = {0: 0, 1: 1, moving: 2}.get(kind, 3)
        self._coder.symbol(HINGE_STARTS, symbol)
        return symbol < 3

    def _limit_flags(self, held: int, limits: F64, *, narrow: bool = False) -> None:
        for i in np.flatnonzero(can_hold(limits, narrow=narrow)).tolist():
            self._coder.bits(1, held >> i & 1)

    def _axes(self, turn: Sequence[int], before: int, *, on_grid: bool) -> int:
        """Write a turn of axes; returns how many bits it has below a radian."""
        together = turn[0] | turn[1] | turn[2]
        trailing = (together & -together).bit_length() - 1
        precision = max(AXES_BITS - trailing, 1) if together else 0
        self._direct(PRECISION_NUMBER + 2 * on_grid + (not before), precision)
        if precision:
            numbers = [number >> AXES_BITS - precision for number in turn]
            self._numbers(TURN_NUMBER + precision - 1, numbers)
        return precision

    def _direct(self, what: int, value: int) -> None:
        """Write a number that is its own symbol."""
        self._coder.symbol(tables()["HEAD_TABLES"][what].tolist(), value)

    def _kind(self, table: int, kind: int) -> None:
        self._coder.symbol(tables()["KIND_STARTS"][table].tolist(), kind)

    def _numbers(self, what: int, values: Sequence[int]) -> None:
        for value in values:
            self._number(what, value)

    def _number(self, what: int, value: int, *, signed: bool = True) -> None:
        symbol = symbol_of(abs(value), COARSE)
        self._direct(what, symbol)
        self._rest(symbol, abs(value))
        if signed and value:
            self._coder.bits(1, value < 0)

    def _rest(self, symbol: int, size: int) -> None:
        """Write the rest of a magnitude, of which the symbol is known."""
        rest, bits = size - symbol_floor(symbol, COARSE), plain_bits(symbol, COARSE)
        if symbol == ESCAPE:
            bits = rest.bit_length()
            self._coder.bits(5, bits)
        self._coder.bits(bits, rest)
