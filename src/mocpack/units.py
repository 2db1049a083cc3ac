"""Lengths, angles and sizes as people write them: "1mm", "0.3deg", "20kB".

Metres, radians and bytes inside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from numbers import Real
from typing import Any

from mocpack.arguments import is_finite
from mocpack.errors import UsageError

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
    """A number of metres that was given with its unit; arithmetic on it gives plain numbers."""

    def __repr__(self) -> str:
        return f"Length({float(self)!r})"


class Angle(float):
    """A number of radians that was given with its unit; arithmetic on it gives plain numbers."""

    def __repr__(self) -> str:
        return f"Angle({float(self)!r})"


def deg(value: float) -> Angle:
    """Return an angle in degrees, where text such as ``"0.3deg"`` will not do.

    >>> deg(180) == math.pi
    True
    """
    return _to_angle(value, ANGLES["deg"])


def rad(value: float) -> Angle:
    """Return an angle in radians."""
    return _to_angle(value, ANGLES["rad"])


def mm(value: float) -> Length:
    """Return a length in millimetres, where text such as ``"1mm"`` will not do.

    >>> mm(1) == 0.001
    True
    """
    return _to_length(value, LENGTHS["mm"])


def cm(value: float) -> Length:
    """Return a length in centimetres."""
    return _to_length(value, LENGTHS["cm"])


def m(value: float) -> Length:
    """Return a length in metres."""
    return _to_length(value, LENGTHS["m"])


def parse_length_argument(name: str, value: Any) -> float:
    """Return the metres of what a caller gave as a length: text with a unit, or a `Length`.

    A bare number is refused: who writes 1 for a millimetre would get a metre.

    >>> length_argument("max_error", "1mm"), length_argument("max_error", mm(2))
    (0.001, 0.002)
    """
    if not isinstance(value, str | Length):
        raise UsageError(
            f"{name}={value!r} has no unit: write {name}='1mm' or {name}=mocpack.mm(1)"
        )
    return parse_length(value)


def parse_angle_argument(name: str, value: Any) -> float:
    """Return the radians of what a caller gave as an angle: text with a unit, or an `Angle`.

    A bare number is refused: who writes 1 for a degree would get a radian.

    >>> angle_argument("max_angle", "5mrad"), angle_argument("max_angle", rad(0.1))
    (0.005, 0.1)
    """
    if not isinstance(value, str | Angle):
        raise UsageError(
            f"{name}={value!r} has no unit: write {name}='0.3deg' or {name}=mocpack.deg(0.3)"
        )
    return parse_angle(value)


def parse_angle(value: str | float) -> float:
    """Return an angle in radians; a number is radians already, text must name its unit.

    >>> parse_angle("0.005rad"), parse_angle(0.1)
    (0.005, 0.1)
    """
    text = isinstance(value, str)
    radians = _parse_with_unit(str(value), ANGLES, "angle", "0.3deg") if text else float(value)
    if not 0 < radians < 1e3:
        raise UsageError(f"an angle must be above 0 and below 1000 rad, got {value!r}")
    return radians


def parse_length(value: str | float) -> float:
    """Return a length in metres; a number is metres already, text must name its unit.

    >>> parse_length("1mm"), parse_length("0.5cm"), parse_length(0.002)
    (0.001, 0.005, 0.002)
    """
    text = isinstance(value, str)
    metres = _parse_with_unit(str(value), LENGTHS, "length", "1mm") if text else float(value)
    if not 0 < metres < 1e6:
        raise UsageError(f"a length must be above 0 and below 1e6 m, got {value!r}")
    return metres


def parse_size(value: str | int) -> int:
    """Return a size in bytes; a number is bytes already.

    >>> parse_size("20kB"), parse_size("2KiB"), parse_size(500)
    (20000, 2048, 500)
    """
    size: float = value if not isinstance(value, str) else _parse_bytes(value)
    if not isinstance(size, Real) or not 1 <= size < MAX_BYTES:
        raise UsageError(f"a size must be at least one byte and below 1e18, got {value!r:.80}")
    return round(size)


def parse_bandwidth(text: str, *, kilo: int = 1000) -> float:
    """Return a bandwidth in bits a second; `kilo` is 1024 for those who count so.

    >>> parse_bandwidth("128kbps"), parse_bandwidth("1Mbps", kilo=1024)
    (128000.0, 1048576.0)
    """
    scales = {unit: float(kilo) ** power for unit, power in BANDWIDTHS.items()}
    bandwidth = _parse_with_unit(text, scales, "bandwidth", "128kbps")
    if not 0 < bandwidth < 1e15:
        raise UsageError(f"a bandwidth must be above 0 and below 1e15 bit/s, got {text!r}")
    return bandwidth


def parse_energy(text: str) -> float:
    """Return an energy in joules.

    >>> parse_energy("500mJ"), parse_energy("2J")
    (0.5, 2.0)
    """
    joules = _parse_with_unit(text, ENERGIES, "energy", "500mJ")
    if not 0 < joules < 1e15:
        raise UsageError(f"an energy must be above 0 and below 1e15 J, got {text!r}")
    return joules


def format_length(metres: float, digits: int = 3) -> str:
    """Return a length in the unit a person would choose.

    >>> format_length(0.001), format_length(0.0000123), format_length(9.8e-8)
    ('1 mm', '12.3 µm', '98 nm')
    """
    for unit, scale in (("m", 1.0), ("cm", 1e-2), ("mm", 1e-3)):
        if metres >= scale * (1 if unit != "cm" else 2):
            return f"{metres / scale:.{digits}g} {unit}"
    if metres >= 1e-6 or metres == 0:
        return f"{metres / 1e-6:.{digits}g} µm"
    return f"{metres / 1e-9:.{digits}g} nm"


def format_angle(radians: float, digits: int = 3) -> str:
    """Return an angle in degrees, small ones in thousandths.

    >>> format_angle(math.pi / 2), format_angle(0.0001)
    ('90°', '0.00573°')
    """
    return f"{math.degrees(radians):.{digits}g}°"


def to_millimeters(meters: float | None) -> float | None:
    """Return a length in millimeters, None where there is none."""
    return None if meters is None else 1000 * meters


def to_degrees(radians: float | None) -> float | None:
    """Return an angle in degrees, None where there is none."""
    return None if radians is None else math.degrees(radians)


def format_angles(a: float, b: float) -> tuple[str, str]:
    """Return two angles with as many digits as tell them apart, three at least."""
    return _format_distinct(format_angle, a, b)


def format_lengths(a: float, b: float) -> tuple[str, str]:
    """Return two lengths with as many digits as tell them apart, three at least.

    >>> format_lengths(0.001, 0.0010004)
    ('1 mm', '1.0004 mm')
    """
    return _format_distinct(format_length, a, b)


def format_sizes(a: int, b: int) -> tuple[str, str]:
    """Return two sizes as `format_size` does, in bytes where that would not tell them apart.

    >>> format_sizes(1790, 20480), format_sizes(1790, 1812)
    (('1.8 kB', '20.5 kB'), ('1790 B', '1812 B'))
    """
    texts = format_size(a), format_size(b)
    return texts if texts[0] != texts[1] else (f"{a} B", f"{b} B")


def format_size(size: float) -> str:
    """Return a size in B, kB, MB or GB (powers of 1000).

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


