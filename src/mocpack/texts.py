"""Names and other texts, as files can hold them."""

from __future__ import annotations

from mocpack.errors import InvalidClipError


def check_text(text: str, max_bytes: int, what: str) -> None:
    """Complain about a text that UTF-8 cannot hold in so many bytes; `what` is it, for people."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidClipError(
            f"{what}, {text[:40]!r}, holds half a character (a lone surrogate)"
        ) from None
    if size > max_bytes:
        raise InvalidClipError(f"{what} has at most {max_bytes} bytes, got {text[:40]!r}")


def shorten_text(text: str, max_bytes: int) -> str:
    """Return the start of a text that UTF-8 can hold in so many bytes.

    >>> shorten_text("Hüfte", 2), shorten_text("Hüfte", 3)
    ('H', 'Hü')
    """
    return text.encode("utf-8", "replace")[:max_bytes].decode(errors="ignore")
