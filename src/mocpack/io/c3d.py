"""Recordings of markers and analogs in C3D files, as clips of points.

Markers named ``Anna:LKNE`` are of the subject Anna, and each subject is a clip of its own. Analogs
and events belong to the recording; they are tracks of its first clip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mocpack import space
from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.errors import CorruptionError, FormatError, InvalidClipError, UnsupportedClipError
from mocpack.io import c3d_file
from mocpack.io.c3d_file import Recording
from mocpack.io.choice import find_index
from mocpack.io.text import make_unique
from mocpack.take_data import Track

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "inch": 0.0254, "ft": 0.3048}
ANALOG_PREFIX = "analog."  # before the names of tracks
NO_SUBJECT = "others"  # markers without a subject, where some have one


def list_clips(data: bytes) -> list[str]:
    """Return the names of the subjects; none where markers name no more than one."""
    subjects = _group_by_subject(c3d_file.parse(data))
    return list(subjects) if len(subjects) > 1 else []


def read(data: bytes, *, unit: float | None = None, clip: str | None = None) -> Clip:
    """Read the markers of one subject: the one named, or numbered from 0, or else the first.

    The unit is the file's, unless another is given.
    """
    recording = c3d_file.parse(data)
    subjects = _group_by_subject(recording)
    if not subjects:
        raise FormatError("this C3D has no points, so no animation")
    number = find_index(list(subjects), clip, "subject")
    columns, titles = list(subjects.values())[number]
    metres = unit if unit is not None else _read_unit(recording)
    rate = recording.rate
    if not 1e-6 < rate < 1e6:
        raise CorruptionError(f"its rate is {rate:.6g} frames a second")
    start = (recording.first_frame - 1) / rate
    try:
        return Clip.from_points(
            recording.points[:, columns] * metres,
            titles,
            frame_rate=rate,
            unit=metres,
            up=_read_up_axis(recording),
            start_time=start,
            tracks=_read_tracks(recording, start) if number == 0 else {},
            metadata={"subject": list(subjects)[number]} if len(subjects) > 1 else {},
        )
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def write(clip: Clip) -> bytes:
    """Return a clip of markers as a file, with its analogs and events."""
    return write_scene({str(clip.metadata.get("subject", NO_SUBJECT)): clip})


def write_scene(clips: Mapping[str, Clip]) -> bytes:
    """Return clips of markers as subjects of one file, in the unit and axes of the first.

    They share a clock: frames of some that others have not are gaps of these. Tracks are those of
    all, by their names.
    """
    first = next(iter(clips.values()))
    for name, clip in clips.items():
        _check_subject(name, clip, first)
    unit = next((name for name, metres in UNITS.items() if metres == first.unit), "mm")
    metres, up = UNITS[unit], _choose_up_axis(first)
    starts = [round(clip.start_time * first.frame_rate) for clip in clips.values()]
    begin = min(starts)
    if begin < 0:
        raise UnsupportedClipError("a C3D file begins at time 0 or later, and this clip before")
    ends = [start + clip.frame_count for start, clip in zip(starts, clips.values(), strict=True)]
    labels: list[str] = []
    points = np.full((max(ends) - begin, sum(len(c.skeleton) for c in clips.values()), 3), np.nan)
    for (name, clip), start in zip(clips.items(), starts, strict=True):
        columns = slice(len(labels), len(labels) + len(clip.skeleton))
        places = space.from_internal(clip.points(), up) / metres
        points[start - begin : start - begin + clip.frame_count, columns] = places
        prefix = "" if name == NO_SUBJECT else f"{name}:"
        labels += [f"{prefix}{marker}" for marker in clip.skeleton.unique_names]
    tracks = {name: track for clip in clips.values() for name, track in clip.tracks.items()}
    analogs, told = _pack_analogs(tracks, len(points), first.frame_rate, begin)
    parameters: dict[str, Any] = {
        "POINT:LABELS": labels,
        "POINT:DESCRIPTIONS": [""] * len(labels),
        "POINT:UNITS": unit,
        "POINT:X_SCREEN": "+Y" if up == "x" else "+X",
        "POINT:Y_SCREEN": f"+{up.upper()}",
        **told,
        **_pack_events(tracks),
    }
    return c3d_file.pack(Recording(parameters, points, analogs, begin + 1, float(first.frame_rate)))


def _choose_up_axis(clip: Clip) -> str:
    """Return the axis that is up in a file: the source's; C3D has no left hand, so ours then."""
    return clip.header.up if clip.header.handedness == "right" else "y"


def _check_subject(name: str, clip: Clip, first: Clip) -> None:
    if not clip.skeleton.is_points:
        raise UnsupportedClipError("C3D holds markers alone, and this clip has joints that turn")
    same = (clip.unit, _choose_up_axis(clip)) == (first.unit, _choose_up_axis(first))
    if not same or abs(clip.frame_rate - first.frame_rate) > 1e-6 * first.frame_rate:
        raise UnsupportedClipError(
            f"subjects of a C3D file have one unit, axis and frame rate, and {name!r} has others"
        )


