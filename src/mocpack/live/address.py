"""Addresses of streams, as people write them."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from mocpack.errors import UsageError


def split_address(url: str) -> SplitResult:
    """Return the parts of an address; one that is none, or names a port that is none, is refused.

    >>> split_address("udp://127.0.0.1:9000").port
    9000
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # is looked at when it is asked for
    except ValueError as error:
        raise UsageError(f"{url} is no address: {error}") from error
    return parts
