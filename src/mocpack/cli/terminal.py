"""Printing, and the one place that makes names from files safe to print.

Text is never interpreted as markup. Control characters are printed escaped, so that a file name
cannot control the terminal. JSON keeps every name unchanged, because its own escapes are safe.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from io import TextIOWrapper
from typing import Any, BinaryIO, TextIO

from rich.console import Console
from rich.text import Text

from mocpack.common.file_errors import NamedWriter

PIPE_WIDTH = 10_000  # characters per line if the output is not a terminal, so nothing wraps
STREAMS = ("stdin", "stdout", "stderr")
EXIT_INTERRUPTED = 130  # exit code after Ctrl-C; `app.main` changes it after SIGTERM

_quiet = ContextVar("quiet", default=False)


@contextmanager
def set_quiet(quiet: bool) -> Iterator[None]:
    """Print only errors and JSON within this block, if `quiet`.

    A nested block cannot switch the output on again.
    """
    token = _quiet.set(quiet or _quiet.get())
    try:
        yield
    finally:
        _quiet.reset(token)


def print_json(rows: Sequence[Mapping[str, object]], *, to_stderr: bool = False) -> None:
    """Print the output of ``--json``: a list of objects that start with ``ok`` and ``error``.

    The text is pure ASCII, so every name survives any terminal encoding.
    """
    shaped = [{"ok": True, "error": None, **row} for row in rows]
    print(json.dumps(shaped, indent=1), file=sys.stderr if to_stderr else sys.stdout)


def print_text(text: str) -> None:
    """Print lines that fit no terminal's width or are too many for rich, unless quiet."""
    if not _quiet.get():
        print(text)


def print_error(message: str) -> None:
    """Print an error message to standard error, on one line."""
    print(f"mocpack: {printable(message, keep='')}", file=sys.stderr)


def print_note(message: str) -> None:
    """Print a message that is not an error to standard error, unless --quiet is given."""
    stderr().print(printable(message), markup=False, highlight=False, soft_wrap=True)


def printable(text: str, keep: str = "\n") -> str:
    r"""Return `text` with every unprintable character escaped, except those in `keep`.

    >>> print(printable("walk\x1b[31m.bvh\u202e, half a character: \ud800"))
    walk\x1b[31m.bvh\u202e, half a character: \ud800
    """
    if text.isprintable():
        return text
    return "".join(
        c if c in keep or c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def prepare_streams() -> None:
    """Redirect closed standard streams to the null device, and escape unencodable characters.

    Otherwise the next file that is opened would get the descriptor of a closed stream, and prints
    to standard output would go into that file.
    """
    for number, name in enumerate(STREAMS):
        try:
            os.fstat(number)
        except OSError:
            devnull = os.open(os.devnull, os.O_RDWR)
            if devnull != number:
                os.dup2(devnull, number)
                os.close(devnull)
        if getattr(sys, name) is None:
            setattr(sys, name, _open_devnull("r" if name == "stdin" else "w"))
    if isinstance(sys.stdout, TextIOWrapper):
        if sys.stdout is sys.__stdout__:
            sys.stdout = _buffer_stdout(sys.stdout)
        sys.stdout.reconfigure(errors="backslashreplace")


def stdin_bytes() -> BinaryIO:
    """Return standard input as bytes. Raise `OSError` if it was closed at the start."""
    return _open_stream(sys.__stdin__, sys.stdin, "standard input")


def stdout_bytes() -> BinaryIO:
    """Return standard output as bytes. Raise `OSError` if it was closed at the start."""
    return _open_stream(sys.__stdout__, sys.stdout, "standard output")


class _Console(Console):
    """A console that makes every string printable, including table cells and titles."""

    def render_str(self, text: str, **settings: Any) -> Text:
        return super().render_str(printable(text), **settings)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would exit with 1


def _make_console(*, stderr: bool) -> Console:
    """Return a console for standard output or standard error."""
    console = _Console(
        stderr=stderr,
        quiet=_quiet.get(),
        highlight=False,
        soft_wrap=True,
        markup=False,
        emoji=False,
    )
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


stdout = partial(_make_console, stderr=False)
stderr = partial(_make_console, stderr=True)


def _buffer_stdout(stream: TextIOWrapper) -> TextIOWrapper:
    """Return standard output with a buffer, and with errors that name the stream.

    With PYTHONUNBUFFERED, Python uses no buffer. A full disk then truncates a write without an
    error.
    """
    stream.flush()
    buffer = NamedWriter(stream.fileno(), "standard output", closefd=False)
    by_line = stream.line_buffering or stream.write_through
    return TextIOWrapper(buffer, encoding=stream.encoding, line_buffering=by_line)


def _open_devnull(mode: str) -> TextIO:
    return open(os.devnull, mode, encoding="utf-8")  # type: ignore[return-value]  # noqa: PTH123


def _open_stream(original: TextIO | None, stream: TextIO, name: str) -> BinaryIO:
    # `prepare_streams` replaces a closed `sys.stdout`, but `sys.__stdout__` stays None.
    if original is None:
        raise OSError(errno.EBADF, "is closed", name)
    return stream.buffer
