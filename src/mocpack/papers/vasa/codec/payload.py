"""The payload of `rd-pca`, bit by bit: a head, then chunks that decode by themselves.

`docs/codecs/rd-pca.md` specifies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from mocpack.codec import Read
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import decode_plane, encode_plane
from mocpack.common.arrays import F64, I64, U8, Mask
from mocpack.errors import CorruptionError
from mocpack.papers.vasa.codec import cobra, starts
from mocpack.papers.vasa.codec.temporal_pca import Trajectories
from mocpack.papers.vasa.codec.wide_planes import (
    decode_numbers,
    encode_numbers,
    is_wide,
    join,
    split,
)

TPCA, CENTERED, STEPS, WIDE = 1, 2, 4, 8  # bits of the flags
MAX_CHUNK_FRAMES = 4096
MAX_EXPONENT = 400  # of weights and steps, so that decoding cannot overflow
WEIGHT_STEPS = 4  # steps of a weight's exponent per factor of two
COLUMN_CLASSES = [0, 1, 2, 3]  # of the table of columns: moves, weight, far and near part of a mean
HEAD_LENGTH = 4  # bytes of the first field, the length of the head


@dataclass(frozen=True)
class Model:
    """The data that all chunks share.

    Attributes
    ----------
    L : int
    tpca, centered : bool
    Q_l, Q_g : float
    moving : array of bool, shape (C,)
    weights : array of int, shape (C,)
        Exponents: a column is multiplied by ``2^(k/4)``.
    means : array of int, shape (C,)
        Of the weighted columns, in steps of `mean_step`.
    pose_exponents : array of int, shape (K,)
    poses : array of int, shape (K, N), or None
        Principal poses in steps; None means the columns themselves.
    """

    L: int
    tpca: bool
    centered: bool
    Q_l: float
    Q_g: float
    moving: Mask
    weights: I64
    means: I64
    pose_exponents: I64
    poses: I64 | None

    @property
    def channels(self) -> int:
        """K, the channels of a chunk."""
        return int(self.moving.sum()) if self.poses is None else len(self.poses)

    def basis(self) -> F64:
        """Return the decoded principal poses (K, N)."""
        if self.poses is None:
            return np.eye(self.channels)
        return self.poses * cobra.steps(self.Q_g, self.pose_exponents)[:, np.newaxis]

    def columns(self, channels: F64, frame_count: int) -> F64:
        """Return degrees of freedom (T, C) of channels (T, K) in a clip of `frame_count` frames."""
        scale = 2.0 ** (self.weights / -WEIGHT_STEPS)
        out = np.empty((len(channels), len(self.moving)))
        out[:] = self.means * mean_step(frame_count) * scale
        out[:, self.moving] += channels @ (self.basis() * scale[self.moving])
        return out


@dataclass(frozen=True)
class RdPcaHead:
    """A parsed head.

    Attributes
    ----------
    model : Model
    wide, trained : bool
        Whether numbers are wide; whether the coder starts from trained statistics.
    offsets : list of int
        Where each chunk begins, and the end of the last.
    index_bytes : int
        Size of the chunk index.
    """

    model: Model
    wide: bool
    trained: bool
    offsets: list[int]
    index_bytes: int


def mean_step(frame_count: int) -> float:
    """Return the step of the means, at most 1 / √frames: a bit saves as much here as elsewhere.

    >>> mean_step(1), mean_step(4), mean_step(5)
    (1.0, 0.5, 0.25)
    """
    return float(2.0 ** -(((frame_count - 1).bit_length() + 1) // 2))


def pack(model: Model, chunks: Sequence[Trajectories | I64], *, trained: bool = True) -> bytes:
    """Return the payload; without temporal PCA chunks are plain integers (T, K)."""
    poses = pose_plane(model)
    wide = any(map(is_wide, [poses, *map(chunk_plane, chunks)]))
    bodies = [_chunk_bytes(chunk, wide=wide, trained=trained) for chunk in chunks]
    steps = (model.Q_l, model.Q_g) != (1.0, 1.0)
    head = FieldWriter()
    head.varint(model.L)
    head.u8(TPCA * model.tpca | CENTERED * model.centered | STEPS * steps | WIDE * wide)
    if steps:
        head.f32(model.Q_l)
        head.f32(model.Q_g)
    start = _choose_start(starts.COLUMNS, trained)
    head.sized(encode_plane(column_plane(model), COLUMN_CLASSES, start=start))
    head.varint(0 if model.poses is None else 1 + len(poses))
    if model.poses is not None:
        classes = pose_classes(poses.shape[1] - 1)
        start = _choose_start(starts.POSES, trained)
        head.sized(encode_numbers(poses, classes, start=start, wide=wide))
    for body in bodies:
        head.varint(len(body))
    data = head.bytes()
    return len(data).to_bytes(HEAD_LENGTH, "little") + data + b"".join(bodies)


def _chunk_bytes(chunk: Trajectories | I64, *, wide: bool, trained: bool) -> bytes:
    plane = chunk_plane(chunk)
    start = _start_of_chunks(isinstance(chunk, Trajectories), trained)
    kinds = chunk_classes(chunk, plane.shape[1])
    out = FieldWriter()
    if isinstance(chunk, Trajectories):
        out.varint(len(chunk.exponents))
        out.u8(chunk.s)
    out.raw(encode_numbers(plane, kinds, start=start, wide=wide))
    return out.bytes()


def _start_of_chunks(tpca: bool, trained: bool) -> U8:
    return _choose_start(starts.TRAJECTORIES if tpca else starts.FRAMES, trained)


def _choose_start(known: U8, trained: bool) -> U8:
    """Return trained statistics, or zeros for a uniform start."""
    return known if trained else 0 * known


def read_head(read: Read, frame_count: int, columns: int, *, trained: bool = True) -> RdPcaHead:
    """Read the head of a payload with `frame_count` frames and `columns` degrees of freedom."""
    length = int.from_bytes(read(0, HEAD_LENGTH), "little")
    fields = FieldReader(read(HEAD_LENGTH, length), "rd-pca head")
    L = fields.varint(MAX_CHUNK_FRAMES)
    flags = fields.u8()
    Q_l, Q_g = (fields.f32(), fields.f32()) if flags & STEPS else (1.0, 1.0)
    _check_parameters(L, flags, Q_l, Q_g)
    tpca, wide = bool(flags & TPCA), bool(flags & WIDE)
    moving, weights, means = _read_columns(fields, columns, trained=trained)
    exponents, poses = _read_poses(fields, int(moving.sum()), wide=wide, trained=trained)
    model = Model(
        L, tpca, bool(flags & CENTERED), Q_l, Q_g, moving, weights, means, exponents, poses
    )
    before = fields.at
    sizes = [fields.varint() for _ in range(-(-frame_count // L))]
    fields.end()
    ends = accumulate(sizes, initial=HEAD_LENGTH + length)
    return RdPcaHead(model, wide, trained, list(ends), fields.at - before)


def _check_parameters(L: int, flags: int, Q_l: float, Q_g: float) -> None:
    if not L:
        raise CorruptionError(
            f"rd-pca head: chunks must have 1 to {MAX_CHUNK_FRAMES} frames, got {L}"
        )
    if flags > TPCA | CENTERED | STEPS | WIDE:
        raise CorruptionError(f"rd-pca head: flags must be at most 15, got {flags}")
    for name, value in (("Q_l", Q_l), ("Q_g", Q_g)):
        if not 0 < value < 1e4:
            raise CorruptionError(f"rd-pca head: {name} is {value}, must be between 0 and 10000")


def read_chunks(read: Read, head: RdPcaHead, frame_count: int, first: int, last: int) -> F64:
    """Return channels (T, K) of chunks `first` to `last`, half-open."""
    base = head.offsets[first]
    data = read(base, head.offsets[last] - base)
    parts = []
    for n, (a, b) in enumerate(pairwise(head.offsets[first : last + 1]), first):
        length = min(head.model.L, frame_count - n * head.model.L)
        parts.append(_read_chunk(data[a - base : b - base], head, length))
    return np.concatenate(parts)


def _read_chunk(data: bytes, head: RdPcaHead, length: int) -> F64:
    model, K = head.model, head.model.channels
    start = _start_of_chunks(model.tpca, head.trained)
    if not model.tpca:
        zeros = np.zeros(K, np.int64)
        values = decode_numbers(data, length, zeros, start=start, wide=head.wide)
        return values.astype(np.float64)
    fields = FieldReader(data, "rd-pca chunk")
    count, s = fields.varint(), fields.u8()
    if not s or count > min(length, K) + model.centered:
        raise CorruptionError(
            f"rd-pca chunk: expected at most {min(length, K) + model.centered} trajectories and a "
            f"sample stride of at least 1, got {count} and {s} (file is corrupt)"
        )
    knots = cobra.knot_count(length, s)
    classes = _layout(knots, K)
    plane = decode_numbers(fields.rest(), count, classes, start=start, wide=head.wide)
    found = _trajectories(plane, s, knots)
    _check_exponents(found.exponents, "step of a trajectory")
    if model.centered and count:
        found.coefficients[0] = 1
    return found.rebuilt(length, model.Q_l)


def chunk_plane(chunk: Trajectories | I64) -> I64:
    """Return the integers to code, one row for each trajectory: step, samples, coefficients."""
    if not isinstance(chunk, Trajectories):
        return chunk
    steps = np.diff(chunk.exponents, prepend=0)[:, np.newaxis]
    return np.concatenate([steps, cobra.predict_in_time(chunk.knots).T, chunk.coefficients], axis=1)


def _trajectories(plane: I64, s: int, knots: int) -> Trajectories:
    """Undo `chunk_plane`."""
    samples = cobra.undo_prediction(np.ascontiguousarray(plane[:, 1 : 1 + knots].T))
    return Trajectories(s, np.cumsum(plane[:, 0]), samples, plane[:, 1 + knots :])


def chunk_classes(chunk: Trajectories | I64, columns: int) -> I64:
    if not isinstance(chunk, Trajectories):
        return np.zeros(columns, np.int64)
    return _layout(len(chunk.knots), chunk.coefficients.shape[1])


def _layout(knots: int, channels: int) -> I64:
    """Return the classes of a row's columns: its step, its samples, its coefficients."""
    return np.repeat([0, 1, 2], [1, knots, channels])


