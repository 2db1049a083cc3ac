"""What the wavelet codecs have in common: parameters and decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Codec, Decoder, Payload, Quality, as_payload
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.header import array_bytes
from mocpack.metrics.quadratic import point_weights
from mocpack.papers.beaudoin.codec.coefficient_search import (
    PATIENCE,
    Method,
    Outcome,
    check_search,
    position_search,
)
from mocpack.papers.beaudoin.codec.lifting import Update
from mocpack.papers.beaudoin.codec.payload import WaveletForm
from mocpack.papers.beaudoin.codec.precision import Bits
from mocpack.papers.beaudoin.codec.selection import Analysis, check_parameters
from mocpack.papers.beaudoin.codec.signals import Rotation

INFLATED_SHARE = 0.25  # of a clip's arrays: the memory of words of joints that are not wanted


@dataclass(frozen=True)
class WaveletCodec(Codec):
    """Codes signals by their largest wavelet coefficients.

    Parameters
    ----------
    ratio : float
        r of the paper: one coefficient in `ratio` is kept, over the signals that move.
    rotation : {"euler", "quaternion", "rotvec"}
        How rotations become signals.
    update : {"4-4", "4-2", "none"}
        Update step of the lifting.
    bits : int, 4..16, or "auto"
        Bits of the largest coefficient. The paper has 16; "auto" takes the fewest that add at
        most 2 % to eps_x, or to what is searched for if that is a mean of squares too.
    deflate : bool
        Deflate the words. Without, a signal's words can be found without inflating the others.
    step_per_signal : bool
        Give each signal a quantizer step of its own, a literal reading of the paper's "quantize
        each coefficient to 16 bits". By default all places share one step and all angles another.
    """

    bitstream_version = 1
    decoder_params: ClassVar[tuple[str, ...]] = (
        "rotation",
        "update",
        "bits",
        "deflate",
        "step_per_signal",
    )
    quality: ClassVar[Quality] = Quality("ratio", 1.0, 2000.0)

    ratio: float = 15.0
    rotation: Rotation = "euler"
    update: Update = "4-4"
    bits: Bits = "auto"
    deflate: bool = True
    step_per_signal: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.step_per_signal, bool):
            raise ValueError(f"step_per_signal must be true or false, got {self.step_per_signal!r}")
        check_parameters(
            ratio=self.ratio, rotation=self.rotation, update=self.update, bits=self.bits
        )

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        try:
            return self.form.decode(payload, header)
        except InvalidClipError as error:
            raise CorruptionError(f"{self.codec_id} payload: {error}") from error

    def decode_joints(self, payload: bytes, header: ClipHeader, joints: Sequence[int]) -> Clip:
        try:
            return self.form.decode_joints(payload, header, joints)
        except InvalidClipError as error:
            raise CorruptionError(f"{self.codec_id} payload: {error}") from error

    def open(self, payload: Payload | bytes, header: ClipHeader) -> WaveletDecoder:
        return WaveletDecoder(self, as_payload(payload), header)

    def decode_signal(self, payload: bytes, header: ClipHeader, name: str) -> F64:
        """Return one signal (T,), such as ``"LeftArm.Zrotation"``, decoding no other."""
        return self.form.decode_signal(payload, header, name)

    @property
    def form(self) -> WaveletForm:
        return WaveletForm(
            self.rotation, self.update, self.bits, self.deflate, self.step_per_signal
        )


class WaveletDecoder(Decoder):
    """Decodes some joints without the signals of the others."""

    codec: WaveletCodec

    def joints(self, joints: Sequence[int]) -> Clip:
        return self.codec.decode_joints(self.payload.read_all(), self.header, joints)

    def memory_needed(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        if joints is None or start == stop:
            return super().memory_needed(start, stop)
        wanted = self.codec.decode_memory * array_bytes(self.header.joints(joints))
        return int(wanted + INFLATED_SHARE * array_bytes(self.header))


@dataclass(frozen=True)
class SearchingCodec(WaveletCodec):
    """Searches how many coefficients of each signal serve the pose best.

    Parameters
    ----------
    search : {"fast", "exact"}
        "exact" is the paper's Algorithm 1, every signal tried at every step on every frame;
        "fast" moves many coefficients at once and looks at fewer frames of long clips.
    seed : int
        Of the random choices of Algorithm 1.
    patience : int
        Failures in a row after which Algorithm 1 halves its step.
    ratio, rotation, update, bits, deflate, step_per_signal
        As in `WaveletCodec`.
    """

    search: Method = "fast"
    seed: int = 0
    patience: int = PATIENCE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_search(self.search, self.seed, self.patience)

    def choose_for_position(self, clip: Clip, found: Analysis, metric: str) -> Outcome:
        """Search for the least of a metric that is a weighted mean of squared distances."""
        return position_search(
            clip,
            found,
            point_weights(clip.skeleton, metric),
            self.ratio,
            method=self.search,
            seed=self.seed,
            patience=self.patience,
        )
