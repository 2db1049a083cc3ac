"""The SCAL chunk: constant and animated scales of joints."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.fields import FieldWriter
from mocpack.container.indices import pack_indices
from mocpack.container.numbers import pack_numbers

HAS_CONSTANT, HAS_MOVING = 1, 2


def pack_scales(
    constant: F64, scaled_joints: tuple[int, ...], moving: F64 | None, step: float = 0.0
) -> bytes:
    """Return the chunk of constant (J, 3) and animated scales (T, S, 3), within half a step."""
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
