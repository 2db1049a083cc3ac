"""The head of a `keysine` payload whose motion is on a grid in time: axes, steps and sizes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mocpack.clip import ClipHeader
from mocpack.codec import Read
from mocpack.codecs.keysine.payload import (
    GRID,
    LONGEST_GROUP,
    head_bytes,
    open_head,
    sealed_head,
)
from mocpack.entropy.fields import FieldReader, FieldWriter
from mocpack.errors import CorruptionError
from mocpack.transforms.joint_axes import Axes, Joint, joint_of, stored_turn
from mocpack.transforms.low_pass import FILTERS

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

FORECAST_COUNT = 2
MOST_COARSE = 64
FARTHEST = 1e6  # metres, radians: nothing that a head tells is larger
SURFACE = 10
LARGEST_TOLD = 2**28  # error that a series can be told


@dataclass(frozen=True, eq=False, kw_only=True)
class GridHead:
    """What stands at the start of a payload of this mode.

    Attributes
    ----------
    forecast : int
        Which one of `grid.FORECASTS` predicts.
    group_length : int
        Frames of each group but the last.
    axes, steps, filters, coarseness
        As in `time_grid.Grid`.
    sizes : array of int, shape (C,)
        Expected error of the prediction, in quarters of an octave of 1/256 of a step.
    keys_error : float
        Metres that the straight lines between keys are off at most.
    keys_size, group_sizes, size
        Bytes of the keys, of each group and of the head itself.
    """

    forecast: int
    group_length: int
    axes: Axes
    steps: F64
    filters: I64
    sizes: I64
    coarseness: I64
    keys_error: float = 0.0
    keys_size: int = 0
    group_sizes: tuple[int, ...] = ()
    size: int = field(default=0)

    @property
    def group_count(self) -> int:
        return len(self.group_sizes)

    def keys_at(self) -> tuple[int, int]:
        """Return offset and size of the keys in the payload."""
        return self.size, self.keys_size

    def groups_at(self, first: int, count: int) -> tuple[int, int]:
        """Return offset and size of groups in the payload."""
        start = self.size + self.keys_size + sum(self.group_sizes[:first])
        return start, sum(self.group_sizes[first : first + count])

    def told_sizes(self) -> I64:
        """Return what the series is told of its errors, in 1/256."""
        return np.clip(np.rint(2.0 ** (self.sizes / 4)), 1, LARGEST_TOLD).astype(np.int64)


def is_grid(read: Read) -> bool:
    """Whether a payload is of this mode."""
    fields = FieldReader(head_bytes(read), "keysine head")
    fields.varint()
    return fields.u8() == GRID


def write_head(head: GridHead) -> bytes:
    """Return the bytes of a head."""
    out = FieldWriter()
    out.u8(GRID)
    out.u8(head.forecast)
    # above the measured error, since float32 may round it down
    out.f32(float(np.nextafter(np.float32(head.keys_error), np.float32(np.inf))))
    out.varint(head.group_length)
    for first, origin in zip(head.axes.places, head.axes.origins, strict=True):
        out.u8(int(first >= 0))
        _write_floats(out, origin)
    for joint in head.axes.joints:
        _write_joint(out, joint)
    for step, low_pass, size in zip(head.steps, head.filters, head.sizes, strict=True):
        out.f32(float(step))
        out.u8(int(low_pass))
        out.u8(int(size))
    out.varint(head.keys_size)
    for group_size, coarseness in zip(head.group_sizes, head.coarseness, strict=True):
        out.varint(group_size)
        out.signed(int(coarseness))
    return sealed_head(out.bytes())


def read_head(read: Read, header: ClipHeader) -> GridHead:
    """Read and check the head of a payload of this mode."""
    data = head_bytes(read)
    fields = open_head(data)
    fields.u8()
    forecast, keys_error, group_length = fields.u8(), fields.f32(), fields.varint(LONGEST_GROUP)
    if forecast >= FORECAST_COUNT or not group_length or not keys_error >= 0:
        raise CorruptionError("keysine head: numbers out of range")
    axes = _read_axes(fields, header)
    steps, filters, sizes = np.zeros(axes.channel_count), [], []
    for c in range(axes.channel_count):
        steps[c] = _checked(fields.f32())
        filters.append(fields.u8())
        sizes.append(fields.u8())
    if max(filters, default=0) >= len(FILTERS):
        raise CorruptionError("keysine head: a filter that is not")
    keys_size = fields.varint(2**40)
    groups = [
        (fields.varint(2**40), fields.signed())
        for _ in range(-(-header.frame_count // group_length))
    ]
    fields.end()
    if any(abs(coarse) > MOST_COARSE for _, coarse in groups):
        raise CorruptionError("keysine head: a coarseness out of range")
    return GridHead(
        forecast=forecast,
        group_length=group_length,
        axes=axes,
        steps=steps,
        filters=np.array(filters, np.int64),
        sizes=np.array(sizes, np.int64),
        coarseness=np.array([coarse for _, coarse in groups], np.int64),
        keys_error=keys_error,
        keys_size=keys_size,
        group_sizes=tuple(size for size, _ in groups),
        size=len(data),
    )


def _write_joint(out: FieldWriter, joint: Joint) -> None:
    out.u8(joint.count)
    _write_floats(out, stored_turn(joint.mean))
    if 1 <= joint.count <= 3:
        _write_floats(out, stored_turn(joint.turn))
    if joint.count <= 3:
        _write_floats(out, joint.centre)
    if joint.count == 2:
        _write_floats(out, joint.surface)


def _read_axes(fields: FieldReader, header: ClipHeader) -> Axes:
    moves, origins = [], np.zeros((len(header.translated_joints), 3))
    for m in range(len(origins)):
        moves.append(bool(fields.u8()))
        origins[m] = _read_floats(fields, 3)
    joints, places, count = [], [], 0
    moving = dict(zip(header.translated_joints, moves, strict=True))
    for j in range(len(header.skeleton)):
        if j in moving:
            places.append(count if moving[j] else -1)
            count += 3 if moving[j] else 0
        joints.append(_read_joint(fields, count))
        count += joints[-1].count
    return Axes(tuple(joints), tuple(places), origins, count)


def _read_joint(fields: FieldReader, first: int) -> Joint:
    count = fields.u8()
    if count > 4:
        raise CorruptionError("keysine head: a joint of more than four channels")
    mean = _read_floats(fields, 3)
    turn = _read_floats(fields, 3) if 1 <= count <= 3 else np.zeros(3)
    centre = _read_floats(fields, 3) if count <= 3 else np.zeros(3)
    surface = _read_floats(fields, SURFACE) if count == 2 else np.zeros(SURFACE)
    return joint_of(first, count, mean, turn, centre, surface)


def _write_floats(out: FieldWriter, values: F64) -> None:
    for value in values:
        out.f32(float(value))


def _read_floats(fields: FieldReader, count: int) -> F64:
    return np.array([_checked(fields.f32()) for _ in range(count)])


def _checked(value: float) -> float:
    if not abs(value) <= FARTHEST:
        raise CorruptionError("keysine head: a number that is not finite, or far too large")
    return value