def column_plane(model: Model) -> I64:
    """Return the columns' numbers (C, 4): whether it moves, weight less the one before, mean."""
    far, near = split(model.means)
    weights = np.diff(model.weights, prepend=0)
    return np.stack([model.moving.astype(np.int64), weights, far, near], axis=1)


def _read_columns(fields: FieldReader, count: int, *, trained: bool) -> tuple[Mask, I64, I64]:
    data, start = fields.sized(), _choose_start(starts.COLUMNS, trained)
    table = decode_plane(data, count, 4, COLUMN_CLASSES, start=start).astype(np.int64)
    moving, weights = table[:, 0], np.cumsum(table[:, 1])
    if np.any((moving < 0) | (moving > 1)):
        bad = int(np.argmax((moving < 0) | (moving > 1)))
        raise CorruptionError(f"rd-pca head: column {bad} must be marked with 0 or 1")
    _check_exponents(weights, "weight")
    return moving.astype(bool), weights, join(table[:, 2], table[:, 3])


def pose_plane(model: Model) -> I64:
    """Return the poses' numbers (K, 1 + N): step less the one before, the pose."""
    if model.poses is None:
        return np.zeros((0, 1), np.int64)
    steps = np.diff(model.pose_exponents, prepend=0)
    return np.concatenate([steps[:, np.newaxis], model.poses], axis=1)


def _read_poses(
    fields: FieldReader, columns: int, *, wide: bool, trained: bool
) -> tuple[I64, I64 | None]:
    announced = fields.varint(1 + columns)
    if not announced:
        return np.zeros(0, np.int64), None
    classes, start = pose_classes(columns), _choose_start(starts.POSES, trained)
    table = decode_numbers(fields.sized(), announced - 1, classes, start=start, wide=wide)
    exponents = np.cumsum(table[:, 0])
    _check_exponents(exponents, "step of a pose")
    return exponents, table[:, 1:]


def pose_classes(columns: int) -> I64:
    return np.repeat([0, 1], [1, columns])


def _check_exponents(exponents: I64, what: str) -> None:
    largest = int(np.abs(exponents).max(initial=0))
    if largest > MAX_EXPONENT:
        raise CorruptionError(
            f"rd-pca: exponent of the {what} must be at most {MAX_EXPONENT}, got {largest}"
        )
