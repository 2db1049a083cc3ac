"""The commands on every page name commands and options that exist."""

import json
import re
import shlex
from pathlib import Path

import pytest
from command_line import run

import mocpack
from mocpack.cli import app
from mocpack.testing import walk

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


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("`compress`", "compress walk.bvh --max-error 5mm --effort fast -f"),
        ("`decompress`", "decompress walk.mocp -o back.bvh -f"),
        ("`scene`, an object per clip", "scene walk.bvh -o scene.mocp --effort fast -f"),
        ("`info` of a `.mocp` file", "info walk.mocp"),
        ("`info` of an archive", "info all.mocps"),
        ("`info` of another file", "info walk.bvh"),
        ("`compare`", "compare walk.bvh walk.mocp"),
        ("`edit`", "edit walk.bvh -o edited.mocp --at 0.1 --joint Head --by 0,0.1,0 -f"),
        ("`codecs`", "codecs"),
        ("`formats`", "formats"),
        ("`corpus pack`, `cluster join`", "corpus pack walk.mocp -o all.mocps -f"),
        ("`corpus verify`", "corpus verify all.mocps"),
        ("`corpus extract`", "corpus extract all.mocps -o clips -f"),
    ],
)
def test_the_page_on_json_names_fields_that_exist(compressed, row, words):
    page = (ROOT / "docs/json.md").read_text(encoding="utf-8")
    (fields,) = re.findall(rf"^\| {re.escape(row)} \| (.*) \|$", page, re.MULTILINE)
    fields = re.sub(r"\(.*?\)|;.*", "", fields)
    first = json.loads(run(*words.split(), "--json", folder=compressed).stdout)[0]
    assert set(re.findall("`([a-z_]+)`", fields)) <= first.keys()


@pytest.fixture(scope="module")
def compressed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    mocpack.write(walk(0.3), folder / "walk.bvh")
    run("compress", "walk.bvh", "--max-error", "5mm", "--effort", "fast", folder=folder)
    run("corpus", "pack", "walk.mocp", "-o", "all.mocps", folder=folder)
    return folder
