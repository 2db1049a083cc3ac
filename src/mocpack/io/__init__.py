"""Motion files of other programs: one table of readers and writers, chosen by content first."""

from mocpack.io.table import (
    contents,
    extensions,
    files_to_read,
    files_to_write,
    read_bytes,
    read_file,
    stream_contents,
    write_bytes,
    write_file,
)

__all__ = [
    "contents",
    "extensions",
    "files_to_read",
    "files_to_write",
    "read_bytes",
    "read_file",
    "stream_contents",
    "write_bytes",
    "write_file",
]