def _to_length(value: float, unit: float) -> Length:
    if not is_finite(value):
        raise UsageError(f"a length must be finite, got {value!r:.80}")
    return Length(value * unit)


def _to_angle(value: float, unit: float) -> Angle:
    if not is_finite(value):
        raise UsageError(f"an angle must be finite, got {value!r:.80}")
    return Angle(value * unit)


def _parse_bytes(text: str) -> float:
    plain = text.strip().isdecimal()
    return float(text) if plain else _parse_with_unit(text, SIZES, "size", "20kB")


def _parse_with_unit(
    text: str, units: dict[str, float] | dict[str, int], what: str, like: str
) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None or match.group(2) not in units:
        raise UsageError(
            f"cannot read {text!r} as {'an' if what == 'angle' else 'a'} {what}; "
            f"write it like {like!r} with one of: {', '.join(units)}"
        )
    return float(match.group(1)) * units[match.group(2)]


def parse_frame_range(text: str) -> slice:
    """Read frames as ``1:``, ``:100`` or ``10:20``.

    >>> frame_range("1:")
    slice(1, None, None)
    """
    first, colon, last = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return slice(int(first) if first else None, int(last) if last else None)
    except ValueError:
        raise UsageError(f"write frames as 1:, :100 or 10:20, got {text!r}") from None
