"""``mocpack codecs``: list the codecs with their parameters."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer
from rich.text import Text

from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.codecs.registry import DEFAULT_CODEC, codec_class, codec_ids

MAX_LINE_WIDTH = 100  # characters


def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of codecs; default: all.")
    ] = None,
    as_json: options.Json = False,
) -> int:
    """List the codecs with their parameters and defaults."""
    rows = [_describe(codec_id) for codec_id in names or codec_ids()]
    if as_json:
        print_json(rows)
        return 0
    console = files.stdout()
    for row in rows:
        note = "" if row["is_frozen"] else "  (experimental)"
        note = "  (default)" if row["codec"] == DEFAULT_CODEC else note
        console.print(Text.assemble((row["codec"], "bold"), f"{note}  {row['about']}"))
        for name, param in row["params"].items():
            kind = f"  ({param['type']})" if param["type"] else ""
            console.print(Text(f"    {name} = {param['default']}{kind}"))
            console.print(Text(_indent_paragraph(param["about"], console.width)))
    console.print("Later releases may not read files of experimental codecs.")
    console.print("Set parameters after the name: --codec keysine:effort=best,layers=3")
    return 0


def _describe(codec_id: str) -> dict[str, Any]:
    cls = codec_class(codec_id)
    about = inspect.getdoc(cls) or ""
    explained: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):  # a class need not repeat the parameters of its bases
        explained |= explain_parameters(inspect.getdoc(base) or "")
    return {
        "codec": codec_id,
        "about": about.split("\n")[0],
        "kinds": list(cls.kinds),
        "bitstream_version": cls.bitstream_version,
        "is_frozen": cls.is_frozen,
        "params": {
            f.name: {
                "default": _to_json_value(f.default),
                "type": explained.get(f.name, ("", ""))[0],
                "about": explained.get(f.name, ("", ""))[1],
            }
            for f in fields(cls)
        },
    }


def _to_json_value(default: Any) -> Any:
    """Return a default value as a JSON value."""
    if isinstance(default, float) and not math.isfinite(default):
        return str(default)
    return None if default is MISSING else default


def _indent_paragraph(text: str, width: int) -> str:
    margin = " " * 8
    return textwrap.fill(
        text, min(width, MAX_LINE_WIDTH), initial_indent=margin, subsequent_indent=margin
    )


def explain_parameters(docstring: str) -> dict[str, tuple[str, str]]:
    r"""Return (type, description) of each parameter of a numpy docstring.

    >>> explain_parameters("A codec.\n\nParameters\n----------\na, b : int\n    Steps,\n    many.")
    {'a': ('int', 'Steps, many.'), 'b': ('int', 'Steps, many.')}
    """
    section = re.search(r"^Parameters\n-+\n(.*?)(\n\n\w+\n-+\n|\Z)", docstring, re.DOTALL | re.M)
    found: dict[str, tuple[str, str]] = {}
    entries = re.finditer(
        r"^(\w[\w, ]*?)(?: : ([^\n]*))?\n((?:(?: +[^\n]*)?\n?(?!\w))*)",
        section.group(1) + "\n" if section else "",
        re.MULTILINE,
    )
    for entry in entries:
        text = " ".join(entry.group(3).split())
        for name in entry.group(1).split(","):
            found[name.strip()] = (entry.group(2) or "", text)
    return found
