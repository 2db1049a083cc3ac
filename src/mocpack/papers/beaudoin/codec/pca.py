"""Principal components of the joint angles, all at 16 bits: a baseline of Beaudoin et al. 2007.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §3.2. Poses without the root's place are projected on the principal directions of the
clip; directions, projections, mean pose and the places themselves are stored.

Payload: varint q; then, deflated, what `_Rows` writes for the mean (1 × A), the directions
(q × A), the projections (q × T) and the places (P × T), low bytes of all words first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.codec import Codec, Quality
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.model.clip import Clip, ClipHeader
from mocpack.papers.beaudoin.codec.signals import from_signals, layout, to_signals
from mocpack.papers.beaudoin.codec.zero_runs import join_bytes, split_bytes

LEVELS = 65_535
WIDEST = 1e9  # limit of angles and positions


@dataclass(frozen=True)
class Pca(Codec):
    """Projects poses on the clip's principal directions.

    Parameters
    ----------
    components : int
        Number of directions to keep (the paper's q); all directions if the clip has fewer.
    """

    codec_id = "pca"
    bitstream_version = 1
    decoder_params = ()
    quality: ClassVar[Quality] = Quality("components", 1, 1024, error_sign=-1, integer=True)

    components: int = 20

    def __post_init__(self) -> None:
        self.check_range("components", 1, 65_535)

    def encode(self, clip: Clip) -> bytes:
        plan = layout(clip.header, "euler")
        signals = to_signals(clip, plan)
        angles, places = signals[~plan.is_place], signals[plan.is_place]
        mean = _rounded(angles.mean(1)[np.newaxis])
        directions = _rounded(principal_directions(angles, self.components))
        # fitted to the rounded directions, which compensates for their rounding
        offsets = angles - mean.values().T
        fitted = np.linalg.lstsq(directions.values().T, offsets, rcond=None)[0]
        projections = _rounded(np.asarray(fitted, np.float64))
        out = FieldWriter()
        out.varint(len(directions.words))
        body = b"".join(
            part.to_bytes() for part in (mean, directions, projections, _rounded(places))
        )
        out.raw(deflate(body))
        return out.bytes()

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        plan = layout(header, "euler")
        places = int(plan.is_place.sum())
        angles, frames = len(plan) - places, header.frame_count
        read = FieldReader(payload, "pca payload")
        count = read.varint(limit=min(angles, frames))
        shapes = ((1, angles), (count, angles), (count, frames), (places, frames))
        size = sum(4 + rows * (8 + 2 * length) for rows, length in shapes)
        body = FieldReader(inflate(read.rest(), size, what="pca payload"), "pca payload")
        mean, directions, projections, places_ = (_read_rows(body, *shape) for shape in shapes)
        body.end()
        signals = np.empty((len(plan), frames))
        signals[~plan.is_place] = mean.T + directions.T @ projections
        signals[plan.is_place] = places_
        try:
            return from_signals(signals, header, plan)
        except InvalidClipError as error:
            raise CorruptionError(f"pca payload: {error}") from error


def principal_directions(signals: F64, count: int) -> F64:
    """Return at most `count` orthonormal directions (q, A) along which signals (A, T) vary most."""
    centered = signals - signals.mean(1, keepdims=True)
    directions = np.linalg.svd(centered, full_matrices=False)[0].T[:count]
    # the sign of a direction is arbitrary; fixing it makes equal clips give equal bytes
    peaks = np.abs(directions).argmax(1) if directions.size else []
    signs = np.sign(directions[np.arange(len(directions)), peaks])
    return np.asarray(directions * signs[:, np.newaxis])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of numbers in steps above each row's least, the widest row spread over 65536 levels.

    One step for all rows: projections that vary little become small numbers, which deflate well.
    """

    lowest: F64
    step: float
    words: npt.NDArray[np.uint16]

    def values(self) -> F64:
        return self.lowest[:, np.newaxis] + self.step * self.words

    def to_bytes(self) -> bytes:
        head = self.lowest.astype("<f8").tobytes() + np.array(self.step, "<f4").tobytes()
        return head + split_bytes(self.words.astype("<u2").tobytes())


def _rounded(rows: F64) -> _Rows:
    lowest = rows.min(axis=1) if rows.size else np.zeros(len(rows))
    above = rows - lowest[:, np.newaxis]
    widest = np.float32(above.max(initial=0.0) / LEVELS)
    step = float(np.nextafter(widest, np.float32(np.inf)))
    return _Rows(lowest, step, np.rint(above / step).astype(np.uint16))


def _read_rows(read: FieldReader, rows: int, length: int) -> F64:
    lowest = np.frombuffer(read.raw(8 * rows), "<f8")
    step = read.f32()
    words = np.frombuffer(join_bytes(read.raw(2 * rows * length)), "<u2").reshape(rows, length)
    if not (np.abs(lowest) < WIDEST).all() or not 0 <= step < WIDEST:
        raise CorruptionError(f"pca payload: values must be within ±{WIDEST:g}")
    return _Rows(lowest, step, words).values()
