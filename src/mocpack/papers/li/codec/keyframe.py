"""Key frames and piecewise cubic Hermite interpolation between them (IBKF): a baseline.

The key frame baseline of "Compression of Human Motion Animation Using the Reduction of Interjoint
Correlation" (Li, Okuda, Takahashi 2008). Payload: docs/codecs/keyframe.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.codec import Codec, Quality
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import decode_plane, encode_plane
from mocpack.common.arrays import F64, I64
from mocpack.errors import CorruptionError, InvalidClipError, convert_errors
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_dofs, moving_dofs, to_dofs
from mocpack.papers.li.codec.channel_grid import channel_steps, check_plane, to_grid
from mocpack.papers.li.codec.columns import read_row, write_row
from mocpack.papers.li.codec.curve_simplification import key_frames


@dataclass(frozen=True)
class Keyframe(Codec[Clip, ClipHeader]):
    """Key frames chosen by curve simplification, interpolated by monotone cubics.

    Parameters
    ----------
    error : float, radians
        Maximum distance of a pose from the line between its key frames, as root mean square over
        the channels, and the step to which key frames are rounded.
    keys : int
        Number of key frames; 0 takes as many as `error` needs.
    lever : float, meters
        Lengths are weighted and rounded like angles that move a point at this distance.
    """

    codec_id = "keyframe"
    bitstream_version = 1
    decoder_params = ("error", "lever")
    paper_settings = MappingProxyType({})
    quality: ClassVar[Quality] = Quality("error", 1e-6, 10.0)

    error: float = 0.01
    keys: int = 0
    lever: float = 0.5

    def __post_init__(self) -> None:
        self.check_range("error", 1e-6, 10)
        self.check_range("keys", 0)
        self.check_range("lever", 1e-3, 1e3)

    def encode(self, clip: Clip) -> bytes:
        frames, grid, moving = self._keys(clip)
        out = FieldWriter()
        out.mask(moving)
        write_row(out, grid[0])
        out.varint(len(frames))
        gaps = encode_plane(np.diff(frames)[:, np.newaxis])
        out.sized(gaps)
        out.raw(encode_plane(_changes(grid, moving)))
        return out.bytes()

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        read = FieldReader(payload, "keyframe payload")
        columns = header.skeleton.channel_count
        moving = read.mask(columns)
        first = read_row(read, columns)
        frames = _read_frames(read, header.frame_count)
        changes = decode_plane(read.rest(), len(frames) - 1, int(moving.sum()))
        matrix = np.tile(first.astype(np.float64), (header.frame_count, 1))
        matrix[:, moving] += _interpolate(frames, changes, header.frame_count)
        with convert_errors(InvalidClipError, "keyframe payload"):
            steps = channel_steps(header.skeleton, self.error, self.lever)
            return from_dofs(matrix * steps, header)

    def symbols(self, clip: Clip) -> I64:
        """Return the integers that are entropy coded, shape (keys - 1, 1 + moving channels)."""
        frames, grid, moving = self._keys(clip)
        return np.column_stack([np.diff(frames), _changes(grid, moving)])

    def angle_columns(self, clip: Clip) -> npt.NDArray[np.bool_]:
        """Return which columns of `symbols` are angles."""
        angles = clip.skeleton.columns.is_angle[moving_dofs(to_dofs(clip))]
        return np.concatenate([[False], angles])

    def _keys(self, clip: Clip) -> tuple[I64, I64, npt.NDArray[np.bool_]]:
        """Return the key frames, their channels on the grid (K, C), and which channels move."""
        matrix = to_dofs(clip)
        steps = channel_steps(clip.skeleton, self.error, self.lever)
        moving = moving_dofs(matrix)
        weighted = matrix[:, moving] * (self.error / steps[moving])
        if weighted.shape[1] == 0:
            weighted = np.zeros((len(matrix), 1))
        frames = key_frames(weighted, count=self.keys, distance=self.error)
        return np.array(frames), to_grid(matrix[frames], steps), moving


def _changes(grid: I64, moving: npt.NDArray[np.bool_]) -> I64:
    return check_plane(np.diff(grid[:, moving], axis=0))


def _read_frames(read: FieldReader, frame_count: int) -> I64:
    """Read the key frames: increasing, the first and the last of the clip among them."""
    count = read.varint(frame_count)
    gaps = decode_plane(read.sized(), max(count - 1, 0), 1)[:, 0]
    frames = np.concatenate([[0], np.cumsum(gaps, dtype=np.int64)])
    if not count or (gaps <= 0).any() or frames[-1] != frame_count - 1:
        raise CorruptionError("keyframe payload: the key frames do not span the clip")
    return frames


def _interpolate(frames: I64, changes: npt.NDArray[np.int32], frame_count: int) -> F64:
    """Return the difference of every frame from the first, shape (T, moving channels)."""
    rest = np.cumsum(changes, axis=0, dtype=np.int64)
    keys = np.concatenate([np.zeros((1, rest.shape[1])), rest])
    if len(frames) == 1:
        return keys
    return monotone_cubics(frames.astype(np.float64), keys, np.arange(frame_count))


def monotone_cubics(at: F64, values: F64, wanted: npt.NDArray[Any]) -> F64:
    """Return the piecewise cubic Hermite curves (PCHIP) through `values` at the `wanted` places.

    Uses the slopes of Fritsch and Butland, so the curve never overshoots. It is implemented here
    because decoding depends on it; the operations are those of scipy, in the same order.

    Parameters
    ----------
    at : array, shape (K,)
        Increasing places of the keys; at least two.
    values : array, shape (K, C)
    wanted : array, shape (T,)
        Within the keys.

    Returns
    -------
    array, shape (T, C)
    """
    width = np.diff(at)[:, np.newaxis]
    rise = np.diff(values, axis=0) / width
    slope = _slopes(width, rise)
    bend = (slope[:-1] + slope[1:] - 2 * rise) / width
    piece = np.clip(np.searchsorted(at, wanted, side="right") - 1, 0, len(at) - 2)
    s = (wanted - at[piece])[:, np.newaxis]
    square = s * s
    curve = values[piece] + slope[piece] * s
    curve += ((rise - slope[:-1]) / width - bend)[piece] * square
    curve += (bend / width)[piece] * (square * s)
    return curve


def _slopes(width: F64, rise: F64) -> F64:
    """Return the slope at each key: 0 at extrema, else a harmonic mean of both sides."""
    if len(rise) == 1:
        return np.concatenate([rise, rise])
    inner = np.zeros_like(rise[1:])
    same = (np.sign(rise[1:]) == np.sign(rise[:-1])) & (rise[1:] != 0) & (rise[:-1] != 0)
    first, second = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (first / rise[:-1] + second / rise[1:]) / (first + second)
        np.divide(1.0, mean, out=inner, where=same)
    ends = _end_slope(width[0], width[1], rise[0], rise[1])
    others = _end_slope(width[-1], width[-2], rise[-1], rise[-2])
    return np.concatenate([[ends], inner, [others]])


def _end_slope(width: F64, next_width: F64, rise: F64, next_rise: F64) -> F64:
    """Return the slope at an end: the parabola through three points, limited against overshoot."""
    slope = ((2 * width + next_width) * rise - width * next_rise) / (width + next_width)
    backward = np.sign(slope) != np.sign(rise)
    steep = (np.sign(rise) != np.sign(next_rise)) & (np.abs(slope) > 3.0 * np.abs(rise))
    return np.where(backward, 0.0, np.where(steep, 3.0 * rise, slope))
