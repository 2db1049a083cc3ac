"""Sparse signals as 16-bit words: a value, a run of zeros, or the end of a signal.

Word 0 ends a signal: the rest of it is zero. Words 1 to 1023 are runs of that many zeros. Words
1025 to 65535 are the values -32255 to 32255; 33280 is zero. So one signal can be read
without the ones before it: its words begin after as many zero words as there are signals before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import I32
from mocpack.errors import CorruptionError, TruncatedError

LARGEST = 32255


def encode_words(values: I32) -> bytes:
    """Return the words, little-endian, of integers (S, n) within ±32255."""
    return bytes(_core.zero_runs_encode(np.ascontiguousarray(values, np.int32)).astype("<u2"))


def decode_words(data: bytes, signals: int, length: int) -> I32:
    """Return the integers (signals, length) that `encode_words` wrote."""
    words = _words(data)
    if len(words) < signals:  # each signal has an end word; limits memory
        raise TruncatedError(f"{len(words)} words cannot hold {signals} signals")
    return np.asarray(_core.zero_runs_decode(words, signals, length))


def split_bytes(words: bytes) -> bytes:
    """Return the low bytes of all words, then the high bytes, which deflate compresses better."""
    return words[0::2] + words[1::2]


def join_bytes(data: bytes) -> bytes:
    """Undo `split_bytes`."""
    if len(data) % 2:
        raise CorruptionError(f"expected 16-bit words, got {len(data)} bytes")
    half = np.frombuffer(data, np.uint8).reshape(2, -1)
    return half.T.tobytes()


def _words(data: bytes) -> npt.NDArray[np.uint16]:
    if len(data) % 2:
        raise TruncatedError(f"expected 16-bit words, got {len(data)} bytes")
    return np.frombuffer(data, "<u2").astype(np.uint16)
