"""Standard truncated wavelet compression of joint angles.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §4. Each signal of the clip is transformed by itself; of all coefficients together,
with angles scaled by the length of the bone they drive, the largest are kept. The payload is what
`coefficients` writes for the signals of `signals`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mocpack.clip import Clip
from mocpack.papers.beaudoin.codec.selection import SELECTIONS, Selection, check_choice
from mocpack.papers.beaudoin.codec.shared import WaveletCodec


@dataclass(frozen=True)
class Wavelet(WaveletCodec):
    """Keeps the largest wavelet coefficients of all signals.

    Parameters
    ----------
    selection : {"joint", "per-signal"}
        The largest coefficients of all signals together, or the same number of each.
    ratio, rotation, update, bits, deflate, step_per_signal
        As in `WaveletCodec`.
    """

    codec_id = "wavelet"

    selection: Selection = "joint"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("selection", self.selection, SELECTIONS)

    def encode(self, clip: Clip) -> bytes:
        found = self.form.analyze(clip)
        return self.form.encode(clip, found, found.standard_counts(self.ratio, self.selection))
