"""The command line: one module per command, imported only when that command runs.

Exit codes: 0 success; 1 an error bound was not met; 2 bad input, usage error, I/O error or a worker
process that died; 130 Ctrl-C; 143 SIGTERM. With several files, the exit code is the highest one.
"""

from __future__ import annotations

import sys

from mocpack.common.optional_packages import require
from mocpack.errors import MissingExtraError


def main() -> None:
    """Run the command line, or explain how to install the packages that it needs."""
    try:
        for package in ("typer", "rich"):
            require(package, extra="", purpose="the command line")
        from mocpack.cli.app import main as run
    except MissingExtraError as error:
        sys.exit(f"mocpack: {error}")
    except KeyboardInterrupt:  # during the imports; afterwards `run` handles it
        print("mocpack: interrupted", file=sys.stderr)
        sys.exit(130)
    run()


__all__ = ["main"]
