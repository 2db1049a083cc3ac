"""The `trak` chunk: one named series, coded within its bound or exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container.numbers import pack_numbers, unpack_numbers
from mocpack.container.runs import MAX_RUNS, pack_flags, pack_runs, unpack_flags, unpack_runs
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.rotations import as_rotvec, conjugate, from_rotvec, multiply, normalize
from mocpack.take import KINDS, MAX_LABEL, MAX_TRACK_NAME, WIDTHS, Track

OWN_RATE, STARTS, HAS_TIMES, BOUNDED, HAS_UNIT = 1, 2, 4, 8, 16
AS_QUATERNIONS, AS_VECTORS = 0, 1
REFERENCE = 32767.0
LARGEST_TURN = 100.0  # radians
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
    out.u8(KINDS.index(track.kind))
    out.u8(
        OWN_RATE * (track.frame_time is not None)
        + STARTS * (track.start != 0)
        + HAS_TIMES * (track.times is not None)
        + BOUNDED * (track.bound != 0)
        + HAS_UNIT * bool(track.unit)
    )
    out.varint(len(track))
    if track.frame_time is not None:
        out.f64(track.frame_time)
    if track.start:
        out.f64(track.start)
    if track.bound:
        out.f64(track.bound)
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
    times = None
    if head.has_times:
        part = FieldReader(read.sized(), "trak chunk")
        times = unpack_numbers(part, head.count, 1)[:, 0]
    values = _unpack_values(read, head.kind, head.count)
    try:
        track = Track(head.kind, values, head.frame_time, head.start, times, head.bound, head.unit)
    except InvalidClipError as error:
        raise CorruptionError(f"trak chunk {head.name[:40]!r}: {error}") from error
    return head.name, track


def _unpack_head(read: FieldReader, size: int, most: int) -> TrackHead:
    name = _text(read.sized(MAX_TRACK_NAME))
    kind, flags = read.u8(), read.u8()
    if kind >= len(KINDS) or flags >= 2 * HAS_UNIT:
        raise CorruptionError(f"trak chunk {name[:40]!r}: unknown kind {kind} or flags {flags}")
    count = read.varint(max(0, most) // WIDTHS[KINDS[kind]])
    return TrackHead(
        name,
        KINDS[kind],
        count,
        read.f64() if flags & OWN_RATE else None,
        read.f64() if flags & STARTS else 0.0,
        bool(flags & HAS_TIMES),
        read.f64() if flags & BOUNDED else 0.0,
        _text(read.sized(MAX_TRACK_NAME)) if flags & HAS_UNIT else "",
        size,
    )


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
    packed = _pack_turns(track) if turns else pack_numbers(matrix, _step(track))
    back = _unpack_values(FieldReader(packed), track.kind, len(track))
    if track.error(replace(track, values=back)) <= track.bound:
        return packed
    return exact  # a bound that is finer than the grid's arithmetic


def _pack_turns(track: Track) -> bytes:
    """Return rotations as vectors from a reference near the first: three numbers a sample."""
    reference = np.rint(REFERENCE * normalize(track.values[0])).astype("<i2")
    apart = multiply(conjugate(_reference(reference)), np.asarray(track.values))
    head = bytes([AS_VECTORS]) + reference.tobytes()
    return head + pack_numbers(as_rotvec(apart), _step(track))


def _unpack_turns(read: FieldReader, count: int) -> F64:
    form = read.u8()
    if form == AS_QUATERNIONS:
        return unpack_numbers(read, count, 4)
    if form != AS_VECTORS:
        raise CorruptionError(f"trak chunk: unknown form of rotations {form}")
    reference = np.frombuffer(read.raw(8), "<i2")
    if not reference.any():
        raise CorruptionError("trak chunk: a reference that is no rotation")
    vectors = unpack_numbers(read, count, 3)
    if not np.abs(vectors).max(initial=0.0) < LARGEST_TURN:
        raise CorruptionError("trak chunk: a rotation by many turns")
    return normalize(multiply(_reference(reference), from_rotvec(vectors)))


def _reference(whole: npt.NDArray[np.int16]) -> F64:
    return normalize(whole / REFERENCE)


def _unpack_values(read: FieldReader, kind: str, count: int) -> F64 | tuple[str, ...]:
    if kind == "flag":
        return unpack_flags(read.rest(), count)  # type: ignore[return-value]
    if kind == "label":
        return _unpack_labels(read.rest(), count)
    if kind == "quaternion":
        return _unpack_turns(read, count)
    matrix = unpack_numbers(read, count, WIDTHS[kind])
    return matrix[:, 0] if kind == "scalar" else matrix


def _step(track: Track) -> float:
    """Return the step of a grid on which no value is further off than the bound."""
    if track.kind == "scalar":
        return 2 * track.bound * CLOSE
    # no angle between rotations is larger than the distance of their vectors
    return 2 * min(track.bound, 1.0) * CLOSE / math.sqrt(3)


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
