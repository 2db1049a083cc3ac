"""The Python code in the README and in the docs runs and passes type checks."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mocpack
import robots
from mocpack.robots import read_robot
from mocpack.testing import walk

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# a block that cannot run here, because it needs a dataset or a framework, is fenced as ```py
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def programs():
    """Return the program that the blocks of a page make, by a name that a module may have."""
    found = {}
    for page in PAGES:
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        if blocks:
            name = page.relative_to(ROOT).with_suffix("").as_posix()
            found[re.sub(r"\W", "_", name)] = "".join(blocks)
    return found


PROGRAMS = programs()


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that the pages speak of."""
    clip = walk(2.0)
    mocpack.write(clip, tmp_path / "walk.bvh")
    (tmp_path / "walk.mocp").write_bytes(mocpack.encode(clip.concat(clip), max_error="1mm"))
    (tmp_path / "g1_29dof.urdf").write_text(robots.urdf(1))
    (tmp_path / "lafan1_g1").mkdir()
    angles = robots.angles_for(len(read_robot(tmp_path / "g1_29dof.urdf").hinges), frames=90)
    root = np.tile([0, 0, 0.8, 0, 0, 0, 1.0], (len(angles), 1))
    table = np.concatenate([root, angles], axis=1)
    np.savetxt(tmp_path / "lafan1_g1" / "dance.csv", table, fmt="%.6f", delimiter=",")
    return tmp_path


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_python_of_a_page_runs(folder, name):
    pytest.importorskip("matplotlib")
    (folder / "page.py").write_text(PROGRAMS[name], encoding="utf-8")
    subprocess.run([sys.executable, "page.py"], cwd=folder, check=True, capture_output=True)


@pytest.mark.slow
def test_the_python_of_every_page_is_well_typed(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed; `make lint` runs this test")
    for name, program in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(program, encoding="utf-8")
    files = [f"{name}.py" for name in PROGRAMS]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / ".cache", *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
