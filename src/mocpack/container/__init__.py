"""Write the .mocp file: a header and chunks. Payloads of codecs are opaque bytes.

The native core parses files, and `reader.py` turns the result into headers and take data.
`docs/format.md` specifies the format.
"""

from mocpack.container.archive import (
    ArchiveWriter,
    ClipSource,
    StoredClip,
    base_id,
    check_name,
    read_clip_file,
    read_stored_clips,
    to_stored_clip,
)
from mocpack.container.archive_index import (
    FILE,
    FOOTER_BYTES,
    ClipLocation,
    Index,
    Trailer,
    is_archive,
    read_footer,
    read_trailer,
)
from mocpack.container.archive_scan import ScannedClip, has_intact_chunks, scan, scan_table
from mocpack.container.chunks import ARCHIVE_MAGIC, FORMAT_VERSION, MAGIC, check_version, is_packed
from mocpack.container.file import FileContents, pack
from mocpack.container.head import Errors, JointErrors
from mocpack.container.limit import DEFAULT_LIMIT, MemoryLimit
from mocpack.container.reader import Reader, read_skeleton, scene_parts, unpack
from mocpack.container.scene import pack_scene
from mocpack.container.skel import pack_skeleton
from mocpack.container.take_chunks import Chunk, pack_take_data
from mocpack.container.track import TrackHead

__all__ = [
    "ARCHIVE_MAGIC",
    "DEFAULT_LIMIT",
    "FILE",
    "FOOTER_BYTES",
    "FORMAT_VERSION",
    "MAGIC",
    "ArchiveWriter",
    "Chunk",
    "ClipLocation",
    "ClipSource",
    "Errors",
    "FileContents",
    "Index",
    "JointErrors",
    "MemoryLimit",
    "Reader",
    "ScannedClip",
    "StoredClip",
    "TrackHead",
    "Trailer",
    "base_id",
    "check_name",
    "check_version",
    "has_intact_chunks",
    "is_archive",
    "is_packed",
    "pack",
    "pack_scene",
    "pack_skeleton",
    "pack_take_data",
    "read_clip_file",
    "read_footer",
    "read_skeleton",
    "read_stored_clips",
    "read_trailer",
    "scan",
    "scan_table",
    "scene_parts",
    "to_stored_clip",
    "unpack",
]
