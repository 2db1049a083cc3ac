"""``mocpack codecs``: what is installed, with parameters and papers."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import Any

from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.registry import DEFAULT_CODEC, codec_class, codec_ids


def run(as_json: options.Json = False) -> int:
    """List the installed codecs, what each does, its parameters and their defaults."""
    rows = [_describe(codec_id) for codec_id in codec_ids()]
    console = files.stdout()
    if as_json:
        print_json(rows, console)
        return 0
    for row in rows:
        default = "  (default)" if row["codec"] == DEFAULT_CODEC else ""
        console.print(f"[bold]{row['codec']}[/bold]{default}  {row['about']}", markup=True)
        for name, value in row["params"].items():
            console.print(f"    {name} = {value}")
    return 0


def _describe(codec_id: str) -> dict[str, Any]:
    cls = codec_class(codec_id)
    params = {f.name: None if f.default is MISSING else f.default for f in fields(cls)}
    return {
        "codec": codec_id,
        "about": (inspect.getdoc(cls) or "").split("\n")[0],
        "kinds": list(cls.kinds),
        "bitstream_version": cls.bitstream_version,
        "params": params,
    }
