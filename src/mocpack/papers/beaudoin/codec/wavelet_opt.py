"""Wavelet compression with coefficients chosen for the pose rather than for the angles.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §5. As many coefficients are kept as `wavelet` keeps, but a search decides how many
each signal gets, so that the joints move as little as possible. The payload is that of `wavelet`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mocpack.clip import Clip
from mocpack.metrics.quadratic import QUADRATIC
from mocpack.papers.beaudoin.codec.selection import check_choice
from mocpack.papers.beaudoin.codec.shared import SearchingCodec


@dataclass(frozen=True)
class WaveletOpt(SearchingCodec):
    """Keeps as many wavelet coefficients of each signal as serve the pose best.

    Parameters
    ----------
    metric : {"eps_x_cm", "eps_x_center_cm", "rms_mm"}
        What the search minimizes: eps_x of the paper, or another root of a mean of squares.
    ratio, rotation, update, bits, deflate, step_per_signal, search, seed, patience
        As in `SearchingCodec`.
    """

    codec_id = "wavelet-opt"

    metric: str = "eps_x_cm"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("metric", self.metric, QUADRATIC)

    def encode(self, clip: Clip) -> bytes:
        return self.encode_searched(clip, self.metric)
