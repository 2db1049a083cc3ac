"""Prediction by the last frame (SPBLF): each channel as its rounded change from frame to frame.

The simplest baseline of "Compression of Human Motion Animation Using the Reduction of Interjoint
Correlation" (Li, Okuda, Takahashi 2008), equation (21). Payload: docs/codecs/last-frame.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from mocpack.codec import Quality
from mocpack.common.arrays import F64, I32, I64, Mask
from mocpack.model.clip import Clip
from mocpack.model.dofs import select_coded_dofs, to_dofs
from mocpack.papers.li.codec.channel_grid import channel_steps, check_plane, to_grid
from mocpack.papers.li.codec.columns import ColumnCodec, Columns


@dataclass(frozen=True)
class LastFrame(ColumnCodec):
    """Difference to the last frame, rounded.

    Parameters
    ----------
    open_loop : bool
        Predict from the original instead of the decoded frame: rounding errors add up. Only for
        comparison with the paper, whose errors do not fall with the step.
    step, lever
        As in `ColumnCodec`.
    """

    codec_id = "last-frame"
    bitstream_version = 1
    decoder_params = ("step", "lever")
    paper_settings = MappingProxyType({})
    quality: ClassVar[Quality] = Quality("step", 1e-6, 1.0)
    coarsest = 1.0

    step: float = 0.005
    open_loop: bool = False

    def quantize(self, clip: Clip) -> Columns:
        matrix = to_dofs(clip)
        steps = channel_steps(clip.skeleton, self.step, self.lever)
        moving = select_coded_dofs(matrix)
        # D_i of equation (21); a closed loop is here the same as the change of the rounded value
        changes = (
            np.rint(np.diff(matrix, axis=0) / steps).astype(np.int64)
            if self.open_loop
            else np.diff(to_grid(matrix, steps), axis=0)
        )
        return Columns(to_grid(matrix[0], steps), check_plane(changes[:, moving]), moving)

    def plane_rows(self, frames: int) -> int:
        return frames - 1

    def restored(self, first: I64, plane: I32, moving: Mask, frames: int) -> F64:
        grid = np.tile(first, (frames, 1))
        grid[1:, moving] += np.cumsum(plane, axis=0, dtype=np.int64)
        return grid.astype(np.float64)
