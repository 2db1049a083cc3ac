"""Numbers as files print them: shortest decimals, and how many digits are enough."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.clip import Clip
from mocpack.dofs import is_angle, to_channels

F64 = npt.NDArray[np.float64]

FINEST = 1e-7  # metres: a tenth of a micrometre, far below any bound
SHORTEST = -1  # in place of a number of decimals
ANGLE_DECIMALS = 7  # of a degree: 0.004 micrometres at two metres


def decimal(value: float) -> str:
    """Return the shortest decimal that reads back as this very double, never in e-notation.

    >>> decimal(0.1), decimal(-0.0), decimal(1e-7)
    ('0.1', '0', '0.0000001')
    """
    number = np.array([[value]], np.float64)
    return _core.print_numbers(number, np.array([SHORTEST], np.int32)).decode().strip()


def source_numbers(metres: F64, unit: float) -> F64:
    """Undo a reader's multiplication: the shortest decimals that give the same metres."""
    values = metres / unit
    for digits in range(10):
        rounded = np.round(values, digits)
        if np.array_equal(rounded * unit, metres):
            return rounded
    return values


def length_decimals(unit: float) -> int:
    """Return the decimals that keep a length in this unit to `FINEST`.

    >>> length_decimals(1.0), length_decimals(0.01), length_decimals(0.001)
    (7, 5, 4)
    """
    return max(0, int(np.ceil(np.log10(unit / FINEST) - 1e-9)))


def lines(clip: Clip) -> bytes:
    """Return the channels of a clip as text, a line for each frame, in its source's units.

    The source's own numbers are printed so that they read back as the same doubles, computed
    ones with enough decimals not to add error.
    """
    numbers = np.ascontiguousarray(to_channels(clip))
    angle = is_angle(clip.skeleton)
    if clip.channels is not None:
        decimals = np.full(len(angle), SHORTEST, np.int32)
    else:
        decimals = np.where(angle, ANGLE_DECIMALS, length_decimals(clip.unit)).astype(np.int32)
    return _core.print_numbers(numbers, decimals)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Number the names that stand a second time.

    >>> distinct(["hand", "foot", "hand", "hand_2"])
    ('hand', 'foot', 'hand_2', 'hand_2_2')
    """
    taken: dict[str, None] = {}  # a set that keeps its order
    for name in names:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken[free] = None
    return tuple(taken)


def parse_number(word: bytes) -> float | None:
    """Return the finite decimal number that `word` is, or None."""
    value = np.empty(1)
    count, stop = _core.parse_numbers(word, 0, value)
    return float(value[0]) if count == 1 and stop == len(word) else None
