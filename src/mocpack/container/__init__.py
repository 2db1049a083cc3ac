"""The .mocp file: a header and chunks. Knows no codec; payloads are opaque to it.

`docs/format.md` specifies every bit of it.
"""

from mocpack.container.chunks import FORMAT_VERSION, MAGIC, check_version
from mocpack.container.extras import Chunk, pack_extras, unpack_extras
from mocpack.container.file import Packed, Reader, pack, unpack
from mocpack.container.head import Errors
from mocpack.container.limit import DEFAULT_LIMIT, MemoryLimit, clip_bytes
from mocpack.container.scene import pack_scene, scene_parts
from mocpack.container.source import Openable, Source, source_of
from mocpack.container.track import TrackHead

__all__ = [
    "DEFAULT_LIMIT",
    "FORMAT_VERSION",
    "MAGIC",
    "Chunk",
    "Errors",
    "MemoryLimit",
    "Openable",
    "Packed",
    "Reader",
    "Source",
    "TrackHead",
    "check_version",
    "clip_bytes",
    "pack",
    "pack_extras",
    "pack_scene",
    "scene_parts",
    "source_of",
    "unpack",
    "unpack_extras",
]
