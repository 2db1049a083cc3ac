"""Check, shorten and escape strings, and put counts into words."""

from __future__ import annotations

from mocpack.errors import InvalidClipError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")  # of cells that spreadsheets evaluate


def check_text(text: str, max_bytes: int, what: str) -> None:
    """Raise `InvalidClipError` if a string exceeds `max_bytes` of UTF-8; errors name `what`."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidClipError(
            f"{what} must be valid Unicode, got a lone surrogate in {text[:40]!r}"
        ) from None
    if size > max_bytes:
        raise InvalidClipError(
            f"{what} must be at most {max_bytes} bytes of UTF-8, got {text[:40]!r}"
        )


def shorten_text(text: str, max_bytes: int) -> str:
    """Return the longest start of a string that fits into `max_bytes` of UTF-8.

    >>> shorten_text("Hüfte", 2), shorten_text("Hüfte", 3)
    ('H', 'Hü')
    """
    return text.encode("utf-8", "replace")[:max_bytes].decode(errors="ignore")


def escape_cell(value: object) -> object:
    """Return the cell of a CSV table; a string cannot be a formula in a spreadsheet.

    >>> escape_cell("=1+1"), escape_cell("walk"), escape_cell(-1.5)
    ("'=1+1", 'walk', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def count_of(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "joint"), count_of(31, "joint")
    ('1 joint', '31 joints')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
