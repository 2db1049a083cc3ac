"""Wavelet coefficients as bytes: a step for places and one for turns, then 16-bit words.

Fields, in this order: f4 step of the signals that are places, f4 step of the others; for each
place, the first coefficient as a signed varint of steps (a root far from the origin needs more
than 16 bits there); then the words of `zero_runs` to the end, as they are or deflated with the
low bytes of all words before the high ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack.entropy.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.entropy.zero_runs import (
    LARGEST,
    decode_signal,
    decode_words,
    encode_words,
    join_bytes,
    split_bytes,
)
from mocpack.errors import CorruptionError

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FINEST = 1e-6  # metres or radians: no step need be smaller
WIDEST_PLACE = 2**52  # steps; beyond it float64 no longer tells neighbours apart


def encode_coefficients(
    coefficients: F64, is_place: Mask, *, bits: int = 16, packed: bool = True
) -> bytes:
    """Return the bytes of coefficients (S, n), most of them zero.

    Parameters
    ----------
    is_place : array of bool, shape (S,)
        Which signals are lengths; the others are angles or other turns.
    bits : int
        The largest coefficient takes this many bits, its sign included.
    packed : bool
        Whether to deflate the words; without, a signal can be read by itself.
    """
    largest = LARGEST >> (16 - bits)
    first = coefficients[is_place, 0]
    narrow = coefficients.copy()
    narrow[is_place, 0] = 0.0
    steps = [_step(narrow[group], largest) for group in (is_place, ~is_place)]
    by_signal = np.where(is_place, *steps)[:, np.newaxis]
    words = encode_words(np.rint(narrow / by_signal).astype(np.int32))
    out = FieldWriter()
    for step in steps:
        out.f32(step)
    for number in np.rint(first / steps[0]):
        out.signed(int(number))
    out.raw(deflate(split_bytes(words)) if packed else words)
    return out.bytes()


def decode_coefficients(data: bytes, is_place: Mask, length: int, *, packed: bool = True) -> F64:
    """Return the coefficients (S, length) that `encode_coefficients` wrote."""
    signals = len(is_place)
    steps, first, rest = _read_head(data, is_place)
    if packed:
        rest = join_bytes(inflate(rest, 2 * signals * (length + 1), what="coefficients"))
    coefficients = decode_words(rest, signals, length) * steps[:, np.newaxis]
    coefficients[is_place, 0] += first
    return np.asarray(coefficients)


def decode_one(data: bytes, is_place: Mask, length: int, index: int, *, packed: bool) -> F64:
    """Return the coefficients (length,) of one signal; the words of no other are decoded."""
    steps, first, rest = _read_head(data, is_place)
    if packed:
        rest = join_bytes(inflate(rest, 2 * len(is_place) * (length + 1), what="coefficients"))
    coefficients = decode_signal(rest, index, length) * steps[index]
    if is_place[index]:
        coefficients[0] += first[int(is_place[:index].sum())]
    return np.asarray(coefficients)


def _step(values: F64, largest: int) -> float:
    """Return a float32 of which no value is more than `largest` steps."""
    step = np.float32(max(np.abs(values).max(initial=0.0) / largest, FINEST))
    return float(np.nextafter(step, np.float32(np.inf)))


def _read_head(data: bytes, is_place: Mask) -> tuple[F64, F64, bytes]:
    """Return step of each signal, first coefficient of each place, and the words."""
    read = FieldReader(data, "coefficients")
    place_step, turn_step = read.f32(), read.f32()
    if not (0 <= place_step < np.inf and 0 <= turn_step < np.inf):
        raise CorruptionError("coefficients: a step must be a positive number")
    numbers = [read.signed() for _ in range(int(is_place.sum()))]
    if any(abs(number) > WIDEST_PLACE for number in numbers):
        raise CorruptionError("coefficients: a place is too far away")
    first = np.array(numbers, np.float64) * place_step
    return np.where(is_place, place_step, turn_step), first, read.rest()
