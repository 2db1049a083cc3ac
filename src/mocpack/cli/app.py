"""The table of commands, and the one place where errors become sentences and exit codes.

A command's module is imported when that command runs: none waits for what others need.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

import mocpack
from mocpack.cli.terminal import INTERRUPTED, complain, print_json, quietness, settle_streams
from mocpack.errors import FormatError, TruncatedError

# each command and the first line of its help; tests/cli/test_app.py holds the modules to it
COMMANDS = {
    "compress": "Pack motion files; prints ratio, errors and bits a frame.",
    "decompress": "Unpack .mocp files to any format that can be written, by extension.",
    "info": "Show skeleton, frames, codec, bytes by part, declared and measured error.",
    "compare": "Print every metric, the worst joints and frames; exit 1 if a file breaks its own "
    "bound.",
    "view": "Play a packed motion in the browser beside its original, bones coloured by error.",
    "convert": "Read a motion file of one kind and write it as another.",
    "scene": "Pack several motions on one clock into one file: two actors and a prop, a C3D's "
    "subjects.",
    "pack": "Pack motion files into one archive with a catalogue of its clips.",
    "ls": "List the clips of an archive, by any condition on its catalogue.",
    "cat": "Write a clip of an archive to standard output, the very bytes of its .mocp file.",
    "extract": "Take clips out of an archive, each the very .mocp file that was packed.",
    "verify": "Check every clip of an archive, and what its trailer says of them.",
    "merge": "Make one archive of several; clips are copied as they are.",
    "repair": "Save every whole clip of a cut or damaged archive; exit 2 if one was not whole.",
    "export": "Write the clips of an archive for other programs: npz, any format, Parquet, Lance, "
    "LeRobot.",
    "serve": "Relay live motion: performers send, an audience watches, in browsers too; Ctrl-C "
    "ends.",
    "send": "Send motion to a stage as it happens, each frame within an error.",
    "receive": "Receive a stage; the performers' end, or Ctrl-C, finishes the file.",
    "edit": "Bring a joint to a place at a time: --at 1.5 --joint LeftHand --to 0.4,1.2,0.3.",
    "energy": "Show the energy of receiving and decoding a file.",
    "bench": "Measure codecs on clips: sizes, every metric, speed, a report; or reproduce a paper.",
    "tune": "Search a codec's parameters: least error within a size, or least size within an "
    "error.",
    "formats": "List the motion formats that are read and written.",
    "codecs": "List the installed codecs, what each does, its parameters and their defaults.",
    "demo": "Compress, decompress and compare the bundled clip; a table and a picture.",
}
EXIT_CODES = "Exit codes: 0 good, 1 a bound not met, 2 bad input, usage or I/O, 130 interrupted."
GUIDE = """\
mocpack packs motion capture: name an error in millimetres, get the smallest file that keeps it.

  mocpack compress walk.bvh --max-error 1mm   makes walk.mocp, checked by the real decoder
  mocpack compress takes/ -o packed/          every motion file of a folder
  mocpack info walk.mocp                      what is in it, and how far off it is
  mocpack compare walk.bvh walk.mocp          the same in every metric, joint by joint
  mocpack decompress walk.mocp -o back.bvh    or any other format that can be written
  mocpack view walk.mocp walk.bvh             plays both in the browser
  mocpack demo                                all of this on a bundled clip

mocpack --help lists every command, mocpack COMMAND --help its options."""
HELP = {"help_option_names": ["-h", "--help"]}


class LazyCommand(TyperCommand):
    """A command that knows its name and first line, and imports its module to be called."""

    def make_context(self, *words: Any, **options: Any) -> Any:
        with _stoppable():
            return load(str(self.name)).make_context(*words, **options)


def load(name: str) -> Any:
    """Import a command's module and return the command."""
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=HELP)
    module = import_module(f"mocpack.cli.{name}")
    one.command(name=name, epilog=EXIT_CODES)(_shielded(module.run))
    return typer.main.get_command(one)


def build() -> Any:
    """Return the group of all commands."""
    app = typer.Typer(
        name="mocpack",
        help="Pack motion capture: name an error in millimetres, get the smallest file that "
        "keeps it.",
        epilog=EXIT_CODES,
        pretty_exceptions_enable=False,
        context_settings=HELP,
    )
    app.callback(invoke_without_command=True)(_begin)
    group: Any = typer.main.get_command(app)
    for name, about in COMMANDS.items():
        group.add_command(LazyCommand(name, help=about, rich_markup_mode=None))
    return group


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"mocpack {mocpack.__version__}")
        raise typer.Exit


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but complaints, and JSON if asked.")
]


def _begin(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    context.with_resource(quietness(quiet))
    if context.invoked_subcommand is None:
        print(GUIDE)


def _shielded(run: Callable[..., int]) -> Callable[..., int]:
    """Give a command what all have: ``--quiet``, and a failure in JSON where it speaks JSON.

    It also keeps a file that ends too early from being taken for Ctrl-D, as click takes an
    EOFError.
    """
    from mocpack.cli.files import describe_error

    @wraps(run)
    def shielded(*words: Any, quiet: bool, **options: Any) -> int:
        try:
            with quietness(quiet), _stoppable():
                return run(*words, **options)
        except Exception as error:
            sentence = describe_error(error)
            if sentence is not None and options.get("as_json"):
                print_json([{"ok": False, "error": sentence}])
            if isinstance(error, TruncatedError):
                raise FormatError(str(error)) from error
            raise

    signature = inspect.signature(run, eval_str=True)
    option = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet
    )
    parameters = [*signature.parameters.values(), option]
    shielded.__dict__["__signature__"] = signature.replace(parameters=parameters)
    shielded.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": int}
    return shielded


@contextmanager
def _stoppable() -> Iterator[None]:
    """Pass Ctrl-C on as typer's own error: of the other, typer makes an exit code without words."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Abort from None


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    settle_streams()
    try:
        code = build()(words, prog_name="mocpack", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk can still be complained about
    except (typer.Abort, KeyboardInterrupt):  # commands that tell more return the code
        complain("stopped by Ctrl-C")
        code = INTERRUPTED
    except BrokenPipeError:
        # the reader of our output left; that is its right
        _leave(0)
    except Exception as error:
        from mocpack.cli.files import describe_error, exit_code

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
