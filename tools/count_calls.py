"""Count the functions of mocpack that one operation calls, in every thread.

    python tools/count_calls.py [--effort default] [--max-error 1mm] [--verbose]

Five operations on the bundled clip: ``encode``, ``mocpack compress``, ``open()[120:240]``, the next
window of the same open motion, and a training window of an archive of the clip. Each runs once
before it is counted, so that imports and tables built on first use do not count. Prints for each
the number of distinct Python functions, the files they are in, the deepest call, all calls, and
calls of the native core.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import mocpack
from mocpack import _core
from mocpack.cli import compress
from mocpack.cli.encoding import Encoding
from mocpack.cli.reading import Reading
from mocpack.cli.timing import Timing
from mocpack.samples import JUMP

SOURCES = str(Path(mocpack.__file__).parent)


class Calls:
    """A profile function that counts calls of mocpack's own functions, in all threads."""

    def __init__(self) -> None:
        self.functions: Counter[tuple[str, str]] = Counter()
        self.native: Counter[str] = Counter()
        self.deepest = 0
        self._local = threading.local()
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(SOURCES):
            return
        depth = getattr(self._local, "depth", 0)
        if event == "call":
            self._local.depth = depth + 1
            with self._lock:
                self.functions[code.co_filename, code.co_qualname] += 1
                self.deepest = max(self.deepest, depth + 1)
        elif event == "return":
            self._local.depth = depth - 1

    def summary(self) -> str:
        """Return the counts in one line."""
        files = {path for path, _ in self.functions}
        return (
            f"{len(self.functions)} functions in {len(files)} files, depth {self.deepest}, "
            f"{sum(self.functions.values())} calls, {sum(self.native.values())} of the native core"
        )


@contextlib.contextmanager
def count_core_calls(calls: Calls) -> Iterator[None]:
    """Count the calls of this thread and of threads that start meanwhile."""
    originals = {name: found for name, found in vars(_core).items() if callable(found)}

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            calls.native[name] += 1
            return function(*arguments, **named)

        return call

    for name, function in originals.items():
        if not isinstance(function, type):  # keep classes, because callers use isinstance
            setattr(_core, name, counted(name, function))
    threading.setprofile(calls)
    sys.setprofile(calls)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        for name, function in originals.items():
            setattr(_core, name, function)


def count(operation: Callable[[], object]) -> Calls:
    """Run an operation twice and return what the second run called."""
    operation()
    calls = Calls()
    with count_core_calls(calls):
        operation()
    return calls


def count_windows(path: Path) -> tuple[Calls, Calls]:
    """Return what ``open()[120:240]`` calls, and what the next window of that motion calls."""
    with mocpack.open(path) as warm:
        warm[120:240], warm[240:360]
    first, second = Calls(), Calls()
    with count_core_calls(first):
        motion = mocpack.open(path)
        motion[120:240]
    with count_core_calls(second):
        motion[240:360]
    motion.close()
    return first, second


def count_training_window(folder: Path) -> Calls:
    """Return what the next training window of an open archive calls."""
    archive = folder / "jump.mocps"
    mocpack.corpora.pack({"jump": JUMP}, archive)
    with mocpack.open_corpus(archive) as corpus:
        windows = corpus.windows(0.5)
        return count(lambda: windows[1])


def measure(effort: str, max_error: str) -> dict[str, Calls]:
    """Count each operation on the bundled clip."""
    clip = mocpack.read(JUMP)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jump.mocp"

        def run_compress() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                compress.run(
                    [str(JUMP)],
                    output=str(path),
                    encoding=Encoding(effort=effort, max_error=max_error),
                    reading=Reading(),
                    timing=Timing(),
                    force=True,
                )

        calls = {
            f'encode(max_error="{max_error}")': count(
                lambda: mocpack.encode(clip, max_error=max_error, effort=effort)
            ),
            "mocpack compress": count(run_compress),
        }
        calls["open()[120:240]"], calls["the next window"] = count_windows(path)
        calls["windows of a corpus"] = count_training_window(Path(folder))
    return calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", default="default")
    parser.add_argument("--max-error", default="1mm")
    parser.add_argument("--verbose", action="store_true", help="list every function")
    options = parser.parse_args()
    for name, calls in measure(options.effort, options.max_error).items():
        print(f"{name}: {calls.summary()}")
        if options.verbose:
            for (path, function), times in calls.functions.most_common():
                print(f"{times:6d} {Path(path).relative_to(SOURCES)}: {function}")
            for function, times in calls.native.most_common():
                print(f"{times:6d} _core.{function}")


if __name__ == "__main__":
    main()
