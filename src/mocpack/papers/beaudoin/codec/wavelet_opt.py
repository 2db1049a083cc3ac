"""Wavelet compression with coefficients chosen for the pose rather than for the angles.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §5. As many coefficients are kept as `wavelet` keeps, but a search decides how many
each signal gets, so that the joints move as little as possible. The payload is that of `wavelet`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mocpack.clip import Clip
from mocpack.metrics.quadratic import QUADRATIC, point_weights
from mocpack.metrics.table import METRICS, measure
from mocpack.papers.beaudoin.codec.coefficient_search import (
    MetricJudge,
    Outcome,
    PositionJudge,
    frame_stride,
    random_descent,
)
from mocpack.papers.beaudoin.codec.position_error import CountedError, PositionError
from mocpack.papers.beaudoin.codec.selection import Analysis, check_choice
from mocpack.papers.beaudoin.codec.shared import SearchingCodec
from mocpack.papers.beaudoin.codec.signals import from_signals

METRIC_KEYS = tuple(metric.key for metric in METRICS if "skeleton" in metric.kinds)


@dataclass(frozen=True)
class WaveletOpt(SearchingCodec):
    """Keeps as many wavelet coefficients of each signal as serve the pose best.

    Parameters
    ----------
    metric : str
        What the search minimizes: eps_x_cm of the paper, or any other metric of `mocpack compare`.
    ratio, rotation, update, bits, deflate, step_per_signal, search, seed, patience
        As in `SearchingCodec`.
    """

    codec_id = "wavelet-opt"

    metric: str = "eps_x_cm"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("metric", self.metric, METRIC_KEYS)

    def encode(self, clip: Clip) -> bytes:
        found = self.form.analyze(clip)
        felt = self.metric if self.metric in QUADRATIC else "eps_x_cm"
        return self.form.encode(clip, found, self.choose(clip, found).counts, felt)

    def choose(self, clip: Clip, found: Analysis) -> Outcome:
        """Search how many coefficients each signal should keep."""
        if self.metric in QUADRATIC:
            return self.choose_for_position(clip, found, self.metric)
        weights = point_weights(clip.skeleton, self.metric)
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

    def _measure(self, clip: Clip, decoded: Clip) -> float:
        value = measure(self.metric, clip, decoded)
        return 0.0 if value is None else value
