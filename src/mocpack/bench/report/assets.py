"""Files that the pages share, and pictures that can be combined on one page."""

from __future__ import annotations

import re
from pathlib import Path


def asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def own_ids(svg: str, name: str) -> str:
    """Return an SVG for embedding: no XML head, no fixed size, and ids that start with `name`."""
    text = svg[svg.index("<svg") :]
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    opening = r'^<svg[^>]*viewBox="([^"]*)"[^>]*>'
    return re.sub(opening, r'<svg viewBox="\1" role="img">', text, count=1)
