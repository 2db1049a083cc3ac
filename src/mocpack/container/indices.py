"""Which joints: increasing numbers."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.coding.fields import FieldReader, FieldWriter


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
