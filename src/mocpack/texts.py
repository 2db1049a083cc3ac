"""Names and other texts, as files can hold them."""

from __future__ import annotations

from mocpack.errors import InvalidClipError


def check_text(text: str, most: int, what: str) -> None:
    """Complain about a text that UTF-8 cannot hold in so many bytes; `what` is it, for people."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidClipError(
            f"{what}, {text[:40]!r}, holds half a character (a lone surrogate)"
        ) from None
    if size > most:
        raise InvalidClipError(f"{what} has at most {most} bytes, got {text[:40]!r}")


def shorten_text(text: str, most: int) -> str:
    """Return the start of a text that UTF-8 can hold in so many bytes.

    >>> shorten_text("Hüfte", 2), shorten_text("Hüfte", 3)
    ('H', 'Hü')
    """
    return text.encode("utf-8", "replace")[:most].decode(errors="ignore")
