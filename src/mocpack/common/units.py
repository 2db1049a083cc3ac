"""Parse and format lengths, angles and sizes such as "1mm", "0.3deg", "20kB".

Values are meters, radians and bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from numbers import Integral
from typing import TypeVar

from mocpack.common.arguments import check_number
from mocpack.errors import UsageError, name_errors

Number = TypeVar("Number", int, float)

LENGTHS = {
    "m": 1.0,
    "cm": 1e-2,
    "mm": 1e-3,
    "um": 1e-6,
    "µm": 1e-6,
    "inch": 0.0254,
    "in": 0.0254,
}
ANGLES = {"deg": math.pi / 180, "°": math.pi / 180, "rad": 1.0, "mrad": 1e-3}
MAX_BYTES = 10**18
SIZES = {
    "B": 1,
    "kB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}
BANDWIDTHS = {"bps": 0, "kbps": 1, "Kbps": 1, "Mbps": 2, "Gbps": 3}
ENERGIES = {"J": 1.0, "mJ": 1e-3, "kJ": 1e3}

_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµ°]*)\s*")


class Length(float):
    """A length in meters that was given with a unit; arithmetic on it returns plain floats."""

    def __repr__(self) -> str:
        return f"Length({float(self)!r})"


class Angle(float):
    """An angle in radians that was given with a unit; arithmetic on it returns plain floats."""

    def __repr__(self) -> str:
        return f"Angle({float(self)!r})"


def deg(value: float) -> Angle:
    """Return an angle from degrees, as an alternative to text such as ``"0.3deg"``.

    >>> deg(180) == math.pi
    True
    """
    return Angle(check_number("value", value) * ANGLES["deg"])


def rad(value: float) -> Angle:
    """Return an angle from radians."""
    return Angle(check_number("value", value) * ANGLES["rad"])


def mm(value: float) -> Length:
    """Return a length from millimeters, as an alternative to text such as ``"1mm"``.

    >>> mm(1) == 0.001
    True
    """
    return Length(check_number("value", value) * LENGTHS["mm"])


def cm(value: float) -> Length:
    """Return a length from centimeters."""
    return Length(check_number("value", value) * LENGTHS["cm"])


def m(value: float) -> Length:
    """Return a length from meters."""
    return Length(check_number("value", value) * LENGTHS["m"])


def parse_length_argument(name: str, value: object) -> float:
    """Return an argument in meters, given as text with a unit or as a `Length`.

    A bare number is an error: someone who writes 1 for a millimeter would get a meter.

    >>> parse_length_argument("max_error", "1mm"), parse_length_argument("max_error", mm(2))
    (0.001, 0.002)
    """
    if isinstance(value, Angle):
        raise UsageError(f"{name} must be a length such as '1mm', got {value!r}")
    if not isinstance(value, str | Length):
        raise UsageError(
            f"{name}={value!r} has no unit: write {name}='1mm' or {name}=mocpack.mm(1)"
        )
    with name_errors(name, UsageError):
        return parse_length(value)


def parse_angle_argument(name: str, value: object) -> float:
    """Return an argument in radians, given as text with a unit or as an `Angle`.

    A bare number is an error: someone who writes 1 for a degree would get a radian.

    >>> parse_angle_argument("max_angle", "5mrad"), parse_angle_argument("max_angle", rad(0.1))
    (0.005, 0.1)
    """
    if isinstance(value, Length):
        raise UsageError(f"{name} must be an angle such as '0.3deg', got {value!r}")
    if not isinstance(value, str | Angle):
        raise UsageError(
            f"{name}={value!r} has no unit: write {name}='0.3deg' or {name}=mocpack.deg(0.3)"
        )
    with name_errors(name, UsageError):
        return parse_angle(value)


def parse_length_or_angle(name: str, value: object) -> Length | Angle:
    """Return an argument in meters or radians, as its unit says.

    >>> parse_length_or_angle("bound", "1mm"), parse_length_or_angle("bound", "2rad")
    (Length(0.001), Angle(2.0))
    """
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if isinstance(value, Angle) or (match is not None and match.group(2) in ANGLES):
        return Angle(parse_angle_argument(name, value))
    return Length(parse_length_argument(name, value))


def parse_angle(value: str | float) -> float:
    """Return an angle in radians from a number of radians or text with a unit.

    >>> parse_angle("0.005rad"), parse_angle(0.1)
    (0.005, 0.1)
    """
    return _parse_below(value, ANGLES, "angle", "0.3deg", "1000 rad")


def parse_length(value: str | float) -> float:
    """Return a length in meters from a number of meters or text with a unit.

    >>> parse_length("1mm"), parse_length("0.5cm"), parse_length(0.002)
    (0.001, 0.005, 0.002)
    """
    return _parse_below(value, LENGTHS, "length", "1mm", "1e6 m")


def parse_size(value: str | int, name: str = "size") -> int:
    """Return the argument `name`, a size in bytes, from a number of bytes or text with a unit.

    >>> parse_size("20kB"), parse_size("2KiB"), parse_size(500)
    (20000, 2048, 500)
    """
    size: float = _parse_bytes(value) if isinstance(value, str) else value
    is_whole = isinstance(value, str | Integral) and not isinstance(value, bool)
    if not is_whole or not 1 <= size < MAX_BYTES:
        raise UsageError(
            f"{name} must be a whole number of bytes, at least 1 and below 1e18, got {value!r:.80}"
        )
    return round(size)


def parse_bandwidth(text: str, *, kilo: int = 1000) -> float:
    """Return a bandwidth in bits per second; `kilo` is 1000 or 1024.

    >>> parse_bandwidth("128kbps"), parse_bandwidth("1Mbps", kilo=1024)
    (128000.0, 1048576.0)
    """
    scales = {unit: float(kilo) ** power for unit, power in BANDWIDTHS.items()}
    return _parse_below(text, scales, "bandwidth", "128kbps", "1e15 bit/s")


def parse_energy(text: str) -> float:
    """Return an energy in joules.

    >>> parse_energy("500mJ"), parse_energy("2J")
    (0.5, 2.0)
    """
    return _parse_below(text, ENERGIES, "energy", "500mJ", "1e15 J")


def format_length(meters: float, digits: int = 3) -> str:
    """Format a length in the unit that reads best.

    >>> format_length(0.001), format_length(0.0000123), format_length(9.8e-8)
    ('1 mm', '12.3 µm', '98 nm')
    """
    if 0 < meters < 1e-12:
        return "<1 pm"  # rounding of float64
    for unit, scale in (("m", 1.0), ("cm", 1e-2), ("mm", 1e-3)):
        if meters >= scale * (1 if unit != "cm" else 2):
            return f"{meters / scale:.{digits}g} {unit}"
    if meters >= 1e-6 or meters == 0:
        return f"{meters / 1e-6:.{digits}g} µm"
    return f"{meters / 1e-9:.{digits}g} nm"


def format_angle(radians: float, digits: int = 3) -> str:
    """Format an angle in degrees.

    >>> format_angle(math.pi / 2), format_angle(0.0001)
    ('90°', '0.00573°')
    """
    return f"{math.degrees(radians):.{digits}g}°"


def to_millimeters(meters: float | None) -> float | None:
    """Return a length in millimeters, or None for None."""
    return None if meters is None else 1000 * meters


def to_degrees(radians: float | None) -> float | None:
    """Return an angle in degrees, or None for None."""
    return None if radians is None else math.degrees(radians)


def format_angles(a: float, b: float) -> tuple[str, str]:
    """Format two angles with enough digits (at least three) to tell them apart."""
    return _format_distinct(format_angle, a, b)


def format_lengths(a: float, b: float) -> tuple[str, str]:
    """Format two lengths with enough digits (at least three) to tell them apart.

    >>> format_lengths(0.001, 0.0010004)
    ('1 mm', '1.0004 mm')
    >>> format_lengths(1e-33, 2e-16)
    ('1e-33 m', '2e-16 m')
    """
    texts = _format_distinct(format_length, a, b)
    # below a picometer, `format_length` shows 0
    return (f"{a:.3g} m", f"{b:.3g} m") if texts[0] == texts[1] and a != b else texts


def format_sizes(a: int, b: int) -> tuple[str, str]:
    """Format two sizes like `format_size`, but in bytes if they would look equal.

    >>> format_sizes(1790, 20480), format_sizes(1790, 1812)
    (('1.8 kB', '20.5 kB'), ('1790 B', '1812 B'))
    """
    texts = format_size(a), format_size(b)
    return texts if texts[0] != texts[1] else (f"{a} B", f"{b} B")


def format_size(size: float) -> str:
    """Format a size in B, kB, MB or GB (powers of 1000).

    >>> format_size(999), format_size(20480), format_size(3_200_000), format_size(2e9)
    ('999 B', '20.5 kB', '3.20 MB', '2.00 GB')
    """
    if size < 1000:
        return f"{size:.0f} B"
    if size < 1_000_000:
        return f"{size / 1000:.1f} kB"
    if size < 1_000_000_000:
        return f"{size / 1_000_000:.2f} MB"
    return f"{size / 1_000_000_000:.2f} GB"


def _format_distinct(form: Callable[[float, int], str], a: float, b: float) -> tuple[str, str]:
    for digits in range(3, 18):
        texts = form(a, digits), form(b, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _parse_bytes(text: str) -> float:
    plain = text.strip().isdecimal()
    return float(text) if plain else _parse_with_unit(text, SIZES, "size", "20kB")


def _parse_below(
    value: str | float, units: dict[str, float], what: str, like: str, limit: str
) -> float:
    """Return a number or text with a unit, above 0 and below a limit such as ``1e6 m``."""
    number = _parse_with_unit(value, units, what, like) if isinstance(value, str) else float(value)
    if not 0 < number < float(limit.partition(" ")[0]):
        raise UsageError(f"{what} must be above 0 and below {limit}, got {value!r}")
    return number


def _parse_with_unit(
    text: str, units: dict[str, float] | dict[str, int], what: str, like: str
) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None or match.group(2) not in units:
        raise UsageError(
            f"expected {'an' if what == 'angle' else 'a'} {what} such as {like!r}, with one "
            f"of the units {', '.join(units)}; got {text!r}"
        )
    return float(match.group(1)) * units[match.group(2)]


def parse_frame_range(text: str) -> slice:
    """Parse a range of frames: ``1:``, ``:100`` or ``10:20``.

    >>> parse_frame_range("1:")
    slice(1, None, None)
    """
    return slice(*_parse_range(text, int, "frames such as 1:, :100 or 10:20"))


def parse_seconds_range(text: str) -> tuple[float, float | None]:
    """Parse a range of seconds: ``1.5:``, ``:3`` or ``2:5``.

    >>> parse_seconds_range(":2.5")
    (0.0, 2.5)
    """
    first, last = _parse_range(text, float, "seconds such as 1.5:, :3 or 2:5")
    return first or 0.0, last


def _parse_range(
    text: str, parse: Callable[[str], Number], like: str
) -> tuple[Number | None, Number | None]:
    first, colon, last = text.partition(":")
    with suppress(ValueError):
        if colon:
            return parse(first) if first else None, parse(last) if last else None
    raise UsageError(f"expected a range of {like}, got {text!r}")
