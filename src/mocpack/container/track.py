"""The `trak` chunk: one named series, coded within its bound or exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container.numbers import pack_numbers, pack_short, unpack_numbers, unpack_short
from mocpack.container.runs import MAX_RUNS, pack_flags, pack_runs, unpack_flags, unpack_runs
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.rotations import as_rotvec, conjugate, from_rotvec, multiply, normalize
from mocpack.take import KINDS, MAX_LABEL, MAX_TRACK_NAME, WIDTHS, Track, check_times

OWN_RATE, STARTS, HAS_TIMES, BOUNDED, HAS_UNIT = 1, 2, 4, 8, 16
MOST_KINDS = 8  # so that flags stand above the kind in one byte
AS_QUATERNIONS, AS_VECTORS, FROM_IDENTITY = 0, 1, 2
REFERENCE = 32767.0
LARGEST_TURN, MOST_UNWOUND = 100.0, 90.0  # radians
CLOSE = 1 - 1e-6  # of a bound that rounding may take the rest of


@dataclass(frozen=True)
class TrackHead:
    """What a track is, without its values.

    Attributes
    ----------
    name, kind, unit : str
    count : int
        Of samples.
    frame_time : float or None
        Seconds from sample to sample, where not the clip's.
    start, bound : float
    has_times : bool
        Whether each sample has a time of its own.
    bytes : int
        Of the chunk's body.
    """

    name: str
    kind: str
    count: int
    frame_time: float | None
    start: float
    has_times: bool
    bound: float
    unit: str
    bytes: int


def pack_track(name: str, track: Track) -> bytes:
    out = FieldWriter()
    out.sized(name.encode())
    flags = (
        OWN_RATE * (track.frame_time is not None)
        + STARTS * (track.start != 0)
        + HAS_TIMES * (track.times is not None)
        + BOUNDED * (track.bound != 0)
        + HAS_UNIT * bool(track.unit)
    )
    out.u8(KINDS.index(track.kind) + MOST_KINDS * flags)
    out.varint(len(track))
    if track.frame_time is not None:
        pack_short(out, track.frame_time)
    if track.start:
        pack_short(out, track.start)
    if track.bound:
        pack_short(out, track.bound)
    if track.unit:
        out.sized(track.unit.encode())
    if track.times is not None:
        out.sized(pack_numbers(track.times[:, np.newaxis]))
    out.raw(_pack_values(track))
    return out.bytes()


def unpack_track_head(body: bytes, most: int) -> TrackHead:
    """Return what a chunk holds, of at most `most` numbers."""
    return _unpack_head(FieldReader(body, "trak chunk"), len(body), most)


def unpack_track(body: bytes, most: int) -> tuple[str, Track]:
    """Return the name and the track of a chunk, of at most `most` numbers."""
    read = FieldReader(body, "trak chunk")
    head = _unpack_head(read, len(body), most)
    _check_head(head)
    times = None
    if head.has_times:
        part = FieldReader(read.sized(), "trak chunk")
        times = unpack_numbers(part, head.count, 1)[:, 0]
        _check_times(head, times)
    values = _unpack_values(read, head.kind, head.count, head.bound)
    return head.name, _track(head, values, times)


def _unpack_head(read: FieldReader, size: int, most: int) -> TrackHead:
    name = _text(read.sized(MAX_TRACK_NAME))
    flags, kind = divmod(read.u8(), MOST_KINDS)
    if kind >= len(KINDS):
        raise CorruptionError(f"trak chunk {name[:40]!r}: unknown kind {kind}")
    count = read.varint(max(0, most) // WIDTHS[KINDS[kind]])
    frame_time = unpack_short(read) if flags & OWN_RATE else None
    if frame_time is not None and not frame_time > 0:
        raise CorruptionError(f"trak chunk {name[:40]!r}: a frame time of {frame_time} s")
    return TrackHead(
        name,
        KINDS[kind],
        count,
        frame_time,
        unpack_short(read) if flags & STARTS else 0.0,
        bool(flags & HAS_TIMES),
        unpack_short(read) if flags & BOUNDED else 0.0,
        _text(read.sized(MAX_TRACK_NAME)) if flags & HAS_UNIT else "",
        size,
    )


def _track(head: TrackHead, values: Any, times: F64 | None = None) -> Track:
    start = head.start if times is None else 0.0
    try:
        return Track(head.kind, values, head.frame_time, start, times, head.bound, head.unit)
    except InvalidClipError as error:
        raise CorruptionError(f"trak chunk {head.name[:40]!r}: {error}") from error


def _check_head(head: TrackHead) -> None:
    """Refuse a head that no track can have before its values are read: the first fault counts."""
    width = WIDTHS[head.kind]
    empty = np.zeros((0, width) if width > 1 else 0, bool if head.kind == "flag" else float)
    _track(head, empty)


def _check_times(head: TrackHead, times: F64) -> None:
    try:
        check_times(times, head.count, "a track's times")
    except InvalidClipError as error:
        raise CorruptionError(f"trak chunk {head.name[:40]!r}: {error}") from error


def _pack_values(track: Track) -> bytes:
    if track.kind == "flag":
        return pack_flags(track.values)
    if track.kind == "label":
        return _pack_labels(track.values)
    matrix = np.ascontiguousarray(track.values).reshape(len(track), WIDTHS[track.kind])
    turns = track.kind == "quaternion"
    exact = bytes([AS_QUATERNIONS] * turns) + pack_numbers(matrix)
    if not track.bound or not len(track):
        return exact
    step = _step(track.kind, track.bound)
    packed = _pack_turns(track) if turns else pack_numbers(matrix, step, known=True)
    back = _unpack_values(FieldReader(packed), track.kind, len(track), track.bound)
    if track.error(replace(track, values=back)) <= track.bound:
        return packed
    return exact  # a bound that is finer than the grid's arithmetic


def _pack_turns(track: Track) -> bytes:
    """Return rotations as vectors, three numbers a sample, from no turn or from near the first."""
    values, step = np.asarray(track.values), _step(track.kind, track.bound)
    reference = np.rint(REFERENCE * normalize(values[0])).astype("<i2")
    apart = multiply(conjugate(_reference(reference)), values)
    ways = (
        (bytes([FROM_IDENTITY]), normalize(values)),
        (bytes([AS_VECTORS]) + reference.tobytes(), apart),
    )
    found = (
        head + pack_numbers(_unwound(as_rotvec(turns)), step, known=True) for head, turns in ways
    )
    return min(found, key=len)


def _unwound(vectors: F64) -> F64:
    """Return rotation vectors (N, 3) of the same rotations that do not leap: with whole turns more.

    What spins leaves half a turn on one side and comes back on the other otherwise.
    """
    out = vectors.copy()
    angles = np.linalg.norm(vectors, axis=1)
    axes = vectors / np.maximum(angles, 1e-12)[:, np.newaxis]
    for t in range(1, len(out)):
        ahead = float(out[t - 1] @ axes[t])  # how far the last one reaches along this axis
        length = angles[t] + 2 * math.pi * round((ahead - angles[t]) / (2 * math.pi))
        if abs(length) < MOST_UNWOUND:
            out[t] = length * axes[t]
    return out


def _unpack_turns(read: FieldReader, count: int, step: float) -> F64:
    form = read.u8()
    if form == AS_QUATERNIONS:
        return unpack_numbers(read, count, 4)
    if form not in (AS_VECTORS, FROM_IDENTITY):
        raise CorruptionError(f"trak chunk: unknown form of rotations {form}")
    reference = np.frombuffer(read.raw(8), "<i2") if form == AS_VECTORS else None
    if reference is not None and not reference.any():
        raise CorruptionError("trak chunk: a reference that is no rotation")
    vectors = unpack_numbers(read, count, 3, step)
    if not np.abs(vectors).max(initial=0.0) < LARGEST_TURN:
        raise CorruptionError("trak chunk: a rotation by many turns")
    turns = normalize(from_rotvec(vectors))
    return turns if reference is None else normalize(multiply(_reference(reference), turns))


def _reference(whole: npt.NDArray[np.int16]) -> F64:
    return normalize(whole / REFERENCE)


def _unpack_values(read: FieldReader, kind: str, count: int, bound: float) -> F64 | tuple[str, ...]:
    if kind == "flag":
        return unpack_flags(read.rest(), count)  # type: ignore[return-value]
    if kind == "label":
        return _unpack_labels(read.rest(), count)
    if kind == "quaternion":
        return _unpack_turns(read, count, _step(kind, bound))
    matrix = unpack_numbers(read, count, WIDTHS[kind], _step(kind, bound))
    return matrix[:, 0] if kind == "scalar" else matrix


def _step(kind: str, bound: float) -> float:
    """Return the step of a grid on which no value is further off than the bound."""
    if kind == "scalar":
        return 2 * bound * CLOSE
    # no angle between rotations is larger than the distance of their vectors
    return 2 * min(bound, 1.0) * CLOSE / math.sqrt(3)


def _pack_labels(labels: tuple[str, ...]) -> bytes:
    words = list(dict.fromkeys(labels))
    number = {word: i for i, word in enumerate(words)}
    out = FieldWriter()
    out.varint(len(words))
    for word in words:
        out.sized(word.encode())
    pack_runs(out, np.array([number[label] for label in labels], np.int64))
    return deflate(out.bytes())


def _unpack_labels(body: bytes, count: int) -> tuple[str, ...]:
    read = FieldReader(inflate(body, MAX_RUNS, what="trak chunk"), "trak chunk")
    words = [_text(read.sized(MAX_LABEL)) for _ in range(read.varint(count))]
    numbers = unpack_runs(read, count, max(len(words) - 1, 0)) if count else ()
    if not count:
        read.varint(0)
    read.end()
    if count and not words:
        raise CorruptionError("trak chunk: labels without words")
    return tuple(words[n] for n in numbers)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptionError(f"trak chunk: {error}") from error
