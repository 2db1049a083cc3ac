"""Recordings of markers and analogs in C3D files, as clips of points.

Markers named ``Anna:LKNE`` are of the subject Anna, and each subject is a clip of its own. Analogs
and events belong to the recording; they are tracks of its first clip.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.errors import CorruptionError, FormatError, InvalidClipError, UsageError
from mocpack.io import c3d_file
from mocpack.io.c3d_file import Recording
from mocpack.io.text import distinct
from mocpack.take import Track

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "inch": 0.0254, "ft": 0.3048}
NOBODY = "others"  # markers without a subject, where some have one


def names(data: bytes) -> list[str]:
    """Return the names of the subjects; none where markers name no more than one."""
    subjects = _subjects(c3d_file.parse(data))
    return list(subjects) if len(subjects) > 1 else []


def read(data: bytes, *, unit: float | None = None, clip: str | None = None) -> Clip:
    """Read the markers of one subject: the one named, or numbered from 0, or else the first.

    The unit is the file's, unless another is given.
    """
    recording = c3d_file.parse(data)
    subjects = _subjects(recording)
    if not subjects:
        raise FormatError("this C3D has no points, so no animation")
    number = _chosen(list(subjects), clip)
    columns, titles = list(subjects.values())[number]
    metres = unit if unit is not None else _unit(recording)
    rate = recording.rate
    if not 1e-6 < rate < 1e6:
        raise CorruptionError(f"its rate is {rate:.6g} frames a second")
    start = (recording.first_frame - 1) / rate
    try:
        return Clip.of_points(
            recording.points[:, columns] * metres,
            titles,
            frame_rate=rate,
            unit=metres,
            up=_up(recording),
            start_time=start,
            tracks=_tracks(recording, start) if number == 0 else {},
            metadata={"subject": list(subjects)[number]} if len(subjects) > 1 else {},
        )
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def _chosen(known: list[str], clip: str | None) -> int:
    if clip is None:
        return 0
    if clip in known:
        return known.index(clip)
    if clip.isascii() and clip.isdigit() and int(clip[:9]) < len(known):
        return int(clip[:9])
    raise UsageError(f"there is no subject {clip!r}; there are: {', '.join(known)[:500]}")


def _subjects(recording: Recording) -> dict[str, tuple[list[int], list[str]]]:
    """Return the columns and names of the markers of each subject."""
    labels = recording.texts("POINT:LABELS")[: recording.points.shape[1]]
    labels += [f"point{p}" for p in range(len(labels), recording.points.shape[1])]
    found: dict[str, tuple[list[int], list[str]]] = {}
    for column, label in enumerate(
        distinct(label or f"point{p}" for p, label in enumerate(labels))
    ):
        subject, colon, marker = label.partition(":")
        if not colon or not subject or not marker:
            subject, marker = "", label
        columns, titles = found.setdefault(subject, ([], []))
        columns.append(column)
        titles.append(marker)
    if "" in found and len(found) > 1:
        free = NOBODY if NOBODY not in found else f"{NOBODY} "
        found = {subject or free: parts for subject, parts in found.items()}
    return found


def _unit(recording: Recording) -> float:
    said = recording.text("POINT:UNITS").lower() or "mm"
    if said not in UNITS:
        raise CorruptionError(f"POINT:UNITS is {said[:20]!r}; known are {', '.join(UNITS)}")
    return UNITS[said]


def _up(recording: Recording) -> str:
    """Return the axis that points up the screen, where a file says it; z is the custom."""
    said = recording.text("POINT:Y_SCREEN").lower()
    return said[1] if said in ("+x", "+y", "+z") else "z"


def _tracks(recording: Recording, start: float) -> dict[str, Track]:
    return _analogs(recording, start) | _events(recording)


def _analogs(recording: Recording, start: float) -> dict[str, Track]:
    """Return every analog channel in its own unit; samples may be many to a frame."""
    samples, channels = recording.analogs.shape
    if not channels:
        return {}
    step = len(recording.points) / (samples * recording.rate)
    scales = _each(recording.numbers("ANALOG:SCALE"), channels, 1.0)
    scales = scales * _each(recording.numbers("ANALOG:GEN_SCALE")[:1], 1, 1.0)[0]
    offsets = _each(recording.numbers("ANALOG:OFFSET"), channels, 0.0)
    labels = recording.texts("ANALOG:LABELS")[:channels]
    titles = [f"analog.{label or k}" for k, label in enumerate(labels)]
    titles += [f"analog.{k}" for k in range(len(titles), channels)]
    units = recording.texts("ANALOG:UNITS")
    values = (recording.analogs - offsets) * scales
    return {
        title: Track(
            "scalar",
            values[:, k],
            frame_time=step,
            start=start,
            unit=units[k] if k < len(units) else "",
        )
        for k, title in enumerate(distinct(titles))
    }


def _each(given: F64, count: int, default: float) -> F64:
    """Return so many numbers: those given, and the default for the rest."""
    found = np.full(count, default)
    found[: len(given)] = given[:count]
    return found


def _events(recording: Recording) -> dict[str, Track]:
    """Return a track of labels for each context, such as Left and Right."""
    times = recording.numbers("EVENT:TIMES")
    times = times[: len(times) // 2 * 2].reshape(-1, 2) @ [60.0, 1.0]  # minutes and seconds
    labels = recording.texts("EVENT:LABELS")
    contexts = recording.texts("EVENT:CONTEXTS")
    found: dict[str, list[tuple[float, str]]] = {}
    for k, (time, label) in enumerate(zip(times.tolist(), labels, strict=False)):
        if not np.isfinite(time):
            raise CorruptionError("EVENT:TIMES must be finite")
        context = contexts[k] if k < len(contexts) else ""
        found.setdefault(f"events.{context}" if context else "events", []).append((time, label))
    return {title: _label_track(events) for title, events in found.items()}


def _label_track(events: Sequence[tuple[float, str]]) -> Track:
    """Return events in order; those at one time in one text."""
    at: dict[float, list[str]] = {}
    for time, label in sorted(events):
        at.setdefault(time, []).append(label)
    return Track("label", [", ".join(labels) for labels in at.values()], times=np.array([*at]))
