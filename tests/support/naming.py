"""Check which words a message contains, independent of its wording."""

import re


def naming(things: str) -> str:
    """Return a pattern that finds all of these things, in any order and with any words around them.

    Things are separated by spaces: names of fields, values, files, options. A thing that begins or
    ends with a letter or a digit is not found inside a longer word or number.
    """
    whole = [_whole(thing) for thing in things.split()]
    assert whole, "an empty pattern finds everything"
    return "(?s)" + "".join(f"(?=.*{thing})" for thing in whole)


def names(text: str, things: str) -> bool:
    """Whether a text names all of these things."""
    return re.match(naming(things), text) is not None


def _whole(thing: str) -> str:
    before = r"(?<!\w)(?<!\d\.)" if re.match(r"\w", thing) else ""
    after = r"(?!\w|\.\d)" if re.search(r"\w\Z", thing) else ""
    return before + re.escape(thing) + after
