"""The 9/7 wavelet of every channel, one quantiser step for all (DWT): a baseline.

The wavelet baseline of "Compression of Human Motion Animation Using the Reduction of Interjoint
Correlation" (Li, Okuda, Takahashi 2008), after Ahmed et al. Payload: docs/codecs/dwt97.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.arrays import I64
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Codec, Quality
from mocpack.codecs.kinematic.channel_grid import channel_steps, check_plane, to_grid
from mocpack.codecs.kinematic.columns import decode_moving, encode_moving
from mocpack.codecs.kinematic.wavelet97 import forward, inverse, level_count
from mocpack.dofs import coded_dofs, from_dofs, is_angle, to_dofs
from mocpack.errors import CorruptionError, InvalidClipError


@dataclass(frozen=True)
class Dwt97(Codec):
    """Rounded 9/7 wavelet coefficients of every channel.

    Parameters
    ----------
    step : float, radians
        Quantiser step of the coefficients of angles.
    lever : float, metres
        A length is rounded as finely as an angle moves a point at this distance.
    levels : int
        How often the low band is halved again; 0: as long as it has more than four rows.
    """

    codec_id = "dwt97"
    bitstream_version = 1
    decoder_params = ("step", "lever", "levels")
    quality: ClassVar[Quality] = Quality("step", 1e-6, 10.0)

    step: float = 0.01
    lever: float = 0.5
    levels: int = 0

    def __post_init__(self) -> None:
        if not 1e-6 <= self.step <= 10.0:
            raise ValueError(f"step must be in 1e-6..10 radians, got {self.step}")
        if not 1e-3 <= self.lever <= 1e3:
            raise ValueError(f"lever must be in 0.001..1000 metres, got {self.lever}")
        if self.levels not in range(33):
            raise ValueError(f"levels must be in 0..32, got {self.levels}")

    def encode(self, clip: Clip) -> bytes:
        first, coefficients, moving = self._quantize(clip)
        return encode_moving(moving, first, coefficients)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        frames = header.frame_count
        moving, first, coefficients = decode_moving(
            payload, "dwt97 payload", columns=header.skeleton.channel_count, rows=frames
        )
        matrix = np.tile(first.astype(np.float64), (frames, 1))
        matrix[:, moving] += inverse(
            coefficients.astype(np.float64), level_count(frames, self.levels)
        )
        try:
            return from_dofs(matrix * channel_steps(header.skeleton, self.step, self.lever), header)
        except InvalidClipError as error:
            raise CorruptionError(f"dwt97 payload: {error}") from error

    def symbols(self, clip: Clip) -> I64:
        """Return the integers that are entropy coded, shape (T, moving channels)."""
        return self._quantize(clip)[1]

    def angle_columns(self, clip: Clip) -> npt.NDArray[np.bool_]:
        """Return which columns of `symbols` are angles."""
        return is_angle(clip.skeleton)[coded_dofs(to_dofs(clip))]

    def _quantize(self, clip: Clip) -> tuple[I64, I64, npt.NDArray[np.bool_]]:
        """Return the first frame on the grid, the moving channels' coefficients, which they are."""
        matrix = to_dofs(clip)
        steps = channel_steps(clip.skeleton, self.step, self.lever)
        moving = coded_dofs(matrix)
        first = to_grid(matrix[0], steps)
        rest = matrix[:, moving] / steps[moving] - first[moving]
        coefficients = np.rint(forward(rest, level_count(len(matrix), self.levels))).astype(
            np.int64
        )
        return first, check_plane(coefficients), moving
