"""The .mocp file: a header and chunks. Knows no codec; payloads are opaque to it.

Writing is here; the core's reader reads, and `reader.py` makes headers and takes of what it says.

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
    read_footer,
    read_trailer,
)
from mocpack.container.archive_scan import scan, scan_table
from mocpack.container.chunks import ARCHIVE_MAGIC, FORMAT_VERSION, MAGIC, check_version
from mocpack.container.extras import Chunk, pack_extras
from mocpack.container.file import Packed, pack
from mocpack.container.head import Errors
from mocpack.container.limit import DEFAULT_LIMIT, MemoryLimit
from mocpack.container.reader import Reader, read_skeleton, scene_parts, unpack
from mocpack.container.scene import pack_scene
from mocpack.container.skel import pack_skeleton
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
    "Packed",
    "Place",
    "Reader",
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
    "pack_skeleton",
    "read_footer",
    "read_skeleton",
    "read_trailer",
    "restored",
    "scan",
    "scan_table",
    "scene_parts",
    "stored",
    "unpack",
]
