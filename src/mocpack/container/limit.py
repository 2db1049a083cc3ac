"""The memory limit of decoding, checked before memory is allocated.

A file is much smaller than its decoded motion, so a few bytes can legitimately need gigabytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from mocpack.common.units import format_size, parse_size
from mocpack.errors import MemoryLimitError
from mocpack.model.clip import AnyHeader

DEFAULT_LIMIT = 1_000_000_000  # bytes


@dataclass(frozen=True)
class MemoryLimit:
    """The memory in bytes that one call may use; None for no limit."""

    max_bytes: int | None = DEFAULT_LIMIT

    @classmethod
    def parse(cls, limit: str | int | MemoryLimit | None) -> MemoryLimit:
        """Parse "2GB", a number of bytes, or "none"; a limit is returned as it is."""
        if isinstance(limit, MemoryLimit):
            return limit
        if limit is None or (isinstance(limit, str) and limit == "none"):
            return cls(None)
        return cls(parse_size(limit, "memory_limit"))

    def check(self, needed: int, header: AnyHeader, what: str) -> None:
        """Raise if `what` needs more memory; the error names the size of the motion."""
        if self.max_bytes is None or needed <= self.max_bytes:
            return
        motion = f"{header.frame_count} frames × {header.point_count} {header.point_kind}"
        raise MemoryLimitError(
            f"{what} of {motion} would take {format_size(needed)} of memory, "
            f"more than the limit of {format_size(self.max_bytes)}; "
            "a larger memory_limit (--memory-limit) allows it"
        )
