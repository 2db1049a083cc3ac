"""Wavelet coefficients as bytes: a step for places and one for turns, then 16-bit words.

Fields, in this order: f4 step of the signals that are places, f4 step of the others; for each
place, the first coefficient as a signed varint of steps (a root far from the origin needs more
than 16 bits there); then the words of `zero_runs` to the end, as they are or deflated with the
low bytes of all words before the high ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64, I32, Mask
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.errors import CorruptionError
from mocpack.papers.beaudoin.codec import zero_runs
from mocpack.papers.beaudoin.codec.zero_runs import (
    LARGEST,
    decode_words,
    encode_words,
    join_bytes,
    split_bytes,
)

FINEST = 1e-6  # metres or radians: no step need be smaller
WIDEST_PLACE = 2**52  # steps; beyond it float64 no longer tells neighbours apart


@dataclass(frozen=True, eq=False)
class Rounded:
    """Coefficients as whole numbers of steps.

    Attributes
    ----------
    is_place : array of bool, shape (S,)
        Which signals are lengths; the others are angles or other turns.
    place_step, turn_step : float
    first : array, shape (P,)
        First coefficient of each place, in steps, of any size.
    numbers : array of int, shape (S, n)
        All others, in steps, within ±32255; 0 where `first` stands.
    """

    is_place: Mask
    place_step: float
    turn_step: float
    first: F64
    numbers: I32

    def coefficients(self) -> F64:
        """Return the coefficients (S, n) that a decoder will see."""
        steps = np.where(self.is_place, self.place_step, self.turn_step)
        out = self.numbers * steps[:, np.newaxis]
        out[self.is_place, 0] += self.first * self.place_step
        return np.asarray(out)


def round_coefficients(coefficients: F64, bits: int, *, is_place: Mask) -> Rounded:
    """Round coefficients (S, n) so that the largest takes `bits` bits, its sign included."""
    largest = LARGEST >> (16 - bits)
    narrow = coefficients.copy()
    narrow[is_place, 0] = 0.0
    place_step, turn_step = (_step(narrow[group], largest) for group in (is_place, ~is_place))
    steps = np.where(is_place, place_step, turn_step)[:, np.newaxis]
    return Rounded(
        is_place,
        place_step,
        turn_step,
        np.rint(coefficients[is_place, 0] / place_step),
        np.rint(narrow / steps).astype(np.int32),
    )


def encode_coefficients(rounded: Rounded, *, packed: bool) -> bytes:
    """Return the bytes of coefficients; `packed` ones are deflated, others readable one by one."""
    out = FieldWriter()
    out.f32(rounded.place_step)
    out.f32(rounded.turn_step)
    for number in rounded.first:
        out.signed(int(number))
    words = encode_words(rounded.numbers)
    out.raw(deflate(split_bytes(words)) if packed else words)
    return out.bytes()


def decode_coefficients(data: bytes, is_place: Mask, length: int, *, packed: bool) -> F64:
    """Return the coefficients (S, length) that `encode_coefficients` wrote."""
    place_step, turn_step, first, rest = _read_fields(data, is_place)
    words = _words(rest, len(is_place), length, packed=packed)
    numbers = decode_words(words, len(is_place), length)
    return Rounded(is_place, place_step, turn_step, first, numbers).coefficients()


def decode_some(
    data: bytes, is_place: Mask, length: int, wanted: npt.NDArray[np.intp], *, packed: bool
) -> F64:
    """Return the coefficients (W, length) of the signals `wanted`, in rising order.

    The words of no other are decoded.
    """
    place_step, turn_step, first, rest = _read_fields(data, is_place)
    words = _words(rest, len(is_place), length, packed=packed)
    numbers = zero_runs.decode_some(words, wanted, length)
    own = first[(np.cumsum(is_place) - 1)[wanted[is_place[wanted]]]]
    return Rounded(is_place[wanted], place_step, turn_step, own, numbers).coefficients()


def _step(values: F64, largest: int) -> float:
    """Return a float32 of which no value is more than `largest` steps."""
    step = np.float32(max(np.abs(values).max(initial=0.0) / largest, FINEST))
    return float(np.nextafter(step, np.float32(np.inf)))


def _read_fields(data: bytes, is_place: Mask) -> tuple[float, float, F64, bytes]:
    read = FieldReader(data, "coefficients")
    place_step, turn_step = read.f32(), read.f32()
    if not (0 <= place_step < np.inf and 0 <= turn_step < np.inf):
        raise CorruptionError("coefficients: a step must be a positive number")
    first = [read.signed() for _ in range(int(is_place.sum()))]
    if any(abs(number) > WIDEST_PLACE for number in first):
        raise CorruptionError("coefficients: a place is too far away")
    return place_step, turn_step, np.array(first, np.float64), read.rest()


def _words(data: bytes, signals: int, length: int, *, packed: bool) -> bytes:
    if not packed:
        return data
    return join_bytes(inflate(data, 2 * signals * (length + 1), what="coefficients"))
