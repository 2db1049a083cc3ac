"""``mocpack codecs``: list the codecs with their parameters."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Annotated

import typer
from rich.text import Text

from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.codecs.registry import DEFAULT_CODEC, codec_class, codec_ids

MAX_LINE_WIDTH = 100  # characters


@dataclass(frozen=True)
class Parameter:
    """A parameter of a codec, as in ``--json``."""

    default: str | float | None
    type: str
    about: str


def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of codecs; default: all.")
    ] = None,
    as_json: options.Json = False,
) -> int:
    """List the codecs with their parameters and defaults."""
    names = names or codec_ids()
    if as_json:
        print_json([_describe(name) for name in names])
        return 0
    console = files.stdout()
    width, margin = min(console.width, MAX_LINE_WIDTH), " " * 8
    for codec_id in names:
        note = "" if codec_class(codec_id).is_frozen else "  (experimental)"
        note = "  (default)" if codec_id == DEFAULT_CODEC else note
        console.print(Text.assemble((codec_id, "bold"), f"{note}  {_first_line(codec_id)}"))
        for name, param in _list_parameters(codec_id).items():
            kind = f"  ({param.type})" if param.type else ""
            console.print(Text(f"    {name} = {param.default}{kind}"))
            about = textwrap.fill(
                param.about, width, initial_indent=margin, subsequent_indent=margin
            )
            console.print(Text(about))
    console.print("Later releases may not read files of experimental codecs.")
    console.print("Set parameters after the name: --codec keysine:effort=best,layers=3")
    return 0


def _describe(codec_id: str) -> dict[str, object]:
    cls, parameters = codec_class(codec_id), _list_parameters(codec_id)
    return {
        "codec": codec_id,
        "about": _first_line(codec_id),
        "kinds": list(cls.kinds),
        "bitstream_version": cls.bitstream_version,
        "is_frozen": cls.is_frozen,
        "params": {name: asdict(param) for name, param in parameters.items()},
    }


def _first_line(codec_id: str) -> str:
    return (inspect.getdoc(codec_class(codec_id)) or "").split("\n")[0]


def _list_parameters(codec_id: str) -> dict[str, Parameter]:
    cls = codec_class(codec_id)
    explained: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):  # a class need not repeat the parameters of its bases
        explained |= explain_parameters(inspect.getdoc(base) or "")
    parameters = {}
    for field in fields(cls):
        default = None if field.default is MISSING else field.default
        if isinstance(default, float) and not math.isfinite(default):
            default = str(default)  # JSON has no infinity
        parameters[field.name] = Parameter(default, *explained.get(field.name, ("", "")))
    return parameters


def explain_parameters(docstring: str) -> dict[str, tuple[str, str]]:
    r"""Return (type, description) of each parameter of a numpy docstring.

    >>> explain_parameters("A codec.\n\nParameters\n----------\na, b : int\n    Steps,\n    many.")
    {'a': ('int', 'Steps, many.'), 'b': ('int', 'Steps, many.')}
    """
    section = re.search(r"^Parameters\n-+\n(.*?)(\n\n\w+\n-+\n|\Z)", docstring, re.DOTALL | re.M)
    parameters: dict[str, tuple[str, str]] = {}
    entries = re.finditer(
        r"^(\w[\w, ]*?)(?: : ([^\n]*))?\n((?:(?: +[^\n]*)?\n?(?!\w))*)",
        section.group(1) + "\n" if section else "",
        re.MULTILINE,
    )
    for entry in entries:
        text = " ".join(entry.group(3).split())
        for name in entry.group(1).split(","):
            parameters[name.strip()] = (entry.group(2) or "", text)
    return parameters
