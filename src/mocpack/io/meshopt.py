"""Unpack glTF buffer views compressed with EXT_meshopt_compression or KHR_meshopt_compression.

Only attribute data is supported, which is all that animations use. The core decodes the stream;
this module undoes the filters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import F32, U8
from mocpack.errors import FormatError

EXTENSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")
MAX_STRIDE = 256
MAX_INT16 = 32767


def unpack(data: bytes, count: int, stride: int, mode: str, kind: str, what: str) -> bytes:
    """Return the rows (count, stride) of a packed view; `kind` is its filter, `what` its name."""
    if mode != "ATTRIBUTES":
        raise FormatError(f"{what}: compression mode must be 'ATTRIBUTES', got {mode!r:.40}")
    if stride % 4 or not 4 <= stride <= MAX_STRIDE:
        raise FormatError(f"{what}.byteStride must be a multiple of 4 up to 256, got {stride}")
    if kind not in FILTERS:
        raise FormatError(f"{what}: filter must be one of {', '.join(FILTERS)}, got {kind!r:.40}")
    widths, undo = FILTERS[kind]
    if widths and stride not in widths:
        raise FormatError(f"{what}.byteStride must be {widths[0]} with {kind}, got {stride}")
    return undo(_core.decode_meshopt(data, count, stride)).tobytes()


def _undo_quaternion_filter(rows: U8) -> npt.NDArray[np.int16]:
    """Decode rows of three components and a fourth with their scale and the omitted index."""
    packed = rows.view("<i2")
    unit = (packed[:, 3] | 3).astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        small = packed[:, :3] * (np.float32(np.sqrt(0.5)) / unit)[:, np.newaxis]
    left_out = np.sqrt(np.maximum(0, 1 - (small.astype(np.float32) ** 2).sum(1)))
    scaled = np.column_stack([small, left_out]) * MAX_INT16
    # The extension rounds halves away from zero.
    whole = np.trunc(scaled + np.copysign(0.5, scaled)).astype("<i2")
    positions = (packed[:, 3:] + np.array([1, 2, 3, 0])) & 3
    quaternions = np.empty_like(whole)
    np.put_along_axis(quaternions, positions.astype(np.intp), whole, axis=1)
    return np.asarray(quaternions)


def _undo_exponential_filter(rows: U8) -> F32:
    """Decode 24-bit mantissas with an 8-bit exponent."""
    packed = rows.view("<i4")
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(((packed << 8) >> 8).astype("<f4"), packed >> 24), "<f4")


FILTERS: dict[str, tuple[tuple[int, ...], Callable[[U8], npt.NDArray[np.number]]]] = {
    "NONE": ((), np.asarray),
    "QUATERNION": ((8,), _undo_quaternion_filter),
    "EXPONENTIAL": ((), _undo_exponential_filter),
}
