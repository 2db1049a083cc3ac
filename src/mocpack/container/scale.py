"""The SCAL chunk: scales of joints, those that stay and those that move."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.container.indices import pack_indices, unpack_indices
from mocpack.container.numbers import pack_numbers, unpack_numbers
from mocpack.errors import CorruptionError

HAS_CONSTANT, HAS_MOVING = 1, 2


def pack_scales(
    constant: F64, scaled_joints: tuple[int, ...], moving: F64 | None, step: float = 0.0
) -> bytes:
    """Return the chunk of scales (J, 3) and (T, S, 3), these exact or within half a step."""
    out = FieldWriter()
    scaled = (constant != 1).any(1)
    out.u8(HAS_CONSTANT * bool(scaled.any()) + HAS_MOVING * (moving is not None))
    if scaled.any():
        out.mask(scaled)
        out.sized(pack_numbers(np.ascontiguousarray(constant[scaled]), simple=True))
    if moving is not None:
        pack_indices(out, scaled_joints)
        out.raw(pack_numbers(np.ascontiguousarray(moving.reshape(len(moving), -1)), step))
    return out.bytes()


def unpack_scaled_joints(body: bytes, joints: int) -> tuple[F64, tuple[int, ...]]:
    """Return the constant scales (J, 3), and which joints' scales move."""
    return _unpack(FieldReader(body, "SCAL chunk"), joints)


def unpack_moving_scales(body: bytes, frames: int, joints: int) -> F64 | None:
    """Return the scales (T, S, 3) that move, if any do."""
    read = FieldReader(body, "SCAL chunk")
    _, scaled = _unpack(read, joints)
    if not scaled:
        read.end()
        return None
    return unpack_numbers(read, frames, 3 * len(scaled)).reshape(frames, -1, 3)


def _unpack(read: FieldReader, joints: int) -> tuple[F64, tuple[int, ...]]:
    flags = read.u8()
    if not 0 < flags <= HAS_CONSTANT + HAS_MOVING:
        raise CorruptionError(f"SCAL chunk: unknown flags {flags}")
    constant = np.ones((joints, 3))
    if flags & HAS_CONSTANT:
        scaled = read.mask(joints)
        numbers = FieldReader(read.sized(), "SCAL chunk")
        constant[scaled] = unpack_numbers(numbers, int(scaled.sum()), 3, simple=True)
    moving = unpack_indices(read, "SCAL chunk", joints) if flags & HAS_MOVING else ()
    if flags & HAS_MOVING and not moving:
        raise CorruptionError("SCAL chunk: scales that move, of no joint")
    return constant, moving
