"""What of a clip does not move, as header fields."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64, Mask
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.errors import CorruptionError


def write_values(out: FieldWriter, mask: Mask, values: F64, expected: F64) -> None:
    """Append which rows of `values` (N, K) hold still, and f64 of those that are not `expected`."""
    other = mask & (values != expected).any(axis=1)
    out.mask(mask)
    out.mask(other)
    out.raw(values[other].astype("<f8").tobytes())


def read_values(read: FieldReader, expected: F64) -> tuple[Mask, F64]:
    """Return which rows hold still and their values (N, K); `expected` where they do not."""
    count, width = expected.shape
    mask, other = read.mask(count), read.mask(count)
    if (other & ~mask).any():
        raise CorruptionError("a value is given for what moves")
    values = expected.copy()
    stored = np.frombuffer(read.raw(8 * width * int(other.sum())), "<f8").reshape(-1, width)
    if not np.isfinite(stored).all():
        raise CorruptionError("a value that holds still is not finite")
    values[other] = stored
    return mask, values
