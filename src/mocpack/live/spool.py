"""Spool files: packets on disk as they arrive, so a killed recorder loses nothing.

A spool is MAGIC, then records: size (u32), CRC-32 (u32), bytes. The first record is the hello, the
others are packets. Every record is written unbuffered. An incomplete record ends the spool.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mocpack.errors import CorruptionError, UsageError
from mocpack.live.hello import Hello

SUFFIX = ".spool"
MAGIC = b"mlr1"
MAX_RECORD_BYTES = 1 << 21
_RECORD = struct.Struct("<II")


class Spool:
    """Writes the packets of one stream to a new file.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    """

    def __init__(self, path: Path, hello: Hello) -> None:
        self.path = path
        self.packet_count = 0
        self._file = path.open("xb", buffering=0)
        lock(self._file)
        self._file.write(MAGIC)
        self._write(hello.to_bytes())

    def append(self, packet: bytes) -> None:
        """Write a packet."""
        self._write(packet)
        self.packet_count += 1

    def close(self) -> None:
        self._file.close()

    def _write(self, data: bytes) -> None:
        record = _RECORD.pack(len(data), zlib.crc32(data)) + data
        if self._file.write(record) != len(record):
            raise OSError(None, "incomplete write of a spool record", str(self.path))


class SpoolReader:
    """Reads a spool that no process writes to.

    Attributes
    ----------
    is_damaged : bool
        Whether `packets` ended at a damaged or incomplete record.
    """

    def __init__(self, path: Path) -> None:
        self.is_damaged = False
        self._file = path.open("rb")
        if not lock(self._file):
            self._file.close()
            raise UsageError(f"{path} is being written by another process")
        try:
            if self._file.read(len(MAGIC)) != MAGIC:
                raise CorruptionError(f"{path} is not a spool file: it must start with {MAGIC!r}")
            first = next(self.packets(), None)
            if first is None:
                raise CorruptionError(f"{path}: the spool file ends within its hello")
            self.hello = Hello.from_bytes(first)
        except BaseException:
            self._file.close()
            raise

    def packets(self) -> Iterator[bytes]:
        """Yield the packets up to the first incomplete or damaged record."""
        while head := self._file.read(_RECORD.size):
            size, check = _RECORD.unpack(head) if len(head) == _RECORD.size else (0, -1)
            data = self._file.read(size) if size <= MAX_RECORD_BYTES else b""
            if len(data) != size or zlib.crc32(data) != check:
                self.is_damaged = True
                return
            yield data

    def __enter__(self) -> SpoolReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def is_in_use(path: Path) -> bool:
    """Whether another process has the spool open."""
    with path.open("rb") as file:
        return not lock(file)


def lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; return False if another process has locked it."""
    try:
        import fcntl
    except ImportError:  # Windows needs no lock: it does not remove open files
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
