"""Views of glTF buffers that EXT_meshopt_compression or KHR_meshopt_compression packs.

Only rows of numbers are unpacked, which is all that animations have; triangles are not. The core
decodes the stream, and the filters are undone here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.errors import FormatError

EXTENSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")
MAX_STRIDE = 256
MAX_INT16 = 32767


def unpack(data: bytes, count: int, stride: int, mode: str, kind: str, what: str) -> bytes:
    """Return the rows (count, stride) of a packed view; `kind` is its filter, `what` names it."""
    if mode != "ATTRIBUTES":
        raise FormatError(f"{what} is packed as {mode!r:.40}, and no row of numbers is")
    if stride % 4 or not 4 <= stride <= MAX_STRIDE:
        raise FormatError(f"{what}.byteStride must be a multiple of 4 up to 256, got {stride}")
    if kind not in FILTERS:
        raise FormatError(
            f"{what} has the filter {kind!r:.40}; those of animations are {', '.join(FILTERS)}"
        )
    widths, undo = FILTERS[kind]
    if widths and stride not in widths:
        raise FormatError(f"{what}.byteStride must be {widths[0]} with {kind}, got {stride}")
    return undo(_core.decode_meshopt(data, count, stride)).tobytes()


def _keep_rows(rows: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    return rows


def _undo_quaternion_filter(rows: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Rows of three components, and a fourth that says their unit and which one was left out."""
    packed = rows.view("<i2")
    unit = (packed[:, 3] | 3).astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        small = packed[:, :3] * (np.float32(np.sqrt(0.5)) / unit)[:, np.newaxis]
    left_out = np.sqrt(np.maximum(0, 1 - (small.astype(np.float32) ** 2).sum(1)))
    scaled = np.column_stack([small, left_out]) * MAX_INT16
    # as the extension has it: halves go away from zero
    whole = np.trunc(scaled + np.copysign(0.5, scaled)).astype("<i2")
    places = (packed[:, 3:] + np.array([1, 2, 3, 0])) & 3
    found = np.empty_like(whole)
    np.put_along_axis(found, places.astype(np.intp), whole, axis=1)
    return np.asarray(found)


def _undo_exponential_filter(rows: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Numbers of 24 bits, each with a power of two in the upper 8."""
    packed = rows.view("<i4")
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(((packed << 8) >> 8).astype("<f4"), packed >> 24), "<f4")


FILTERS = {
    "NONE": ((), _keep_rows),
    "QUATERNION": ((8,), _undo_quaternion_filter),
    "EXPONENTIAL": ((), _undo_exponential_filter),
}
