"""Write the remainders of numbers: further digits or raw bits, rarely any."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mocpack.coding.fields import FieldWriter
from mocpack.coding.planes import encode_plane
from mocpack.common.arrays import I64, U8


def write_remainders(out: FieldWriter, kinds: U8, amounts: I64) -> None:
    """Write a flag and, if there are remainders: columns, kinds, lengths, then bits."""
    if not kinds.any():
        out.u8(0)
        return
    out.u8(1)
    columns = kinds.any(axis=0)
    out.mask(columns)
    kinds, amounts = kinds[:, columns], amounts[:, columns]
    classes = np.arange(kinds.shape[1])
    folded = ((amounts << 1) ^ (amounts >> 63)).view(np.uint64)[kinds > 0]
    lengths = np.zeros(kinds.shape, np.int64)
    lengths[kinds > 0] = _bit_lengths(folded)
    out.sized(encode_plane(kinds, classes))
    out.sized(encode_plane(lengths, classes))
    for k, longer in enumerate(_iterate_bits(lengths[kinds > 0])):
        out.mask((folded[longer] >> np.uint64(k)) & np.uint64(1))


def _iterate_bits(lengths: I64) -> Iterator[npt.NDArray[np.intp]]:
    """Yield, for each bit below the top one, which numbers have it."""
    for k in range(int(lengths.max(initial=1)) - 1):
        yield np.flatnonzero(lengths - 1 > k)


def _bit_lengths(values: npt.NDArray[np.uint64]) -> I64:
    """Return the bit length of each number, 0 for 0."""
    high, low = values >> np.uint64(32), values & np.uint64(2**32 - 1)
    lengths = np.where(high > 0, 32 + np.frexp(high.astype(np.float64))[1], 0)
    return np.where(high > 0, lengths, np.frexp(low.astype(np.float64))[1]).astype(np.int64)
