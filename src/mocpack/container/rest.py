"""The REST chunk: the rest rotation of each joint."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.fields import FieldWriter
from mocpack.container.numbers import pack_numbers
from mocpack.rotations import IDENTITY


def pack_rest(rest: F64) -> bytes:
    turned = (rest != IDENTITY).any(1)
    out = FieldWriter()
    out.mask(turned)
    out.raw(pack_numbers(np.ascontiguousarray(rest[turned]), simple=True))
    return out.bytes()
