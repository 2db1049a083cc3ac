"""What the commands print, and where: tables for people, JSON for machines, complaints apart.

Colours follow NO_COLOR and FORCE_COLOR, as rich does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rich.console import Console

_quiet = ContextVar("quiet", default=False)


@contextmanager
def quietness(quiet: bool) -> Iterator[None]:
    """Print nothing for people within this block, if asked; complaints and JSON stay."""
    token = _quiet.set(quiet)
    try:
        yield
    finally:
        _quiet.reset(token)


def stdout() -> Console:
    return Console(highlight=False, soft_wrap=True, quiet=_quiet.get())


def stderr() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True, quiet=_quiet.get())


def complain(sentence: str) -> None:
    """Say what went wrong, quiet or not, in one line of standard error."""
    print(f"mocpack: {sentence}", file=sys.stderr)


def print_json(rows: Sequence[Mapping[str, Any]], *, to_stderr: bool = False) -> None:
    """Print the one shape of ``--json``: a list, each row with ``ok`` and ``error`` first."""
    shaped = [{"ok": True, "error": None, **row} for row in rows]
    print(json.dumps(shaped, indent=1), file=sys.stderr if to_stderr else sys.stdout)
