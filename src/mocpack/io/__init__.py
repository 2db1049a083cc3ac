"""Motion files of other programs: one table of readers and writers, chosen by content first."""

from mocpack.io.table import (
    clip_names_in,
    clip_names_of,
    extensions,
    files_to_write,
    read_bytes,
    read_file,
    write_bytes,
    write_file,
)

__all__ = [
    "clip_names_in",
    "clip_names_of",
    "extensions",
    "files_to_write",
    "read_bytes",
    "read_file",
    "write_bytes",
    "write_file",
]
