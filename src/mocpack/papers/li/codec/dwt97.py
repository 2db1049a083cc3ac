"""The 9/7 wavelet of every channel, one quantizer step for all (DWT): a baseline.

The wavelet baseline of "Compression of Human Motion Animation Using the Reduction of Interjoint
Correlation" (Li, Okuda, Takahashi 2008), after Ahmed et al. Payload: docs/codecs/dwt97.md.
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
from mocpack.papers.li.codec.wavelet97 import forward, inverse, level_count


@dataclass(frozen=True)
class Dwt97(ColumnCodec):
    """Rounded 9/7 wavelet coefficients of every channel.

    Parameters
    ----------
    levels : int
        How often the low band is halved again; 0: as long as it has more than four rows.
    step, lever
        As in `ColumnCodec`.
    """

    codec_id = "dwt97"
    bitstream_version = 1
    decoder_params = ("step", "lever", "levels")
    # the number of levels is not printed: 3 gives the errors of FKBC on CMU 16_32 at low rates
    paper_settings = MappingProxyType({"levels": 3})
    quality: ClassVar[Quality] = Quality("step", 1e-6, 10.0)
    coarsest = 10.0

    levels: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_range("levels", 0, 32)

    def quantize(self, clip: Clip) -> Columns:
        matrix = to_dofs(clip)
        steps = channel_steps(clip.skeleton, self.step, self.lever)
        moving = select_coded_dofs(matrix)
        first = to_grid(matrix[0], steps)
        rest = matrix[:, moving] / steps[moving] - first[moving]
        coefficients = np.rint(forward(rest, level_count(len(matrix), self.levels)))
        return Columns(first, check_plane(coefficients.astype(np.int64)), moving)

    def plane_rows(self, frames: int) -> int:
        return frames

    def restored(self, first: I64, plane: I32, moving: Mask, frames: int) -> F64:
        matrix = np.tile(first.astype(np.float64), (frames, 1))
        matrix[:, moving] += inverse(plane.astype(np.float64), level_count(frames, self.levels))
        return matrix
