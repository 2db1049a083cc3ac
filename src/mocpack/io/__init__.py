"""Motion files of other programs: one table of readers and writers, chosen by content first."""

from mocpack.io.table import extensions, read_bytes, read_file, write_bytes, write_file

__all__ = ["extensions", "read_bytes", "read_file", "write_bytes", "write_file"]
