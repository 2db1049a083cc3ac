"""Standard truncated wavelet compression of joint angles.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §4. Each signal of the clip is transformed by itself; of all coefficients together,
with angles scaled by the length of the bone they drive, the largest are kept. The payload is what
`coefficients` writes for the signals of `signals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Codec, Quality
from mocpack.codecs.wavelet.lifting import Update
from mocpack.codecs.wavelet.payload import WaveletForm
from mocpack.codecs.wavelet.precision import Bits
from mocpack.codecs.wavelet.selection import (
    SELECTIONS,
    Selection,
    check_choice,
    check_parameters,
)
from mocpack.codecs.wavelet.signals import Rotation
from mocpack.errors import CorruptionError, InvalidClipError


@dataclass(frozen=True)
class Wavelet(Codec):
    """Keeps the largest wavelet coefficients of all signals.

    Parameters
    ----------
    ratio : float
        r of the paper: one coefficient in `ratio` is kept, over the signals that move.
    selection : {"joint", "per-signal"}
        The largest coefficients of all signals together, or the same number of each.
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

    codec_id = "wavelet"
    bitstream_version = 1
    decoder_params = ("rotation", "update", "bits", "deflate")
    quality: ClassVar[Quality] = Quality("ratio", 1.0, 2000.0)

    ratio: float = 15.0
    selection: Selection = "joint"
    rotation: Rotation = "euler"
    update: Update = "4-4"
    bits: Bits = "auto"
    deflate: bool = True

    def __post_init__(self) -> None:
        check_parameters(
            ratio=self.ratio, rotation=self.rotation, update=self.update, bits=self.bits
        )
        check_choice("selection", self.selection, SELECTIONS)

    def encode(self, clip: Clip) -> bytes:
        found = self.form.analyse(clip)
        return self.form.encode(clip, found, found.standard_counts(self.ratio, self.selection))

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        try:
            return self.form.decode(payload, header)
        except InvalidClipError as error:
            raise CorruptionError(f"wavelet payload: {error}") from error

    def decode_signal(self, payload: bytes, header: ClipHeader, name: str) -> F64:
        """Return one signal (T,), such as ``"LeftArm.Zrotation"``, decoding no other."""
        return self.form.decode_signal(payload, header, name)

    @property
    def form(self) -> WaveletForm:
        return WaveletForm(self.rotation, self.update, self.bits, self.deflate)
