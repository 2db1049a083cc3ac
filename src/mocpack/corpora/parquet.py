"""Read a Parquet file whose sizes may be false, within a memory limit.

A few bytes of Parquet can stand for any number of values of any length: pages are compressed, runs
are counted, and a dictionary repeats one value for every row. The footer states sizes too, but a
decoder believes the headers of the pages, so these are read here before any page is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from mocpack.common.optional_packages import require
from mocpack.common.units import format_size
from mocpack.errors import CorruptionError, MemoryLimitError

if TYPE_CHECKING:
    from pyarrow import Table

FOOTER_EXPANSION = 512  # memory of a parsed footer per byte; pyarrow takes up to 475
VALUE_BYTES = 32  # memory of a value per level of nesting, beside its text
DELTA_BYTE_ARRAY = 7  # encoding of texts that repeat the start of the one before
MAX_DEPTH = 12  # of structs and lists in a header or footer
I32, I64, LIST, STRUCT = 5, 6, 9, 12  # types of fields

# Fields of the footer and of the header of a page, with their types.
ROW_GROUPS, COLUMNS, GROUP_ROWS, CHUNK = (4, LIST), (1, LIST), (3, I64), (3, STRUCT)
CHUNK_SIZE, FIRST_DATA_PAGE, FIRST_DICTIONARY_PAGE = (7, I64), (9, I64), (11, I64)
INFLATED_SIZE, STORED_SIZE, DICTIONARY = (2, I32), (3, I32), (7, STRUCT)
VALUE_COUNT = (1, I32)
ENCODINGS = {(5, STRUCT): (2, I32), (8, STRUCT): (4, I32)}  # in data pages of version 1 and 2

Fields: TypeAlias = "dict[tuple[int, int], Value]"
Value: TypeAlias = "int | list[Value] | Fields | None"


def read_parquet(data: bytes, rows: int | None, limit: int | None) -> Table:
    """Return the Arrow table of a Parquet file; it must have this many rows, if `rows` is given.

    Reading takes at most about three times `limit` bytes: for the pages, for the table, and for
    the rows that are being decoded. Other exceptions than those of mocpack are pyarrow's.
    """
    pa = require("pyarrow", extra="corpus", purpose="reading Parquet")
    pq = require("pyarrow.parquet", extra="corpus", purpose="reading Parquet")
    footer_size = min(int.from_bytes(data[-8:-4], "little"), len(data))
    _check_memory(FOOTER_EXPANSION * footer_size, limit)
    # Without this limit, a footer can claim a million elements; each takes at least one byte.
    file = pq.ParquetFile(pa.BufferReader(data), thrift_container_size_limit=max(1, len(data)))
    # read here, because pyarrow's own view of the chunks ends the process if their data is invalid
    footer, _ = _read_struct(data, len(data) - 8 - footer_size)
    groups = _take_structs(footer, ROW_GROUPS)
    stated = sum(_take(group, GROUP_ROWS) for group in groups)
    if rows not in (None, stated):
        raise CorruptionError(f"it has {stated} rows, expected {rows}, one per clip")
    chunks = [_take_structs(group, COLUMNS) for group in groups]
    columns = [file.schema.column(k) for k in range(len(file.schema))]
    if any(len(group) != len(columns) for group in chunks):
        raise CorruptionError(f"a row group has not {len(columns)} columns, as the schema has")
    size, repeated = 0, 1
    for k, column in enumerate(columns):
        inflated = values = longest = 0
        for group in chunks:
            more, count, text = _measure_chunk(data, _take_struct(group[k], CHUNK))
            inflated, values, longest = inflated + more, values + count, max(longest, text)
        per_value = VALUE_BYTES * (1 + column.max_definition_level)
        if column.max_repetition_level:  # the number of values in a row is unknown
            per_value += longest
        size += inflated + values * per_value
        repeated += longest
    _check_memory(size, limit)
    # In each row, the text of a column can be as long as its dictionary.
    batch_size = max(1, stated if limit is None else min(stated, limit // repeated))
    batches, size = [], 0
    # no threads: a process that exits while pyarrow's threads run is aborted
    for batch in file.iter_batches(batch_size, use_threads=False):
        batches.append(batch)
        size += batch.nbytes
        _check_memory(size, limit)
    return pa.Table.from_batches(batches, file.schema_arrow)


def _check_memory(needed: int, limit: int | None) -> None:
    if limit is not None and needed > limit:
        raise MemoryLimitError(
            f"reading it may take {format_size(needed)} of memory, more than the limit of "
            f"{format_size(limit)}; a larger memory_limit allows it"
        )


def _measure_chunk(data: bytes, chunk: Fields) -> tuple[int, int, int]:
    """Return sizes of a column chunk: bytes of its inflated pages, values, and longest repetition.

    The last is the length of the longest text that few bytes of a page can repeat.
    """
    start, size = _take(chunk, FIRST_DATA_PAGE), _take(chunk, CHUNK_SIZE)
    if FIRST_DICTIONARY_PAGE in chunk:
        start = min(
            start, _take(chunk, FIRST_DICTIONARY_PAGE) or start
        )  # 0 means that there is none
    inflated = values = dictionary = 0
    repeats_starts = False
    for header in _page_headers(data, start, start + size):
        inflated += _take(header, INFLATED_SIZE)
        if DICTIONARY in header:
            dictionary = max(dictionary, _take(header, INFLATED_SIZE))
        for page, encoding in ENCODINGS.items():
            if page in header:
                values += _take(_take_struct(header, page), VALUE_COUNT)
                repeats_starts |= _take(_take_struct(header, page), encoding) == DELTA_BYTE_ARRAY
    return inflated, values, inflated if repeats_starts else dictionary


def _page_headers(data: bytes, at: int, end: int) -> Iterator[Fields]:
    """Yield the headers of the pages between two offsets."""
    if end > len(data):
        raise CorruptionError(f"pages end at {end}, after its {len(data)} bytes")
    while at < end:
        header, at = _read_struct(data, at)
        yield header
        at += _take(header, STORED_SIZE)


def _take_struct(fields: Fields, field: tuple[int, int]) -> Fields:
    """Return a struct; empty if it is missing, so that taking its fields fails."""
    struct = fields.get(field)
    return struct if isinstance(struct, dict) else {}


def _take_structs(fields: Fields, field: tuple[int, int]) -> list[Fields]:
    """Return a list of structs; empty if it is missing."""
    items = fields.get(field)
    structs = items if isinstance(items, list) else []
    return [one if isinstance(one, dict) else {} for one in structs]


def _take(fields: Fields, field: tuple[int, int]) -> int:
    """Return an integer that no valid file lacks."""
    number = fields.get(field)
    # decoders disagree on numbers that exceed their type
    if not isinstance(number, int) or not 0 <= number < 1 << (31 if field[1] == I32 else 62):
        raise CorruptionError(f"field {field[0]} of a header must be a size, got {number}")
    return number


def _read_struct(data: bytes, at: int, depth: int = 0) -> tuple[Fields, int]:
    """Parse a struct of Thrift's compact protocol; return its fields and its end.

    Fields are integers, structs and lists, by number and type; others are skipped.
    """
    fields: Fields = {}
    number = 0
    while head := _read_byte(data, at):
        step, kind = divmod(head, 16)
        last, (number, at) = (
            number,
            (number + step, at + 1) if step else _read_integer(data, at + 1),
        )
        if not last < number < 1 << 15:
            raise CorruptionError(f"a header has field {number} after field {last}")
        if kind not in (1, 2):  # true and false take no byte
            fields[number, kind], at = _read_value(data, at, kind, depth + 1)
    return fields, at + 1


def _read_value(data: bytes, at: int, kind: int, depth: int) -> tuple[Value, int]:
    if depth > MAX_DEPTH:
        raise CorruptionError(f"a header is nested more than {MAX_DEPTH} levels deep")
    if kind in (4, I32, I64):
        return _read_integer(data, at)
    if kind == STRUCT:
        return _read_struct(data, at, depth)
    if kind == LIST:
        count, kind = divmod(_read_byte(data, at), 16)
        count, at = _read_varint(data, at + 1) if count == 15 else (count, at + 1)
        values: list[Value] = []
        for _ in range(count):
            value, at = _read_value(data, at, kind, depth + 1)
            values.append(value)
        return values, at
    if kind == 8:  # bytes
        size, at = _read_varint(data, at)
        return None, at + size
    if kind in (1, 2, 3, 7):  # true, false, a byte and a float64
        end = at + (8 if kind == 7 else 1)
        _read_byte(data, end - 1)
        return None, end
    raise CorruptionError(f"a header has a field of type {kind}")


def _read_integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for k in range(10):
        byte = _read_byte(data, at + k)
        value |= (byte & 127) << 7 * k
        if byte < 128:
            return value, at + k + 1
    raise CorruptionError("a header has a number of more than 64 bits")


def _read_byte(data: bytes, at: int) -> int:
    if at >= len(data):
        raise CorruptionError("a header exceeds the file")
    return data[at]
