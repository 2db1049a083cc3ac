"""Which joints: increasing numbers."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.errors import CorruptionError


def pack_indices(out: FieldWriter, indices: Sequence[int]) -> None:
    """Increasing numbers, as their count and differences."""
    out.varint(len(indices))
    for before, index in zip((0, *indices), indices, strict=False):
        out.varint(index - before)


def unpack_indices(
    read: FieldReader, what: str, joints: int, limit: int | None = None, *, repeats: bool = False
) -> tuple[int, ...]:
    """Return at most `limit` joints (by default as many as there are), each after the one before.

    With `repeats`, a joint may follow itself.
    """
    indices: list[int] = []
    at = 0
    for _ in range(read.varint(joints if limit is None else limit)):
        step = read.varint()
        at += step
        if at >= joints or (indices and not step and not repeats):
            raise CorruptionError(f"{what}: joint {at} of {joints} is not there, or stands twice")
        indices.append(at)
    return tuple(indices)
