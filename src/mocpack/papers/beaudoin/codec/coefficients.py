"""Wavelet coefficients as bytes: quantizer steps, then 16-bit words.

Fields, in this order: f4 step of the signals that are places, f4 step of the others, or with a step
per signal one f4 per signal; for each place, the first coefficient as a signed varint of steps (a
root far from the origin needs more than 16 bits there); then the words of `zero_runs` to the end,
as they are, deflated, or deflated with the low bytes of all words before the high ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mocpack.codec import Read
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.common.arrays import F64, I32, Mask
from mocpack.errors import CorruptionError, TruncatedError
from mocpack.papers.beaudoin.codec.zero_runs import (
    LARGEST,
    decode_words,
    encode_words,
    join_bytes,
    split_bytes,
)

BLOCK = 1024  # bytes that `decode_some` reads at once
MAX_VARINT = 10  # bytes of a varint
FINEST = 1e-6  # meters or radians; smaller steps are not used
Packing = Literal["none", "words", "bytes"]
"""How words are stored: as they are, deflated, or with their bytes separated and deflated."""
WIDEST_PLACE = 2**52  # steps; larger integers are not exact in float64


@dataclass(frozen=True, eq=False)
class Rounded:
    """Coefficients as whole numbers of steps.

    Attributes
    ----------
    is_place : array of bool, shape (S,)
        Which signals are lengths; the others are angles or other turns.
    steps : array, shape (S,)
        Quantizer step of each signal, in meters or radians.
    first : array, shape (P,)
        First coefficient of each place, in steps, of any size.
    numbers : array of int, shape (S, n)
        All other coefficients, in steps, within ±32255; 0 where `first` has the coefficient.
    """

    is_place: Mask
    steps: F64
    first: F64
    numbers: I32

    def coefficients(self) -> F64:
        """Return the decoded coefficients (S, n)."""
        out = self.numbers * self.steps[:, np.newaxis]
        out[self.is_place, 0] += self.first * self.steps[self.is_place]
        return np.asarray(out)


def round_coefficients(
    coefficients: F64, bits: int, *, is_place: Mask, step_per_signal: bool = False
) -> Rounded:
    """Round coefficients (S, n) so that the largest takes `bits` bits, its sign included.

    Position signals share one largest value and other signals another. With `step_per_signal`, each
    signal has its own.
    """
    largest = LARGEST >> (16 - bits)
    narrow = coefficients.copy()
    narrow[is_place, 0] = 0.0
    steps = np.empty(len(coefficients))
    for group in _step_groups(is_place, step_per_signal):
        steps[group] = _step(narrow[group], largest)
    return Rounded(
        is_place,
        steps,
        np.rint(coefficients[is_place, 0] / steps[is_place]),
        np.rint(narrow / steps[:, np.newaxis]).astype(np.int32),
    )


def encode_coefficients(
    rounded: Rounded, *, packing: Packing, step_per_signal: bool = False
) -> bytes:
    """Encode coefficients as bytes."""
    out = FieldWriter()
    for group in _step_groups(rounded.is_place, step_per_signal):
        out.f32(float(rounded.steps[group].max(initial=EMPTY_STEP)))
    for number in rounded.first:
        out.signed(int(number))
    words = encode_words(rounded.numbers)
    if packing == "bytes":
        words = split_bytes(words)
    out.raw(words if packing == "none" else deflate(words))
    return out.bytes()


def decode_coefficients(
    data: bytes, is_place: Mask, length: int, *, packing: Packing, step_per_signal: bool = False
) -> F64:
    """Return the coefficients (S, length) that `encode_coefficients` wrote."""
    steps, first, rest = _read_fields(data, is_place, step_per_signal)
    if packing != "none":
        rest = inflate(rest, 2 * len(is_place) * (length + 1), what="coefficients")
    if packing == "bytes":
        rest = join_bytes(rest)
    numbers = decode_words(rest, len(is_place), length)
    return Rounded(is_place, steps, first, numbers).coefficients()


def decode_some(
    read: Read, size: int, is_place: Mask, wanted: Mask, length: int, *, step_per_signal: bool
) -> F64:
    """Return the coefficients (wanted signals, length) of words that are not deflated.

    Reads `size` bytes only up to the last wanted signal, and decodes only wanted ones: a signal's
    words begin after as many zero words as there are signals before.
    """
    places = int(is_place.sum())
    head = read(0, min(size, 4 * len(is_place) + 8 + MAX_VARINT * places))
    fields = FieldReader(head, "coefficients")
    steps, first = _read_steps(fields, is_place, step_per_signal)
    at, ends, words = fields.at, np.zeros(0, np.intp), b""
    last = int(np.flatnonzero(wanted)[-1])
    while len(ends) <= last:
        block = read(at, min(BLOCK, size - at))
        if len(block) < 2:
            raise TruncatedError(f"{len(ends)} of {last + 1} signals end (file is truncated)")
        words, at = words + block, at + len(block)
        ends = np.flatnonzero(np.frombuffer(words[: len(words) // 2 * 2], "<u2") == 0) + 1
    starts = np.concatenate([[0], ends])
    numbers = np.concatenate(
        [
            decode_words(words[2 * starts[i] : 2 * ends[i]], 1, length)
            for i in np.flatnonzero(wanted)
        ]
    )
    known = first[wanted[is_place]]
    return Rounded(is_place[wanted], steps[wanted], known, numbers).coefficients()


def _step_groups(is_place: Mask, step_per_signal: bool) -> list[Mask]:
    """Return the signals (S,) of each stored step: places and others, or one signal each."""
    if step_per_signal:
        return list(np.eye(len(is_place), dtype=bool))
    return [is_place, ~is_place]


def _step(values: F64, largest: int) -> float:
    """Return a float32 step such that every value is at most `largest` steps."""
    step = np.float32(max(np.abs(values).max(initial=0.0) / largest, FINEST))
    return float(np.nextafter(step, np.float32(np.inf)))


EMPTY_STEP = _step(np.zeros(0), LARGEST)  # step of a group without signals


def _read_fields(data: bytes, is_place: Mask, step_per_signal: bool) -> tuple[F64, F64, bytes]:
    read = FieldReader(data, "coefficients")
    return *_read_steps(read, is_place, step_per_signal), read.rest()


def _read_steps(read: FieldReader, is_place: Mask, step_per_signal: bool) -> tuple[F64, F64]:
    """Return the steps (S,), and the first coefficients (P,) of places."""
    steps = np.empty(len(is_place))
    for group in _step_groups(is_place, step_per_signal):
        step = read.f32()
        if not 0 <= step < np.inf:
            raise CorruptionError(f"coefficients: step must be a positive number, got {step}")
        steps[group] = step
    first = [read.signed() for _ in range(int(is_place.sum()))]
    if any(abs(number) > WIDEST_PLACE for number in first):
        raise CorruptionError(
            f"coefficients: first value of a position must be within ±{WIDEST_PLACE} steps"
        )
    return steps, np.array(first, np.float64)
