"""Credentials of ``live send`` and ``live receive``: a token, and the certificate to trust."""

from __future__ import annotations

import ssl
from pathlib import Path

from mocpack.errors import UsageError


def read_token(path: str | None) -> str | None:
    """Return the token of a file: its last word."""
    if path is None:
        return None
    words = Path(path).read_text(encoding="utf-8").split()
    if not words:
        raise UsageError(f"{path} holds no token")
    return words[-1]


def trust(ca: str | None) -> ssl.SSLContext | None:
    """Return who is trusted: those of the system, or one certificate."""
    if ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"{ca} is no certificate: {error}") from error
