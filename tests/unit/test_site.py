"""The site shows every page of docs/, with its code."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


FENCE = re.compile(r"^ *```(.*)$", re.MULTILINE)
PAGES = sorted((CHECKOUT / "docs").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_code_block_is_closed_and_its_fence_has_one_word(page):
    words = FENCE.findall(page.read_text(encoding="utf-8"))
    opening, closing = words[::2], words[1::2]
    assert len(opening) == len(closing)
    assert not any(closing)
    assert all(re.fullmatch(r"[a-z+]*", word) for word in opening)


def test_the_navigation_names_every_page_once():
    pages = sorted(
        path.relative_to(CHECKOUT / "docs").as_posix() for path in (CHECKOUT / "docs").rglob("*.md")
    )
    navigation = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    assert sorted(re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)) == pages
