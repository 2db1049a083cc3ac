"""Read and write motion files of other programs, recognized by content first."""

from mocpack.io.amc import list_skeletons
from mocpack.io.external_files import (
    check_inside_folder,
    external_file_reader,
    open_regular_file,
    read_external_file,
)
from mocpack.io.reading import (
    files_to_read,
    find_companions,
    list_robot_files,
    read_file_bytes,
    read_stream,
)
from mocpack.io.table import supported_extensions
from mocpack.io.writing import (
    dialect_extensions,
    files_to_write,
    supports_scenes,
    write_bytes,
    write_file,
    write_scene_bytes,
)

__all__ = [
    "check_inside_folder",
    "dialect_extensions",
    "external_file_reader",
    "files_to_read",
    "files_to_write",
    "find_companions",
    "list_robot_files",
    "list_skeletons",
    "open_regular_file",
    "read_external_file",
    "read_file_bytes",
    "read_stream",
    "supported_extensions",
    "supports_scenes",
    "write_bytes",
    "write_file",
    "write_scene_bytes",
]
