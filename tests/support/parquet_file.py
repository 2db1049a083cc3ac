"""Parquet files that no writer of Parquet makes: false sizes, names that are not text."""

from collections.abc import Mapping
from typing import Any

I32, I64, BYTES, LIST, STRUCT = 5, 6, 8, 9, 12  # types of Thrift's compact protocol
INT32_COLUMN, TEXT_COLUMN = 1, 6  # physical types
PLAIN, UNCOMPRESSED, ZSTD = 0, 0, 6


class Long(int):
    """An integer that the footer stores as i64."""


def one_column(
    page: bytes,
    *,
    name: bytes = b"clip",
    values: int = 1,
    inflated: int | None = None,
) -> bytes:
    """Return a file with one column of texts, whose page is `page`.

    The footer states one value, and the size of the page. The header of the page states
    `values` values and, if given, that the page is compressed and inflates to `inflated` bytes.
    """
    size = len(page) if inflated is None else inflated
    header = pack_struct({1: 0, 2: size, 3: len(page), 5: {1: values, 2: PLAIN, 3: 3, 4: 3}})
    chunk = {
        1: TEXT_COLUMN, 2: [PLAIN], 3: [name], 4: UNCOMPRESSED if inflated is None else ZSTD,
        5: Long(1), 6: Long(len(page)), 7: Long(len(header) + len(page)), 9: Long(4),
    }  # fmt: skip
    group = {1: [{2: Long(4), 3: chunk}], 2: Long(10), 3: Long(1)}
    schema = [{4: b"schema", 5: 1}, {1: TEXT_COLUMN, 3: 0, 4: name, 6: 0}]
    footer = pack_struct({1: 1, 2: schema, 3: Long(1), 4: [group]})
    return with_footer(header + page, footer)


def texts(values: list[bytes]) -> bytes:
    """Return a page of texts in the encoding PLAIN."""
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)


def claimed_groups(count: int) -> bytes:
    """Return a file whose footer claims `count` row groups and holds none."""
    schema = [{4: b"schema", 5: 1}, {1: TEXT_COLUMN, 3: 0, 4: b"clip"}]
    start = pack_struct({1: 1, 2: schema, 3: Long(1)})[:-1]
    return with_footer(b"", start + bytes([1 << 4 | LIST, 15 << 4 | STRUCT]) + _varint(count))


def many_columns(count: int) -> bytes:
    """Return a file without rows, with columns of one name."""
    columns = [{1: INT32_COLUMN, 3: 0, 4: b"x"}] * count
    footer = pack_struct({1: 1, 2: [{4: b"schema", 5: count}, *columns], 3: Long(0), 4: []})
    return with_footer(b"", footer)


def with_footer(pages: bytes, footer: bytes) -> bytes:
    return b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def pack_struct(fields: Mapping[int, Any]) -> bytes:
    """Return a struct of Thrift's compact protocol, from its values by field."""
    out, last = b"", 0
    for number, value in sorted(fields.items()):
        out += bytes([(number - last) << 4 | _kind(value)]) + _pack(value)
        last = number
    return out + b"\0"


def _kind(value: Any) -> int:
    kinds = {Long: I64, int: I32, bytes: BYTES, list: LIST, dict: STRUCT}
    return kinds[type(value)]


def _pack(value: Any) -> bytes:
    if isinstance(value, int):
        return _varint(value << 1 ^ value >> 63)
    if isinstance(value, bytes):
        return _varint(len(value)) + value
    if isinstance(value, dict):
        return pack_struct(value)
    kind = _kind(value[0]) if value else STRUCT
    return bytes([15 << 4 | kind]) + _varint(len(value)) + b"".join(map(_pack, value))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
