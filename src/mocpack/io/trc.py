"""Tables of marker places (.trc), of Motion Analysis, OpenSim and others.

Five lines of head, then a line for each frame: its number, its time, x, y and z of each marker.
Columns are parted by tabs or commas; an empty cell, or one that is no number, is a gap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    TruncatedError,
    UnsupportedClipError,
)
from mocpack.io.text import format_number, make_unique, to_source_numbers

UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
MAX_CELLS = 1 << 27
MAX_MARKERS = 65_534
EVEN_TOLERANCE = 0.02  # of a frame: times are rounded to two or three decimals


def read(data: bytes, *, unit: float | None = None) -> Clip:
    """Read markers; the unit is the file's, unless another is given."""
    lines = _split_lines(data)
    comma = lines[3].count(",") > lines[3].count("\t")
    table = [line.split("," if comma else "\t") for line in lines]
    facts = _parse_header(table[1], table[2])
    names = _read_names(table[3])
    metres = unit if unit is not None else _read_unit(facts)
    rows = [row for row in table[5:] if any(cell.strip() for cell in row)]
    if not rows:
        raise FormatError("this TRC is static: it has markers and no frames, so no animation")
    if len(rows) * len(names) * 3 > MAX_CELLS:
        raise CorruptionError(f"{len(rows)} frames of {len(names)} markers are too many")
    seconds, points = _read_numbers(rows, len(names))
    try:
        return Clip.from_points(
            points * metres,
            names,
            unit=metres,
            metadata=_read_metadata(facts, len(rows)),
            **_choose_timing(seconds, facts.get("DataRate", "")),
        )
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def write(clip: Clip) -> bytes:
    """Return a clip of markers as a .trc file parted by tabs, in the source's unit, y up.

    Nothing in a .trc says which axis is up, and those who read it take y.
    """
    if not clip.skeleton.is_points:
        raise UnsupportedClipError("TRC holds markers alone, and this clip has joints that turn")
    unit = next((name for name, metres in UNITS.items() if metres == clip.unit), None)
    scale = clip.unit if unit else 0.001
    seen = clip.valid
    places = to_source_numbers(clip.positions(), scale)
    names = [name.replace("\t", " ") or f"marker{j}" for j, name in enumerate(clip.skeleton.names)]
    rate, count = format_number(float(clip.frame_rate)), clip.frame_count
    heads = {
        "DataRate": rate,
        "CameraRate": rate,
        "NumFrames": str(count),
        "NumMarkers": str(len(names)),
        "Units": unit or "mm",
        "OrigDataRate": rate,
        "OrigDataStartFrame": "1",
        "OrigNumFrames": str(count),
    }
    axes = [f"{axis}{j + 1}" for j in range(len(names)) for axis in "XYZ"]
    lines = [
        "PathFileType\t4\t(X/Y/Z)\tmocpack.trc",
        "\t".join(heads),
        "\t".join(heads.values()),
        "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t",
        "\t\t" + "\t".join(axes),
        "",
    ]
    for t, seconds in enumerate(clip.times):
        cells = [
            format_number(float(value)) if seen[t, j] else ""
            for j in range(len(names))
            for value in places[t, j]
        ]
        lines.append("\t".join([str(t + 1), format_number(float(seconds)), *cells]))
    return ("\n".join(lines) + "\n").encode()


def _split_lines(data: bytes) -> list[str]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) < 5:
        raise TruncatedError(f"a TRC file has five lines of head, and this one has {len(lines)}")
    return lines


def _parse_header(keys: list[str], values: list[str]) -> dict[str, str]:
    pairs = zip(keys, values, strict=False)
    return {key.strip(): value.strip() for key, value in pairs if key.strip()}


def _read_unit(facts: dict[str, str]) -> float:
    said = facts.get("Units", "mm").lower()
    if said not in UNITS:
        raise CorruptionError(f"Units are {said[:20]!r}; known are {', '.join(UNITS)} (--unit)")
    return UNITS[said]


def _read_names(cells: list[str]) -> tuple[str, ...]:
    found = [cell.strip()[:80] for cell in cells[2:]]
    while found and not found[-1]:
        found.pop()
    names = make_unique(found[::3])
    if not names or any(found[k] for k in range(len(found)) if k % 3):
        raise CorruptionError("line 4 must name a marker in every third column, from the third on")
    if len(names) > MAX_MARKERS:
        raise CorruptionError(f"a file has at most {MAX_MARKERS} markers, got {len(names)}")
    return names


def _read_numbers(rows: list[list[str]], markers: int) -> tuple[F64, F64]:
    """Return the times (T,) and the places (T, P, 3), NaN where there is none."""
    width = 2 + 3 * markers
    cells = np.full((len(rows), width), np.nan)
    for t, row in enumerate(rows):
        if any(cell.strip() for cell in row[width:]):
            raise CorruptionError(f"frame {t + 1} has more than {width} columns")
        for k, cell in enumerate(row[:width]):
            cells[t, k] = _to_number(cell)
    if not np.isfinite(cells[:, 1]).all():
        raise CorruptionError("the second column must hold the time of each frame")
    places = cells[:, 2:].reshape(len(rows), markers, 3)
    places[~np.isfinite(places).all(-1)] = np.nan
    return cells[:, 1], places


def _to_number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _choose_timing(seconds: F64, said: str) -> dict[str, Any]:
    """Return the frame rate and the start, or the times where they are not even."""
    rate = _to_number(said)
    if not 1e-6 < rate < 1e6:
        steps = len(seconds) - 1
        rate = steps / (seconds[-1] - seconds[0]) if steps and seconds[-1] > seconds[0] else 100.0
    even = seconds[0] + np.arange(len(seconds)) / rate
    if np.abs(seconds - even).max() <= max(EVEN_TOLERANCE / rate, 6e-4):
        return {"frame_rate": float(rate), "start_time": float(seconds[0])}
    return {"frame_rate": float(rate), "times": seconds}


def _read_metadata(facts: dict[str, str], frames: int) -> dict[str, Any]:
    declared = facts.get("NumFrames", "")
    if declared.isascii() and declared.isdigit() and declared != str(frames):
        return {"declared_frames": declared[:20]}
    return {}
