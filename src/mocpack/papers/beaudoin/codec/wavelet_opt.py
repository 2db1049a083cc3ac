"""Wavelet compression with coefficients that minimize the pose error instead of the angle error.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §5. It keeps as many coefficients as `wavelet`, but a search distributes them over the
signals to minimize the position error. The payload has the format of `wavelet`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mocpack.metrics.quadratic import QUADRATIC
from mocpack.model.clip import Clip
from mocpack.papers.beaudoin.codec.shared import SearchingCodec


@dataclass(frozen=True)
class WaveletOpt(SearchingCodec):
    """Keep the number of wavelet coefficients per signal that minimizes the pose error.

    Parameters
    ----------
    metric : {"eps_x_cm", "eps_x_center_cm", "rms_mm"}
        What the search minimizes: eps_x of the paper, or another root of a mean of squares.
    ratio, rotation, update, bits, deflate, step_per_signal, split_bytes, search, seed, patience
        As in `SearchingCodec`.
    """

    codec_id = "wavelet-opt"

    metric: str = "eps_x_cm"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_choice("metric", QUADRATIC)

    def encode(self, clip: Clip) -> bytes:
        return self.encode_searched(clip, self.metric)
