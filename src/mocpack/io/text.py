"""Print numbers in text files: shortest decimals, or as many digits as needed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.model.clip import Clip
from mocpack.model.dofs import to_channels

LENGTH_RESOLUTION_M = 1e-7  # a tenth of a micrometer, far below any error bound
MAX_ROUNDING_M = 5e-7  # that rounding all angles, or all lengths, may move a joint
SHORTEST = -1  # instead of a number of decimals
MIN_ANGLE_DECIMALS = 7  # of a degree; enough for a body of two meters


def format_number(value: float) -> str:
    """Return the shortest decimal that reads back as the same double, without an exponent.

    >>> format_number(0.1), format_number(-0.0), format_number(1e-7)
    ('0.1', '-0', '0.0000001')
    """
    number = np.array([[value]], np.float64)
    return _core.print_numbers(number, np.array([SHORTEST], np.int32)).decode().strip()


def to_source_numbers(meters: F64, unit: float) -> F64:
    """Return the shortest decimals in file units that read back as the same meters."""
    values = meters / unit
    for digits in range(10):
        rounded = np.round(values, digits)
        if np.array_equal(rounded * unit, meters):
            return rounded
    return values


def length_decimals(unit: float, finest: float = LENGTH_RESOLUTION_M) -> int:
    """Return the decimals that represent a length in this unit within `finest` meters.

    >>> length_decimals(1.0), length_decimals(0.01), length_decimals(0.001)
    (7, 5, 4)
    """
    return max(0, int(np.ceil(np.log10(unit / finest) - 1e-9)))


def format_channels(clip: Clip) -> bytes:
    """Return the channels of a clip as text, one line per frame, in the units of its source.

    Numbers of the source are printed so that they read back as the same doubles. Computed numbers
    get enough decimals to move no joint by more than a micrometer.
    """
    numbers = np.ascontiguousarray(to_channels(clip))
    if clip.channels is not None:
        return _core.print_numbers(numbers, np.full(numbers.shape[1], SHORTEST, np.int32))
    return _core.print_numbers(numbers, choose_decimals(clip))


def choose_decimals(clip: Clip) -> npt.NDArray[np.int32]:
    """Return the decimals of each channel (C,) that keep every joint within a micrometer.

    Rounding an angle moves all joints below, so a joint with a long reach gets more decimals.
    """
    skeleton = clip.skeleton
    reach, depth, moved = _measure_reach(clip)
    joints = skeleton.columns.joints
    # Three angles, each wrong by half a unit of the last decimal.
    step = MAX_ROUNDING_M / depth.max() / (1.5 * np.radians(1.0) * np.maximum(reach[joints], 1e-3))
    angles = np.maximum(MIN_ANGLE_DECIMALS, np.ceil(-np.log10(step)))
    lengths = length_decimals(
        clip.unit, min(LENGTH_RESOLUTION_M, MAX_ROUNDING_M / max(1, moved.max()))
    )
    return np.where(skeleton.columns.is_angle, angles, lengths).astype(np.int32)


def _measure_reach(clip: Clip) -> tuple[F64, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the distance that descendants of each joint reach (J,), in meters.

    Also returns how many joints, and how many translated joints, are on the path from the root.
    """
    skeleton = clip.skeleton
    length = np.linalg.norm(skeleton.offsets, axis=1)
    moving = list(clip.translated_joints)
    length[moving] = np.linalg.norm(clip.translations, axis=2).max(axis=0)
    reach = np.zeros(len(skeleton))
    ends = np.linalg.norm(skeleton.end_sites, axis=1)
    np.maximum.at(reach, list(skeleton.end_site_joints), ends)
    for j in range(len(skeleton) - 1, 0, -1):
        parent = skeleton.parents[j]
        reach[parent] = max(reach[parent], length[j] + reach[j])
    depth = np.ones(len(skeleton), np.int64)
    moved = np.zeros(len(skeleton), np.int64)
    moved[moving] = 1
    for j, parent in enumerate(skeleton.parents[1:], 1):
        depth[j] += depth[parent]
        moved[j] += moved[parent]
    return reach, depth, moved


def make_unique(names: Iterable[str]) -> tuple[str, ...]:
    """Append numbers to repeated names.

    >>> make_unique(["hand", "foot", "hand", "hand_2"])
    ('hand', 'foot', 'hand_2', 'hand_2_2')
    """
    taken: dict[str, int] = {}  # last number used for each name
    for name in names:
        number, free = taken.get(name, 1), name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        if name in taken:
            taken[name] = number  # keeps a thousand equal names from taking quadratic time
        taken[free] = 1
    return tuple(taken)


def parse_number(word: bytes) -> float | None:
    """Return the number that `word` spells, or None if it is not a finite decimal number."""
    value = np.empty(1)
    count, stop = _core.parse_numbers(word, 0, value)
    return float(value[0]) if count == 1 and stop == len(word) else None
