"""The log of a relay: one line per error, because any client can cause errors."""

from __future__ import annotations

import logging
import sys
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable

LOGGER = logging.getLogger("mocpack.live")
MAX_ERROR_LENGTH = 200  # characters of an error that are logged
REPEAT_AFTER_S = 10.0  # until the same error of a loop is logged again


class OneLineLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs an error in one line. The traceback is logged at level DEBUG.

    Connections use it in place of a logger that prints tracebacks.
    """

    def log(
        self, level: int, msg: object, *args: object, exc_info: object = None, **_: object
    ) -> None:
        if msg == "opening handshake failed":
            level = logging.INFO  # websockets before 17 logs an error
        error = sys.exc_info()[1] if exc_info else None
        text = msg if error is None else f"{msg}: {describe(error)}"
        super().log(level, text, *args)
        if error is not None:
            super().log(logging.DEBUG, msg, *args, exc_info=error)


class LoopErrorLog:
    """Logs errors of an event loop in one line, as its exception handler.

    A flood can cause the same error thousands of times per second, so a line is not repeated within
    `REPEAT_AFTER_S`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._text, self._logged = "", -REPEAT_AFTER_S

    def __call__(self, _: AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        text = str(context.get("message", "error"))
        if isinstance(error, BaseException):
            text += f": {describe(error)}"
        if text == self._text and self._clock() - self._logged < REPEAT_AFTER_S:
            return
        self._text, self._logged = text, self._clock()
        LOGGER.error("%s", text)
        LOGGER.debug("%s", text, exc_info=error if isinstance(error, BaseException) else None)


def describe(error: BaseException) -> str:
    """Return an error as one line that is safe to print.

    >>> describe(ValueError("a\\nb"))
    "ValueError('a\\\\nb')"
    """
    return ascii(error)[:MAX_ERROR_LENGTH]
