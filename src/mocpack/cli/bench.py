"""``mocpack bench``: the papers' tables and figures, made again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated

import typer

from mocpack.bench import papers
from mocpack.bench.datasets import require_data
from mocpack.errors import UsageError


def run(
    paper: Annotated[str, typer.Option(help="Number of the paper: 000 to 004.")],
    data: Annotated[
        Path | None, typer.Option(help="Folder of real clips (default: what MOCPACK_DATA names).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables and pictures.")] = Path("report"),
) -> int:
    """Reproduce a paper's tables and figures beside its printed numbers."""
    known = sorted(m.name.removeprefix("paper_") for m in iter_modules(papers.__path__))
    if paper not in known:
        raise UsageError(f"no paper {paper!r}; there are: {', '.join(known) or 'none yet'}")
    out.mkdir(parents=True, exist_ok=True)
    import_module(f"mocpack.bench.papers.paper_{paper}").reproduce(data or require_data(), out)
    return 0
