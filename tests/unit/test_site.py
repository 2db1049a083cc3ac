"""The site's navigation names every page of docs/."""

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def test_the_navigation_names_every_page_once():
    pages = sorted(
        path.relative_to(CHECKOUT / "docs").as_posix() for path in (CHECKOUT / "docs").rglob("*.md")
    )
    navigation = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    assert sorted(re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)) == pages
