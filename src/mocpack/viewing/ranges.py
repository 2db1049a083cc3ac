"""The Range header of HTTP (RFC 9110, section 14): one range of bytes, or the whole."""

from __future__ import annotations

import re

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class UnsatisfiableRangeError(ValueError):
    """The range is outside the resource; the response is 416."""


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return (start, stop), half-open, or None for the whole resource.

    Malformed headers and multiple ranges are ignored, as the RFC allows.

    >>> parse_range("bytes=2-4", 10), parse_range("bytes=7-", 10), parse_range("bytes=-3", 10)
    ((2, 5), (7, 10), (7, 10))
    """
    match = _RANGE.fullmatch((header or "").replace(" ", ""))
    if match is None or match.group(1) == match.group(2) == "":
        return None
    first, last = match.groups()
    if first == "":
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < int(first):
            return None
    if start >= size or start >= stop:
        raise UnsatisfiableRangeError(f"Range {header} is outside the {size} bytes")
    return start, stop
