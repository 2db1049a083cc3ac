"""The fields of the head of a `keysine` payload, for tests and the readable decoder.

Head: varint size of the head; its numbers, coded; u16 CRC-16 of the head so far. A part is the u16
CRC-16 of its body, then its body; a group of one frame has no bytes.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from keysine_tracks import (
    ROTATION_KIND,
    TRANSLATION_KIND,
    Rotation,
    Translation,
)
from mocpack.codecs.keysine import Keysine
from mocpack.common.arrays import I32, U8
from mocpack.model.clip import ClipHeader

GRID, FIRST_FRAME_ALONE = 1, 2  # bits of the mode
THOROUGH = SHARED = 4  # of a grid; of other payloads
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
    shared: bool = False  # rotations can share references
    group_frames: int = 0  # of a streamed payload; 0: groups divide the clip evenly
    grid: Grid | None = None

    @property
    def mode(self) -> int:
        kind = self.grid.mode if self.grid else SHARED * self.shared
        return kind | FIRST_FRAME_ALONE * self.first_frame_alone

    @property
    def lead(self) -> int:
        """Frames before those that groups divide evenly."""
        return int(self.first_frame_alone)

    @property
    def fine(self) -> float:
        return 0.5**self.fine_bits

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

    def split(self, payload: bytes) -> list[bytes]:
        """Return the parts of a payload."""
        return [payload[start:stop] for start, stop in pairwise(self._part_ends)]

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


def checksum(data: bytes) -> bytes:
    return binascii.crc_hqx(data, 0xFFFF).to_bytes(2, "little")


def open_in_core(payload: bytes, header: ClipHeader) -> object:
    """Open a payload with the core, which parses its head."""
    return Keysine().open(payload, header).native
