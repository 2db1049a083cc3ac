"""Which joints: increasing numbers, or a bit for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.errors import CorruptionError

Bools = npt.NDArray[np.bool_]


def pack_indices(out: FieldWriter, indices: Sequence[int]) -> None:
    """Increasing numbers, as their count and differences."""
    out.varint(len(indices))
    for before, index in zip((0, *indices), indices, strict=False):
        out.varint(index - before)


def unpack_indices(read: FieldReader, limit: int, most: int) -> tuple[int, ...]:
    """Return at most `limit` numbers, each at most `most` above the one before."""
    indices, at = [], 0
    for _ in range(read.varint(limit)):
        at += read.varint(most)
        indices.append(at)
    return tuple(indices)


def pack_bits(out: FieldWriter, bits: Bools) -> None:
    out.raw(np.packbits(bits, bitorder="little").tobytes())


def unpack_bits(read: FieldReader, count: int) -> Bools:
    packed = np.frombuffer(read.raw(-(-count // 8)), np.uint8)
    bits = np.unpackbits(packed, bitorder="little")
    if bits[count:].any():
        raise CorruptionError("bits beyond the last joint")
    return bits[:count].astype(np.bool_)
