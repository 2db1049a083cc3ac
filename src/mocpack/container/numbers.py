"""Code series of real numbers, exactly or within a bound: scales, times and tracks."""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.coding.fields import FieldWriter
from mocpack.common.arrays import F64


def pack_numbers(
    values: F64, step: float = 0.0, *, known: bool = False, simple: bool = False
) -> bytes:
    """Return the code of values (N, K): exact, or within half of `step` if it is given.

    A `known` step is not written, because the reader has it. A `simple` code uses only deflate.
    """
    return _core.pack_numbers(np.ascontiguousarray(values, np.float64), step, known, simple)


def pack_short(out: FieldWriter, value: float) -> None:
    """Append a number as a short decimal or its reciprocal (0.002, 1/60), else as a float64."""
    out.raw(_core.pack_short(value))
