"""Parse addresses of streams, such as ``udp://127.0.0.1:9000``."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from mocpack.errors import UsageError


def split_address(url: str) -> SplitResult:
    """Return the parts of an address; raise `UsageError` if it or its port is invalid.

    >>> split_address("udp://127.0.0.1:9000").port
    9000
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # urlsplit checks the port only when it is read
    except ValueError as error:
        raise UsageError(f"{url} is not a valid address: {error}") from error
    return parts
