"""Header fields for the constant rotations and translations of a clip."""

from __future__ import annotations

import numpy as np

from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.common.arrays import F64, Mask
from mocpack.errors import CorruptionError
from mocpack.model.clip import ClipHeader
from mocpack.model.rotations import IDENTITY, normalize
from mocpack.papers.li.codec.bodies import Still, rest_places


def write_still(out: FieldWriter, header: ClipHeader, still: Still) -> None:
    """Append the constant rotations and translations."""
    _write_values(out, still.joints, still.rotations, _unturned(header))
    _write_values(out, still.translations, still.places, rest_places(header))


def read_still(read: FieldReader, header: ClipHeader) -> Still:
    """Read the constant rotations and translations."""
    joints, turns = _read_values(read, _unturned(header))
    translations, places = _read_values(read, rest_places(header))
    if joints[0]:
        raise CorruptionError("the root must be marked as rotating (file is corrupt)")
    return Still(joints, normalize(turns), translations, places)


def _unturned(header: ClipHeader) -> F64:
    return np.tile(IDENTITY, (len(header.skeleton), 1))


def _write_values(out: FieldWriter, mask: Mask, values: F64, expected: F64) -> None:
    """Append which rows of `values` (N, K) are constant, and those that are not `expected`."""
    other = mask & (values != expected).any(axis=1)
    out.mask(mask)
    out.mask(other)
    out.raw(values[other].astype("<f8").tobytes())


def _read_values(read: FieldReader, expected: F64) -> tuple[Mask, F64]:
    """Return which rows are constant and their values (N, K); `expected` for moving rows."""
    count, width = expected.shape
    mask, other = read.mask(count), read.mask(count)
    if (other & ~mask).any():
        raise CorruptionError("a constant value is given for a moving row (file is corrupt)")
    values = expected.copy()
    stored = np.frombuffer(read.raw(8 * width * int(other.sum())), "<f8").reshape(-1, width)
    if not np.isfinite(stored).all():
        raise CorruptionError("constant values must be finite (file is corrupt)")
    values[other] = stored
    return mask, values
