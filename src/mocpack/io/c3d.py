"""C3D files: markers as clips of points, with analog channels and events as tracks.

Markers named ``Anna:LKNE`` belong to the subject Anna, and each subject is a clip. Analog channels
and events belong to the recording; they are tracks of its first clip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import find_index
from mocpack.errors import CorruptionError, FormatError, UnsupportedClipError
from mocpack.io import c3d_file
from mocpack.io.c3d_file import Recording, Value
from mocpack.io.text import make_unique
from mocpack.io.up_axis import guess_up_axis
from mocpack.model import space
from mocpack.model.clip import Clip
from mocpack.model.take_data import Track

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "inch": 0.0254, "ft": 0.3048}
DEFAULT_UP = "z"  # of files without Y_SCREEN, as most laboratories use it
ANALOG_PREFIX = "analog."  # prefix of track names
NO_SUBJECT = "others"  # for markers without a subject, if other markers have one


def list_clips(data: bytes) -> list[str]:
    """Return the names of the subjects, or none if there is only one."""
    subjects = _group_by_subject(c3d_file.parse(data))
    return list(subjects) if len(subjects) > 1 else []


def read(
    data: bytes, *, unit: float | None = None, up: str | None = None, clip: str | None = None
) -> Clip:
    """Read the markers of one subject, chosen by name or by index from 0; by default the first.

    `unit` overrides the file's unit, in meters, and `up` its up axis.
    """
    recording = c3d_file.parse(data)
    subjects = _group_by_subject(recording)
    if not subjects:
        raise FormatError("expected an animation, but this C3D has no points")
    number = find_index(list(subjects), clip, "subject")
    columns, titles = list(subjects.values())[number]
    meters = unit if unit is not None else _read_unit(recording)
    rate = recording.rate
    if not 1e-6 < rate < 1e6:
        raise CorruptionError(f"POINT:RATE must be in 1e-6..1e6 frames per second, got {rate:.6g}")
    start = (recording.first_frame - 1) / rate
    points = recording.points[:, columns] * meters
    axis = up or _read_up_axis(recording)
    metadata = {"subject": list(subjects)[number]} if len(subjects) > 1 else {}
    if axis is None:
        axis = DEFAULT_UP
        likely, _ = guess_up_axis(points, len(points) / rate, default=DEFAULT_UP)
        metadata |= {} if likely == axis else {"up_doubtful": likely}
    return Clip.from_points(
        points,
        titles,
        frame_rate=rate,
        unit=meters,
        up=axis,
        start_time=start,
        tracks=_read_analogs(recording, start) | _read_events(recording) if number == 0 else {},
        metadata=metadata,
    )


def write(clip: Clip) -> bytes:
    """Return a clip of markers as a C3D file, with analog channels and events."""
    return write_scene({str(clip.metadata.get("subject", NO_SUBJECT)): clip})


def write_scene(clips: Mapping[str, Clip]) -> bytes:
    """Return clips of markers as subjects of one file, in the unit and axes of the first.

    The clips share a clock; frames that a clip does not have become gaps. The file holds the tracks
    of all clips.
    """
    first = next(iter(clips.values()))
    for name, clip in clips.items():
        _check_subject(name, clip, first)
    unit = next((name for name, meters in UNITS.items() if meters == first.unit), "mm")
    meters, up = UNITS[unit], _choose_up_axis(first)
    starts = [round(clip.start_time * first.frame_rate) for clip in clips.values()]
    begin = min(starts)
    if begin < 0:
        raise UnsupportedClipError(
            "a C3D file starts at time 0 or later, but this clip starts before 0"
        )
    ends = [start + clip.frame_count for start, clip in zip(starts, clips.values(), strict=True)]
    labels: list[str] = []
    points = np.full((max(ends) - begin, sum(len(c.skeleton) for c in clips.values()), 3), np.nan)
    for (name, clip), start in zip(clips.items(), starts, strict=True):
        columns = slice(len(labels), len(labels) + len(clip.skeleton))
        positions = space.from_internal(clip.points(), up) / meters
        points[start - begin : start - begin + clip.frame_count, columns] = positions
        prefix = "" if name == NO_SUBJECT else f"{name}:"
        labels += [f"{prefix}{marker}" for marker in clip.skeleton.unique_names]
    tracks = {name: track for clip in clips.values() for name, track in clip.tracks.items()}
    analogs, analog_parameters = _pack_analogs(tracks, len(points), first.frame_rate, begin)
    parameters: dict[str, Value] = {
        "POINT:LABELS": labels,
        "POINT:DESCRIPTIONS": [""] * len(labels),
        "POINT:UNITS": unit,
        "POINT:X_SCREEN": "+Y" if up == "x" else "+X",
        "POINT:Y_SCREEN": f"+{up.upper()}",
        **analog_parameters,
        **_pack_events(tracks),
    }
    return c3d_file.pack(Recording(parameters, points, analogs, begin + 1, float(first.frame_rate)))


def _choose_up_axis(clip: Clip) -> str:
    """Return the up axis to write: the source's, or y for left-handed sources."""
    return clip.header.up if clip.header.handedness == "right" else "y"


def _check_subject(name: str, clip: Clip, first: Clip) -> None:
    if not clip.skeleton.is_points:
        raise UnsupportedClipError("C3D holds only markers, but this clip has rotating joints")
    same = (clip.unit, _choose_up_axis(clip)) == (first.unit, _choose_up_axis(first))
    if not same or abs(clip.frame_rate - first.frame_rate) > 1e-6 * first.frame_rate:
        raise UnsupportedClipError(
            f"subjects of a C3D file share unit, axes and frame rate, but those of {name!r} differ"
        )


