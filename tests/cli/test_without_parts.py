"""The product works without the parts that plug in: papers, live, bench, trainers, the viewer."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import mocpack
from mocpack.samples import JUMP
from naming import names

PARTS = ("papers", "live", "bench", "trainers", "viewing")
CODECS = ["keysine", "lossless", "raw"]
# without site, so that the finder of an editable install does not find the parts
START = """
import sys
sys.path[:0], sys.path[len(sys.path):] = [{root!r}], [{packages!r}]
{code}
"""
COMMAND = "from mocpack.cli import main; sys.argv[0] = 'mocpack'; main()"
WINDOWS = """
import mocpack, numpy as np
from mocpack.corpora import Windows
with mocpack.open_corpus(sys.argv[1]) as corpus:
    print(next(iter(Windows(corpus, seconds=0.5, features=["positions"]))).shape)
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """Return a folder with a copy of the package that lacks the parts."""
    root = tmp_path_factory.mktemp("product")
    source = Path(mocpack.__file__).parent
    left_out = [source / part for part in PARTS]
    shutil.copytree(
        source,
        root / "mocpack",
        ignore=lambda folder, found: [n for n in found if Path(folder) / n in left_out],
    )
    return root


@pytest.fixture(scope="module")
def run(product, tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    shutil.copy(JUMP, work / "jump.bvh")

    def run(*words, code=COMMAND):
        start = START.format(root=str(product), packages=sysconfig.get_path("purelib"), code=code)
        line = [sys.executable, "-S", "-c", start, *words]
        return subprocess.run(line, cwd=work, capture_output=True, text=True, check=False)

    return run


def test_compress_decompress_info_convert_and_corpora_work(run):
    lines = [
        "compress jump.bvh --max-error 5mm --effort fast",
        "decompress jump.mocp -o back.bvh",
        "info jump.mocp",
        "compare jump.bvh jump.mocp",
        "convert jump.bvh jump.npz",
        "edit jump.bvh --at 1 --joint LeftHand --by 0,0.1,0 -o edited.bvh",
        "codecs",
        "corpus pack jump.bvh -o jump.mocps --max-error 5mm --effort fast",
        "corpus ls jump.mocps",
        "--help",
    ]
    for line in lines:
        made = run(*line.split())
        assert made.returncode == 0, f"{line}: {made.stderr}"
    made = run("jump.mocps", code=WINDOWS)
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("live serve", "live serve mocpack.live"),
        ("bench jump.bvh", "bench mocpack.bench"),
        ("view jump.bvh", "view mocpack.viewing"),
        ("compress jump.bvh --codec rd-pca -o paper.mocp", "rd-pca mocpack.papers"),
        ("tune rd-pca jump.bvh --size 5kB", "rd-pca mocpack.papers"),
    ],
)
def test_a_missing_part_is_named(run, line, named):
    made = run(*line.split())
    assert made.returncode == 2
    assert names(made.stderr, named)
    assert "Traceback" not in made.stderr


def test_codecs_of_missing_parts_are_not_listed(run):
    made = run("codecs", "--json")
    assert all(codec in made.stdout for codec in CODECS)
    assert "rd-pca" not in made.stdout
