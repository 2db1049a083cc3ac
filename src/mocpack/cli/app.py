"""The table of commands, and the one place that turns errors into messages and exit codes.

A command's module is imported only when that command runs, so no command pays for the imports of
another. The command ``corpus pack`` of the group ``corpus`` is the module ``corpus/pack.py``. Parts
that plug in keep their commands themselves.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import partial, wraps
from inspect import Parameter as FunctionParameter
from typing import TYPE_CHECKING, Annotated, NoReturn, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

import mocpack
from mocpack.cli.terminal import (
    EXIT_INTERRUPTED,
    prepare_streams,
    print_error,
    print_json,
    set_quiet,
)
from mocpack.common.optional_packages import load_part
from mocpack.common.termination import signal_exit_code, unwind_when_terminated
from mocpack.errors import FormatError, TruncatedError

if TYPE_CHECKING:
    from typer._click.core import Command as ClickCommand
    from typer._click.core import Context, Parameter

# Groups of commands. The commands of a group are in COMMANDS, as "GROUP COMMAND".
GROUPS = {
    "corpus": "Pack many clips into one archive, and list, extract, verify or export them.",
    "cluster": "Pack one archive on many machines: write a plan, pack shards, join them.",
    "live": "Send, relay and record motion over a network in real time.",
}
# Each command and the first line of its help, in the order of `mocpack --help`.
# tests/cli/test_app.py compares these lines with the docstrings of the modules.
COMMANDS = {
    "compress": "Compress motion files to .mocp; prints ratio, errors and bits per frame.",
    "decompress": "Decompress .mocp files to BVH, glTF, USD, C3D or another format.",
    "info": "Show the skeleton, frames, codec, sizes and errors of motion files.",
    "compare": "Compare two motions; prints every metric, the worst joints and the worst frames.",
    "view": "Play a compressed motion in the browser with its original; bones show the error.",
    "convert": "Convert a motion file to another format.",
    "demo": "Compress and compare a bundled clip; prints a table and draws a picture.",
    "formats": "List the motion formats that mocpack reads and writes.",
    "codecs": "List the codecs with their parameters and defaults.",
    "corpus pack": "Pack motion files into one archive with a catalog of its clips.",
    "corpus ls": "List the clips of an archive, or those that match a condition.",
    "corpus cat": "Write one clip of an archive to standard output as a .mocp file.",
    "corpus extract": "Extract clips of an archive to .mocp files.",
    "corpus verify": "Verify the checksums of every clip of an archive; exits with 2 if one fails.",
    "corpus merge": "Merge several archives into one without re-encoding their clips.",
    "corpus repair": "Save the intact clips of a damaged archive; exits with 2 if any may be lost.",
    "corpus export": "Export the clips of an archive to files, Parquet, Lance or LeRobot.",
    "cluster plan": "Write a plan: which files to pack, their hashes, and how to pack them.",
    "cluster pack": "Pack one shard of a plan; other machines can pack the other shards.",
    "cluster status": "Show how much of a plan is packed, and the estimated time left.",
    "cluster join": "Join the packed shards of a plan into the archive.",
    "live serve": "Run a relay that passes live motion from performers to viewers and browsers.",
    "live send": "Send a motion file or a live stream to a relay.",
    "live receive": "Record a live session to a file, or pass it on to another program.",
    "bench": "Measure codecs on clips and write a report, or reproduce a paper.",
    "tune": "Search a codec's parameters for the lowest error or the smallest file.",
    "edit": "Move a joint to a position at a time; prints what else moved.",
    "scene": "Compress several motions on one clock into one .mocp file.",
}
# Commands that `mocpack --help` lists last, after the groups.
MORE_COMMANDS = ("bench", "tune", "edit", "scene")
# Commands and groups of parts that plug in; an installation may lack them.
PLUGGED_IN = {
    "live": "mocpack.live.commands",
    "bench": "mocpack.bench.command",
    "view": "mocpack.viewing.command",
}
EXIT_CODES = (
    "Exit codes: 0 success, 1 an error bound was not met, 2 bad input, usage or I/O, 130 Ctrl-C, "
    "143 SIGTERM."
)
ABOUT = (
    "Compress motion capture: name a maximum error in millimeters, get the smallest file that "
    "keeps it."
)
GUIDE = f"""\
{ABOUT}

  mocpack compress walk.bvh --max-error 1mm   writes walk.mocp and verifies it
  mocpack compress takes/ -o packed/          compresses every motion file of a folder
  mocpack info walk.mocp                      shows what the file contains and its errors
  mocpack compare walk.bvh walk.mocp          prints every metric, per joint and per frame
  mocpack decompress walk.mocp -o back.bvh    writes BVH or another format
  mocpack view walk.mocp walk.bvh             plays both motions in the browser
  mocpack demo                                runs all of this on a bundled clip

