"""Common parts of the wavelet codecs: parameters, coefficients as bytes, and decoding.

They differ in how many coefficients of each signal they keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from mocpack.codec import Codec, Decoder, Payload, Quality
from mocpack.common.arrays import F64, Mask
from mocpack.errors import InvalidClipError, convert_errors
from mocpack.metrics.quadratic import point_weights
from mocpack.model.clip import Clip, ClipHeader
from mocpack.papers.beaudoin.codec import lifting
from mocpack.papers.beaudoin.codec.coefficient_search import (
    METHODS,
    PATIENCE,
    Method,
    Outcome,
    position_search,
)
from mocpack.papers.beaudoin.codec.coefficients import (
    Packing,
    decode_coefficients,
    decode_some,
    encode_coefficients,
    round_coefficients,
)
from mocpack.papers.beaudoin.codec.lifting import UPDATES, Update
from mocpack.papers.beaudoin.codec.position_error import PositionError
from mocpack.papers.beaudoin.codec.precision import Bits, check_bits, round_to_fit
from mocpack.papers.beaudoin.codec.selection import Analysis, Counts, analyze
from mocpack.papers.beaudoin.codec.signals import ROTATIONS, Rotation, from_signals, layout


@dataclass(frozen=True)
class WaveletCodec(Codec[Clip, ClipHeader]):
    """Codes signals by their largest wavelet coefficients.

    Parameters
    ----------
    ratio : float
        r of the paper: one coefficient in `ratio` is kept, over the signals that move.
    rotation : {"euler", "quaternion", "rotvec"}
        How rotations are represented as signals.
    update : {"4-4", "4-2", "none"}
        Update step of the lifting.
    bits : int, 4..16, or "auto"
        Bits of the largest coefficient. The paper has 16. "auto" takes the fewest that add at most
        2 % to eps_x, or to the metric that the search minimizes if it is a mean of squares too.
    deflate : bool
        Deflate the words.
    split_bytes : bool
        Deflate the low bytes of all words before the high ones; false: word by word, as in the
        paper.
    step_per_signal : bool
        Give each signal its own quantizer step, a literal reading of the paper's "quantize each
        coefficient to 16 bits". By default all positions share one step and all angles another.
    """

    bitstream_version = 1
    decoder_params: ClassVar[tuple[str, ...]] = (
        "rotation",
        "update",
        "bits",
        "deflate",
        "step_per_signal",
        "split_bytes",
    )
    paper_settings = MappingProxyType({"bits": 16, "split_bytes": False})
    quality: ClassVar[Quality] = Quality("ratio", 1.0, 2000.0)

    ratio: float = 15.0
    rotation: Rotation = "euler"
    update: Update = "4-4"
    bits: Bits = "auto"
    deflate: bool = True
    step_per_signal: bool = False
    split_bytes: bool = True

    def __post_init__(self) -> None:
        self.check_range("ratio", 1)
        self.check_choice("rotation", ROTATIONS)
        self.check_choice("update", UPDATES)
        check_bits(self.bits)

    def analyze(self, clip: Clip) -> Analysis:
        return analyze(clip, rotation=self.rotation, update=self.update)

    def encode_counts(
        self, clip: Clip, found: Analysis, counts: Counts, metric: str = "eps_x_cm"
    ) -> bytes:
        """Return the bytes of the `counts` largest coefficients of each signal of the clip.

        With ``bits="auto"``, the coefficients get as few bits as `metric` allows.
        """
        error = PositionError(clip, found.plan, point_weights(clip.skeleton, metric))
        return self._encode_rounded(
            found.ranking.strongest(counts),
            found.plan.is_place,
            lambda rounded: error.of(lifting.inverse(rounded, update=self.update)),
        )

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        plan = layout(header, self.rotation)
        signals = self._decode_signals(payload, plan.is_place, header.frame_count)
        with convert_errors(InvalidClipError, f"{self.codec_id} payload"):
            return from_signals(signals, header, plan)

    def open(self, payload: Payload | bytes, header: ClipHeader) -> Decoder:
        return WaveletDecoder(self, payload, header)

    def decode_joints(self, payload: Payload, header: ClipHeader, joints: Sequence[int]) -> Clip:
        """Decode only the signals of `joints` and their ancestors, from words not deflated."""
        plan, some = layout(header, self.rotation), header.joints(joints)
        wanted = np.isin(plan.joints, header.skeleton.with_ancestors(joints))
        coefficients = decode_some(
            payload.read,
            payload.size,
            plan.is_place,
            wanted,
            header.frame_count,
            step_per_signal=self.step_per_signal,
        )
        signals = lifting.inverse(coefficients, update=self.update)
        with convert_errors(InvalidClipError, f"{self.codec_id} payload"):
            return from_signals(signals, some, layout(some, self.rotation))

    def _encode_rounded(
        self, coefficients: F64, is_place: Mask, error: Callable[[F64], float]
    ) -> bytes:
        """Round coefficients (S, T) and encode them; `error` returns their squared error."""
        own = self.step_per_signal
        round_to = partial(round_coefficients, is_place=is_place, step_per_signal=own)
        rounded = round_to_fit(coefficients, self.bits, round_to, error)
        return encode_coefficients(rounded, packing=self._packing, step_per_signal=own)

    def _decode_signals(self, data: bytes, is_place: Mask, frames: int) -> F64:
        """Return the signals (S, T) of encoded coefficients."""
        coefficients = decode_coefficients(
            data,
            is_place,
            frames,
            packing=self._packing,
            step_per_signal=self.step_per_signal,
        )
        return lifting.inverse(coefficients, update=self.update)

    @property
    def _packing(self) -> Packing:
        if not self.deflate:
            return "none"
        return "bytes" if self.split_bytes else "words"


class WaveletDecoder(Decoder[Clip, ClipHeader]):
    """Decodes single channels where words are not deflated."""

    codec: WaveletCodec

    def joints(self, joints: Sequence[int]) -> Clip:
        if self.codec.deflate:
            return super().joints(joints)
        return self.codec.decode_joints(self.payload, self.header, joints)


@dataclass(frozen=True)
class SearchingCodec(WaveletCodec):
    """Search the number of coefficients per signal that minimizes the pose error.

    Parameters
    ----------
    search : {"fast", "exact"}
        "exact" is the paper's Algorithm 1, every signal tried at every step on every frame;
        "fast" moves many coefficients at once and looks at fewer frames of long clips.
    seed : int
        Seed of the random choices of Algorithm 1.
    patience : int
        Failures in a row after which Algorithm 1 halves its step.
    ratio, rotation, update, bits, deflate, step_per_signal, split_bytes
        As in `WaveletCodec`.
    """

    paper_settings = MappingProxyType({**WaveletCodec.paper_settings, "search": "exact"})

    search: Method = "fast"
    seed: int = 0
    patience: int = PATIENCE

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_choice("search", METHODS)
        self.check_range("seed", 0)
        self.check_range("patience", 1)

    def encode_searched(self, clip: Clip, metric: str = "eps_x_cm") -> bytes:
        """Return the bytes of the coefficients that the search chooses."""
        found = self.analyze(clip)
        return self.encode_counts(clip, found, self.choose(clip, found, metric).counts, metric)

    def choose(self, clip: Clip, found: Analysis, metric: str = "eps_x_cm") -> Outcome:
        """Search the number of coefficients per signal that minimizes `metric`."""
        return position_search(
            clip,
            found,
            point_weights(clip.skeleton, metric),
            self.ratio,
            method=self.search,
            seed=self.seed,
            patience=self.patience,
        )
