"""Count what one ``mocpack compress`` of the bundled clip calls.

    python tools/count_calls.py [--effort default] [--max-error 1mm] [--codec keysine]

Prints the functions of mocpack that ran, the files they stand in, how deep they called one
another, how often all of them were called, and how often each function of the native core was.
Imports are not counted: the command runs once before it is looked at.
"""

import argparse
import contextlib
import io
import sys
import tempfile
from collections import Counter
from pathlib import Path

import mocpack
from mocpack import _core
from mocpack.cli import compress
from mocpack.samples import JUMP

SOURCES = str(Path(mocpack.__file__).parent)


class Calls:
    """A profile function that counts calls of mocpack's own functions."""

    def __init__(self):
        self.functions = Counter()
        self.depth = self.deepest = 0

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if not code.co_filename.startswith(SOURCES):
            return
        if event == "call":
            self.functions[code.co_filename, code.co_qualname] += 1
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
        elif event == "return":
            self.depth -= 1


def count_native():
    """Put a counter before each function and class of the native core, which no profile sees."""
    counts = Counter()

    def counted(name, made):
        def call(*arguments, **named):
            counts[name] += 1
            return made(*arguments, **named)

        return call

    for name, found in vars(_core).copy().items():
        if callable(found):
            setattr(_core, name, counted(name, found))
    return counts


def run(options):
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        compress.run([str(JUMP)], output=str(Path(folder) / "jump.mocp"), **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", default="default")
    parser.add_argument("--max-error", default="1mm")
    parser.add_argument("--codec", default="keysine")
    options = vars(parser.parse_args())
    run(options)
    native, calls = count_native(), Calls()
    sys.setprofile(calls)
    try:
        run(options)
    finally:
        sys.setprofile(None)
    files = {path for path, _ in calls.functions}
    print(
        f"{len(calls.functions)} functions in {len(files)} files, depth {calls.deepest}, "
        f"{sum(calls.functions.values())} calls; of the native core:"
    )
    for name, count in native.most_common():
        print(f"{count:6d} {name}")


if __name__ == "__main__":
    main()
