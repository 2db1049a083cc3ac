"""The table of commands, and the one place where errors become sentences and exit codes.

A command's module is imported when that command runs: none waits for what others need. The command
``corpus pack`` of the group ``corpus`` is the module ``corpus/pack.py``.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any, NoReturn, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

import mocpack
from mocpack.cli.terminal import INTERRUPTED, complain, print_json, quietness, settle_streams
from mocpack.errors import FormatError, TruncatedError

# Groups of commands. The commands of a group are in COMMANDS, as "GROUP COMMAND".
GROUPS = {
    "corpus": "Pack many clips into one archive, and list, extract, check or export them.",
    "cluster": "Pack one archive on many machines: plan, pack in shards, join.",
    "live": "Send, relay and record motion over a network in real time.",
}
# Each command and the first line of its help, in the order of `mocpack --help`.
# tests/cli/test_app.py compares the lines with the modules.
COMMANDS = {
    "compress": "Pack motion files; prints ratio, errors and bits a frame.",
    "decompress": "Unpack .mocp files to any format that can be written, by extension.",
    "info": "Show skeleton, frames, codec, bytes by part, declared and measured error.",
    "compare": "Print every metric, the worst joints and frames; exit 1 if a file breaks its own "
    "bound.",
    "view": "Play a packed motion in the browser beside its original, bones coloured by error.",
    "convert": "Read a motion file of one kind and write it as another.",
    "demo": "Compress, decompress and compare the bundled clip; a table and a picture.",
    "formats": "List the motion formats that are read and written.",
    "codecs": "List the installed codecs, what each does, its parameters and their defaults.",
    "corpus pack": "Pack motion files into one archive with a catalogue of its clips.",
    "corpus ls": "List the clips of an archive, by any condition on its catalogue.",
    "corpus cat": "Write a clip of an archive to standard output, the very bytes of its .mocp "
    "file.",
    "corpus extract": "Take clips out of an archive, each the very .mocp file that was packed.",
    "corpus verify": "Check every clip of an archive, and what its trailer says of them.",
    "corpus merge": "Make one archive of several; clips are copied as they are.",
    "corpus repair": "Save every whole clip of a cut or damaged archive; exit 2 if one was not "
    "whole.",
    "corpus export": "Write the clips of an archive for other programs: npz, any format, Parquet, "
    "Lance, LeRobot.",
    "cluster plan": "Write a plan: which files to pack, their hashes, and how to pack them.",
    "cluster pack": "Pack one shard of a plan; other shards can run on other machines.",
    "cluster status": "Show how much of a plan is packed, and the estimated time left.",
    "cluster join": "Join the packed shards of a plan into the archive.",
    "live serve": "Relay live motion: performers send, an audience watches, in browsers too; "
    "Ctrl-C ends.",
    "live send": "Send motion to a stage as it happens, each frame within an error.",
    "live receive": "Receive a stage; the performers' end, or Ctrl-C, finishes the file.",
    "bench": "Measure codecs on clips: sizes, every metric, speed, a report; or reproduce a paper.",
    "tune": "Search a codec's parameters: least error within a size, or least size within an "
    "error.",
    "edit": "Bring a joint to a place at a time: --at 1.5 --joint LeftHand --to 0.4,1.2,0.3.",
    "scene": "Pack several motions on one clock into one file: two actors and a prop, a C3D's "
    "subjects.",
}
# Commands that `mocpack --help` lists last, after the groups.
SPECIAL = ("bench", "tune", "edit", "scene")
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


class Command(TyperCommand):
    """A command whose help shows types only where a value has to be typed."""

    def get_params(self, ctx: Any) -> Any:
        return _hide_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group that suggests the commands of other groups too."""

    def get_params(self, ctx: Any) -> Any:
        return _hide_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if not ctx.resilient_parsing and word not in self.commands and not word.startswith("-"):
            found = " or ".join(f"'mocpack {words}'" for words in suggest_commands(word))
            ctx.fail(f"No such command {word!r}." + (f" Did you mean {found}?" if found else ""))
        return super().resolve_command(ctx, args)