def _pack_analogs(
    tracks: Mapping[str, Track], frames: int, rate: float, begin: int
) -> tuple[F64, dict[str, Value]]:
    """Return the analog samples (N, A), a whole number per frame, and their parameters."""
    channels: dict[str, Track] = {}
    samples = 0
    for name, track in tracks.items():
        if name.startswith(ANALOG_PREFIX) and track.kind == "scalar" and track.times is None:
            step = track.frame_time or 1 / rate
            each = round(1 / (step * rate))
            even = each >= 1 and abs(each * step * rate - 1) < 1e-6
            whole = len(track) == frames * each and abs(track.start * rate - begin) < 1e-3
            if even and whole and samples in (0, each):
                channels[name.removeprefix(ANALOG_PREFIX)], samples = track, each
    parameters: dict[str, Value] = {
        "ANALOG:LABELS": list(channels),
        "ANALOG:DESCRIPTIONS": [""] * len(channels),
        "ANALOG:SCALE": np.ones(len(channels)),
        "ANALOG:OFFSET": np.zeros(len(channels), np.int16),
        "ANALOG:GEN_SCALE": np.array(1.0),
        "ANALOG:UNITS": [track.unit for track in channels.values()],
    }
    columns = [np.asarray(track.values, np.float64) for track in channels.values()]
    return (np.stack(columns, 1) if columns else np.zeros((0, 0))), parameters


def _pack_events(tracks: Mapping[str, Track]) -> dict[str, Value]:
    """Return the event parameters; labels that share a time become separate events."""
    events: list[tuple[float, str, str]] = []
    for name, track in tracks.items():
        if track.kind == "label" and name.partition(".")[0] == "events" and track.times is not None:
            context = name.partition(".")[2]
            for time, text in zip(track.times.tolist(), track.values, strict=True):
                events += [(time, context, label) for label in text.split(", ")]
    if not events:
        return {}
    events.sort(key=lambda event: event[0])
    minutes = [[time // 60, time - 60 * (time // 60)] for time, _, _ in events]
    return {
        "EVENT:USED": np.array(len(events), np.int16),
        "EVENT:CONTEXTS": [context for _, context, _ in events],
        "EVENT:LABELS": [label for _, _, label in events],
        "EVENT:TIMES": np.array(minutes),
    }


def _group_by_subject(recording: Recording) -> dict[str, tuple[list[int], list[str]]]:
    """Return the columns and names of the markers of each subject."""
    labels = recording.texts("POINT:LABELS")[: recording.points.shape[1]]
    labels += [f"point{p}" for p in range(len(labels), recording.points.shape[1])]
    subjects: dict[str, tuple[list[int], list[str]]] = {}
    for column, label in enumerate(
        make_unique(label or f"point{p}" for p, label in enumerate(labels))
    ):
        subject, colon, marker = label.partition(":")
        if not colon or not subject or not marker:
            subject, marker = "", label
        columns, titles = subjects.setdefault(subject, ([], []))
        columns.append(column)
        titles.append(marker)
    if "" in subjects and len(subjects) > 1:
        free = NO_SUBJECT if NO_SUBJECT not in subjects else f"{NO_SUBJECT} "
        subjects = {subject or free: parts for subject, parts in subjects.items()}
    return subjects


def _read_unit(recording: Recording) -> float:
    stated = recording.text("POINT:UNITS").lower() or "mm"
    if stated not in UNITS:
        raise CorruptionError(f"POINT:UNITS must be one of {', '.join(UNITS)}, got {stated[:20]!r}")
    return UNITS[stated]


def _read_up_axis(recording: Recording) -> str | None:
    """Return the axis that points up the screen (Y_SCREEN), or None if the file does not say."""
    stated = recording.text("POINT:Y_SCREEN").lower()
    return stated[1] if stated in ("+x", "+y", "+z") else None


def _read_analogs(recording: Recording, start: float) -> dict[str, Track]:
    """Return every analog channel in its own unit; a frame may have several samples."""
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
    """Return `count` numbers: the given ones, then the default."""
    return np.append(given[:count], np.full(max(0, count - len(given)), default))


def _read_events(recording: Recording) -> dict[str, Track]:
    """Return a track of labels for each context, such as Left and Right."""
    times = recording.numbers("EVENT:TIMES")
    times = times[: len(times) // 2 * 2].reshape(-1, 2) @ [60.0, 1.0]  # minutes and seconds
    labels = recording.texts("EVENT:LABELS")
    contexts = recording.texts("EVENT:CONTEXTS")
    by_context: dict[str, list[tuple[float, str]]] = {}
    for k, (time, label) in enumerate(zip(times.tolist(), labels, strict=False)):
        if not np.isfinite(time):
            raise CorruptionError("EVENT:TIMES must be finite")
        context = contexts[k] if k < len(contexts) else ""
        title = f"events.{context}" if context else "events"
        by_context.setdefault(title, []).append((time, label))
    return {title: _build_label_track(events) for title, events in by_context.items()}


def _build_label_track(events: Sequence[tuple[float, str]]) -> Track:
    """Return a track of events in order; labels that share a time are joined."""
    at: dict[float, list[str]] = {}
    for time, label in sorted(events):
        at.setdefault(time, []).append(label)
    return Track("label", [", ".join(labels) for labels in at.values()], times=np.array([*at]))
