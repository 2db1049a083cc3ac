"""The .mocp file: a header and chunks. Knows no codec; payloads are opaque to it.

`docs/format.md` specifies every bit of it.
"""

from mocpack.container.file import FORMAT_VERSION, MAGIC, Packed, Reader, pack, unpack
from mocpack.container.head import Errors

__all__ = ["FORMAT_VERSION", "MAGIC", "Errors", "Packed", "Reader", "pack", "unpack"]
