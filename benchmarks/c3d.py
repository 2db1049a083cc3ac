"""Read markers and analogs of a C3D file, as far as the take benchmarks need it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """The recorded data of a trial.

    Attributes
    ----------
    points : array, shape (T, P, 3)
        Meters, NaN in gaps.
    analogs : array, shape (N, A)
        In the file's own units.
    """

    names: list[str]
    rate: float
    points: F64
    analog_names: list[str]
    analog_rate: float
    analogs: F64


def read(path: Path) -> Trial:
    """Read a little-endian C3D file of floats."""
    data = path.read_bytes()
    points, per_frame, first, last = struct.unpack_from("<HHHH", data, 2)
    scale, start, samples = struct.unpack_from("<fHH", data, 12)
    (rate,) = struct.unpack_from("<f", data, 20)
    if scale >= 0:
        raise SystemExit(f"{path}: integers; this reader takes floats alone")
    labels = _parameters(data)
    frames, width = last - first + 1, 4 * points + per_frame
    numbers = np.frombuffer(data, "<f4", frames * width, 512 * (start - 1)).reshape(frames, width)
    places = numbers[:, : 4 * points].reshape(frames, points, 4).astype(np.float64)
    seen = np.where(places[..., 3:] < 0, np.nan, places[..., :3] / 1000)
    channels = per_frame // max(samples, 1)
    analogs = numbers[:, 4 * points :].reshape(-1, channels).astype(np.float64)
    return Trial(
        labels["POINT", "LABELS"][:points],
        rate,
        seen,
        labels["ANALOG", "LABELS"][:channels],
        rate * samples,
        analogs,
    )


def _parameters(data: bytes) -> dict[tuple[str, str], list[str]]:
    """Return the parameters that are lists of texts, by group and name."""
    at = 512 * (data[0] - 1) + 4
    groups: dict[int, str] = {}
    found: list[tuple[int, str, list[str]]] = []
    while True:
        length, group = struct.unpack_from("<bb", data, at)
        if not length:
            break
        name = data[at + 2 : at + 2 + abs(length)].decode("latin-1").upper()
        next_at = at + 2 + abs(length)
        (jump,) = struct.unpack_from("<h", data, next_at)
        if group < 0:
            groups[-group] = name
        elif struct.unpack_from("<b", data, next_at + 2)[0] == -1 and data[next_at + 3] == 2:
            size, count = data[next_at + 4], data[next_at + 5]
            texts = data[next_at + 6 : next_at + 6 + size * count].decode("latin-1")
            found.append((group, name, [texts[i * size :][:size].strip() for i in range(count)]))
        if not jump:
            break
        at = next_at + jump
    return {(groups.get(group, ""), name): texts for group, name, texts in found}
