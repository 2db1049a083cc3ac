"""The payload of `rd-pca`, bit by bit: a head, then chunks that decode by themselves.

`docs/codecs/rd-pca.md` specifies it. Knows what the numbers are, not how they were chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from mocpack.arrays import F64, I64, U8, Mask
from mocpack.codec import Read
from mocpack.codecs.rd_pca import cobra
from mocpack.codecs.rd_pca.temporal_pca import Trajectories
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import (
    decode_plane,
    decode_start,
    encode_plane,
    encode_start,
    shared_start,
)
from mocpack.errors import CorruptionError

TPCA, CENTRED, STARTED = 1, 2, 4  # bits of the flags
LONGEST_CHUNK = 4096
LARGEST_EXPONENT = 400  # of weights and steps: nothing that decodes can overflow a float
WEIGHT_STEPS = 4  # of a weight's exponent to a factor of two
MEAN_SPLIT = 1 << 20  # a mean is stored in two parts, so that no clip is too far away
HEAD_LENGTH = 4  # bytes of the number that comes first: how long the head is


@dataclass(frozen=True)
class Model:
    """What all chunks share.

    Attributes
    ----------
    L : int
    tpca, centred : bool
    Q_l, Q_g : float
    moving : array of bool, shape (C,)
    weights : array of int, shape (C,)
        Exponents: a column is multiplied by ``2^(k/4)``.
    means : array of int, shape (C,)
        Of the weighted columns, in steps of `mean_step`.
    pose_exponents : array of int, shape (K,)
    poses : array of int, shape (K, N), or None
        Principal poses in steps; None stands for the columns themselves.
    """

    L: int
    tpca: bool
    centred: bool
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
        """Return the principal poses (K, N) that a decoder sees."""
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
    """A head that was read: the model, what the coder starts from, and where each chunk lies."""

    model: Model
    start: U8 | None
    offsets: list[int]
    index_bytes: int


def mean_step(frame_count: int) -> float:
    """Return the step of the columns' means, at most 1 / (2 √frames): no frame notices it.

    >>> mean_step(1), mean_step(4), mean_step(5)
    (0.5, 0.25, 0.125)
    """
    return float(2.0 ** -(1 + ((frame_count - 1).bit_length() + 1) // 2))


def pack(model: Model, chunks: Sequence[Trajectories | I64]) -> bytes:
    """Return the payload; without temporal PCA chunks are plain integers (T, K)."""
    start, codes = _coded(chunks)
    bodies = [_fields(chunk) + code for chunk, code in zip(chunks, codes, strict=True)]
    head = FieldWriter()
    head.varint(model.L)
    head.u8(TPCA * model.tpca | CENTRED * model.centred | STARTED * bool(start))
    head.f32(model.Q_l)
    head.f32(model.Q_g)
    _write_columns(head, model)
    _write_poses(head, model)
    if start:
        head.sized(start)
    for body in bodies:
        head.varint(len(body))
    data = head.bytes()
    return len(data).to_bytes(HEAD_LENGTH, "little") + data + b"".join(bodies)


def _coded(chunks: Sequence[Trajectories | I64]) -> tuple[bytes, list[bytes]]:
    """Return the code of what all chunks start from, empty if none pays, and of each chunk."""
    planes = [_plane(chunk) for chunk in chunks]
    kinds = [_classes(c, plane.shape[1]) for c, plane in zip(chunks, planes, strict=True)]
    plain = [encode_plane(p, k) for p, k in zip(planes, kinds, strict=True)]
    start = shared_start(planes, kinds)
    known = encode_start(start)
    primed = [encode_plane(p, k, start=start) for p, k in zip(planes, kinds, strict=True)]
    if len(known) + sum(map(len, primed)) < sum(map(len, plain)):
        return known, primed
    return b"", plain


def read_head(read: Read, frame_count: int, columns: int) -> RdPcaHead:
    """Read the head of a payload that holds so many frames and degrees of freedom."""
    length = int.from_bytes(read(0, HEAD_LENGTH), "little")
    fields = FieldReader(read(HEAD_LENGTH, length), "rd-pca head")
    L = fields.varint(LONGEST_CHUNK)
    flags = fields.u8()
    Q_l, Q_g = fields.f32(), fields.f32()
    if L < 1 or flags > TPCA | CENTRED | STARTED or not (0 < Q_l < 1e4 and 0 < Q_g < 1e4):
        raise CorruptionError("rd-pca head has impossible parameters")
    moving, weights, means = _read_columns(fields, columns)
    exponents, poses = _read_poses(fields, int(moving.sum()))
    tpca = bool(flags & TPCA)
    model = Model(
        L, tpca, bool(flags & CENTRED), Q_l, Q_g, moving, weights, means, exponents, poses
    )
    start = decode_start(fields.sized(), 3 if tpca else 1) if flags & STARTED else None
    before = fields.at
    sizes = [fields.varint() for _ in range(-(-frame_count // L))]
    fields.end()
    ends = accumulate(sizes, initial=HEAD_LENGTH + length)
    return RdPcaHead(model, start, list(ends), fields.at - before)


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
    if not model.tpca:
        values = decode_plane(data, length, K, np.zeros(K, np.int64), start=head.start)
        return values.astype(np.float64)
    fields = FieldReader(data, "rd-pca chunk")
    count, s = fields.varint(), fields.u8()
    if not s or count > min(length, K) + model.centred:
        raise CorruptionError("rd-pca chunk has impossible parameters")
    knots = cobra.knot_count(length, s)
    classes = _layout(knots, K)
    plane = decode_plane(fields.rest(), count, len(classes), classes, start=head.start)
    found = _trajectories(plane.astype(np.int64), s, knots)
    if np.abs(found.exponents).max(initial=0) > LARGEST_EXPONENT:
        raise CorruptionError("rd-pca chunk has an impossible step")
    if model.centred and count:
        found.coefficients[0] = 1
    return found.rebuilt(length, model.Q_l)


def _fields(chunk: Trajectories | I64) -> bytes:
    if not isinstance(chunk, Trajectories):
        return b""
    out = FieldWriter()
    out.varint(len(chunk.exponents))
    out.u8(chunk.s)
    return out.bytes()


def _plane(chunk: Trajectories | I64) -> I64:
    """Return the integers to code, one row for each trajectory: step, samples, coefficients."""
    if not isinstance(chunk, Trajectories):
        return chunk
    steps = np.diff(chunk.exponents, prepend=0)[:, np.newaxis]
    return np.concatenate([steps, cobra.predict_in_time(chunk.knots).T, chunk.coefficients], axis=1)


def _trajectories(plane: I64, s: int, knots: int) -> Trajectories:
    """Undo `_plane`."""
    samples = cobra.undo_prediction(np.ascontiguousarray(plane[:, 1 : 1 + knots].T))
    return Trajectories(s, np.cumsum(plane[:, 0]), samples, plane[:, 1 + knots :])


def _classes(chunk: Trajectories | I64, columns: int) -> I64:
    if not isinstance(chunk, Trajectories):
        return np.zeros(columns, np.int64)
    return _layout(len(chunk.knots), chunk.coefficients.shape[1])


def _layout(knots: int, channels: int) -> I64:
    """Return the classes of a row's columns: its step, its samples, its coefficients."""
    return np.repeat([0, 1, 2], [1, knots, channels])


