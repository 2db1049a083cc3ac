"""The table of commands, and the one place where errors become sentences and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from mocpack.cli import (
    bench,
    codecs,
    compare,
    compress,
    convert,
    decompress,
    demo,
    edit,
    energy,
    info,
    tune,
    view,
)
from mocpack.cli.files import describe_error, exit_code
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
    edit,
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
    try:
        code = app(standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        # the reader of our output left; that is its right
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        sentence = _usage(error) or describe_error(error)
        if sentence is None:
            raise
        print(f"mocpack: {sentence}", file=sys.stderr)
        sys.exit(exit_code(error))
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: Exception) -> str | None:
    """Return the sentence of a complaint about the words of the call, whichever click raised it."""
    message = getattr(error, "format_message", None)
    return f"{message()} (mocpack --help shows how)" if message else None
