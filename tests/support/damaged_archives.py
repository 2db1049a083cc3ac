"""Archives with a wrong index and valid checksums, which every reader must reject."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np

from mocpack.coding.fields import deflate, inflate
from mocpack.common.arrays import I64
from mocpack.common.source import BytesSource
from mocpack.container.archive_index import (
    COLUMNS,
    FOOTER_BYTES,
    pack_index,
    read_footer,
    read_trailer,
)
from mocpack.container.chunks import pack_chunk, read_chunk_head

EXTREMES = (0, 1, 127, 128, 255)
MOST = 1 << 24  # bytes of an index


def damaged_indexes(data: bytes, seed: int, count: int) -> list[bytes]:
    """Return archives that are `data` but for a few bytes of their index, or its end.

    Parameters
    ----------
    data : bytes
        A sound archive.
    seed, count : int
        Of the changes, and how many archives to make.
    """
    chance = np.random.default_rng(seed)
    start, index = _index_of(data)
    made = []
    for number in range(count):
        broken = bytearray(index)
        for _ in range(int(chance.integers(1, 4))):
            at = int(chance.integers(len(broken)))
            wild = int(chance.integers(256))
            broken[at] = wild if chance.random() < 0.6 else int(chance.choice(EXTREMES))
        if number % 10 == 0:
            del broken[int(chance.integers(len(broken))) :]
        made.append(with_index(data, start, bytes(broken)))
    return made


def with_index(data: bytes, start: int, index: bytes) -> bytes:
    """Return an archive with another index, packed, and footer and checksums that fit.

    The trailer begins at `start`; a catalogue is left out.
    """
    return _with_footer(data[:start] + pack_chunk(b"INDX", deflate(index)), start)


def with_version(data: bytes, version: int) -> bytes:
    """Return an archive of another version."""
    start, _ = read_footer(data[-FOOTER_BYTES:])
    return _with_footer(data[:4] + bytes([version]) + data[5:-FOOTER_BYTES], start, version)


def with_chunk(data: bytes, tag: bytes) -> bytes:
    """Return an archive whose trailer begins with another chunk."""
    start, _ = read_footer(data[-FOOTER_BYTES:])
    return _with_footer(data[:start] + pack_chunk(tag, b"x") + data[start:-FOOTER_BYTES], start)


def _with_footer(data: bytes, start: int, version: int = 1) -> bytes:
    said = start.to_bytes(8, "little") + (len(data) + FOOTER_BYTES).to_bytes(8, "little")
    said += bytes([version])
    return data + said + zlib.crc32(said).to_bytes(4, "little") + b"SOM"


def with_kind(data: bytes, clip: int, kind: int) -> bytes:
    """Return an archive in which one clip is of another kind."""
    columns = read_trailer(BytesSource(data)).index.columns.copy()
    columns[clip, COLUMNS.index("kind")] = kind
    return with_columns(data, columns)


def with_columns(data: bytes, columns: I64) -> bytes:
    """Return an archive with other columns in its index."""
    trailer = read_trailer(BytesSource(data))
    index = pack_index(replace(trailer.index, columns=columns))
    return with_index(data, trailer.start, inflate(index, MOST, what="index"))


def _index_of(data: bytes) -> tuple[int, bytes]:
    """Return where the trailer begins, and the index as it is when inflated."""
    start, _ = read_footer(data[-FOOTER_BYTES:])
    source, at = BytesSource(data), start
    while True:
        tag, body, length, _ = read_chunk_head(source, at)
        if tag == "INDX":
            return start, inflate(source.read(body, length), MOST, what="index")
        at = body + length
