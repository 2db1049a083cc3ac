"""Numbers as files print them: shortest decimals, and how many digits are enough."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.dofs import to_channels

LENGTH_RESOLUTION_M = 1e-7  # metres: a tenth of a micrometre, far below any bound
MAX_ROUNDING_M = 5e-7  # metres that all rounding of angles, and all of lengths, may move a joint
SHORTEST = -1  # in place of a number of decimals
MIN_ANGLE_DECIMALS = 7  # of a degree, at the least: enough for a body of two metres


def format_number(value: float) -> str:
    """Return the shortest decimal that reads back as this very double, never in e-notation.

    >>> decimal(0.1), decimal(-0.0), decimal(1e-7)
    ('0.1', '-0', '0.0000001')
    """
    number = np.array([[value]], np.float64)
    return _core.print_numbers(number, np.array([SHORTEST], np.int32)).decode().strip()


def to_source_numbers(metres: F64, unit: float) -> F64:
    """Undo a reader's multiplication: the shortest decimals that give the same metres."""
    values = metres / unit
    for digits in range(10):
        rounded = np.round(values, digits)
        if np.array_equal(rounded * unit, metres):
            return rounded
    return values


def length_decimals(unit: float, finest: float = LENGTH_RESOLUTION_M) -> int:
    """Return the decimals that keep a length in this unit to `finest` metres.

    >>> length_decimals(1.0), length_decimals(0.01), length_decimals(0.001)
    (7, 5, 4)
    """
    return max(0, int(np.ceil(np.log10(unit / finest) - 1e-9)))


def format_channels(clip: Clip) -> bytes:
    """Return the channels of a clip as text, a line for each frame, in its source's units.

    The source's own numbers are printed so that they read back as the same doubles, computed
    ones with so many decimals that no joint moves more than a micrometre.
    """
    numbers = np.ascontiguousarray(to_channels(clip))
    if clip.channels is not None:
        return _core.print_numbers(numbers, np.full(numbers.shape[1], SHORTEST, np.int32))
    return _core.print_numbers(numbers, choose_decimals(clip))


def choose_decimals(clip: Clip) -> npt.NDArray[np.int32]:
    """Return the decimals of each channel, shape (C,), that keep every joint to a micrometre.

    Rounded angles turn all that hangs on a joint, so a joint with a long reach has more.
    """
    skeleton = clip.skeleton
    reach, depth, moved = _measure_reach(clip)
    joints = skeleton.columns.joints
    # three angles, each off by half a unit of its last place
    step = MAX_ROUNDING_M / depth.max() / (1.5 * np.radians(1.0) * np.maximum(reach[joints], 1e-3))
    angles = np.maximum(MIN_ANGLE_DECIMALS, np.ceil(-np.log10(step)))
    lengths = length_decimals(
        clip.unit, min(LENGTH_RESOLUTION_M, MAX_ROUNDING_M / max(1, moved.max()))
    )
    return np.where(skeleton.columns.is_angle, angles, lengths).astype(np.int32)


def _measure_reach(clip: Clip) -> tuple[F64, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return of each joint how far what hangs on it reaches, in metres, shape (J,).

    And how many joints, and how many that are translated, lie on its way from the root.
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
    """Number the names that stand a second time.

    >>> distinct(["hand", "foot", "hand", "hand_2"])
    ('hand', 'foot', 'hand_2', 'hand_2_2')
    """
    taken: dict[str, int] = {}  # the last number that each name was given, in order of names
    for name in names:
        number, free = taken.get(name, 1), name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        if name in taken:
            taken[name] = number  # so that a thousand equal names are no million tries
        taken[free] = 1
    return tuple(taken)


def parse_number(word: bytes) -> float | None:
    """Return the finite decimal number that `word` is, or None."""
    value = np.empty(1)
    count, stop = _core.parse_numbers(word, 0, value)
    return float(value[0]) if count == 1 and stop == len(word) else None