mocpack --help lists all commands, mocpack COMMAND --help lists the options of one."""
CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}
# Old names of options, which still work but are not listed, by command; "" stands for all commands.
OLD_OPTIONS = {
    "": {"jobs": "workers"},
    "corpus export": {"as": "to"},
    "edit": {"to": "position"},
    "live send": {"to": "url"},
}


class Command(TyperCommand):
    """A command whose help shows types only for options that take a value."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        return _simplify_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group that suggests commands of other groups for an unknown command."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        return _simplify_types(super().get_params(ctx))

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, ClickCommand | None, list[str]]:
        word = args[0]
        if not ctx.resilient_parsing and word not in self.commands and not word.startswith("-"):
            close = " or ".join(f"'mocpack {words}'" for words in suggest_commands(word))
            ctx.fail(f"No such command {word!r}." + (f" Did you mean {close}?" if close else ""))
        return super().resolve_command(ctx, args)


class LazyCommand(Command):
    """A command with a name and a help line; it imports its module when it is called."""

    def __init__(self, words: str) -> None:
        super().__init__(
            _last_word(words),
            help=COMMANDS[words],
            rich_markup_mode=None,
            rich_help_panel=_help_panel(words),
        )
        self._words = words

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: Context | None = None,
        **settings: object,
    ) -> Context:
        with _convert_ctrl_c():
            return load(self._words).make_context(info_name, args, parent, **settings)


def suggest_commands(word: str) -> list[str]:
    """Return the commands, with their groups, whose names are close to `word`."""
    last = {_last_word(words) for words in COMMANDS}
    close = [word] if word in last else get_close_matches(word, [*last, *GROUPS])
    return [words for words in [*COMMANDS, *GROUPS] if _last_word(words) in close]


def _simplify_types(parameters: list[Parameter]) -> list[Parameter]:
    """Make newer typer show no type for flags and arguments, and plain types for options."""
    for one in parameters:
        if getattr(one, "is_flag", False) or one.param_type_name == "argument":
            one.__dict__["display_type_rich"] = lambda ctx: None
        elif isinstance(one, TyperOption) and hasattr(TyperOption, "display_type_rich"):
            one.__dict__["display_type_rich"] = partial(_plain_type, one)
    return parameters


def _plain_type(option: TyperOption, ctx: Context) -> str | None:
    """Return ``<str>`` for an option of type ``list[str]``, ``<int>`` for one with a range."""
    shown = TyperOption.display_type_rich(option, ctx)
    return shown and re.sub(r"list\[(\w+)\]| range(?=>)", r"\1", shown)


def _help_panel(words: str) -> str:
    """Return the title of the help section that lists a command or a group."""
    if words in GROUPS:
        return "Command groups"
    return "More commands" if words in MORE_COMMANDS else "Commands"


def module_name(words: str) -> str:
    """Return the module of a command: ``mocpack.cli.cluster.plan`` for ``cluster plan``."""
    first, *rest = words.split()
    return ".".join([PLUGGED_IN.get(first, f"mocpack.cli.{first}"), *rest])


def load(words: str) -> ClickCommand:
    """Import a command's module and return the command."""
    new_names = OLD_OPTIONS[""] | OLD_OPTIONS.get(words, {})
    settings = {"token_normalize_func": lambda name: new_names.get(name, name)}
    one = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT_SETTINGS | settings,
    )
    module = load_part(module_name(words), purpose=f"mocpack {words}")
    one.command(name=_last_word(words), cls=Command, epilog=EXIT_CODES)(_wrap_command(module.run))
    return typer.main.get_command(one)


def build() -> TyperGroup:
    """Return the top-level group with all commands and groups."""
    root = _make_group("mocpack", ABOUT, _run_root)
    groups = {"": root}
    for words in COMMANDS:
        name, has_group, _ = words.partition(" ")
        if has_group and name not in groups:
            groups[name] = _make_group(name, GROUPS[name], _show_help, add_completion=False)
            root.add_command(groups[name])
        groups[name if has_group else ""].add_command(LazyCommand(words))
    return root


