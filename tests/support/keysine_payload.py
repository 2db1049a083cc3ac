"""The bytes of a `keysine` payload as Python sees them, for tests that change a head or read it.

Head: varint size of the head; its numbers, coded; u16 CRC-16 of the head so far. A segment or group
is the u16 CRC-16 of its body, then its body; a group of one frame has no bytes.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

import numpy as np

from keysine_tracks import (
    ROTATION_KIND,
    TRANSLATION_KIND,
    Rotation,
    Translation,
)
from mocpack import _core
from mocpack.arrays import I32, U8
from mocpack.clip import ClipHeader
from mocpack.codec import Payload
from mocpack.codecs.keysine.payload import open_payload
from mocpack.coding.fields import FieldWriter

GRID, FIRST_FRAME_ALONE, THOROUGH = 1, 2, 4  # bits of the mode
MAX_UNIT = _core.KEYSINE_MOST_UNIT  # meters
MIN_UNIT = 1e-30  # meters, that a writer states: far below any precision, and no denormal number


def _no_shifts() -> U8:
    return np.zeros((0, 0), np.uint8)


def no_predictors() -> I32:
    return np.zeros((0, 4), np.int32)


@dataclass(frozen=True)
class Grid:
    """What a head says of a grid in time.

    Attributes
    ----------
    thorough : bool
        Which forecast predicts its numbers.
    steps : tuple of int
        Index of the step of each track.
    initial_scales : tuple of int
        How far prediction is off at first, for each channel: half octaves of 1/32 of a step.
    """

    thorough: bool
    steps: tuple[int, ...] = ()
    initial_scales: tuple[int, ...] = ()

    @property
    def mode(self) -> int:
        return GRID | (THOROUGH if self.thorough else 0)


@dataclass(frozen=True)
class PayloadHead:
    """What stands at the start of a payload."""

    fine_bits: int
    coarse: int
    tempo: int
    unit: float
    group_count: int
    groups_per_segment: int
    table: I32
    predictors: I32 = field(default_factory=no_predictors)  # (N, 4)
    segment_sizes: tuple[int, ...] = ()
    layer_sizes: tuple[tuple[int, ...], ...] = ()  # of the groups, for each layer
    size: int = 0
    refined: tuple[int, ...] = ()  # errors of the layers but the last, as `coarse`
    shifts: U8 = field(default_factory=_no_shifts)  # (layers - 1, tracks)
    first_frame_alone: bool = False  # the first frame is a group by itself
    grid: Grid | None = None

    @property
    def lead(self) -> int:
        """Frames before those that groups divide evenly."""
        return int(self.first_frame_alone)

    @property
    def fine(self) -> float:
        return 0.5**self.fine_bits

    @property
    def coarse_error(self) -> float:
        """Largest error, in meters, of the motion that the keys alone give."""
        return self.stated(self.coarse)

    @property
    def layer_errors(self) -> tuple[float, ...]:
        """Largest errors, in meters, with each layer but the last."""
        return tuple(map(self.stated, self.refined))

    def stated(self, coarse: int) -> float:
        return stated_error(self.unit, coarse)

    def statement(self, error: float) -> int:
        """Return the number that states an error, rounded up."""
        return min(max(math.ceil(8 * math.log2(max(error, self.unit) / self.unit)), 0), 255)

    @property
    def layer_count(self) -> int:
        return 1 + len(self.refined)

    @property
    def track_count(self) -> int:
        """How many rotations and translations move."""
        turning = self.table[:, ROTATION_KIND] >= Rotation.VECTOR
        return int(turning.sum() + (self.table[:, TRANSLATION_KIND] >= Translation.MOVING).sum())

    @property
    def segment_count(self) -> int:
        return max(1, -(-self.group_count // self.groups_per_segment))

    def key_frame(self, key: int, frame_count: int) -> int:
        """Return the first frame of a group: evenly spread after the lead, rounded half up."""
        if not self.group_count or key < self.lead:
            return 0
        even = self.group_count - self.lead
        intervals = frame_count - 1 - self.lead
        return self.lead + (2 * (key - self.lead) * intervals + even) // (2 * even)

    def with_sizes(self, sizes: Sequence[int]) -> PayloadHead:
        """Return the head with the sizes of its parts: segments, then groups layer by layer."""
        segments, groups = self.segment_count, self.group_count
        layers = tuple(
            tuple(sizes[segments + at * groups : segments + (at + 1) * groups])
            for at in range(self.layer_count)
        )
        return replace(self, segment_sizes=tuple(sizes[:segments]), layer_sizes=layers)

    def segment_of(self, group: int) -> int:
        return group // self.groups_per_segment

    def segments_at(self, first: int, count: int) -> tuple[int, int]:
        """Return offset and size of segments in the payload."""
        ends = self._part_ends
        return ends[first], ends[first + count] - ends[first]

    def groups_at(self, first: int, count: int, layer: int = 0) -> tuple[int, int]:
        """Return offset and size of groups of one layer in the payload."""
        ends = self._part_ends
        at = len(self.segment_sizes) + layer * self.group_count + first
        return ends[at], ends[at + count] - ends[at]

    @cached_property
    def _part_ends(self) -> list[int]:
        """Where each part of the payload begins: segments, then groups layer by layer; the end."""
        sizes = (*self.segment_sizes, *chain.from_iterable(self.layer_sizes))
        return list(accumulate(sizes, initial=self.size))


def stated_unit(size: float) -> float:
    """Return the unit nearest to a size that a head can state: eight bits of it count."""
    size = min(max(size, MIN_UNIT), MAX_UNIT)
    rounded = np.float32(size).view(np.uint32) + np.uint32(0x8000) & np.uint32(0xFFFF0000)
    return float(rounded.view(np.float32))


def write_payload(
    head: PayloadHead,
    native: _core.Skeleton,
    segments: Sequence[bytes],
    layers: Sequence[Sequence[bytes]],
) -> bytes:
    """Return the payload; sizes of head and parts are taken from the parts."""
    groups = [part for layer in layers for part in layer]
    return b"".join((written_head(head, native, segments, groups), *segments, *groups))


def written_head(
    head: PayloadHead, native: _core.Skeleton, segments: Sequence[bytes], groups: Sequence[bytes]
) -> bytes:
    """Return the bytes of a head; sizes are those of the parts, groups layer by layer."""
    steps, scales = (head.grid.steps, head.grid.initial_scales) if head.grid else ((), ())
    mode = head.grid.mode if head.grid else 0
    coded = _core.keysine_encode_head(
        skeleton=native,
        mode=mode | (FIRST_FRAME_ALONE if head.first_frame_alone else 0),
        fine_bits=head.fine_bits,
        tempo=head.tempo,
        unit=head.unit,
        group_count=head.group_count,
        groups_per_segment=head.groups_per_segment,
        errors=[head.coarse, *head.refined],
        table=head.table,
        sizes=[len(part) for part in (*segments, *groups)],
        predictors=head.predictors,
        shifts=head.shifts,
        grid_steps=steps,
        initial_scales=scales,
    )
    return sealed_head(coded)


def sealed_head(body: bytes) -> bytes:
    """Return a head: its size, which counts itself and the checksum, the body, the checksum."""
    start = FieldWriter()
    start.varint(len(body) + 2 + next(n for n in (1, 2, 3, 4) if len(body) + 2 + n < 128**n))
    whole = start.bytes() + body
    return whole + checksum(whole)


def read_head(payload: Payload | bytes, header: ClipHeader) -> PayloadHead:
    """Return what the head of a payload says."""
    return head_of(open_payload(payload, header))


def head_of(payload: _core.KeysinePayload) -> PayloadHead:
    """Return what the head of an open payload says."""
    fields = payload.head_fields()
    mode = fields["mode"]
    coarse, *refined = fields["errors"].tolist()
    steps, scales = (tuple(fields[name].tolist()) for name in ("grid_steps", "initial_scales"))
    head = PayloadHead(
        fine_bits=fields["fine_bits"],
        coarse=coarse,
        tempo=fields["tempo"],
        unit=fields["unit"],
        group_count=payload.group_count,
        groups_per_segment=payload.groups_per_segment,
        table=_keep_fields(fields["table"]),
        predictors=_keep_fields(fields["predictors"]),
        size=payload.head_size,
        refined=tuple(refined),
        shifts=_keep_fields(fields["shifts"]),
        first_frame_alone=bool(mode & FIRST_FRAME_ALONE),
        grid=Grid(bool(mode & THOROUGH), steps, scales) if mode & GRID else None,
    )
    return head.with_sizes(fields["sizes"].tolist())


def stated_error(unit: float, code: int) -> float:
    """Return the error, in meters, that a head states by a number."""
    return float(unit * 2 ** (code / 8))


def _keep_fields(values: Any) -> Any:
    """Return an array that nobody can change: the head is shared by all who ask for it."""
    array = np.asarray(values)
    array.setflags(write=False)
    return array


def checksum(data: bytes) -> bytes:
    return binascii.crc_hqx(data, 0xFFFF).to_bytes(2, "little")
