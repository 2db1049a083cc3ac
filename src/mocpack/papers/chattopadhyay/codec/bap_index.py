"""BAP indexing and BAP sparsing: changes as table entries, and frozen channels.

Chattopadhyay, Bhandarkar and Li, "Model dependent power aware compression algorithms for MPEG-4
virtual human animation in mobile computers" (2007). Each change of a channel from frame to frame
becomes the number of one of 256 typical changes; the decoder looks it up and adds it. Sparsing
freezes a channel until its change is worth a number. `variant="literal"` is the paper's method,
whose errors add up over the clip. The others are ours: in `"closed_loop"` each change compensates
for the errors before it, and `"companded"` also spaces the table entries so that fast changes are
not clipped. All three share one decoder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.codec import Codec, Decoder, Goal, Payload, PayloadLayout, Quality, Rounds
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.common.arrays import F64
from mocpack.errors import FormatError
from mocpack.model.clip import Clip, ClipHeader
from mocpack.papers.chattopadhyay.codec import grid_search, segments
from mocpack.papers.chattopadhyay.codec.columns import (
    ORDERS,
    Columns,
    column_levels,
    join_columns,
    parse_levels,
    split_columns,
)
from mocpack.papers.chattopadhyay.codec.segments import ALWAYS, RowChoice, RowLayout, size_model

ROWS_SEARCHED = range(30, 121)  # values of n_d
VARIANTS = ("companded", "closed_loop", "literal")
READINGS = ("text", "figure4")
ROOT_COLUMNS = 3  # of the root's position, the first in the paper's matrix


@dataclass(frozen=True)
class BapIndex(Codec[Clip, ClipHeader]):
    """Changes of the channels as indices into tables of equal-frequency buckets.

    Parameters
    ----------
    FDF : int
        Fixed degrees of freedom: channels at the front that are kept as float32. More than the
        clip has keeps them all.
    n_d : int
        Rows of a segment; each segment has its own table.
    b : int
        Bits of an index, 1 to 16; a table has 2^b entries, an index takes one byte or two.
    eta : float
        Weight of a change in its table entry: level^-eta. Infinity is the paper's selective
        averaging, the mean of only the changes of the smallest level.
    M : int
        The paper's resolution quantization term: changes are distinguished to 1/M.
    variant : {"companded", "closed_loop", "literal"}
        "literal" is the paper's open loop; "closed_loop" uses its tables in a closed loop;
        "companded" uses tables of least squared error in a closed loop and ignores eta and M.
    order : {"file", "by_influence"}
        Order of the channels: as in the file, or by how far they move the body. FDF keeps the
        first of them.
    levels : str
        Levels of joints that differ from 1 + min(depth, 4), written "LeftFoot=2/RightFoot=2".
    """

    codec_id = "bap-index"
    bitstream_version = 1
    decoder_params: ClassVar[tuple[str, ...] | None] = ("FDF", "n_d", "b", "order")
    quality: ClassVar[Quality] = Quality("FDF", 0, 4096, error_sign=-1, integer=True)
    # FDF and n_d are what the paper's search found for its jog (section 5.2)
    paper_settings = MappingProxyType({"variant": "literal", "FDF": 41, "n_d": 60})

    FDF: int = 6
    n_d: int = 120
    b: int = 8
    eta: float = math.inf
    M: int = 10_000
    variant: str = "companded"
    order: str = "file"
    levels: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", float(self.eta))
        self.check_range("FDF", 0, 65_535)
        self.check_range("n_d", 1, 2**31)
        self.check_range("b", 1, 16)
        self.check_range("M", 1, 10**9)
        self.check_range("eta", 0, math.inf)
        self.check_choice("variant", VARIANTS)
        self.check_choice("order", ORDERS)
        parse_levels(self.levels)

    def encode(self, clip: Clip) -> bytes:
        columns = split_columns(clip, order=self.order)
        layout = self.row_layout(columns.matrix.shape[1])
        rows = self._to_rows(columns.matrix)
        choice = self._choice(clip, columns, rows)
        order = None if self.order == "file" else columns.order
        out = FieldWriter()
        segments.write_head(out, columns.moving, columns.still, order, columns.matrix[0])
        out.raw(segments.encode_rows(rows, layout, choice))
        return out.bytes()

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        columns = self.decode_columns(payload, header)
        return join_columns(columns, header, what=f"{self.codec_id} payload")

    def decode_columns(self, payload: bytes, header: ClipHeader) -> Columns:
        """Return the columns decoded by table lookup; timings measure this function."""
        read = FieldReader(payload, f"{self.codec_id} payload")
        try:
            moving, still, order, initial = segments.read_head(
                read, header.skeleton.channel_count, ordered=self.order != "file"
            )
            layout = self.row_layout(len(initial))
            matrix = self._from_rows(read.rest(), initial, header.frame_count - 1, layout)
        except FormatError as error:
            raise type(error)(f"{self.codec_id} payload: {error}") from error
        return Columns(matrix, still, moving, order)

    def row_layout(self, columns: int) -> RowLayout:
        """Return the layout of rows of `columns` moving channels; tables only if one is indexed."""
        fixed = min(self.FDF, columns)
        bits = self.b if fixed < columns else 0
        return RowLayout(fixed, bits, self.n_d, columns, first_masked=columns)

    def open(self, payload: Payload | bytes, header: ClipHeader) -> BapDecoder:
        return BapDecoder(self, payload, header)

    def paper_size(self, payload: bytes, header: ClipHeader) -> int:
        """Return the size of a payload as the paper counts it: the released indices alone."""
        ordered = self.order != "file"
        read = FieldReader(payload, f"{self.codec_id} payload")
        _, still, _, initial = segments.read_head(
            read, header.skeleton.channel_count, ordered=ordered
        )
        layout = self.row_layout(len(initial))
        counted = len(payload) - (2 * len(initial) if ordered else 0)
        return segments.paper_size(counted, header.frame_count, layout, still=len(still))

    def tuning_rounds(self, clip: Clip, goal: Goal, *, effort: str) -> Rounds:
        """Search FDF from 1 to all columns and n_d from 30 to 120, as the paper does.

        "best" tries the whole grid, the others at most a tenth of it.
        """
        fixed, rows, least = self.search_grid(clip)
        search = grid_search.from_the_limit(
            fixed, rows, least, lambda outcome: goal.objective(*outcome), goal.size
        )
        if effort == "best":
            search = grid_search.every_point(fixed, rows)
        points = next(search, None)
        while points:
            trials = yield [replace(self, FDF=f, n_d=n) for f, n in points]
            try:
                points = search.send([(trial.size, trial.error) for trial in trials])
            except StopIteration:
                return

    def expected_trials(self, clip: Clip, *, effort: str) -> int:
        fixed, rows, _ = self.search_grid(clip)
        if effort == "best":
            return len(fixed) * len(rows)
        return grid_search.most_points(fixed, rows)

    def search_grid(self, clip: Clip) -> tuple[range, range, F64]:
        """Return the values of FDF and n_d that a search tries, and minimum payload sizes."""
        columns = split_columns(clip)
        count, still = max(1, columns.matrix.shape[1]), len(columns.still)
        longest = max(1, min(ROWS_SEARCHED.stop - 1, clip.frame_count - 1))
        fixed, rows = range(1, count + 1), range(min(ROWS_SEARCHED.start, longest), longest + 1)
        layouts = [[replace(self, FDF=f, n_d=n).row_layout(count) for n in rows] for f in fixed]
        frames = clip.frame_count
        sizes = [[size_model(frames, la, still=still) for la in row] for row in layouts]
        return fixed, rows, np.array(sizes, float)

    def _to_rows(self, matrix: F64) -> F64:
        """Return the rows whose changes are coded, shape (T, m): those of the matrix itself."""
        return matrix

    def _from_rows(self, data: bytes, initial: F64, rows: int, layout: RowLayout) -> F64:
        return segments.decode_rows(data, initial, rows, layout)

    def _choice(self, clip: Clip, columns: Columns, rows: F64) -> RowChoice:
        overrides = parse_levels(self.levels)
        levels = column_levels(clip.skeleton, overrides)
        levels = levels[columns.moving][columns.order]
        means, limits = self._thresholds(rows, levels)
        return RowChoice(
            levels,
            self.eta,
            self.M,
            closed_loop=self.variant != "literal",
            companded=self.variant == "companded",
            means=means,
            limits=limits,
        )

    def _thresholds(self, matrix: F64, levels: npt.NDArray[np.int32]) -> tuple[F64, F64]:
        return np.zeros(len(levels)), np.full(len(levels), ALWAYS)


@dataclass(frozen=True)
class BapSparse(BapIndex):
    """bap-index, with channels frozen until their change exceeds K·level standard deviations.

    Parameters
    ----------
    K : float
        The paper's sparsing parameter. 0 releases every change and writes no masks, so that rows
        are those of `bap-index`.
    indexed : bool
        If False, released changes are stored as float32, without tables.
    sparse_fixed : bool
        Whether the columns that FDF keeps can be frozen too, as the sizes of the paper's Table 2
        imply.
    sparse_root : bool
        Whether the root's position, the first three columns, can be frozen.
    reading : {"text", "figure4"}
        What is frozen: changes of the pose, as in the paper's text, or changes of its speed, as in
        the second differences of its figure 4. The latter is for comparison: small errors of the
        speed add up to large errors of the pose.
    FDF, n_d, b, eta, M, variant, order, levels
        As for `bap-index`.
    """

    codec_id = "bap-sparse"
    bitstream_version = 1
    decoder_params = (
        "FDF",
        "n_d",
        "b",
        "order",
        "indexed",
        "sparse_fixed",
        "sparse_root",
        "K",
        "reading",
    )
    paper_settings = MappingProxyType({**BapIndex.paper_settings, "sparse_fixed": True})

    K: float = 0.1
    indexed: bool = True
    sparse_fixed: bool = False
    sparse_root: bool = True
    reading: str = "text"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "K", float(self.K))
        self.check_range("K", 0)
        self.check_choice("reading", READINGS)

    def row_layout(self, columns: int) -> RowLayout:
        plain = super().row_layout(columns)
        first_masked = 0 if self.sparse_fixed else plain.fixed
        if not self.sparse_root:
            first_masked = max(first_masked, min(ROOT_COLUMNS, columns))
        if self.K == 0:
            first_masked = columns
        return replace(plain, first_masked=first_masked, bits=plain.bits if self.indexed else 0)

    def alternatives(self) -> list[BapSparse]:
        """Return settings of K to reach a target with.

        Frozen channels may cost more than they save, because corrections are stored as float32.
        """
        return [replace(self, K=share * self.K) for share in (1.0, 0.5, 0.2, 0.0)]

    def _to_rows(self, matrix: F64) -> F64:
        """Return the matrix, or in the reading of figure 4 its speeds, from rest."""
        if self.reading == "text":
            return matrix
        # the first is relative to the decoder's start, which compensates for its rounding
        from_start = np.concatenate([segments.rounded_pose(matrix[:1]), matrix[1:]])
        return np.concatenate([np.zeros_like(matrix[:1]), np.diff(from_start, axis=0)])

    def _from_rows(self, data: bytes, initial: F64, rows: int, layout: RowLayout) -> F64:
        if self.reading == "text":
            return super()._from_rows(data, initial, rows, layout)
        speeds = segments.decode_rows(data, np.zeros_like(initial), rows, layout)
        return np.asarray(initial + np.cumsum(speeds, axis=0))

    def _thresholds(self, matrix: F64, levels: npt.NDArray[np.int32]) -> tuple[F64, F64]:
        """Return the mean and the threshold of each column's changes.

        T_k = K·L_k, equation (2), times the standard deviation.
        """
        if self.K == 0 or len(matrix) < 2:
            return super()._thresholds(matrix, levels)
        differences = np.diff(matrix, axis=0)
        return differences.mean(axis=0), self.K * levels * differences.std(axis=0)


class BapDecoder(Decoder[Clip, ClipHeader]):
    """Decodes the whole clip, because changes add up from the first frame."""

    codec: BapIndex

    def layout(self) -> PayloadLayout:
        """Return the size of the tables."""
        header = self.header
        packed = self.payload.read(0, -(-header.skeleton.channel_count // 8))
        moving = int(np.unpackbits(np.frombuffer(packed, np.uint8)).sum())
        rows = self.codec.row_layout(moving)
        segments = len(list(rows.segments(header.frame_count - 1)))
        return PayloadLayout(model_bytes=segments * (4 << rows.bits) if rows.bits else 0)
