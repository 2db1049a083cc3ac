"""Child processes of tests: Ctrl-C reaches them, and they end with the test that started them."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

_started: list[subprocess.Popen[Any]] = []


def start(
    words: Sequence[object], *, ignore_interrupts: bool = False, **options: Any
) -> subprocess.Popen[Any]:
    """Start a program as `subprocess.Popen` does; `end_children` ends it if the test does not.

    A child inherits an ignored SIGINT, for example from a test suite that runs in the background
    of a shell script. Here the child ignores SIGINT only with `ignore_interrupts`.
    """
    handler = signal.SIG_IGN if ignore_interrupts else signal.default_int_handler
    before = signal.signal(signal.SIGINT, handler)
    try:
        child = subprocess.Popen([str(word) for word in words], **options)
    finally:
        signal.signal(signal.SIGINT, before)
    _started.append(child)
    return child


@contextmanager
def end_children() -> Iterator[None]:
    """Kill the processes of `start` and close their pipes, even if the body fails.

    A child that outlives its test raises a ResourceWarning in whichever test comes later.
    """
    try:
        yield
    finally:
        while _started:
            child = _started.pop()
            child.kill()
            with suppress(BrokenPipeError), child:
                pass
