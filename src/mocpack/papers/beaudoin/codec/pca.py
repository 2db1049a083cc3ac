"""Principal components of the joint angles, all at 16 bits: a baseline of Beaudoin et al. 2007.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §3.2. Poses without the root's place are projected on the principal directions of the
clip; directions, projections, mean pose and the places themselves are stored.

Payload: varint q; then, deflated, what `_Rows` writes for the mean (1 × A), the directions
(q × A), the projections (q × T) and the places (P × T).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.codec import Codec, Quality
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, InvalidClipError, convert_errors
from mocpack.model.clip import Clip, ClipHeader
from mocpack.papers.beaudoin.codec.signals import from_signals, layout, to_signals
from mocpack.papers.beaudoin.codec.zero_runs import join_bytes, split_bytes

LEVELS = 65_535
WIDEST = 1e9  # limit of angles and positions


@dataclass(frozen=True)
class Pca(Codec[Clip, ClipHeader]):
    """Projects poses on the clip's principal directions.

    Parameters
    ----------
    components : int
        Number of directions to keep (the paper's q); all directions if the clip has fewer.
    step_per_row : bool
        Give each row its own quantizer step, so that each takes all 16 bits; by default the widest
        row of a matrix does and the others share its step.
    split_bytes : bool
        Deflate the low bytes of all words before the high ones; false: word by word.
    fitted : bool
        Fit the projections to the quantized directions; false: project on the directions before
        quantization.
    """

    codec_id = "pca"
    bitstream_version = 1
    decoder_params = ("step_per_row", "split_bytes")
    paper_settings = MappingProxyType({"step_per_row": True, "split_bytes": False, "fitted": False})
    quality: ClassVar[Quality] = Quality("components", 1, 1024, error_sign=-1, integer=True)

    components: int = 20
    step_per_row: bool = False
    split_bytes: bool = True
    fitted: bool = True

    def __post_init__(self) -> None:
        self.check_range("components", 1, 65_535)

    def encode(self, clip: Clip) -> bytes:
        plan = layout(clip.header, "euler")
        signals = to_signals(clip, plan)
        angles, places = signals[~plan.is_place], signals[plan.is_place]
        mean = self._rounded(angles.mean(1)[np.newaxis])
        exact = principal_directions(angles, self.components)
        directions = self._rounded(exact)
        if self.fitted:  # to the rounded directions, which compensates for their rounding
            offsets = angles - mean.values().T
            projected = np.linalg.lstsq(directions.values().T, offsets, rcond=None)[0]
        else:
            projected = exact @ (angles - angles.mean(1, keepdims=True))
        projections = self._rounded(np.asarray(projected, np.float64))
        out = FieldWriter()
        out.varint(len(directions.words))
        parts = mean, directions, projections, self._rounded(places)
        out.raw(deflate(b"".join(part.to_bytes(split=self.split_bytes) for part in parts)))
        return out.bytes()

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        plan = layout(header, "euler")
        places = int(plan.is_place.sum())
        angles, frames = len(plan) - places, header.frame_count
        read = FieldReader(payload, "pca payload")
        count = read.varint(limit=min(angles, frames))
        shapes = ((1, angles), (count, angles), (count, frames), (places, frames))
        size = sum(
            4 * (rows if self.step_per_row else 1) + rows * (8 + 2 * length)
            for rows, length in shapes
        )
        body = FieldReader(inflate(read.rest(), size, what="pca payload"), "pca payload")
        mean, directions, projections, places_ = (self._read(body, *shape) for shape in shapes)
        body.end()
        signals = np.empty((len(plan), frames))
        signals[~plan.is_place] = mean.values().T + directions.values().T @ projections.values()
        signals[plan.is_place] = places_.values()
        with convert_errors(InvalidClipError, "pca payload"):
            return from_signals(signals, header, plan)

    def _rounded(self, rows: F64) -> _Rows:
        lowest = rows.min(axis=1) if rows.size else np.zeros(len(rows))
        above = rows - lowest[:, np.newaxis]
        spans = above.max(axis=1, initial=0.0)
        if not self.step_per_row:
            spans = spans.max(keepdims=True, initial=0.0)
        widest = (spans / LEVELS).astype(np.float32)
        steps = np.nextafter(widest, np.float32(np.inf)).astype(np.float64)
        return _Rows(lowest, steps, np.rint(above / steps[:, np.newaxis]).astype(np.uint16))

    def _read(self, read: FieldReader, rows: int, length: int) -> _Rows:
        lowest = np.frombuffer(read.raw(8 * rows), "<f8")
        count = rows if self.step_per_row else 1
        steps = np.frombuffer(read.raw(4 * count), "<f4").astype(np.float64)
        data = read.raw(2 * rows * length)
        words = np.frombuffer(join_bytes(data) if self.split_bytes else data, "<u2")
        in_range = (np.abs(lowest) < WIDEST).all() and ((steps >= 0) & (steps < WIDEST)).all()
        if not in_range:  # false for NaN too
            raise CorruptionError(f"pca payload: values must be within ±{WIDEST:g}")
        return _Rows(lowest, steps, words.reshape(rows, length))


def principal_directions(signals: F64, count: int) -> F64:
    """Return at most `count` orthonormal directions (q, A) along which signals (A, T) vary most.

    The eigenvectors of largest eigenvalue of the covariance of Θ̃, section 3.2.
    """
    centered = signals - signals.mean(1, keepdims=True)
    directions = np.linalg.svd(centered, full_matrices=False)[0].T[:count]
    # the sign of a direction is arbitrary; fixing it makes equal clips give equal bytes
    peaks = np.abs(directions).argmax(1) if directions.size else []
    signs = np.sign(directions[np.arange(len(directions)), peaks])
    return np.asarray(directions * signs[:, np.newaxis])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of numbers in steps above each row's least.

    With one step for all rows, the widest row spans 65536 levels; projections that vary little
    become small numbers, which deflate well.
    """

    lowest: F64
    steps: F64  # (1,) or (R,)
    words: npt.NDArray[np.uint16]

    def values(self) -> F64:
        return self.lowest[:, np.newaxis] + self.steps[:, np.newaxis] * self.words

    def to_bytes(self, *, split: bool) -> bytes:
        head = self.lowest.astype("<f8").tobytes() + self.steps.astype("<f4").tobytes()
        words = self.words.astype("<u2").tobytes()
        return head + (split_bytes(words) if split else words)
