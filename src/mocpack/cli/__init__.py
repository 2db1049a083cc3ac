"""The command line: one module for each command.

Exit codes: 0 good; 1 a bound not met; 2 bad input, usage or I/O, a lost process; 130 Ctrl-C. With
many files, the highest.
"""

from mocpack.cli.app import main

__all__ = ["main"]
