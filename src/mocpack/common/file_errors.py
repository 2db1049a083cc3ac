"""Add the file's path to `OSError`s of writing, which do not name it themselves."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@contextmanager
def add_path_to_errors(path: str | Path, *, keep: bool = False) -> Iterator[None]:
    """Set the file name of `OSError`s in this block to `path`.

    This replaces another file name, which is often a temporary one, unless `keep` is set.
    """
    try:
        yield
    except OSError as error:
        if keep and error.filename is not None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error


class NamedWriter(io.BufferedWriter):
    """A buffered stream to an open descriptor, whose errors name `path`.

    The names are added above the buffer: if Ctrl-C interrupted Python code below it, between the
    write and its return, the buffer would write the same bytes again.
    """

    def __init__(self, descriptor: int, path: str | Path, *, closefd: bool = True) -> None:
        super().__init__(io.FileIO(descriptor, "wb", closefd=closefd))
        self._path = path

    def write(self, data: ReadableBuffer) -> int:
        with add_path_to_errors(self._path):
            return super().write(data)

    def flush(self) -> None:
        with add_path_to_errors(self._path):
            super().flush()
