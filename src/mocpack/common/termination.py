"""Let SIGTERM and SIGHUP unwind the program, so that it removes its unfinished files."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

SIGNAL_NAMES = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


@contextmanager
def unwind_when_terminated(
    make_error: Callable[[str], BaseException] = lambda name: SystemExit(signal_exit_code(name)),
) -> Iterator[None]:
    """Raise an exception where the main thread is when a signal asks this process to end.

    `make_error` gets the name of the signal; by default the process exits with the code that shells
    use. Signals that the program or its parent handles or ignores keep their meaning. Python runs
    handlers in the main thread only, so elsewhere this changes nothing.
    """
    known = [signal.Signals[name] for name in SIGNAL_NAMES if name in signal.Signals.__members__]
    is_main = current_thread() is main_thread()
    taken = [one for one in known if is_main and signal.getsignal(one) is signal.SIG_DFL]

    def unwind(number: int, _frame: FrameType | None) -> None:
        for one in taken:
            signal.signal(one, signal.SIG_IGN)  # a second one must not interrupt the unwinding
        raise make_error(signal.Signals(number).name)

    for one in taken:
        signal.signal(one, unwind)
    try:
        yield
    finally:
        for one in taken:
            signal.signal(one, signal.SIG_DFL)


def signal_exit_code(name: str) -> int:
    """Return the exit code of a process that a signal ended, as shells count it.

    >>> signal_exit_code("SIGTERM")
    143
    """
    return 128 + signal.Signals[name]
