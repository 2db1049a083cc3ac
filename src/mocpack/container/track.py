"""The `trak` chunk: one named series, within its bound or exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.coding.fields import FieldWriter, deflate
from mocpack.common.arrays import F64, I64
from mocpack.container.numbers import pack_numbers, pack_short
from mocpack.model.rotations import as_rotvec, conjugate, multiply, normalize
from mocpack.model.take_data import KINDS, WIDTHS, Track

HAS_RATE, HAS_START, HAS_TIMES, HAS_BOUND, HAS_UNIT = 1, 2, 4, 8, 16
MAX_KINDS = 8  # flags use the higher bits of the same byte
AS_QUATERNIONS, AS_VECTORS, FROM_IDENTITY = 0, 1, 2
REFERENCE_SCALE = 32767.0
MAX_UNWRAPPED_RAD = 90.0
TrackFields = tuple[str, int, int, float | None, float, bool, float, str, int]
"""The fields of a `TrackHead`, with the number of its kind."""
ROUNDING_MARGIN = 1 - 1e-6  # leaves room for rounding errors below the bound


@dataclass(frozen=True)
class TrackHead:
    """The properties of a track, without its values.

    Attributes
    ----------
    name, kind, unit : str
    count : int
        Number of samples.
    frame_time : float or None
        Seconds between samples, if it differs from the clip's.
    start, bound : float
    has_times : bool
        Whether each sample has its own time.
    bytes : int
        Size of the chunk's body.
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
    head = _pack_head(name, track)
    if track.kind == "flag":
        return head + _core.pack_flags(np.asarray(track.values).view(np.uint8))
    if track.kind == "label":
        return head + _pack_labels(track.values)
    matrix = np.ascontiguousarray(track.values).reshape(len(track), WIDTHS[track.kind])
    turns = track.kind == "quaternion"
    if track.bound and len(track):
        step = _grid_step(track.kind, track.bound)
        packed = head + (
            _pack_rotations(track) if turns else pack_numbers(matrix, step, known=True)
        )
        values, _ = _core.read_track(packed)
        back = replace(track, values=track_values(track.kind, values))
        if track.error(back) <= track.bound:
            return packed
    # exact, also if the bound is too fine for the grid's arithmetic
    return head + bytes([AS_QUATERNIONS] * turns) + pack_numbers(matrix)


def read_track_head(body: bytes) -> TrackHead:
    """Parse the head of a track chunk."""
    return track_head(_core.track_head(body))


def track_head(fields: TrackFields) -> TrackHead:
    """Return the head of a track from the core's tuple."""
    name, kind = fields[:2]
    return TrackHead(name, KINDS[kind], *fields[2:])


def track_values(
    kind: str, values: npt.ArrayLike, words: Sequence[str] = ()
) -> np.ndarray | tuple[str, ...]:
    """Return values (N, width) from the core in the form of this kind of track."""
    numbers = np.asarray(values)
    if WIDTHS[kind] > 1:
        return numbers
    if kind == "label":
        return tuple(words[int(number)] for number in numbers[:, 0])
    return numbers[:, 0] != 0 if kind == "flag" else numbers[:, 0]


def _pack_head(name: str, track: Track) -> bytes:
    out = FieldWriter()
    out.sized(name.encode())
    flags = (
        HAS_RATE * (track.frame_time is not None)
        + HAS_START * (track.start != 0)
        + HAS_TIMES * (track.times is not None)
        + HAS_BOUND * (track.bound != 0)
        + HAS_UNIT * bool(track.unit)
    )
    out.u8(KINDS.index(track.kind) + MAX_KINDS * flags)
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
    return out.bytes()


def _pack_rotations(track: Track) -> bytes:
    """Return rotation vectors, relative to the identity or to the first rotation."""
    values, step = np.asarray(track.values), _grid_step(track.kind, track.bound)
    reference = np.rint(REFERENCE_SCALE * normalize(values[0])).astype("<i2")
    apart = multiply(conjugate(normalize(reference / REFERENCE_SCALE)), values)
    ways = (
        (bytes([FROM_IDENTITY]), normalize(values)),
        (bytes([AS_VECTORS]) + reference.tobytes(), apart),
    )
    found = (
        head + pack_numbers(_unwrap_vectors(as_rotvec(turns)), step, known=True)
        for head, turns in ways
    )
    return min(found, key=len)


def _unwrap_vectors(vectors: F64) -> F64:
    """Unwrap rotation vectors (N, 3): add full turns, so that they do not jump at 180°."""
    out = vectors.copy()
    angles = np.linalg.norm(vectors, axis=1)
    axes = vectors / np.maximum(angles, 1e-12)[:, np.newaxis]
    for t in range(1, len(out)):
        ahead = float(out[t - 1] @ axes[t])  # the previous vector along this axis
        length = angles[t] + 2 * math.pi * round((ahead - angles[t]) / (2 * math.pi))
        if abs(length) < MAX_UNWRAPPED_RAD:
            out[t] = length * axes[t]
    return out


def _grid_step(kind: str, bound: float) -> float:
    """Return the grid step whose rounding error is at most the bound."""
    if kind == "scalar":
        return 2 * bound * ROUNDING_MARGIN
    # the angle between rotations is at most the distance of their vectors
    return 2 * min(bound, 1.0) * ROUNDING_MARGIN / math.sqrt(3)


def _pack_labels(labels: tuple[str, ...]) -> bytes:
    words = list(dict.fromkeys(labels))
    number = {word: i for i, word in enumerate(words)}
    out = FieldWriter()
    out.varint(len(words))
    for word in words:
        out.sized(word.encode())
    _pack_runs(out, np.array([number[label] for label in labels], np.int64))
    return deflate(out.bytes())


def _pack_runs(out: FieldWriter, ids: I64) -> None:
    """Append integers (N,) as runs: the count, then value and length - 1 of each run."""
    starts = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1)) if len(ids) else np.zeros(0, int)
    lengths = np.diff(starts, append=len(ids))
    out.varint(len(starts))
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        out.varint(int(ids[start]))
        out.varint(length - 1)
