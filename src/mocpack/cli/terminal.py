"""What is printed, and the one place where names from files are made safe to print.

No text is markup here, and characters that a terminal would obey are shown escaped. JSON keeps
every name as it is: its own escapes are safe.
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

from mocpack.file_errors import NamedWriter

WIDE = 10_000  # letters in a line of what is no terminal: nothing is cut there
STREAMS = ("stdin", "stdout", "stderr")
INTERRUPTED = 130  # the exit code of what Ctrl-C ended

_quiet = ContextVar("quiet", default=False)


@contextmanager
def quietness(quiet: bool) -> Iterator[None]:
    """Print nothing for people within this block, if asked; complaints and JSON stay.

    What is quiet already stays so.
    """
    token = _quiet.set(quiet or _quiet.get())
    try:
        yield
    finally:
        _quiet.reset(token)


def print_json(rows: Sequence[Mapping[str, Any]], *, to_stderr: bool = False) -> None:
    """Print the one shape of ``--json``: a list, with ``ok`` and ``error`` first in each.

    Pure ASCII, so that every name arrives whatever the terminal is.
    """
    shaped = [{"ok": True, "error": None, **row} for row in rows]
    print(json.dumps(shaped, indent=1), file=sys.stderr if to_stderr else sys.stdout)


def complain(sentence: str) -> None:
    """Print a sentence about what went wrong, on one line."""
    print(f"mocpack: {printable(sentence, keep='')}", file=sys.stderr)


def printable(text: str, keep: str = "\n") -> str:
    r"""Return `text` with every character that is no plain print, but those of `keep`, escaped.

    >>> print(printable("walk\x1b[31m.bvh\u202e, half a character: \ud800"))
    walk\x1b[31m.bvh\u202e, half a character: \ud800
    """
    if text.isprintable():
        return text
    return "".join(
        c if c in keep or c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def settle_streams() -> None:
    """Make standard streams that were closed lead nowhere, and let no character stop the others.

    A closed one's number would else go to the next file that is opened, and be written to by
    whoever believes that it is standard output.
    """
    for number, name in enumerate(STREAMS):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere("r" if name == "stdin" else "w"))
    if isinstance(sys.stdout, TextIOWrapper):
        if sys.stdout is sys.__stdout__:
            sys.stdout = _named_stdout(sys.stdout)
        sys.stdout.reconfigure(errors="backslashreplace")


def stdin_bytes() -> BinaryIO:
    """Return standard input as bytes; one that was closed is an error and not an empty file."""
    return _open_stream(sys.__stdin__, sys.stdin, "standard input")


def stdout_bytes() -> BinaryIO:
    """Return standard output as bytes; one that was closed is an error: data would be lost."""
    return _open_stream(sys.__stdout__, sys.stdout, "standard output")


class _Console(Console):
    """A console that makes every string printable, wherever it stands: in cells and titles too."""

    def render_str(self, text: str, **settings: Any) -> Text:
        return super().render_str(printable(text), **settings)


def _console(*, stderr: bool) -> Console:
    """Return the console of standard output, or of standard error."""
    console = _Console(
        stderr=stderr,
        quiet=_quiet.get(),
        highlight=False,
        soft_wrap=True,
        markup=False,
        emoji=False,
    )
    if not console.is_terminal:
        console.width = WIDE
    return console


stdout = partial(_console, stderr=False)
stderr = partial(_console, stderr=True)


def _named_stdout(stream: TextIOWrapper) -> TextIOWrapper:
    """Return standard output with a buffer, and with errors that name it.

    Python gives it no buffer under PYTHONUNBUFFERED. A disk that becomes full then takes a part
    of what is written, without an error.
    """
    stream.flush()
    buffer = NamedWriter(stream.fileno(), "standard output", closefd=False)
    by_line = stream.line_buffering or stream.write_through
    return TextIOWrapper(buffer, encoding=stream.encoding, line_buffering=by_line)


def _nowhere(mode: str) -> TextIO:
    return open(os.devnull, mode, encoding="utf-8")  # type: ignore[return-value]  # noqa: PTH123


def _open_stream(first: TextIO | None, stream: TextIO, name: str) -> BinaryIO:
    # `settle_streams` replaces a stream that was closed from the start; Python keeps None here
    if first is None:
        raise OSError(errno.EBADF, "is closed", name)
    return stream.buffer
