"""Credentials of ``live send`` and ``live receive``: a token and a trusted certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

from mocpack.errors import UsageError


def read_token(path: str | None) -> str | None:
    """Return the token in a file, which is the last word."""
    if path is None:
        return None
    words = Path(path).read_text(encoding="utf-8").split()
    if not words:
        raise UsageError(f"{path}: expected a token, got an empty file")
    return words[-1]


def load_certificate(ca: str | None) -> ssl.SSLContext | None:
    """Return a TLS context that trusts this certificate; None trusts the system's."""
    if ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--ca {ca}: cannot load a certificate: {error}") from error
