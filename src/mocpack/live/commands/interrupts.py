"""Run asynchronous work until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable
from contextlib import suppress


def run_until_interrupted(work: Awaitable[object], seconds: float | None = None) -> None:
    """Run `work` until it ends, `seconds` have passed, or Ctrl-C or SIGTERM cancels it."""
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_run(work, seconds))


async def _run(work: Awaitable[object], seconds: float | None) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel(*_: object) -> None:
        loop.call_soon_threadsafe(task.cancel)

    before = signal.signal(signal.SIGTERM, cancel)
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(work, seconds)
    finally:
        signal.signal(signal.SIGTERM, before)
