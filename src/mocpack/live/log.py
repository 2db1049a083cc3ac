"""The log of a relay: one line per error, because any client can cause errors."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

LOGGER = logging.getLogger("mocpack.live")
MAX_ERROR_LENGTH = 200  # characters of an error that are logged
REPEAT_AFTER_S = 10.0  # until the same error of a loop is logged again


class OneLineLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs an error in one line. The traceback is logged at level DEBUG.

    Connections use it in place of a logger that prints tracebacks.
    """

    def log(self, level: int, msg: object, *args: Any, **options: Any) -> None:
        error = sys.exc_info()[1] if options.pop("exc_info", None) else None
        if msg == "opening handshake failed":
            level = logging.INFO  # websockets before 17 logs an error
        if error is None:
            super().log(level, msg, *args, **options)
            return
        super().log(level, f"{msg}: {describe(error)}", *args, **options)
        super().log(logging.DEBUG, msg, *args, exc_info=error, **options)


class LoopErrorLog:
    """Logs errors of an event loop in one line, as its exception handler.

    A flood can cause the same error thousands of times per second, so a line is not repeated within
    `REPEAT_AFTER_S`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._text, self._logged = "", -REPEAT_AFTER_S

    def __call__(self, _: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        text = f"{context.get('message', 'error')}" + (f": {describe(error)}" if error else "")
        if text == self._text and self._clock() - self._logged < REPEAT_AFTER_S:
            return
        self._text, self._logged = text, self._clock()
        LOGGER.error("%s", text)
        LOGGER.debug("%s", text, exc_info=error)


def describe(error: BaseException) -> str:
    """Return an error as one line that is safe to print.

    >>> describe(ValueError("a\\nb"))
    "ValueError('a\\\\nb')"
    """
    return ascii(error)[:MAX_ERROR_LENGTH]
