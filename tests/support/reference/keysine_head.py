"""The head of a `keysine` payload in plain Python; natively `keysine/decode/head.cpp`."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from keysine_payload import (
    FIRST_FRAME_ALONE,
    GRID,
    SHARED,
    THOROUGH,
    Grid,
    PayloadHead,
    checksum,
)
from keysine_tracks import (
    AXES_BITS,
    BASIS,
    COLUMNS,
    HELD,
    MEAN,
    ORIGIN,
    ROTATION_KEY_STEP,
    ROTATION_KIND,
    SHARES_REFERENCE,
    TRANSLATION_KEY_STEP,
    TRANSLATION_KIND,
    Rotation,
    Translation,
    hinges_of,
)
from mocpack.codec import Read
from mocpack.coding.fields import FieldReader
from mocpack.common.arrays import F64, I32, U8
from mocpack.errors import CorruptionError
from mocpack.model.clip import ClipHeader
from reference.keysine_plan import Plan, build_plan
from reference.keysine_symbols import (
    COARSE,
    ESCAPE,
    STEPS,
    number,
    rest_of,
    tables,
    track_of,
)
from reference.table_reader import TableReader

SHORTEST_PAYLOAD = 3  # bytes: the size of the head fits in them

MEAN_NUMBER, STILL_NUMBER, KEY_STEP_NUMBER, ORIGIN_NUMBER, PLACE_NUMBER, SIZE_NUMBER = range(6)
COUNT_NUMBER, CHANNEL_NUMBER, SOURCE_NUMBER, BAND_NUMBER, FACTOR_NUMBER = range(6, 11)
PRECISION_NUMBER, SCALE_NUMBER, TURN_NUMBER = 11, 15, 19
MAX_BLOCK_FRAMES, LONGEST_GROUP, MOST_SHIFT = 512, 8192, 8  # frames, frames, bits
ROTATION_KINDS, FAST_BAND, FARTHEST_TURN = 5, 3, 1 << 18
HINGE_STARTS = [0, 128, 384, 3968, 4096]


def head_bytes(read: Read) -> bytes:
    """Return the head of a payload."""
    size = FieldReader(read(0, SHORTEST_PAYLOAD), "keysine payload").varint(2**21)
    if size < SHORTEST_PAYLOAD:
        raise CorruptionError(f"keysine payload: a head of {size} bytes")
    return read(0, size)


def head_of(payload: bytes, header: ClipHeader) -> PayloadHead:
    """Return what the head of a payload says."""
    return read_head(lambda offset, size: payload[offset : offset + size], header)[0]


def read_head(read: Read, header: ClipHeader) -> tuple[PayloadHead, Plan]:
    """Read the head of a payload, and build the plan that it holds."""
    data = head_bytes(read)
    symbols = open_head(data)
    fields = symbols.fields(len(data))
    symbols.check(fields, header.frame_count)
    if fields.shared and header.skeleton.hinges is not None:
        raise CorruptionError("keysine head: a skeleton with hinges has shared references")
    fields = replace(fields, sizes=tuple(symbols.sizes(len(fields.part_order))))
    predictor_count = symbols.predictor_count
    table = symbols.table(header)
    plan = build_plan(table, header, fields.unit, fields.fine)
    head = PayloadHead(
        **{
            **vars(fields),
            "table": table,
            "predictors": symbols.predictors(predictor_count, plan),
            "shifts": symbols.shifts(fields.layer_count - 1, len(plan.tracks)),
            "grid": fields.grid and symbols.grid(plan, thorough=fields.grid.thorough),
        }
    )
    symbols.finish()
    return head, plan


def open_head(data: bytes) -> HeadSymbols:
    """Check a head and return a reader of its numbers."""
    if checksum(data[:-2]) != data[-2:]:
        raise CorruptionError("keysine head: its checksum is wrong")
    size = FieldReader(data, "keysine head")
    size.varint()
    return HeadSymbols(data[len(data) - len(size.rest()) : -2])


class HeadSymbols:
    """Reads the numbers of a head, in their order."""

    def __init__(self, data: bytes) -> None:
        self._coder = TableReader(data)
        self.predictor_count = self.mode = 0

    def fields(self, size: int) -> PayloadHead:
        """Read the fields before the sizes."""
        bits = self._coder.bits
        mode, layers, fine_bits, tempo = bits(4), 1 + bits(4), bits(6), bits(8)
        group_frames = 0 if tempo else 1 + self._count()
        tempo = tempo or bits(8)
        (unit,) = struct.unpack("<f", struct.pack("<I", bits(16) << 16))
        groups, per_segment, self.predictor_count = (self._count() for _ in range(3))
        coarse = bits(8)
        errors = tuple((bits(8), bits(8)) for _ in range(layers if layers > 1 else 0))
        self.mode = mode
        return PayloadHead(
            fine_bits=fine_bits,
            coarse=coarse,
            tempo=tempo,
            unit=unit,
            group_count=groups,
            groups_per_segment=per_segment,
            table=np.zeros((0, COLUMNS), np.int32),
            size=size,
            layer_count=layers,
            errors=errors,
            first_frame_alone=bool(mode & FIRST_FRAME_ALONE),
            shared=mode & (GRID | SHARED) == SHARED,
            group_frames=group_frames,
            grid=Grid(bool(mode & THOROUGH)) if mode & GRID else None,
        )

    def check(self, head: PayloadHead, frame_count: int) -> None:
        """Raise an error for fields out of range."""
        alone, on_grid = head.first_frame_alone, head.grid is not None
        streamed = head.group_frames > 0
        _check("foot lock", self.mode >> 3, 0, 0)
        _check("unit", head.unit, 2.0**-149, 1e6)
        _check("tempo", head.tempo, 1, 255)
        _check("fine bits", head.fine_bits, 0, 60)
        _check("groups in a segment", head.groups_per_segment, 1, 2**31 - 1)
        if streamed:
            groups = -(-(frame_count - 1) // head.group_frames)
            _check("streamed groups", head.group_count, groups, groups)
        else:
            least = (1 + alone) if frame_count > 1 else 0
            _check("groups", head.group_count, least, frame_count - 1)
        _check("frames before the first group", int(alone), 0, frame_count > 2 and not streamed)
        longest = MAX_BLOCK_FRAMES if on_grid else LONGEST_GROUP
        own = head.group_frames or _longest_group(head, frame_count)
        _check("frames in a group", own, 0, longest)
        _check("layers", head.layer_count, 1, 1 if on_grid or streamed else 16)

    def sizes(self, count: int) -> list[int]:
        """Read the sizes of parts."""
        starts = tables()["HEAD_TABLES"][SIZE_NUMBER].tolist()
        found: list[int] = []
        symbol = 0
        for _ in range(count):
            change = self._coder.symbol(starts)
            if change == ESCAPE:
                symbol = self._coder.bits(5)
            else:
                symbol += (change + 1) // 2 if change % 2 else -(change // 2)
            if not 0 <= symbol <= ESCAPE:
                raise CorruptionError(f"keysine head: size symbol {symbol} is outside 0..{ESCAPE}")
            found.append(rest_of(self._coder, symbol, COARSE))
        return found

    def table(self, header: ClipHeader) -> I32:
        """Read the plan (J, 15)."""
        table = np.zeros((len(header.skeleton), COLUMNS), np.int32)
        turn = place = precision = 0
        step = 8
        for j, (row, own) in enumerate(zip(table, hinges_of(header.skeleton), strict=True)):
            turns, slides = len(own.turns), len(own.slides)
            row[[ROTATION_KEY_STEP, TRANSLATION_KEY_STEP]] = 8
            kind = self._hinged(Rotation.HINGE) if turns else None
            if kind is None:
                kind = turn = self._kind(turn)
            row[ROTATION_KIND] = kind
            if kind == Rotation.STILL:
                row[MEAN] = self._numbers(STILL_NUMBER, turns or 3)
            if kind in (Rotation.VECTOR, Rotation.HINGE):
                row[MEAN] = self._numbers(MEAN_NUMBER, turns if kind == Rotation.HINGE else 3)
            if kind == Rotation.VECTOR:
                row[BASIS], precision = self._axes(precision)
            if kind >= Rotation.VECTOR and self.mode & (GRID | SHARED) == SHARED:
                row[SHARES_REFERENCE] = self._coder.bits(1)
            if kind >= Rotation.VECTOR:
                along = kind == Rotation.HINGE
                row[HELD] |= self._limit_flags(own.turn_limits, narrow=not along) << slides
            if kind >= Rotation.VECTOR:
                row[ROTATION_KEY_STEP] = step = step + self._number(KEY_STEP_NUMBER)
            if j not in header.translated_joints:
                continue
            kind = self._hinged(Translation.SLIDING) if slides else None
            if kind is None:
                kind = place = self._kind(ROTATION_KINDS + place)
            row[TRANSLATION_KIND] = kind
            if kind == Translation.STILL:
                row[ORIGIN] = self._numbers(PLACE_NUMBER, slides or 3)
            if kind == Translation.MOVING:
                row[ORIGIN] = self._numbers(ORIGIN_NUMBER, 3)
            if kind >= Translation.MOVING:
                row[HELD] |= self._limit_flags(own.slide_limits)
            if kind >= Translation.MOVING:
                row[TRANSLATION_KEY_STEP] = step = step + self._number(KEY_STEP_NUMBER)
        return table

    def _hinged(self, moving: int) -> int | None:
        """Read the kind of a joint with hinges: at rest, constant or along them; None if free."""
        symbol = self._coder.symbol(HINGE_STARTS)
        return (0, 1, moving, None)[symbol]

    def _limit_flags(self, limits: F64, *, narrow: bool = False) -> int:
        """Read which hinges hold their joint within their limits (N, 2), a bit for each."""
        able = np.flatnonzero(can_hold(limits, narrow=narrow)).tolist()
        return sum(self._coder.bits(1) << i for i in able)

    def _numbers(self, what: int, count: int) -> list[int]:
        """Read some of three numbers; the others are 0."""
        return [self._number(what) if i < count else 0 for i in range(3)]

    def _axes(self, before: int) -> tuple[list[int], int]:
        """Read the turn of axes and how many bits it has below a radian; before: of the last."""
        first = PRECISION_NUMBER + 2 * bool(self.mode & GRID)
        precision = min(self._direct(first + (not before)), AXES_BITS)
        if not precision:
            return [0, 0, 0], 0
        found = [self._number(TURN_NUMBER + precision - 1) for _ in range(3)]
        shift = AXES_BITS - precision
        turn = [number << shift if abs(number) < FARTHEST_TURN else 0 for number in found]
        return turn, precision

    def predictors(self, count: int, plan: Plan) -> I32:
        """Read predictors (N, 4): channel, source, band, factor."""
        found, channel = [], 0
        for _ in range(count):
            channel += self._number(CHANNEL_NUMBER, signed=False)
            first = 0
            if channel < plan.channel_count:
                first = plan.tracks[track_of(plan, channel)].first_channel
            source = first - 1 - self._number(SOURCE_NUMBER, signed=False)
            band, factor = self._direct(BAND_NUMBER), self._number(FACTOR_NUMBER)
            if channel >= plan.channel_count:
                raise CorruptionError(
                    f"keysine head: predicted channel {channel} is outside "
                    f"0..{plan.channel_count - 1}"
                )
            if not 0 <= source < first:
                raise CorruptionError(
                    f"keysine head: source {source} of channel {channel} is outside 0..{first - 1}"
                )
            if band > FAST_BAND:
                raise CorruptionError(f"keysine head: band {band} is outside 0..{FAST_BAND}")
            found.append((channel, source, band, factor))
        return np.array(found, np.int32).reshape(-1, 4)

    def shifts(self, count: int, tracks: int) -> U8:
        """Read the shifts (count, 2, tracks) of keys and coefficients, without the last layer."""
        found = np.zeros((count, 2, tracks), np.uint8)
        for layer in range(count):
            for kind in range(2):
                shift = 0
                for t in range(tracks):
                    if layer:
                        most = int(found[layer - 1, kind, t])
                        shift = self._coder.symbol(shift_starts(most))
                    else:
                        shift += self._number(KEY_STEP_NUMBER)
                    if not 0 <= shift <= MOST_SHIFT:
                        raise CorruptionError(f"keysine head: shift {shift} is outside 0..8")
                    found[layer, kind, t] = shift
        return found

    def grid(self, plan: Plan, *, thorough: bool) -> Grid:
        """Read the steps of tracks and the initial scales of channels of a grid in time."""
        steps, step = [], 8
        for _ in plan.tracks:
            step += self._number(KEY_STEP_NUMBER)
            _check("grid step", step, 0, STEPS - 1)
            steps.append(step)
        scales = []
        for track in plan.tracks:
            for c in range(track.channel_count):
                scales.append(self._direct(SCALE_NUMBER + c))
        return Grid(thorough, tuple(steps), tuple(scales))

    def finish(self) -> None:
        self._coder.finish()

    def _count(self) -> int:
        return self._number(COUNT_NUMBER, signed=False)

    def _direct(self, what: int) -> int:
        """Read a number that is its own symbol."""
        return self._coder.symbol(tables()["HEAD_TABLES"][what].tolist())

    def _kind(self, table: int) -> int:
        return self._coder.symbol(tables()["KIND_STARTS"][table].tolist())

    def _number(self, what: int, *, signed: bool = True) -> int:
        return number(self._coder, tables()["HEAD_TABLES"][what].tolist(), signed=signed)


def can_hold(limits: F64, *, narrow: bool) -> npt.NDArray[np.bool_]:
    """Return which hinges with these limits (N, 2) can hold their joint within them.

    Only those that have limits can; with `narrow`, those whose limits are less than a full turn
    apart.
    """
    able = np.ptp(limits, axis=1) < 2 * np.pi if narrow else np.isfinite(limits).any(axis=1)
    return np.asarray(able)


def shift_starts(most: int) -> list[int]:
    """Return the table of shifts from 0 to `most`, all equally likely."""
    return [min(i, most + 1) * 4096 // (most + 1) for i in range(MOST_SHIFT + 2)]


def _longest_group(head: PayloadHead, frame_count: int) -> int:
    """Return the frames of the longest group."""
    even = head.group_count - head.lead
    return -(-(frame_count - 1 - head.lead) // even) if even > 0 else 0


def _check(field: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise CorruptionError(f"keysine head: {field} {value:g} is outside {low:g}..{high:g}")
