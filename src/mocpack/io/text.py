"""Numbers as files print them: shortest decimals, and how many digits are enough."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.clip import ClipHeader
from mocpack.dofs import is_angle

F64 = npt.NDArray[np.float64]

FINEST = 1e-7  # metres: a tenth of a micrometre, far below any bound
ANGLE_DECIMALS = 7  # of a degree: 0.004 micrometres at two metres


def decimal(value: float) -> str:
    """Return the shortest decimal that reads back as this very double, never in e-notation.

    >>> decimal(0.1), decimal(-0.0), decimal(1e-7)
    ('0.1', '0', '0.0000001')
    """
    text = repr(float(value))
    if "e" in text:
        text = np.format_float_positional(value, trim="-")
    text = text.removesuffix(".0")
    return "0" if text == "-0" else text


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


def printed(numbers: F64, header: ClipHeader) -> list[list[str]]:
    """Return computed channels (T, C) as text, with enough digits not to add error."""
    lengths = f"%.{length_decimals(header.unit)}f"
    formats = [f"%.{ANGLE_DECIMALS}f" if a else lengths for a in is_angle(header.skeleton)]
    return [[f % v for f, v in zip(formats, row, strict=True)] for row in numbers.tolist()]


def exact(numbers: F64) -> list[list[str]]:
    """Return a source's own channels (T, C) as text that reads back as the same doubles."""
    return [[decimal(v) for v in row] for row in numbers.tolist()]


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
