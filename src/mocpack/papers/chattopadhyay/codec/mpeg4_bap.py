"""Body animation parameters as in MPEG-4: predict each from the frame before, code the residual.

The baseline of Chattopadhyay, Bhandarkar and Li (2007): integers in MPEG-4's units, I frames that
stand alone and P frames that hold changes, an adaptive arithmetic coder, and frame dropping as the
lossy mode. `lossless` codes float32 instead, as the sizes in the paper's tables imply. The stream
is mocpack's own, in place of that of ISO/IEC 14496-2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.codec import Codec, Decoder, Payload, PayloadLayout, Quality, Read
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.floats import read_finite_floats
from mocpack.coding.planes import decode_plane, encode_plane
from mocpack.common.arrays import F64, I64
from mocpack.errors import CorruptionError, InvalidClipError, UnsupportedClipError, convert_errors
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_channels, from_dofs, to_channels, to_dofs
from mocpack.papers.chattopadhyay.codec.byte_planes import decode_bytes, encode_bytes
from mocpack.papers.chattopadhyay.codec.columns import column_levels, parse_levels
from mocpack.papers.chattopadhyay.codec.units import MAX_STEPS, integer_units

FILLS = ("linear", "hold")
WHAT = "mpeg4-bap payload"


@dataclass(frozen=True)
class Mpeg4Bap(Codec[Clip, ClipHeader]):
    """Predictive and adaptive arithmetic coding of quantized parameters.

    Parameters
    ----------
    quant : float
        Multiplies every quantizer step (128·10⁻⁵ radian, 1 mm); steps stay whole units.
    intra : int
        Frames from one I frame to the next, counted among those kept; 0 for the first alone.
    keep : int
        Frame dropping: every `keep`-th frame is stored, and the last.
    fill : {"linear", "hold"}
        What the decoder shows in place of dropped frames: a straight line, or the frame before.
    K : float
        BAP sparsing ahead of the coder: a parameter is frozen until its change exceeds K·level
        standard deviations. 0 for none.
    lossless : bool
        Code the source's numbers as float32, exactly; `quant` is ignored.
    levels : str
        As for `bap-index`: levels of joints that differ from 1 + min(depth, 4).
    """

    codec_id = "mpeg4-bap"
    bitstream_version = 1
    decoder_params = ("quant", "intra", "keep", "fill", "lossless")
    quality: ClassVar[Quality] = Quality("quant", 1 / 128, 512.0)
    paper_settings = MappingProxyType({"lossless": True})

    quant: float = 1.0
    intra: int = 0
    keep: int = 1
    fill: str = "linear"
    K: float = 0.0
    lossless: bool = False
    levels: str = ""

    def __post_init__(self) -> None:
        for name in ("quant", "K"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not 0 < self.quant <= 1e6:
            raise ValueError(f"quant must be above 0 and at most 1e6, got {self.quant}")
        self.check_range("K", 0, 1e6)
        self.check_range("intra", 0, 2**31)
        self.check_range("keep", 1, 2**31)
        self.check_choice("fill", FILLS)
        if self.lossless and (self.keep > 1 or self.K):
            raise ValueError(
                f"lossless needs keep=1 and K=0, got keep={self.keep} and K={self.K:g}"
            )
        parse_levels(self.levels)

    def encode(self, clip: Clip) -> bytes:
        coded = self._lossless_groups(clip) if self.lossless else self._integer_groups(clip)
        parts = list(coded)
        out = FieldWriter()
        out.raw(np.array([len(part) for part in parts], "<u4").tobytes())
        for part in parts:
            out.raw(part)
        return out.bytes()

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        read = FieldReader(payload, WHAT)
        matrix = self.decode_matrix(
            lambda at, size: FieldReader(payload[at:], WHAT).raw(size), header
        )
        read.raw(_index(read.raw, self.group_count(header))[-1])
        read.end()
        return self.to_clip(matrix, header)

    def decode_matrix(
        self, read: Read, header: ClipHeader, start: int = 0, stop: int | None = None
    ) -> F64:
        """Return frames `start` to `stop` of the matrix; timings measure this function."""
        stop = header.frame_count if stop is None else stop
        kept = kept_frames(header.frame_count, self.keep)
        first = int(np.searchsorted(kept, start, side="right")) - 1
        last = int(np.searchsorted(kept, stop - 1, side="left"))
        groups = self.group_count(header)
        ends = _index(lambda size: read(0, size), groups)
        length = self._group_length(len(kept))
        decode = _decode_floats if self.lossless else self._decode_integers
        parts = []
        for g in range(first // length, last // length + 1):
            rows = min(length, len(kept) - g * length)
            at = ends[g - 1] if g else 0
            data = read(4 * groups + at, ends[g] - at)
            parts.append(decode(data, rows, header))
        begin = first // length * length
        known = np.concatenate(parts)[first - begin : last + 1 - begin]
        return _fill(known, kept[first : last + 1], np.arange(start, stop), self.fill)

    def open(self, payload: Payload | bytes, header: ClipHeader) -> Mpeg4BapDecoder:
        return Mpeg4BapDecoder(self, payload, header)

    def to_clip(self, matrix: F64, header: ClipHeader) -> Clip:
        if not np.abs(matrix).max(initial=0.0) < 1e12:  # false for NaN too
            raise CorruptionError(f"{WHAT}: a decoded value is not finite")
        with convert_errors(InvalidClipError, f"{WHAT}"):
            return (from_channels if self.lossless else from_dofs)(matrix, header)

    def _group_length(self, kept: int) -> int:
        return min(self.intra, kept) if self.intra else kept

    def group_count(self, header: ClipHeader) -> int:
        kept = len(kept_frames(header.frame_count, self.keep))
        return -(-kept // self._group_length(kept))

    def _split(self, rows: npt.NDArray[np.generic]) -> Iterator[npt.NDArray[np.generic]]:
        length = self._group_length(len(rows))
        for start in range(0, len(rows), length):
            yield rows[start : start + length]

    def _integer_groups(self, clip: Clip) -> Iterator[bytes]:
        units = integer_units(clip.skeleton, self.quant)
        matrix = to_dofs(clip)[kept_frames(clip.frame_count, self.keep)]
        if np.abs(matrix / (units.units * units.steps)).max(initial=0.0) > MAX_STEPS:
            raise UnsupportedClipError(
                "mpeg4-bap supports at most 2^30 steps, but this clip is farther from the origin"
            )
        targets = units.quantize(matrix)
        means, limits = self._thresholds(clip, targets)
        for group in self._split(targets):
            changes = _predict(np.asarray(group, np.int64), means, limits)
            out = FieldWriter()
            out.sized(encode_plane(changes[:1]))
            out.raw(encode_plane(changes[1:]))
            yield out.bytes()

    def _thresholds(self, clip: Clip, targets: I64) -> tuple[F64, F64]:
        """Return the mean of each column's changes, and the threshold of their distance from it."""
        if self.K == 0 or len(targets) < 2:
            return np.zeros(targets.shape[1]), np.full(targets.shape[1], -1.0)
        changes = np.diff(targets, axis=0)
        levels = column_levels(clip.skeleton, parse_levels(self.levels))
        return changes.mean(axis=0), self.K * levels * changes.std(axis=0)

    def _decode_integers(self, data: bytes, rows: int, header: ClipHeader) -> F64:
        columns = header.skeleton.channel_count
        read = FieldReader(data, WHAT)
        first = decode_plane(read.sized(), 1, columns)
        changes = np.concatenate([first, decode_plane(read.rest(), rows - 1, columns)])
        units = integer_units(header.skeleton, self.quant)
        return units.restore(np.cumsum(changes, axis=0, dtype=np.int64))

    def _lossless_groups(self, clip: Clip) -> Iterator[bytes]:
        for group in self._split(_ordered(to_channels(clip).astype(np.float32))):
            changes = np.diff(np.asarray(group, np.uint32), axis=0, prepend=np.uint32(0))
            planes = changes.astype("<u4").view(np.uint8)
            yield encode_bytes(planes, _byte_classes(changes.shape[1]))


