"""Coefficients by bit planes, coarse to fine, each over segments of about a second.

A layer is a pass over the values that were zero so far (new nonzero values with their signs) and a
pass over the others (one more bit of their magnitudes). Within a pass, rows come segment by
segment, and the coarse bands of each segment come first. A cut then leaves some seconds better than
others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import decode_cut_plane, decode_plane, encode_plane
from mocpack.common.arrays import F64, I64
from mocpack.errors import CorruptionError, TruncatedError
from mocpack.papers.li.codec import wavelet97

U16 = npt.NDArray[np.uint16]
Rows = npt.NDArray[np.intp]

MAX_SHIFTS = 24


def segment_order(frames: int, levels: int, frame_time: float) -> Rows:
    """Return the rows of a wavelet's coefficients (T,), those of one second after another's."""
    count = max(1, round(frames * frame_time))
    segments = [
        (2 * np.arange(band.stop - band.start) + 1) * count // max(2 * (band.stop - band.start), 1)
        for band in wavelet97.band_slices(frames, levels)
    ]
    return np.argsort(np.concatenate(segments), kind="stable")


def lacking_bits(layer: int, lead: I64) -> I64:
    """Return how many bits of each column (C,) are missing in a layer."""
    return np.maximum(layer - lead, 0)


def coarse(values: I64, shifts: npt.ArrayLike) -> I64:
    """Return integers without their last bits of magnitude."""
    return np.asarray(np.sign(values) * (np.abs(values) >> np.asarray(shifts)))


def middle(values: I64, shifts: npt.ArrayLike) -> F64:
    """Return the middle of the interval of integers that `coarse` maps to these values.

    >>> middle(np.array([0, 1, -2]), 2).tolist()
    [0.0, 5.5, -9.5]
    """
    size = np.exp2(np.asarray(shifts, np.float64))
    return np.asarray(np.sign(values) * ((np.abs(values) + 0.5) * size - 0.5))


def write_layers(
    out: FieldWriter, values: I64, classes: U16, order: Rows, shift: int, lead: I64
) -> list[int]:
    """Append layers `shift` to 0 of integers (T, C); return the length of `out` after each.

    `lead` (C,) is the number of layers by which a column's bits come before those of others.
    """
    ordered = values[order]
    out.sized(encode_plane(coarse(ordered, lacking_bits(shift, lead)), classes))
    ends = [len(out.bytes())]
    for k in range(shift - 1, -1, -1):
        shifts = lacking_bits(k + 1, lead), lacking_bits(k, lead)
        before, now = (coarse(ordered, s) for s in shifts)
        gains = shifts[0] > shifts[1]
        known = (before != 0) & gains
        now = np.where(gains & (before == 0) | known, now, 0)
        out.sized(encode_plane(np.where(known, 0, now), classes))
        out.raw(np.packbits((np.abs(now) & 1)[known].astype(bool)).tobytes())
        ends.append(len(out.bytes()))
    return ends


def read_layers(
    read: FieldReader, classes: U16, order: Rows, shift: int, lead: I64, *, cut: bool
) -> tuple[I64, npt.NDArray[np.int64]]:
    """Return integers (T, C) as far as they are known, and the number of missing bits of each.

    Missing bits are an error unless the payload is `cut`.
    """
    rows, columns = len(order), len(classes)
    values = np.zeros((rows, columns), np.int64)
    lacking = np.tile(lacking_bits(shift, lead), (rows, 1))
    top = read_plane(read, rows, classes, cut=cut)
    values[: len(top)] = top
    for k in range(shift - 1, -1, -1):
        if cut and not read.left:
            break
        shifts = lacking_bits(k, lead)
        gains = lacking_bits(k + 1, lead) > shifts
        known = (values != 0) & gains
        fixed = (values != 0) | ~gains
        new = read_plane(read, rows, classes, cut=cut)
        if (np.abs(new) > 1).any() or (new[fixed[: len(new)]] != 0).any():
            raise CorruptionError("bit plane: new values must be -1, 0 or 1 (file is corrupt)")
        part = values[: len(new)]
        values[: len(new)] = np.where(fixed[: len(new)], part, new)
        lacking[: len(new)] = np.where(new != 0, shifts, lacking[: len(new)])
        _refine(values, lacking, known, _bits(read, int(known.sum()), cut=cut))
    back = np.empty_like(order)
    back[order] = np.arange(rows)
    return values[back], lacking[back]


def _refine(
    values: I64, lacking: I64, known: npt.NDArray[np.bool_], bits: npt.NDArray[np.uint8]
) -> None:
    """Add the available bits to the first of the known integers, in place."""
    at = np.flatnonzero(known)[: len(bits)]
    flat, left = values.reshape(-1), lacking.reshape(-1)
    flat[at] += np.sign(flat[at]) * (np.abs(flat[at]) + bits)
    left[at] -= 1


def _bits(read: FieldReader, count: int, *, cut: bool) -> npt.NDArray[np.uint8]:
    size = (count + 7) // 8
    data = read.raw(min(size, read.left) if cut else size)
    return np.unpackbits(np.frombuffer(data, np.uint8))[:count]


def read_plane(read: FieldReader, rows: int, classes: U16, *, cut: bool) -> npt.NDArray[np.int32]:
    """Return the next plane (T, n); of a cut payload, its complete rows."""
    if not cut:
        return decode_plane(read.sized(), rows, len(classes), classes)
    try:
        size = read.varint()
    except TruncatedError:
        return np.zeros((0, len(classes)), np.int32)
    if size <= read.left:
        return decode_plane(read.raw(size), rows, len(classes), classes)
    return decode_cut_plane(read.rest(), rows, len(classes), classes)


def choose_shift(values: I64, classes: U16, order: Rows, lead: I64, *, share: float) -> int:
    """Return the shift of the first layer, so that it takes at most `share` of the bytes."""
    if share >= 1:
        return 0
    ordered = values[order]
    whole = len(encode_plane(ordered, classes))
    most = int(np.abs(values).max(initial=0)).bit_length()
    for shift in range(min(most, MAX_SHIFTS)):
        first = encode_plane(coarse(ordered, lacking_bits(shift, lead)), classes)
        if len(first) <= share * whole:
            return shift
    return min(most, MAX_SHIFTS)
