"""The .mocp file: a header and chunks. Knows no codec; payloads are opaque to it.

`docs/format.md` specifies every bit of it.
"""

from mocpack.container.archive import (
    ArchiveWriter,
    ClipSource,
    Stored,
    base_id,
    check_name,
    copied,
    restored,
    stored,
)
from mocpack.container.archive_index import (
    FOOTER_SIZE,
    Index,
    Place,
    Trailer,
    is_archive,
    parse_trailer,
    read_footer,
    read_trailer,
)
from mocpack.container.archive_scan import scan, scan_table
from mocpack.container.chunks import ARCHIVE_MAGIC, FORMAT_VERSION, MAGIC, check_version
from mocpack.container.extras import Chunk, pack_extras, unpack_extras
from mocpack.container.file import Packed, Reader, pack, unpack
from mocpack.container.head import Errors
from mocpack.container.limit import DEFAULT_LIMIT, MemoryLimit
from mocpack.container.scene import pack_scene, scene_parts
from mocpack.container.source import Openable, Source, source_of
from mocpack.container.track import TrackHead

__all__ = [
    "ARCHIVE_MAGIC",
    "DEFAULT_LIMIT",
    "FOOTER_SIZE",
    "FORMAT_VERSION",
    "MAGIC",
    "ArchiveWriter",
    "Chunk",
    "ClipSource",
    "Errors",
    "Index",
    "MemoryLimit",
    "Openable",
    "Packed",
    "Place",
    "Reader",
    "Source",
    "Stored",
    "TrackHead",
    "Trailer",
    "base_id",
    "check_name",
    "check_version",
    "copied",
    "is_archive",
    "pack",
    "pack_extras",
    "pack_scene",
    "parse_trailer",
    "read_footer",
    "read_trailer",
    "restored",
    "scan",
    "scan_table",
    "scene_parts",
    "source_of",
    "stored",
    "unpack",
    "unpack_extras",
]
