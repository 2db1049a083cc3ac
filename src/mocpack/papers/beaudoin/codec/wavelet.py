"""Standard truncated wavelet compression of joint angles.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §4. Each signal of the clip is transformed by itself; of all coefficients together,
with angles scaled by the length of the bone they drive, the largest are kept. The payload is what
`coefficients` writes for the signals of `signals`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mocpack.model.clip import Clip
from mocpack.papers.beaudoin.codec.shared import WaveletCodec


@dataclass(frozen=True)
class Wavelet(WaveletCodec):
    """Keep the largest wavelet coefficients of all signals; parameters as in `WaveletCodec`."""

    codec_id = "wavelet"

    def encode(self, clip: Clip) -> bytes:
        found = self.analyze(clip)
        return self.encode_counts(clip, found, found.standard_counts(self.ratio))