def _pack_analogs(
    tracks: Mapping[str, Track], frames: int, rate: float, begin: int
) -> tuple[F64, dict[str, Any]]:
    """Return the analogs (N, A), as many samples to each frame, and what parameters say of them."""
    found: dict[str, Track] = {}
    samples = 0
    for name, track in tracks.items():
        if name.startswith(ANALOG_PREFIX) and track.kind == "scalar" and track.times is None:
            step = track.frame_time or 1 / rate
            each = round(1 / (step * rate))
            even = each >= 1 and abs(each * step * rate - 1) < 1e-6
            whole = len(track) == frames * each and abs(track.start * rate - begin) < 1e-3
            if even and whole and samples in (0, each):
                found[name.removeprefix(ANALOG_PREFIX)], samples = track, each
    told = {
        "ANALOG:LABELS": list(found),
        "ANALOG:DESCRIPTIONS": [""] * len(found),
        "ANALOG:SCALE": np.ones(len(found)),
        "ANALOG:OFFSET": np.zeros(len(found), np.int16),
        "ANALOG:GEN_SCALE": np.array(1.0),
        "ANALOG:UNITS": [track.unit for track in found.values()],
    }
    columns = [np.asarray(track.values, np.float64) for track in found.values()]
    return (np.stack(columns, 1) if columns else np.zeros((0, 0))), told


def _pack_events(tracks: Mapping[str, Track]) -> dict[str, Any]:
    """Return the parameters of events, those of one time each for itself."""
    found: list[tuple[float, str, str]] = []
    for name, track in tracks.items():
        if track.kind == "label" and name.partition(".")[0] == "events" and track.times is not None:
            context = name.partition(".")[2]
            for time, text in zip(track.times.tolist(), track.values, strict=True):
                found += [(time, context, label) for label in text.split(", ")]
    if not found:
        return {}
    found.sort(key=lambda event: event[0])
    minutes = [[time // 60, time - 60 * (time // 60)] for time, _, _ in found]
    return {
        "EVENT:USED": np.array(len(found), np.int16),
        "EVENT:CONTEXTS": [context for _, context, _ in found],
        "EVENT:LABELS": [label for _, _, label in found],
        "EVENT:TIMES": np.array(minutes),
    }


def _group_by_subject(recording: Recording) -> dict[str, tuple[list[int], list[str]]]:
    """Return the columns and names of the markers of each subject."""
    labels = recording.texts("POINT:LABELS")[: recording.points.shape[1]]
    labels += [f"point{p}" for p in range(len(labels), recording.points.shape[1])]
    found: dict[str, tuple[list[int], list[str]]] = {}
    for column, label in enumerate(
        make_unique(label or f"point{p}" for p, label in enumerate(labels))
    ):
        subject, colon, marker = label.partition(":")
        if not colon or not subject or not marker:
            subject, marker = "", label
        columns, titles = found.setdefault(subject, ([], []))
        columns.append(column)
        titles.append(marker)
    if "" in found and len(found) > 1:
        free = NO_SUBJECT if NO_SUBJECT not in found else f"{NO_SUBJECT} "
        found = {subject or free: parts for subject, parts in found.items()}
    return found


def _read_unit(recording: Recording) -> float:
    said = recording.text("POINT:UNITS").lower() or "mm"
    if said not in UNITS:
        raise CorruptionError(f"POINT:UNITS is {said[:20]!r}; known are {', '.join(UNITS)}")
    return UNITS[said]


def _read_up_axis(recording: Recording) -> str:
    """Return the axis that points up the screen, where a file says it; z is the custom."""
    said = recording.text("POINT:Y_SCREEN").lower()
    return said[1] if said in ("+x", "+y", "+z") else "z"


def _read_tracks(recording: Recording, start: float) -> dict[str, Track]:
    return _read_analogs(recording, start) | _read_events(recording)


def _read_analogs(recording: Recording, start: float) -> dict[str, Track]:
    """Return every analog channel in its own unit; samples may be many to a frame."""
    samples, channels = recording.analogs.shape
    if not channels:
        return {}
    step = len(recording.points) / (samples * recording.rate)
    scales = _pad_with_default(recording.numbers("ANALOG:SCALE"), channels, 1.0)
    scales = scales * _pad_with_default(recording.numbers("ANALOG:GEN_SCALE")[:1], 1, 1.0)[0]
    offsets = _pad_with_default(recording.numbers("ANALOG:OFFSET"), channels, 0.0)
    labels = recording.texts("ANALOG:LABELS")[:channels]
    titles = [f"{ANALOG_PREFIX}{label or k}" for k, label in enumerate(labels)]
    titles += [f"{ANALOG_PREFIX}{k}" for k in range(len(titles), channels)]
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
        for k, title in enumerate(make_unique(titles))
    }


def _pad_with_default(given: F64, count: int, default: float) -> F64:
    """Return so many numbers: those given, and the default for the rest."""
    found = np.full(count, default)
    found[: len(given)] = given[:count]
    return found


def _read_events(recording: Recording) -> dict[str, Track]:
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
    return {title: _build_label_track(events) for title, events in found.items()}


def _build_label_track(events: Sequence[tuple[float, str]]) -> Track:
    """Return events in order; those at one time in one text."""
    at: dict[float, list[str]] = {}
    for time, label in sorted(events):
        at.setdefault(time, []).append(label)
    return Track("label", [", ".join(labels) for labels in at.values()], times=np.array([*at]))
