"""The bytes of a `keysine` payload: head, key segments, groups in layers. Knows no motion.

Head: varint size of the head; u8 mode; u8 model set; u8 bits of the fine grid; u8 bits of the grid
of axes; u8 error of the keys alone; u8 tempo; f4 unit; varints: blocks, blocks per group, groups
per segment; u8 error of each layer but the last; the size of each segment and group, the plan and
the shifts of layers, coded; u16 CRC-16 of the head so far.
A segment or group is the u16 CRC-16 of its body, then its body.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.clip import ClipHeader
from mocpack.codec import Read
from mocpack.codecs.keysine.tracks import (
    COLUMNS,
    ROTATION_KIND,
    TRANSLATION_KIND,
    Rotation,
    Translation,
)
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.errors import CorruptionError

I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]

GRID, LED, THOROUGH = 1, 2, 4  # lower bits of the mode
MODE_BITS = GRID | LED | THOROUGH
LONGEST_BLOCK = 512  # frames
LONGEST_GROUP = 8192  # frames
MOST_LAYERS = 16
MOST_SHIFT = 8
MOST_TOLD = 55
MOST_GRID_CHANNELS = 4096
SHORTEST = 3  # bytes of the shortest payload: the head's size fits in them


def _no_shifts() -> U8:
    return np.zeros((0, 0), np.uint8)


@dataclass(frozen=True)
class Grid:
    """What a head says of a grid in time.

    Attributes
    ----------
    thorough : bool
        Which forecast predicts its numbers.
    steps : tuple of int
        Index of the step of each track.
    told : tuple of int
        How far prediction is off at first, for each channel: half octaves of 1/256 of a step.
    """

    thorough: bool
    steps: tuple[int, ...] = ()
    told: tuple[int, ...] = ()

    @property
    def mode(self) -> int:
        return GRID | (THOROUGH if self.thorough else 0)


@dataclass(frozen=True)
class Head:
    """What stands at the start of a payload."""

    model: int
    fine_bits: int
    basis_bits: int
    coarse: int
    tempo: int
    unit: float
    block_count: int
    blocks_per_group: int
    groups_per_segment: int
    table: I32
    segment_sizes: tuple[int, ...] = ()
    layer_sizes: tuple[tuple[int, ...], ...] = ()  # of the groups, for each layer
    size: int = 0
    refined: tuple[int, ...] = ()  # errors of the layers but the last, as `coarse`
    shifts: U8 = field(default_factory=_no_shifts)  # (layers - 1, tracks)
    lead: int = 0  # 1: the first frame is a block by itself
    grid: Grid | None = None

    @property
    def fine(self) -> float:
        return 0.5**self.fine_bits

    @property
    def coarse_error(self) -> float:
        """Largest error, in metres, of the motion that the keys alone give."""
        return self.stated(self.coarse)

    @property
    def layer_errors(self) -> tuple[float, ...]:
        """Largest errors, in metres, with each layer but the last."""
        return tuple(map(self.stated, self.refined))

    def stated(self, coarse: int) -> float:
        return float(self.unit * 2 ** (coarse / 8))

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
        return int(turning.sum() + (self.table[:, TRANSLATION_KIND] == Translation.MOVING).sum())

    @property
    def group_count(self) -> int:
        return self.part_counts[1]

    @property
    def basis_grid(self) -> float:
        return 0.5**self.basis_bits

    @property
    def part_counts(self) -> tuple[int, int]:
        """How many segments and groups there are."""
        groups = -(-self.block_count // self.blocks_per_group)
        return max(1, -(-groups // self.groups_per_segment)), groups

    def longest_block(self, frame_count: int) -> int:
        """Return the frames of the longest block."""
        return longest_block(frame_count, self.block_count, self.lead)

    def longest_group(self, frame_count: int) -> int:
        """Return the most frames that a group has, but for the key at its end."""
        blocks = min(self.blocks_per_group, max(1, self.block_count))
        return blocks * max(1, self.longest_block(frame_count))

    def key_frame(self, key: int, frame_count: int) -> int:
        """Return the frame of a key: evenly spread after the lead, rounded half up."""
        if not self.block_count or key < self.lead:
            return 0
        even = self.block_count - self.lead
        intervals = frame_count - 1 - self.lead
        return self.lead + (2 * (key - self.lead) * intervals + even) // (2 * even)

    def group_at(self, frame: int, frame_count: int) -> int:
        """Return the group that holds a frame; the last key belongs to the last group."""
        if not self.block_count or frame < self.lead:
            return 0
        even, intervals = self.block_count - self.lead, frame_count - 1 - self.lead
        block = min(self.lead + (frame - self.lead) * even // intervals, self.block_count - 1)
        if self.key_frame(block, frame_count) > frame:
            block -= 1
        elif block + 1 < self.block_count and self.key_frame(block + 1, frame_count) <= frame:
            block += 1
        return block // self.blocks_per_group

    def with_sizes(self, sizes: Sequence[int]) -> Head:
        """Return the head with the sizes of its parts: segments, then groups layer by layer."""
        segments, groups = self.part_counts
        layers = tuple(
            tuple(sizes[segments + at * groups : segments + (at + 1) * groups])
            for at in range(self.layer_count)
        )
        return replace(self, segment_sizes=tuple(sizes[:segments]), layer_sizes=layers)

    def segment_of(self, group: int) -> int:
        return group // self.groups_per_segment

    def segments_at(self, first: int, count: int) -> tuple[int, int]:
        """Return offset and size of segments in the payload."""
        start = self.size + sum(self.segment_sizes[:first])
        return start, sum(self.segment_sizes[first : first + count])

    def groups_at(self, first: int, count: int, layer: int = 0) -> tuple[int, int]:
        """Return offset and size of groups of one layer in the payload."""
        sizes = self.layer_sizes[layer]
        below = sum(map(sum, self.layer_sizes[:layer]))
        start = self.size + sum(self.segment_sizes) + below + sum(sizes[:first])
        return start, sum(sizes[first : first + count])

    @property
    def whole(self) -> int:
        """Bytes of the payload."""
        return self.size + sum(self.segment_sizes) + sum(map(sum, self.layer_sizes))


def write_payload(
    head: Head, native: _core.Skeleton, segments: Sequence[bytes], layers: Sequence[Sequence[bytes]]
) -> bytes:
    """Return the payload; sizes of head and parts are taken from the parts."""
    fields = FieldWriter()
    grid = head.grid
    mode = (grid.mode if grid else 0) | (LED if head.lead else 0) | (head.layer_count - 1) << 4
    for value in (mode, head.model, head.fine_bits, head.basis_bits, head.coarse, head.tempo):
        fields.u8(value)
    fields.f32(head.unit)
    for value in (head.block_count, head.blocks_per_group, head.groups_per_segment):
        fields.varint(value)
    for value in head.refined:
        fields.u8(value)
    groups = [part for layer in layers for part in layer]
    sizes = [len(part) for part in (*segments, *groups)]
    coded = _core.keysine_encode_head(
        *(head.model, native, head.table, sizes, len(segments), head.shifts),
        *((grid.steps, grid.told) if grid else ((), ())),
    )
    fields.raw(coded)
    return b"".join((sealed_head(fields.bytes()), *segments, *groups))


def sealed_head(body: bytes) -> bytes:
    """Return a head: its size, which counts itself and the checksum, the body, the checksum."""
    start = FieldWriter()
    start.varint(len(body) + 2 + next(n for n in (1, 2, 3, 4) if len(body) + 2 + n < 128**n))
    whole = start.bytes() + body
    return whole + checksum(whole)


def read_start(read: Read, header: ClipHeader) -> Head:
    """Read what stands in a head before its coded part: how many parts there are, and how long."""
    data = head_bytes(read)
    return read_fields(open_head(data), header.frame_count, len(data))


def read_head(read: Read, header: ClipHeader) -> Head:
    """Read and check the head of a payload."""
    data = head_bytes(read)
    head = read_fields(open_head(data), header.frame_count, len(data))
    native = header.skeleton.native(header.translated_joints)
    table, sizes, shifts, steps, told = _core.keysine_read_head(native, data, header.frame_count)
    grid = head.grid and replace(head.grid, steps=tuple(steps), told=tuple(told))
    head = replace(head, table=np.asarray(table), shifts=np.asarray(shifts), grid=grid)
    return head.with_sizes(sizes)


def head_bytes(read: Read) -> bytes:
    """Return the head of a payload as it stands there."""
    size = FieldReader(read(0, SHORTEST), "keysine payload").varint(2**21)
    if size < SHORTEST:
        raise CorruptionError(f"keysine payload: a head of {size} bytes")
    return read(0, size)


def open_head(data: bytes) -> FieldReader:
    """Check a head and return the reader that stands at its first field."""
    if checksum(data[:-2]) != data[-2:]:
        raise CorruptionError("keysine payload: the head's checksum is wrong")
    fields = FieldReader(data[:-2], "keysine head")
    fields.varint()
    return fields


def read_fields(fields: FieldReader, frame_count: int, size: int) -> Head:
    """Read what stands in a head before its coded part."""
    mode, model, fine_bits, basis_bits, coarse, tempo = (fields.u8() for _ in range(6))
    unit = fields.f32()
    blocks, per_group, per_segment = (fields.varint(2**40) for _ in range(3))
    refined = tuple(fields.u8() for _ in range(mode >> 4))
    if (
        mode & 15 & ~MODE_BITS
        or (mode & (GRID | THOROUGH)) == THOROUGH
        or (mode & GRID and (mode >> 4 or per_group != 1))
        or fine_bits > 60
        or basis_bits > 20
        or tempo < 1
        or not 0 < unit < 1e6
    ):
        raise CorruptionError("keysine head: numbers out of range")
    lead = int(bool(mode & LED))
    _check_blocks(frame_count, blocks, per_group, per_segment, lead)
    table = np.zeros((0, COLUMNS), np.int32)
    numbers = (model, fine_bits, basis_bits, coarse, tempo, unit, blocks, per_group, per_segment)
    grid = Grid(bool(mode & THOROUGH)) if mode & GRID else None
    return Head(*numbers, table, size=size, refined=refined, lead=lead, grid=grid)


def checksum(data: bytes) -> bytes:
    return binascii.crc_hqx(data, 0xFFFF).to_bytes(2, "little")


def longest_block(frame_count: int, blocks: int, lead: int) -> int:
    """Return the frames of the longest block."""
    return -(-(frame_count - 1 - lead) // (blocks - lead)) if blocks > lead else 0


def _check_blocks(
    frame_count: int, blocks: int, per_group: int, per_segment: int, lead: int
) -> None:
    longest = longest_block(frame_count, blocks, lead)
    if (
        (frame_count > 1) != (blocks > 0)
        or not blocks <= frame_count - 1
        or (lead and not (blocks > 1 and frame_count > 2))
        or not (per_group and per_segment)
        or longest > LONGEST_BLOCK
        or longest * per_group > LONGEST_GROUP
    ):
        raise CorruptionError("keysine head: blocks that cannot be")