class LazyCommand(Command):
    """A command that knows its name and first line, and imports its module to be called."""

    def __init__(self, words: str) -> None:
        super().__init__(
            _last(words), help=COMMANDS[words], rich_markup_mode=None, rich_help_panel=_panel(words)
        )
        self._words = words

    def make_context(self, *words: Any, **options: Any) -> Any:
        with _stoppable():
            return load(self._words).make_context(*words, **options)


def suggest_commands(word: str) -> list[str]:
    """Return the commands, with their groups, that somebody who typed `word` may have meant."""
    last = {_last(words) for words in COMMANDS}
    close = [word] if word in last else get_close_matches(word, [*last, *GROUPS])
    return [words for words in [*COMMANDS, *GROUPS] if _last(words) in close]


def _hide_types(parameters: Any) -> Any:
    """Keep newer typer from writing ``<bool>`` beside flags and types beside arguments."""
    for one in parameters:
        if getattr(one, "is_flag", False) or one.param_type_name == "argument":
            one.display_type_rich = lambda ctx: None
    return parameters


def _panel(words: str) -> str:
    """Return the part of the help that lists a command or a group."""
    if words in GROUPS:
        return "Groups of commands"
    return "More commands" if words in SPECIAL else "Commands"


def module_of(words: str) -> str:
    """Return the module of a command: ``mocpack.cli.cluster.plan`` of ``cluster plan``."""
    return f"mocpack.cli.{words.replace(' ', '.')}"


def load(words: str) -> Any:
    """Import a command's module and return the command."""
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=HELP)
    module = import_module(module_of(words))
    one.command(name=_last(words), cls=Command, epilog=EXIT_CODES)(_shielded(module.run))
    return typer.main.get_command(one)


def build() -> Any:
    """Return the group of all commands and groups."""
    about = (
        "Pack motion capture: name an error in millimetres, get the smallest file that keeps it."
    )
    root = _group("mocpack", about, _begin)
    for words in COMMANDS:
        parent = root
        if " " in words:
            name = words.partition(" ")[0]
            if name not in root.commands:
                root.add_command(_group(name, GROUPS[name], _show_help, add_completion=False))
            parent = root.commands[name]
        parent.add_command(LazyCommand(words))
    return root


def _group(name: str, about: str, begin: Callable[..., None], **settings: Any) -> Any:
    """Return a group without commands; `begin` runs before its command, and also without one."""
    group = typer.Typer(
        name=name,
        cls=Group,
        help=about,
        epilog=EXIT_CODES,
        pretty_exceptions_enable=False,
        context_settings=HELP,
        **settings,
    )
    group.callback(invoke_without_command=True)(begin)
    made: Any = typer.main.get_command(group)
    made.rich_help_panel = _panel(name)
    return made


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _last(words: str) -> str:
    return words.rpartition(" ")[2]


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
    EOFError. A parameter whose type is a dataclass is a group of options, one for each field.
    """
    from mocpack.cli.files import describe_error

    signature = inspect.signature(run, eval_str=True)
    groups: dict[str, Any] = {
        name: one.annotation
        for name, one in signature.parameters.items()
        if is_dataclass(one.annotation)
    }

    @wraps(run)
    def shielded(*words: Any, quiet: bool, **options: Any) -> int:
        for name, group in groups.items():
            options[name] = group(**{one.name: options.pop(one.name) for one in fields(group)})
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

    parameters = list(_flatten(signature))
    parameters.append(Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=Quiet))
    shielded.__dict__["__signature__"] = signature.replace(parameters=parameters)
    shielded.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": int}
    return shielded


def _flatten(signature: Signature) -> Iterator[Parameter]:
    """Yield the parameters of a command, those of an option group in place of the group."""
    for one in signature.parameters.values():
        if not is_dataclass(one.annotation):
            yield one
            continue
        types = get_type_hints(one.annotation, include_extras=True)
        for option in fields(one.annotation):
            yield one.replace(
                name=option.name, default=option.default, annotation=types[option.name]
            )


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
    """Return the sentence of a usage error, with the command whose help to read."""
    if not hasattr(error, "format_message"):  # not click's, nor that of the click within typer
        return None
    message = error.format_message().rstrip()
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "mocpack"
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See {path} --help."
