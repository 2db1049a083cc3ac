"""Measure the peak memory of a function, on Linux."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path

RESET = Path("/proc/self/clear_refs")
STATUS = Path("/proc/self/status")
RESET_PEAK = "5"


def peak_memory(work: Callable[[], object]) -> float | None:
    """Call `work`; return how much the resident size grew at most, in MB.

    None if the system does not let a process reset its peak.
    """
    _return_free_memory()
    try:
        RESET.write_text(RESET_PEAK, encoding="utf-8")
    except OSError:
        work()
        return None
    before = _read_status("VmRSS")
    work()
    return max(0.0, _read_status("VmHWM") - before)


def _return_free_memory() -> None:
    """Return free memory to the system; otherwise work could reuse it and seem to need none."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _read_status(name: str) -> float:
    """Return a field of /proc/self/status in MB."""
    for line in STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1000
    raise OSError(f"{STATUS} has no {name}")
