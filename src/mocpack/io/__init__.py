"""Motion files of other programs: one table of readers and writers, chosen by content first."""

from mocpack.io.table import (
    clip_names_in,
    clip_names_of,
    contents,
    extensions,
    files_beside,
    files_to_read,
    files_to_write,
    holds_scenes,
    left_out,
    read_bytes,
    read_file,
    stream_contents,
    write_bytes,
    write_file,
    write_scene_bytes,
    written_dialect,
)

__all__ = [
    "clip_names_in",
    "clip_names_of",
    "contents",
    "extensions",
    "files_beside",
    "files_to_read",
    "files_to_write",
    "holds_scenes",
    "left_out",
    "read_bytes",
    "read_file",
    "stream_contents",
    "write_bytes",
    "write_file",
    "write_scene_bytes",
    "written_dialect",
]
