"""Read finite float32 values from untrusted bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack.errors import CorruptionError

EXPONENT_MASK = np.uint32(0x7F800000)  # all ones: infinite or not a number


def read_finite_floats(data: bytes | npt.NDArray[np.uint32], what: str) -> npt.NDArray[np.float32]:
    """Return float32 values from little-endian bytes, or from their bits as integers."""
    bits = np.frombuffer(data, "<u4").astype(np.uint32) if isinstance(data, bytes) else data
    if ((bits & EXPONENT_MASK) == EXPONENT_MASK).any():
        raise CorruptionError(f"{what}: floats must be finite (file is corrupt)")
    return bits.view(np.float32)
