"""Body animation parameters as bytes: an initial pose, then segments of rows with a table each.

What `bap-index` and `bap-sparse` share; `docs/codecs/bap-index.md` has the layout bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.floats import read_finite_floats
from mocpack.common.arrays import F64, I32
from mocpack.errors import CorruptionError, TruncatedError

NO_TABLE = np.zeros(0, np.float32)
ALWAYS = -1.0  # threshold that every change exceeds


@dataclass(frozen=True)
class RowLayout:
    """The layout of a payload's rows.

    Attributes
    ----------
    fixed : int
        Columns at the front that are stored as float32 (the paper's FDF).
    bits : int
        Bits of an index; 0 if changes are stored as float32, without tables.
    segment_rows : int
        Rows that share a table (the paper's n_d).
    columns, first_masked : int
        Number of columns; first column of those that have masks. The mask of a row marks the
        columns that change.
    """

    fixed: int
    bits: int
    segment_rows: int
    columns: int
    first_masked: int

    def segments(self, rows: int) -> Iterator[tuple[int, int]]:
        """Return the first row of each segment and the one after its last."""
        for start in range(0, rows, self.segment_rows):
            yield start, min(start + self.segment_rows, rows)

    @property
    def mask_size(self) -> int:
        return -(-(self.columns - self.first_masked) // 8)

    @property
    def least_row(self) -> int:
        """Bytes of a row in which no masked column changes; without a mask, of every row."""
        floats = min(self.fixed, self.first_masked) if self.bits else self.first_masked
        index_size = -(-self.bits // 8)
        return self.mask_size + 4 * floats + index_size * (self.first_masked - floats)


@dataclass(frozen=True)
class RowChoice:
    """Encoder settings for the contents of rows.

    Attributes
    ----------
    levels : array of int, shape (m,)
        Level of each column; entries of smaller levels have more weight in the tables.
    eta : float
        Exponent of that weight; infinite for the mean of the smallest level alone.
    resolution : float
        The paper's RQT: numbers are distinguished to 1 / resolution.
    closed_loop : bool
        Whether the next row corrects errors; otherwise they add up.
    companded : bool
        Whether tables are spread for the least squared error, or average buckets.
    means, limits : array, shape (m,)
        A change is released if its distance from the mean exceeds the limit.
    """

    levels: I32
    eta: float
    resolution: float
    closed_loop: bool
    companded: bool
    means: F64
    limits: F64


def encode_rows(matrix: F64, layout: RowLayout, choice: RowChoice) -> bytes:
    """Return the segments that lead from the first row of `matrix` (T, m) to the last."""
    initial = rounded_pose(matrix[0])
    state = initial.copy() if choice.closed_loop else np.zeros_like(initial)
    differences = np.diff(matrix, axis=0)
    values = matrix[1:] if choice.closed_loop else differences
    unmasked = np.arange(layout.columns) < layout.first_masked
    limits = np.where(unmasked, ALWAYS, choice.limits)
    parts: list[bytes] = []
    for start, stop in layout.segments(len(differences)):
        table, indices = _lookup(differences[start:stop, layout.fixed :], layout, choice)
        rows = _core.bap_encode_rows(
            np.ascontiguousarray(values[start:stop]),
            indices,
            state,
            table,
            layout.fixed,
            layout.first_masked,
            layout.bits,
            choice.closed_loop,
            choice.means,
            limits,
        )
        parts += [table.astype("<f4").tobytes(), rows]
    return b"".join(parts)


def decode_rows(data: bytes, initial: F64, rows: int, layout: RowLayout) -> F64:
    """Decode the matrix (rows + 1, m) from the segments in `data`."""
    if rows * layout.least_row > len(data):
        raise TruncatedError(
            f"{len(data)} bytes cannot hold {rows} rows of {layout.columns} columns"
        )
    matrix = np.empty((rows + 1, layout.columns))
    matrix[0] = initial
    state = initial.copy()
    read = FieldReader(data, "segments")
    for start, stop in layout.segments(rows):
        table = NO_TABLE
        if layout.bits:
            table = read_finite_floats(read.raw(4 << layout.bits), "a table")
        values, used = _core.bap_decode_rows(
            data,
            read.at,
            stop - start,
            state,
            table,
            layout.fixed,
            layout.first_masked,
            layout.bits,
        )
        matrix[start + 1 : stop + 1] = values
        read.raw(used)
    read.end()
    return matrix


def companded_table(differences: F64, bits: int) -> npt.NDArray[np.float32]:
    """Return 2^bits entries from the least to the largest difference, ascending.

    Where differences have density p, the squared error is least if entries have a density of p^⅓
    (Panter and Dite 1951). Cuts of equal frequency a gap g apart mean p ~ 1/g; so each gap gets
    g^⅔ of the entries.
    """
    cuts = np.unique(np.quantile(differences, np.linspace(0, 1, 2**bits + 1)))
    shares = np.concatenate([[0.0], np.cumsum(np.diff(cuts) ** (2 / 3))])
    entries = np.interp(np.linspace(0, shares[-1], 2**bits), shares, cuts)
    return np.maximum.accumulate(entries.astype(np.float32))


def write_head(
    out: FieldWriter,
    moving: npt.NDArray[np.bool_],
    still: F64,
    order: npt.NDArray[np.intp] | None,
    initial: F64,
) -> None:
    """Write the mask of moving columns, the constant values, the order of columns and a pose."""
    out.mask(moving)
    out.raw(still.astype("<f4").tobytes())
    if order is not None:
        out.raw(order.astype("<u2").tobytes())
    out.raw(initial.astype("<f4").tobytes())


def read_head(
    read: FieldReader, columns: int, *, ordered: bool
) -> tuple[npt.NDArray[np.bool_], F64, npt.NDArray[np.intp], F64]:
    """Read what `write_head` wrote for `columns` channels."""
    moving = read.mask(columns)
    if columns and not moving[0]:
        raise CorruptionError("the first channel must be stored for every frame")
    count = int(moving.sum())
    still = _floats(read, columns - count)
    order = np.arange(count)
    if ordered:
        order = np.frombuffer(read.raw(2 * count), "<u2").astype(np.intp)
        if not np.array_equal(np.sort(order), np.arange(count)):
            raise CorruptionError("column order: a column occurs twice (file is corrupt)")
    return moving, still, order, _floats(read, count)


def rounded_pose(pose: F64) -> F64:
    """Return the pose rounded to float32, from which decoder and encoder start."""
    return pose.astype(np.float32).astype(np.float64)


def size_model(frames: int, layout: RowLayout, *, still: int = 0) -> int:
    """Return the bytes of a payload in which no masked column changes, from its dimensions alone.

    Without masks every payload has this size: the paper's equation (5), whose terms are (3) and
    (4), with n − 1 rows and a shorter last segment, plus our head, a bit for each channel and the
    value of each `still` one. c_l is 0, because the file names the parameters once.
    """
    rows, channels = frames - 1, layout.columns + still
    tables = -(-rows // layout.segment_rows) * (4 << layout.bits) if layout.bits else 0
    return -(-channels // 8) + 4 * channels + tables + rows * layout.least_row


def paper_size(payload: int, frames: int, layout: RowLayout, *, still: int = 0) -> int:
    """Return the payload size as the paper counts it: without masks and constant channels."""
    return payload - (frames - 1) * layout.mask_size - -(-(layout.columns + still) // 8) - 4 * still


def _lookup(
    differences: F64, layout: RowLayout, choice: RowChoice
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint16]]:
    """Return the table of a segment, equation (1), and the indices of its changes."""
    if not layout.bits:
        return NO_TABLE, np.zeros((0, 0), np.uint16)
    if choice.companded:
        return companded_table(differences, layout.bits), np.zeros((0, 0), np.uint16)
    table, indices = _core.bap_lookup(
        np.ascontiguousarray(differences),
        np.ascontiguousarray(choice.levels[layout.fixed :]),
        layout.bits,
        choice.resolution,
        choice.eta,
    )
    return np.asarray(table), np.asarray(indices)


def _floats(read: FieldReader, count: int) -> F64:
    return read_finite_floats(read.raw(4 * count), "a pose").astype(np.float64)
