"""How much memory a file may ask for: a ceiling that the caller sets, checked before any is taken.

A file is much smaller than its motion, so that a few bytes can announce gigabytes, and mean them.
"""

from __future__ import annotations

from dataclasses import dataclass

from mocpack.clip import AnyHeader, ClipHeader
from mocpack.errors import MemoryLimitError
from mocpack.units import format_size, parse_size

DEFAULT_LIMIT = 1_000_000_000  # bytes


@dataclass(frozen=True)
class MemoryLimit:
    """The most bytes that one call may take; None for no limit."""

    max_bytes: int | None = DEFAULT_LIMIT

    @classmethod
    def parse(cls, limit: str | int | None) -> MemoryLimit:
        """Read "2GB", bytes, or "none"."""
        if limit is None or (isinstance(limit, str) and limit == "none"):
            return cls(None)
        return cls(parse_size(limit))

    def check(self, needed: int, header: AnyHeader, what: str) -> None:
        """Complain, with the file's own numbers, if `what` takes more."""
        if self.max_bytes is None or needed <= self.max_bytes:
            return
        raise MemoryLimitError(
            f"{what} of {_describe_motion(header)} would take {format_size(needed)} of memory, more than "
            f"the limit of {format_size(self.max_bytes)}; "
            "a larger memory_limit (--memory-limit) allows it"
        )


def _describe_motion(header: AnyHeader) -> str:
    if isinstance(header, ClipHeader):
        return f"{header.frame_count} frames × {len(header.skeleton)} joints"
    return f"{header.frame_count} frames × {header.vertex_count} vertices"