class Mpeg4BapDecoder(Decoder[Clip, ClipHeader]):
    """Decodes the groups between intra frames separately."""

    codec: Mpeg4Bap

    def frames(self, start: int, stop: int, joints: Sequence[int] | None = None) -> Clip:
        matrix = self.codec.decode_matrix(self.payload.read, self.header, start, stop)
        clip = self.codec.to_clip(matrix, replace(self.header, frame_count=stop - start))
        return clip if joints is None else clip.joints(joints)

    def layout(self) -> PayloadLayout:
        groups = self.codec.group_count(self.header)
        return PayloadLayout(groups=groups, index_bytes=4 * groups)


def kept_frames(frames: int, keep: int) -> npt.NDArray[np.intp]:
    """Return the frames that are stored: every `keep`-th, and the last.

    >>> kept_frames(8, 3)
    array([0, 3, 6, 7])
    """
    kept = np.arange(0, frames, keep)
    return kept if kept[-1] == frames - 1 else np.append(kept, frames - 1)


def _predict(targets: I64, means: F64, limits: F64) -> I64:
    """Return the first row, then the change of each row from the decoded row before."""
    changes = np.empty_like(targets)
    changes[0] = targets[0]
    state = targets[0].copy()
    for target, change in zip(targets[1:], changes[1:], strict=True):
        change[:] = target - state
        change[np.abs(target - state - means) <= limits] = 0
        state += change
    return changes


def _fill(known: F64, at: npt.NDArray[np.intp], frames: npt.NDArray[np.intp], fill: str) -> F64:
    """Return rows for all `frames` from the rows known at frames `at`."""
    before = np.searchsorted(at, frames, side="right") - 1
    rows = known[before]
    dropped = np.flatnonzero(at[before] != frames)
    if fill == "hold" or not len(dropped):
        return rows
    left = before[dropped]
    t = ((frames[dropped] - at[left]) / (at[left + 1] - at[left]))[:, np.newaxis]
    rows[dropped] = (1 - t) * known[left] + t * known[left + 1]
    return rows


def _index(read: Callable[[int], bytes], groups: int) -> list[int]:
    """Return the end of each group, relative to the end of the index."""
    sizes = np.frombuffer(read(4 * groups), "<u4").astype(np.int64)
    return [int(end) for end in np.cumsum(sizes)]


def _ordered(floats: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """Return the bits of floats as integers in the order of the floats."""
    bits = floats.view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


def _decode_floats(data: bytes, rows: int, header: ClipHeader) -> F64:
    columns = header.skeleton.channel_count
    planes = decode_bytes(data, rows, _byte_classes(columns))
    changes = np.ascontiguousarray(planes).view("<u4").astype(np.uint32)
    ordered = np.cumsum(changes, axis=0, dtype=np.uint32)
    bits = np.where(ordered >> 31, ordered & np.uint32(2**31 - 1), ~ordered)
    return read_finite_floats(bits, WHAT).astype(np.float64)


def _byte_classes(columns: int) -> npt.NDArray[np.intp]:
    """Return the statistics class of each byte: one per byte position in a float."""
    return np.tile(np.arange(4), columns)
