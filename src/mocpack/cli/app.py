"""The table of commands, and the one place where errors become sentences and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import typer

from mocpack.cli import (
    bench,
    codecs,
    compare,
    compress,
    convert,
    decompress,
    demo,
    energy,
    info,
    tune,
    view,
)
from mocpack.cli.batch import INTERRUPTED
from mocpack.cli.files import describe_error, exit_code
from mocpack.cli.terminal import complain, settle_streams
from mocpack.errors import FormatError, TruncatedError

app = typer.Typer(
    name="mocpack",
    help="Pack motion capture: name an error in millimetres, get the smallest file that keeps it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    compress,
    decompress,
    info,
    compare,
    view,
    convert,
    energy,
    bench,
    tune,
    codecs,
    demo,
)


def _shielded(run: Callable[..., int]) -> Callable[..., int]:
    """Keep a file that ends too early from being taken for Ctrl-D, as click takes an EOFError."""

    @wraps(run)
    def shielded(*words: Any, **options: Any) -> int:
        try:
            return run(*words, **options)
        except TruncatedError as error:
            raise FormatError(str(error)) from error

    return shielded


for command in COMMANDS:
    app.command(name=command.__name__.rsplit(".", 1)[1])(_shielded(command.run))


def main() -> None:
    """Run the command line and leave with its exit code."""
    settle_streams()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk can still be complained about
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        # the reader of our output left; that is its right
        _leave(0)
    except Exception as error:
        sentence = _usage(error) or describe_error(error)
        if sentence is None:
            raise
        complain(sentence)
        code = exit_code(error)
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> NoReturn:
    """End the process now: a thread that Ctrl-C has left behind would else be waited for."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            # what could not be written is lost; Python would try, and complain, once more
            with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
                os.dup2(nowhere.fileno(), number)
    if code == INTERRUPTED:
        os._exit(code)
    sys.exit(code)


def _usage(error: Exception) -> str | None:
    """Return the sentence of a complaint about the words of the call, whichever click raised it."""
    message = getattr(error, "format_message", None)
    return f"{message()} (mocpack --help shows how)" if message else None
