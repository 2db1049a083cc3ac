"""Wavelet compression with corrected foot positions.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture
Clips, 2007, §5.1. The motion is coded as `wavelet-opt` does; how far each foot then is from its
true place is coded as three more signals, at a ratio of their own; the decoder moves the feet by
them, bending the legs as little as that takes.

Payload: varint length of the first part; first part, the payload of `wavelet-opt`; second part,
the shifts of the feet, as `coefficients` writes signals that are all places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.codec import Decoder, Payload
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.common.arrays import F64
from mocpack.errors import (
    InvalidClipError,
    MocpackError,
    UnsupportedClipError,
    convert_errors,
)
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.skeleton import Skeleton
from mocpack.papers.beaudoin.codec import lifting
from mocpack.papers.beaudoin.codec.limb_ik import (
    SOLVERS,
    Limb,
    Solver,
    check_apart,
    check_two_bone,
    find_feet,
    limb_of,
    move_ends,
)
from mocpack.papers.beaudoin.codec.selection import choose_counts, rank
from mocpack.papers.beaudoin.codec.shared import SearchingCodec
from mocpack.papers.beaudoin.codec.signals import moving


@dataclass(frozen=True)
class WaveletIk(SearchingCodec):
    """Code the pose coarsely and the foot positions accurately.

    Parameters
    ----------
    ik_ratio : float
        r_IK of the paper: one coefficient of the feet's shifts in `ik_ratio` is kept.
    feet : str
        Names of the joints to correct, joined by "+"; found by name if empty.
    chain : int
        Number of joints above each foot that may rotate: 2 for an ankle, 3 for a toe.
    ik : {"ccd", "analytic"}
        Cyclic coordinate descent as in the paper, or the closed form for two bones.
    ratio, rotation, update, bits, deflate, step_per_signal, split_bytes, search, seed, patience
        As in `SearchingCodec`, for the pose.
    """

    codec_id = "wavelet-ik"
    decoder_params = ("feet", "chain", "ik", *SearchingCodec.decoder_params)

    ratio: float = 30.0
    ik_ratio: float = 16.0
    feet: str = ""
    chain: int = 2
    ik: Solver = "ccd"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_choice("ik", SOLVERS)
        self.check_range("ik_ratio", 1)
        self.check_range("chain", 1, 8)

    def encode(self, clip: Clip) -> bytes:
        limbs = self.limbs(clip.skeleton)
        pose = self.encode_searched(clip)
        out = FieldWriter()
        out.sized(pose)
        out.raw(self.encode_feet(clip, super().decode(pose, clip.header), limbs))
        return out.bytes()

    def encode_feet(self, clip: Clip, coarse: Clip, limbs: Sequence[Limb]) -> bytes:
        """Encode the distance of the ends of `limbs` from their positions in `coarse`."""
        ends = [limb.end for limb in limbs]
        shifts = clip.positions()[:, ends] - coarse.positions()[:, ends]
        return self._encode_shifts(shifts.reshape(clip.frame_count, -1).T)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        with convert_errors(MocpackError, "wavelet-ik payload"):
            limbs = self.limbs(header.skeleton)
        read = FieldReader(payload, "wavelet-ik payload")
        coarse = super().decode(read.sized(), header)
        shifts = self._decode_signals(
            read.rest(), np.ones(3 * len(limbs), bool), header.frame_count
        )
        with convert_errors(InvalidClipError, "wavelet-ik payload"):
            places = shifts.T.reshape(header.frame_count, -1, 3)
            return move_ends(coarse, limbs, places, solver=self.ik)

    def open(self, payload: Payload | bytes, header: ClipHeader) -> Decoder:
        return Decoder(self, payload, header)  # correcting a foot needs its whole leg

    def limbs(self, skeleton: Skeleton) -> list[Limb]:
        """Return the legs whose feet are corrected."""
        if self.feet:
            feet = [skeleton.index(name.strip()) for name in self.feet.split("+")]
        else:
            feet = find_feet(skeleton)
        if len(feet) < 2 and not self.feet:
            raise UnsupportedClipError(
                "wavelet-ik corrects two feet, and this skeleton has no two joints named foot or "
                "ankle; name them with feet=NAME+NAME"
            )
        limbs = [limb_of(skeleton, foot, self.chain) for foot in feet]
        if self.ik == "analytic":
            check_apart(skeleton, limbs)
            for limb in limbs:
                check_two_bone(skeleton, limb)
        return limbs

    def _encode_shifts(self, shifts: F64) -> bytes:
        """Return the bytes of the feet's shifts (S, T), coded by the standard method."""
        ranking = rank(shifts, self.update)
        counts = choose_counts(ranking, moving(shifts), np.ones(len(shifts)), self.ik_ratio)

        def error(coefficients: F64) -> float:
            missing = lifting.inverse(coefficients, update=self.update) - shifts
            return float(np.sum(missing**2))

        return self._encode_rounded(ranking.strongest(counts), np.ones(len(shifts), bool), error)
