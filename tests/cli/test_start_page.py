"""The commands of docs/start.md work in order in an empty folder."""

import re
import shlex
import shutil
from pathlib import Path

from command_line import run_text

PAGE = Path(__file__).parents[2] / "docs/start.md"
BLOCK = re.compile(r"^```\n(.*?)^```", re.DOTALL | re.MULTILINE)
ELSEWHERE = ("pip install", "mocpack view")  # tested by tests/install and tests/viewer


def commands():
    lines = "".join(BLOCK.findall(PAGE.read_text(encoding="utf-8"))).splitlines()
    return [line for line in lines if not line.startswith(ELSEWHERE)]


def test_every_command_of_the_first_steps_works(tmp_path):
    lines = commands()
    assert len(lines) > 6
    for line in lines:
        program, *words = shlex.split(line, comments=True)
        if program == "cp":
            shutil.copy(*(tmp_path / word for word in words))
            continue
        assert program == "mocpack", line
        done = run_text(*words, folder=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    assert (tmp_path / "packed/jump.mocp").is_file()
