"""The .mocp file: a header and chunks. Knows no codec; payloads are opaque to it.

`docs/format.md` specifies every bit of it.
"""

from mocpack.container.file import (
    FORMAT_VERSION,
    MAGIC,
    Packed,
    Reader,
    check_version,
    pack,
    unpack,
)
from mocpack.container.head import Errors
from mocpack.container.limit import DEFAULT_LIMIT, MemoryLimit, clip_bytes
from mocpack.container.source import Openable, Source, source_of

__all__ = [
    "DEFAULT_LIMIT",
    "FORMAT_VERSION",
    "MAGIC",
    "Errors",
    "MemoryLimit",
    "Openable",
    "Packed",
    "Reader",
    "Source",
    "check_version",
    "clip_bytes",
    "pack",
    "source_of",
    "unpack",
]