def _make_group(
    name: str, about: str, begin: Callable[..., None], *, add_completion: bool = True
) -> TyperGroup:
    """Return an empty group; `begin` runs before its command, or alone if none is given."""
    group = typer.Typer(
        name=name,
        cls=Group,
        help=about,
        epilog=EXIT_CODES,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT_SETTINGS,
        add_completion=add_completion,
    )
    group.callback(invoke_without_command=True)(begin)
    command = typer.main.get_command(group)
    assert isinstance(command, TyperGroup)
    command.rich_help_panel = _help_panel(name)
    return command


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _last_word(words: str) -> str:
    return words.rpartition(" ")[2]


def _print_version(requested: bool) -> None:
    if requested:
        print(f"mocpack {mocpack.__version__}")
        raise typer.Exit


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors only, and JSON with --json.")
]


def _run_root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    context.with_resource(set_quiet(quiet))
    if context.invoked_subcommand is None:
        print(GUIDE)


def _wrap_command(run: Callable[..., int]) -> Callable[..., int]:
    """Add what all commands share: ``--quiet``, and errors as JSON with ``--json``.

    A `TruncatedError` becomes a `FormatError`, because click mistakes an EOFError for Ctrl-D.
    """
    from mocpack.cli.files import describe_error

    signature = inspect.signature(run, eval_str=True)
    groups: dict[str, tuple[Callable[..., object], list[str]]] = {}
    parameters: list[FunctionParameter] = []
    for name, one in signature.parameters.items():
        own = _list_options(one)
        parameters += own
        if own != [one]:
            groups[name] = one.annotation, [option.name for option in own]

    @wraps(run)
    def wrapped(*words: object, quiet: bool, **options: object) -> int:
        for name, (group, own) in groups.items():
            options[name] = group(**{option: options.pop(option) for option in own})
        try:
            with set_quiet(quiet), _convert_ctrl_c():
                return run(*words, **options)
        except BrokenPipeError:
            # The reader of the output closed the pipe, for example `head`. This is not an error,
            # but click would exit with 1.
            return 0
        except Exception as error:
            message = describe_error(error)
            if message is not None and options.get("as_json"):
                print_json([{"ok": False, "error": message}])
            if isinstance(error, TruncatedError):
                raise FormatError(str(error)) from error
            raise

    kind = FunctionParameter.KEYWORD_ONLY
    parameters.append(FunctionParameter("quiet", kind, default=False, annotation=Quiet))
    wrapped.__dict__["__signature__"] = signature.replace(parameters=parameters)
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": int}
    return wrapped


def _list_options(parameter: FunctionParameter) -> list[FunctionParameter]:
    """Return a parameter of a command; one whose type is a dataclass becomes one per field."""
    group = parameter.annotation
    if not is_dataclass(group):
        return [parameter]
    types = get_type_hints(group, include_extras=True)
    return [
        parameter.replace(name=one.name, default=one.default, annotation=types[one.name])
        for one in fields(group)
    ]


@contextmanager
def _convert_ctrl_c() -> Iterator[None]:
    """Turn Ctrl-C into typer's own error, because typer exits silently on KeyboardInterrupt."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise typer.Abort(*error.args) from None


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its exit code."""
    prepare_streams()
    signals: list[str] = []

    def interrupt(name: str) -> BaseException:
        signals.append(name)
        return KeyboardInterrupt()

    try:
        with unwind_when_terminated(interrupt):
            code = build()(words, prog_name="mocpack", standalone_mode=False)
            sys.stdout.flush()  # a full disk can still be reported here
    except (typer.Abort, KeyboardInterrupt) as error:
        print_error(": ".join(["interrupted", *map(str, error.args)]))
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        _exit(0)  # as in `_wrap_command`, after the command
    except Exception as error:
        from mocpack.cli.files import describe_error, exit_code

        message = _describe_usage_error(error) or describe_error(error)
        if message is None:
            raise
        print_error(message)
        code = exit_code(error)
    if code == EXIT_INTERRUPTED and signals:
        _exit(signal_exit_code(signals[0]))
    _exit(code if isinstance(code, int) else 0)


def _exit(code: int) -> NoReturn:
    """End the process now. After a signal, do not wait for worker threads that still run."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            # Python would flush again at exit and print a second error.
            with open(os.devnull, "wb") as devnull:  # noqa: PTH123
                os.dup2(devnull.fileno(), number)
    if code > 128:  # ended by a signal
        from mocpack.io.atomic import remove_unfinished

        remove_unfinished()
        os._exit(code)
    sys.exit(code)


def _describe_usage_error(error: Exception) -> str | None:
    """Return the message of a usage error, with the command whose help to read."""
    if not hasattr(error, "format_message"):  # an error of neither click nor typer's copy of it
        return None
    message = error.format_message().rstrip()
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "mocpack"
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See {path} --help."
