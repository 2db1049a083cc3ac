"""TRC files of Motion Analysis, OpenSim and others: marker positions as text.

Five header lines, then one line per frame: number, time, and x, y, z of each marker. Columns are
separated by tabs or commas; an empty or non-numeric cell is a gap.
"""

from __future__ import annotations

import math

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, FormatError, TruncatedError, UnsupportedClipError
from mocpack.io.text import format_number, make_unique, to_source_numbers
from mocpack.model.clip import Clip

UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
MAX_CELLS = 1 << 27
MAX_MARKERS = 65_534
EVEN_TOLERANCE = 0.02  # of a frame; files round times to two or three decimals


def read(data: bytes, *, unit: float | None = None) -> Clip:
    """Read markers; `unit` overrides the file's unit, in meters."""
    lines = _split_lines(data)
    comma = lines[3].count(",") > lines[3].count("\t")
    table = [line.split("," if comma else "\t") for line in lines]
    pairs = zip(table[1], table[2], strict=False)
    facts = {key.strip(): value.strip() for key, value in pairs if key.strip()}
    names = _read_names(table[3])
    meters = unit if unit is not None else _read_unit(facts)
    rows = [row for row in table[5:] if any(cell.strip() for cell in row)]
    if not rows:
        raise FormatError("expected an animation, but this TRC has markers and no frames")
    if len(rows) * len(names) * 3 > MAX_CELLS:
        raise CorruptionError(
            f"{len(rows)} frames of {len(names)} markers exceed the limit of {MAX_CELLS} numbers"
        )
    seconds, points = _read_numbers(rows, len(names))
    rate = _choose_frame_rate(seconds, facts.get("DataRate", ""))
    even = seconds[0] + np.arange(len(seconds)) / rate
    is_even = np.abs(seconds - even).max() <= max(EVEN_TOLERANCE / rate, 6e-4)
    declared = facts.get("NumFrames", "")
    is_wrong = declared.isascii() and declared.isdigit() and declared != str(len(rows))
    return Clip.from_points(
        points * meters,
        names,
        unit=meters,
        metadata={"declared_frames": declared[:20]} if is_wrong else {},
        frame_rate=rate,
        start_time=float(seconds[0]) if is_even else 0.0,
        times=None if is_even else seconds,
    )


def write(clip: Clip) -> bytes:
    """Return a clip of markers as a tab-separated .trc file, in the source's unit, y up.

    A .trc does not state which axis is up; readers assume y.
    """
    if not clip.skeleton.is_points:
        raise UnsupportedClipError("TRC holds only markers, but this clip has rotating joints")
    unit = next((name for name, meters in UNITS.items() if meters == clip.unit), None)
    scale = clip.unit if unit else 0.001
    seen = clip.valid
    positions = to_source_numbers(clip.positions(), scale)
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
            for value in positions[t, j]
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
        raise TruncatedError(f"a TRC file must have five header lines, got {len(lines)} lines")
    return lines


def _read_unit(facts: dict[str, str]) -> float:
    stated = facts.get("Units", "mm").lower()
    if stated not in UNITS:
        raise CorruptionError(
            f"Units must be one of {', '.join(UNITS)}, got {stated[:20]!r}; override with --unit"
        )
    return UNITS[stated]


def _read_names(cells: list[str]) -> tuple[str, ...]:
    titles = [cell.strip()[:80] for cell in cells[2:]]
    while titles and not titles[-1]:
        titles.pop()
    names = make_unique(titles[::3])
    if not names or any(titles[1::3]) or any(titles[2::3]):
        raise CorruptionError(
            "line 4 must have a marker name in every third column, starting with the third"
        )
    if len(names) > MAX_MARKERS:
        raise CorruptionError(f"a file must have at most {MAX_MARKERS} markers, got {len(names)}")
    return names


def _read_numbers(rows: list[list[str]], markers: int) -> tuple[F64, F64]:
    """Return the times (T,) and the positions (T, P, 3), NaN in gaps."""
    width = 2 + 3 * markers
    cells = np.full((len(rows), width), np.nan)
    for t, row in enumerate(rows):
        if any(cell.strip() for cell in row[width:]):
            raise CorruptionError(f"frame {t + 1} has more than {width} columns")
        for k, cell in enumerate(row[:width]):
            cells[t, k] = _to_number(cell)
    if not np.isfinite(cells[:, 1]).all():
        raise CorruptionError("the second column must hold the time of each frame")
    positions = cells[:, 2:].reshape(len(rows), markers, 3)
    positions[~np.isfinite(positions).all(-1)] = np.nan
    return cells[:, 1], positions


def _to_number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _choose_frame_rate(seconds: F64, stated: str) -> float:
    """Return the stated frame rate, or that of the times if none is stated."""
    rate = _to_number(stated)
    if 1e-6 < rate < 1e6:
        return rate
    span, steps = float(seconds[-1] - seconds[0]), len(seconds) - 1
    return steps / span if steps and span > 0 else 100.0