def _write_columns(out: FieldWriter, model: Model) -> None:
    out.mask(model.moving)
    far, near = np.divmod(model.means + MEAN_SPLIT // 2, MEAN_SPLIT)
    table = np.stack([np.diff(model.weights, prepend=0), far, near - MEAN_SPLIT // 2], axis=1)
    out.sized(encode_plane(table, [0, 1, 2]))


def _read_columns(fields: FieldReader, count: int) -> tuple[Mask, I64, I64]:
    moving = fields.mask(count)
    table = decode_plane(fields.sized(), count, 3, [0, 1, 2]).astype(np.int64)
    weights = np.cumsum(table[:, 0])
    if np.abs(weights).max(initial=0) > LARGEST_EXPONENT:
        raise CorruptionError("rd-pca head has an impossible weight")
    return moving, weights, table[:, 1] * MEAN_SPLIT + table[:, 2]


def _write_poses(out: FieldWriter, model: Model) -> None:
    """Write K + 1 and the poses, or 0 where there are none."""
    out.varint(0 if model.poses is None else 1 + len(model.poses))
    if model.poses is not None:
        steps = np.diff(model.pose_exponents, prepend=0)
        table = np.concatenate([steps[:, np.newaxis], model.poses], axis=1)
        out.sized(encode_plane(table, _layout(0, model.poses.shape[1])))


def _read_poses(fields: FieldReader, columns: int) -> tuple[I64, I64 | None]:
    announced = fields.varint(1 + columns)
    if not announced:
        return np.zeros(0, np.int64), None
    classes = _layout(0, columns)
    table = decode_plane(fields.sized(), announced - 1, 1 + columns, classes).astype(np.int64)
    exponents = np.cumsum(table[:, 0])
    if np.abs(exponents).max(initial=0) > LARGEST_EXPONENT:
        raise CorruptionError("rd-pca head has an impossible step")
    return exponents, table[:, 1:]
