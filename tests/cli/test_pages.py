"""The commands on every page name commands and options that exist."""

import re
import shlex
from pathlib import Path

import pytest

from mocpack.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```([a-z+]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page):
    """Return the words of each command in the blocks of a page."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    lines = "".join(text for language, text in blocks if not language).replace("\\\n", " ")
    found = []
    for line in lines.splitlines():
        for part in re.split(r" \| | && |; ", line.removeprefix("$ ")):
            if part.startswith("mocpack "):
                words = shlex.split(part, comments=True)[1:]
                # a redirection, or a job in the background, is the shell's
                ends = [at for at, word in enumerate(words) if word[0] in "<>&…"]
                found.append(words[: ends[0]] if ends else words)
    return found


def test_pages_have_commands():
    assert sum(len(commands(page)) for page in PAGES) > 80


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_command_of_a_page_can_be_parsed(page):
    for words in commands(page):
        for count in (2, 1):
            name = " ".join(words[:count])
            if name in app.COMMANDS:
                app.load(name).make_context(name, words[count:])
                break
        else:
            assert words[0].startswith("-") or words[0] in app.GROUPS, words
