"""Wavelet compression with coefficients chosen for the pose rather than for the angles.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §5. As many coefficients are kept as `wavelet` keeps, but a search decides how many
each signal gets, so that the joints move as little as possible. The payload is that of `wavelet`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Codec, Quality
from mocpack.codecs.wavelet.coefficient_search import (
    PATIENCE,
    Method,
    MetricJudge,
    Outcome,
    PositionJudge,
    check_search,
    frame_stride,
    position_search,
    random_descent,
)
from mocpack.codecs.wavelet.lifting import Update
from mocpack.codecs.wavelet.payload import WaveletForm
from mocpack.codecs.wavelet.position_error import CountedError, PositionError
from mocpack.codecs.wavelet.precision import Bits
from mocpack.codecs.wavelet.selection import Analysis, check_choice, check_parameters
from mocpack.codecs.wavelet.signals import Rotation, from_signals
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.metrics.quadratic import QUADRATIC, point_weights
from mocpack.metrics.table import METRICS, measure

METRIC_KEYS = tuple(metric.key for metric in METRICS if "skeleton" in metric.kinds)


@dataclass(frozen=True)
class WaveletOpt(Codec):
    """Keeps as many wavelet coefficients of each signal as serve the pose best.

    Parameters
    ----------
    ratio : float
        r of the paper: one coefficient in `ratio` is kept, over the signals that move.
    metric : str
        What the search minimises: eps_x_cm of the paper, or any other metric of `mocpack compare`.
    search : {"fast", "exact"}
        "exact" is the paper's Algorithm 1, every signal tried at every step on every frame;
        "fast" moves many coefficients at once and looks at fewer frames of long clips.
    seed : int
        Of the random choices of Algorithm 1.
    patience : int
        Failures in a row after which Algorithm 1 halves its step.
    rotation : {"euler", "quaternion", "rotvec"}
        How rotations become signals.
    update : {"4-4", "4-2", "none"}
        Update step of the lifting.
    bits : int, 4..16, or "auto"
        Bits of the largest coefficient. The paper has 16; "auto" takes the fewest that add at
        most 2 % to eps_x.
    deflate : bool
        Deflate the words. Without, a signal can be read without the others.
    """

    codec_id = "wavelet-opt"
    bitstream_version = 1
    decoder_params = ("rotation", "update", "bits", "deflate")
    quality: ClassVar[Quality] = Quality("ratio", 1.0, 2000.0)

    ratio: float = 15.0
    metric: str = "eps_x_cm"
    search: Method = "fast"
    seed: int = 0
    patience: int = PATIENCE
    rotation: Rotation = "euler"
    update: Update = "4-4"
    bits: Bits = "auto"
    deflate: bool = True

    def __post_init__(self) -> None:
        check_parameters(
            ratio=self.ratio, rotation=self.rotation, update=self.update, bits=self.bits
        )
        check_choice("metric", self.metric, METRIC_KEYS)
        check_search(self.search, self.seed, self.patience)

    def encode(self, clip: Clip) -> bytes:
        found = self.form.analyse(clip)
        return self.form.encode(clip, found, self.choose(clip, found).counts)

    def choose(self, clip: Clip, found: Analysis) -> Outcome:
        """Search how many coefficients each signal should keep."""
        weights = point_weights(clip.skeleton, self.metric)
        if self.metric in QUADRATIC:
            return position_search(
                clip,
                found,
                weights,
                self.ratio,
                method=self.search,
                seed=self.seed,
                patience=self.patience,
            )
        movable = found.moving & found.plan.moves(weights)
        stride = frame_stride(clip.frame_count, self.search)
        guess = PositionError(clip, found.plan, weights, stride=stride)
        judge = MetricJudge(
            found.ranking,
            lambda signals: self._measure(clip, from_signals(signals, clip.header, found.plan)),
            np.flatnonzero(movable),
            PositionJudge(CountedError(guess, found.ranking)) if self.search == "fast" else None,
        )
        start = found.standard_counts(self.ratio)
        return random_descent(
            start, movable, clip.frame_count, judge, seed=self.seed, patience=self.patience
        )

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        try:
            return self.form.decode(payload, header)
        except InvalidClipError as error:
            raise CorruptionError(f"wavelet-opt payload: {error}") from error

    def decode_signal(self, payload: bytes, header: ClipHeader, name: str) -> F64:
        """Return one signal (T,), such as ``"LeftArm.Zrotation"``, decoding no other."""
        return self.form.decode_signal(payload, header, name)

    @property
    def form(self) -> WaveletForm:
        return WaveletForm(self.rotation, self.update, self.bits, self.deflate)

    def _measure(self, clip: Clip, decoded: Clip) -> float:
        value = measure(self.metric, clip, decoded)
        return 0.0 if value is None else value
