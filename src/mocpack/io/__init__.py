"""Motion files of other programs: one table of readers and writers, chosen by content first."""

from mocpack.io.amc import skeletons_in
from mocpack.io.beside import check_below, files_beside, open_regular, read_beside
from mocpack.io.reading import (
    clip_names_in,
    clip_names_of,
    companions,
    contents,
    files_to_read,
    left_out,
    names_beside,
    read_bytes,
    read_file,
    robot_files,
    stream_contents,
)
from mocpack.io.table import extensions
from mocpack.io.writing import (
    files_to_write,
    holds_scenes,
    write_bytes,
    write_file,
    write_scene_bytes,
    written_dialect,
)

__all__ = [
    "check_below",
    "clip_names_in",
    "clip_names_of",
    "companions",
    "contents",
    "extensions",
    "files_beside",
    "files_to_read",
    "files_to_write",
    "holds_scenes",
    "left_out",
    "names_beside",
    "open_regular",
    "read_beside",
    "read_bytes",
    "read_file",
    "robot_files",
    "skeletons_in",
    "stream_contents",
    "write_bytes",
    "write_file",
    "write_scene_bytes",
    "written_dialect",
]
