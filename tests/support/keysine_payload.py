"""Parse and rewrite the bytes of a `keysine` payload in Python, for tests.

Head: varint size of the head; its numbers, coded; u16 CRC-16 of the head so far. A part is the u16
CRC-16 of its body, then its body; a group of one frame has no bytes.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
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
MIN_UNIT = 1e-30  # meters; the smallest unit of a writer, far below any precision but not denormal


BUNDLE_GROUPS = 4  # groups that one part of a later layer refines, at most


def _no_shifts() -> U8:
    return np.zeros((0, 2, 0), np.uint8)


def no_predictors() -> I32:
    return np.zeros((0, 4), np.int32)


@dataclass(frozen=True)
class Grid:
    """The fields of a head for a time grid.

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
    """The fields of a head."""

    fine_bits: int
    coarse: int
    tempo: int
    unit: float
    group_count: int
    groups_per_segment: int
    table: I32
    predictors: I32 = field(default_factory=no_predictors)  # (N, 4)
    sizes: tuple[int, ...] = ()  # of the parts
    size: int = 0
    layer_count: int = 1
    errors: tuple[tuple[int, int], ...] = ()  # largest and mean error of each layer, if several
    shifts: U8 = field(default_factory=_no_shifts)  # (layers - 1, 2, tracks)
    first_frame_alone: bool = False  # the first frame is its own group
    group_frames: int = 0  # of a streamed payload; 0: groups divide the clip evenly
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
        """Largest errors, in meters, with each layer, if there are several."""
        return tuple(self.unit * 2 ** ((largest - 64) / 8) for largest, _ in self.errors)

    @property
    def mean_errors(self) -> tuple[float, ...]:
        """Mean errors, in meters, with each layer, if there are several."""
        return tuple(self.unit * 2 ** ((mean - 64) / 8) for _, mean in self.errors)

    def stated(self, coarse: int) -> float:
        return float(self.unit * 2 ** (coarse / 8))

    def statement(self, error: float) -> int:
        """Return the number that states an error, rounded up."""
        return min(max(math.ceil(8 * math.log2(max(error, self.unit) / self.unit)), 0), 255)

    @property
    def track_count(self) -> int:
        """How many rotations and translations move."""
        turning = self.table[:, ROTATION_KIND] >= Rotation.VECTOR
        return int(turning.sum() + (self.table[:, TRANSLATION_KIND] >= Translation.MOVING).sum())

    @property
    def segment_count(self) -> int:
        return max(1, -(-self.group_count // self.groups_per_segment))

    def key_frame(self, key: int, frame_count: int) -> int:
        """Return the first frame of a group: evenly spread after the lead, rounded half up.

        The groups of a streamed payload are equally long, but for the last one.
        """
        if not self.group_count or key < self.lead:
            return 0
        if self.group_frames:
            return min(key * self.group_frames, frame_count - 1)
        even = self.group_count - self.lead
        intervals = frame_count - 1 - self.lead
        return self.lead + (2 * (key - self.lead) * intervals + even) // (2 * even)

    def bundles_of(self, segment: int) -> list[range]:
        """Return the groups that parts of a later layer refine together."""
        first = segment * self.groups_per_segment
        end = min(first + self.groups_per_segment, self.group_count)
        starts = range(first, end, BUNDLE_GROUPS)
        return [range(start, min(start + BUNDLE_GROUPS, end)) for start in starts]

    @property
    def part_order(self) -> list[tuple[int, str, int]]:
        """Return the parts in the payload's order: layer, kind, and its (first) number."""
        segments = range(self.segment_count)
        if self.group_frames:
            return [part for s in segments for part in self._streamed_parts(s)]
        order = [(0, "keys", s) for s in segments]
        order += [(0, "group", g) for g in range(self.group_count)]
        for layer in range(1, self.layer_count):
            for s in segments:
                order.append((layer, "keys", s))
                order += [(layer, "group", bundle[0]) for bundle in self.bundles_of(s)]
        return order

    def _streamed_parts(self, segment: int) -> list[tuple[int, str, int]]:
        first = segment * self.groups_per_segment
        end = min(first + self.groups_per_segment, self.group_count)
        return [(0, "keys", segment), *((0, "group", g) for g in range(first, end))]

    def part_at(self, layer: int, kind: str, number: int) -> tuple[int, int]:
        """Return offset and size of a part in the payload."""
        at = self._part_numbers[layer, kind, number]
        return self._part_ends[at], self.sizes[at]

    @property
    def segment_sizes(self) -> tuple[int, ...]:
        return self.sizes[: self.segment_count]

    @property
    def layer_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Sizes of the groups of the first layer, then of all parts of each later layer."""
        found: list[list[int]] = [[] for _ in range(self.layer_count)]
        for (layer, kind, _), size in zip(self.part_order, self.sizes, strict=True):
            if layer or kind == "group":
                found[layer].append(size)
        return tuple(map(tuple, found))

    def segment_of(self, group: int) -> int:
        return group // self.groups_per_segment

    def segments_at(self, first: int, count: int) -> tuple[int, int]:
        """Return offset and size of segments in the payload."""
        ends = self._part_ends
        return ends[first], ends[first + count] - ends[first]

    def groups_at(self, first: int, count: int) -> tuple[int, int]:
        """Return offset and size of groups of the first layer in the payload."""
        ends = self._part_ends
        at = self.segment_count + first
        return ends[at], ends[at + count] - ends[at]

    @cached_property
    def _part_ends(self) -> list[int]:
        """Where each part of the payload begins; the end."""
        return list(accumulate(self.sizes, initial=self.size))

    @cached_property
    def _part_numbers(self) -> dict[tuple[int, str, int], int]:
        return {part: at for at, part in enumerate(self.part_order)}


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
        group_frames=head.group_frames,
        keys_error=head.coarse,
        errors=list(head.errors) or [(0, 0)],
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
    """Return the fields of a payload's head."""
    return head_of(open_payload(payload, header))


def head_of(payload: _core.KeysinePayload) -> PayloadHead:
    """Return the fields of an open payload's head."""
    fields = payload.head_fields()
    mode = fields["mode"]
    steps, scales = (tuple(fields[name].tolist()) for name in ("grid_steps", "initial_scales"))
    errors = tuple((largest, mean) for largest, mean in fields["errors"].tolist())
    return PayloadHead(
        fine_bits=fields["fine_bits"],
        coarse=fields["keys_error"],
        tempo=fields["tempo"],
        unit=fields["unit"],
        group_count=payload.group_count,
        groups_per_segment=payload.groups_per_segment,
        table=_keep_fields(fields["table"]),
        predictors=_keep_fields(fields["predictors"]),
        size=payload.head_size,
        sizes=tuple(fields["sizes"].tolist()),
        layer_count=payload.layer_count,
        errors=errors if payload.layer_count > 1 else (),
        shifts=_keep_fields(fields["shifts"]),
        first_frame_alone=bool(mode & FIRST_FRAME_ALONE),
        group_frames=fields["group_frames"],
        grid=Grid(bool(mode & THOROUGH), steps, scales) if mode & GRID else None,
    )


def _keep_fields(values: Any) -> Any:
    """Return a read-only array, because heads are shared."""
    array = np.asarray(values)
    array.setflags(write=False)
    return array


def checksum(data: bytes) -> bytes:
    return binascii.crc_hqx(data, 0xFFFF).to_bytes(2, "little")
