"""Lists of increasing joint indices."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.coding.fields import FieldWriter


def pack_indices(out: FieldWriter, indices: Sequence[int]) -> None:
    """Append increasing indices as their count and differences."""
    out.varint(len(indices))
    for before, index in zip((0, *indices), indices, strict=False):
        out.varint(index - before)
