"""The command line: one module for each command, imported when it runs.

Exit codes: 0 good; 1 a bound not met; 2 bad input, usage or I/O, a lost process; 130 Ctrl-C. With
many files, the highest.
"""

from __future__ import annotations

import sys

from mocpack.errors import MissingExtraError
from mocpack.optional_packages import require


def main() -> None:
    """Run the command line; without its packages, say how to get them."""
    try:
        for package in ("typer", "rich"):
            require(package, extra="", purpose="the command line")
        from mocpack.cli.app import main as run
    except MissingExtraError as error:
        sys.exit(f"mocpack: {error}")
    except KeyboardInterrupt:  # while all this is loaded; later `run` sees to it
        print("mocpack: stopped by Ctrl-C", file=sys.stderr)
        sys.exit(130)
    run()


__all__ = ["main"]
