"""The tutorial of docs/corpora.md, from a folder of BVH to a training loop, as it stands there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import mocpack
from mocpack.testing import walk

PAGE = Path(__file__).parents[2] / "docs/corpora.md"


@pytest.fixture
def blocks():
    """The commands, and the program."""
    page = PAGE.read_text(encoding="utf-8")
    tutorial = page[page.index("## From a folder of BVH") : page.index("## Commands")]
    return re.findall(r"```[^\n]*\n(.*?)```", tutorial, re.DOTALL)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than cores
def test_the_tutorial_goes_from_a_folder_to_batches(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lafan1").mkdir()
    for number, name in enumerate(("walk1_subject3", "walk2_subject1", "run1_subject3")):
        mocpack.write(walk(6.0, seed=number), f"lafan1/{name}.bvh")
    commands, program = blocks
    printed = []
    for line in commands.splitlines():
        words = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert "walk1_subject3" in printed[-1]
    assert "walk2_subject1" not in printed[-1]  # of another subject
    seen = []
    names = {"seen": seen}
    exec(program.replace("    ...", "    seen.append(batch)"), names)
    names["corpus"].close()
    assert seen
    # two takes of 6 s, windows of 2 s every half second, each mirrored too
    assert sum(len(batch) for batch in seen) == 2 * 2 * 9
    assert seen[0].shape[1] == 60
