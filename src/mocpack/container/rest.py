"""The REST chunk: the rotation of each joint at rest."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.container.numbers import pack_numbers, unpack_numbers
from mocpack.rotations import IDENTITY


def pack_rest(rest: F64) -> bytes:
    turned = (rest != IDENTITY).any(1)
    out = FieldWriter()
    out.mask(turned)
    out.raw(pack_numbers(np.ascontiguousarray(rest[turned]), simple=True))
    return out.bytes()


def unpack_rest(body: bytes, joints: int) -> F64:
    """Return the rest rotations (J, 4); whether they are rotations is for the skeleton to say."""
    read = FieldReader(body, "REST chunk")
    turned = read.mask(joints)
    rest = np.tile(IDENTITY, (joints, 1))
    rest[turned] = unpack_numbers(read, int(turned.sum()), 4, simple=True)
    return rest
