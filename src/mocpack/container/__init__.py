"""The .mocp file: a header and chunks. Knows no codec; payloads are opaque to it.

`docs/format.md` specifies every bit of it.
"""

from mocpack.container.extras import Chunk, pack_extras, unpack_extras
from mocpack.container.file import FORMAT_VERSION, MAGIC, Packed, Reader, pack, unpack
from mocpack.container.head import Errors
from mocpack.container.track import TrackHead

__all__ = [
    "FORMAT_VERSION",
    "MAGIC",
    "Chunk",
    "Errors",
    "Packed",
    "Reader",
    "TrackHead",
    "pack",
    "pack_extras",
    "unpack",
    "unpack_extras",
]
