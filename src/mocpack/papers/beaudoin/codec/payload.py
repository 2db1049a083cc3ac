"""How the wavelet codecs write a clip: coefficients of its signals, rounded, as bytes.

What they differ in is how many coefficients of each signal they keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.metrics.quadratic import point_weights
from mocpack.papers.beaudoin.codec import lifting
from mocpack.papers.beaudoin.codec.coefficients import (
    decode_coefficients,
    decode_some,
    encode_coefficients,
    round_coefficients,
)
from mocpack.papers.beaudoin.codec.lifting import Update
from mocpack.papers.beaudoin.codec.position_error import PositionError
from mocpack.papers.beaudoin.codec.precision import Bits, round_to_fit
from mocpack.papers.beaudoin.codec.selection import Analysis, analyze
from mocpack.papers.beaudoin.codec.signals import (
    Rotation,
    SignalPlan,
    from_signals,
    layout,
    signal_index,
)


@dataclass(frozen=True)
class WaveletForm:
    """The parameters that say what is written; each as in `wavelet`."""

    rotation: Rotation
    update: Update
    bits: Bits
    deflate: bool
    step_per_signal: bool = False

    def analyze(self, clip: Clip) -> Analysis:
        return analyze(clip, rotation=self.rotation, update=self.update)

    def encode(
        self,
        clip: Clip,
        found: Analysis,
        counts: npt.NDArray[np.int64],
        metric: str = "eps_x_cm",
    ) -> bytes:
        """Return the bytes of the `counts` largest coefficients of each signal of the clip.

        `metric`, a weighted mean of squares, says how many bits they need, if that is to be found.
        """
        error = PositionError(clip, found.plan, point_weights(clip.skeleton, metric))
        rounded = round_to_fit(
            found.ranking.strongest(counts),
            self.bits,
            partial(
                round_coefficients,
                is_place=found.plan.is_place,
                step_per_signal=self.step_per_signal,
            ),
            partial(error.of_coefficients, update=self.update),
        )
        return encode_coefficients(
            rounded, packed=self.deflate, step_per_signal=self.step_per_signal
        )

    def decode(self, data: bytes, header: ClipHeader) -> Clip:
        """Return the clip; numbers that make no motion are an `InvalidClipError`."""
        plan = layout(header, self.rotation)
        coefficients = decode_coefficients(
            data,
            plan.is_place,
            header.frame_count,
            packed=self.deflate,
            step_per_signal=self.step_per_signal,
        )
        return from_signals(lifting.inverse(coefficients, update=self.update), header, plan)

    def decode_joints(self, data: bytes, header: ClipHeader, joints: Sequence[int]) -> Clip:
        """Return `joints` and their ancestors; the signals of no other are decoded."""
        plan, own = layout(header, self.rotation), header.joints(joints)
        kept = header.skeleton.with_ancestors(joints)
        signals = self._signals(data, plan, header, np.flatnonzero(np.isin(plan.joints, kept)))
        return from_signals(signals, own, layout(own, self.rotation))

    def decode_signal(self, data: bytes, header: ClipHeader, name: str) -> F64:
        """Return one signal (T,), such as ``"LeftArm.Zrotation"``, decoding no other."""
        plan = layout(header, self.rotation)
        return self._signals(data, plan, header, np.array([signal_index(plan, name)])).ravel()

    def _signals(
        self, data: bytes, plan: SignalPlan, header: ClipHeader, wanted: npt.NDArray[np.intp]
    ) -> F64:
        coefficients = decode_some(
            data,
            plan.is_place,
            header.frame_count,
            wanted,
            packed=self.deflate,
            step_per_signal=self.step_per_signal,
        )
        return lifting.inverse(coefficients, update=self.update)
