"""Prediction by the last frame (SPBLF): each channel as its rounded change from frame to frame.

The simplest baseline of "Compression of Human Motion Animation Using the Reduction of Interjoint
Correlation" (Li, Okuda, Takahashi 2008), equation (21). Payload: docs/codecs/last-frame.md.
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
from mocpack.dofs import coded_dofs, from_dofs, is_angle, to_dofs
from mocpack.errors import CorruptionError, InvalidClipError


@dataclass(frozen=True)
class LastFrame(Codec):
    """Difference to the last frame, rounded.

    Parameters
    ----------
    step : float, radians
        Quantiser step of angles.
    lever : float, metres
        A length is rounded as finely as an angle moves a point at this distance.
    open_loop : bool
        Predict from the original instead of the decoded frame: rounding errors add up. Only for
        comparison with the paper, whose errors do not fall with the step.
    """

    codec_id = "last-frame"
    bitstream_version = 1
    decoder_params = ("step", "lever")
    quality: ClassVar[Quality] = Quality("step", 1e-6, 1.0)

    step: float = 0.005
    lever: float = 0.5
    open_loop: bool = False

    def __post_init__(self) -> None:
        if not 1e-6 <= self.step <= 1.0:
            raise ValueError(f"step must be in 1e-6..1 radians, got {self.step}")
        if not 1e-3 <= self.lever <= 1e3:
            raise ValueError(f"lever must be in 0.001..1000 metres, got {self.lever}")
        if not isinstance(self.open_loop, bool):
            raise ValueError(f"open_loop must be true or false, got {self.open_loop!r}")

    def encode(self, clip: Clip) -> bytes:
        first, changes, moving = self._quantize(clip)
        return encode_moving(moving, first, changes)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        frames = header.frame_count
        moving, first, changes = decode_moving(
            payload, "last-frame payload", columns=header.skeleton.channel_count, rows=frames - 1
        )
        grid = np.tile(first, (frames, 1))
        grid[1:, moving] += np.cumsum(changes, axis=0, dtype=np.int64)
        try:
            return from_dofs(grid * channel_steps(header.skeleton, self.step, self.lever), header)
        except InvalidClipError as error:
            raise CorruptionError(f"last-frame payload: {error}") from error

    def symbols(self, clip: Clip) -> I64:
        """Return the integers that are entropy coded, shape (T - 1, moving channels)."""
        return self._quantize(clip)[1]

    def angle_columns(self, clip: Clip) -> npt.NDArray[np.bool_]:
        """Return which columns of `symbols` are angles."""
        return is_angle(clip.skeleton)[coded_dofs(to_dofs(clip))]

    def _quantize(self, clip: Clip) -> tuple[I64, I64, npt.NDArray[np.bool_]]:
        """Return the first frame on the grid, the changes of moving channels, which these are."""
        matrix = to_dofs(clip)
        steps = channel_steps(clip.skeleton, self.step, self.lever)
        moving = coded_dofs(matrix)
        # with this predictor, a closed loop is the same as the change of the rounded value
        changes = (
            np.rint(np.diff(matrix, axis=0) / steps).astype(np.int64)
            if self.open_loop
            else np.diff(to_grid(matrix, steps), axis=0)
        )
        return to_grid(matrix[0], steps), check_plane(changes[:, moving]), moving
