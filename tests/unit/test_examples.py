"""Every example runs."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.codecs.registry import parse_codec
from mocpack.testing import check_codec, walk
from naming import names

CHECKOUT = Path(__file__).parents[2]
EXAMPLES = sorted((CHECKOUT / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_example_runs_and_says_something(path):
    found = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert found.stdout.strip()


def test_a_codec_of_another_package_is_found_and_keeps_the_contract(tmp_path, monkeypatch):
    folder = CHECKOUT / "examples/codec"
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    installed = tmp_path / "mocpack_half-0.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["mocpack.codecs"]
    lines = ["[mocpack.codecs]", *(f"{name} = {where}" for name, where in points.items())]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    for path in (tmp_path, folder):
        monkeypatch.syspath_prepend(str(path))
    clip = walk(0.2)
    packed = mocpack.encode(clip, "half")
    assert mocpack.compare(clip, mocpack.decode(packed))["max_error_mm"] < 10
    codec = parse_codec("half")
    for bound in (5, 50):
        packed = mocpack.encode(clip, "half", max_error=f"{bound}mm")
        assert mocpack.compare(clip, mocpack.decode(packed))["max_error_mm"] < bound
    check_codec(codec)


@pytest.fixture
def files(tmp_path):
    """Two clips of one skeleton, packed."""
    paths = [tmp_path / "slow.mocp", tmp_path / "fast.mocp"]
    for path, clip in zip(paths, (walk(2.5), walk(1.0, seed=4)), strict=True):
        path.write_bytes(mocpack.encode(clip, max_error="2mm"))
    return paths


def test_the_example_in_c_plays_and_seeks(library, files):
    lines = output(library.program(CHECKOUT / "examples/c/play.c"), files[0])
    clip = mocpack.read(files[0])
    seconds = clip.frame_time * (clip.frame_count - 1)
    assert names(lines[0], f"{len(clip.skeleton)} joints {seconds:.2f} s 2.000 mm")
    assert [line.split(" s:")[0].strip() for line in lines[1:6]] == [
        "0.00",
        "0.50",
        "1.00",
        "1.50",
        "2.00",
    ]
    places = [line.split(" ")[-3:] for line in lines if line.startswith("frame")]
    expected = clip.positions()[clip.frame_count // 2]
    np.testing.assert_allclose(np.array(places, float), expected, atol=2e-6)


def test_the_example_in_c_says_what_is_wrong(library, tmp_path):
    program = library.program(CHECKOUT / "examples/c/play.c")
    other = tmp_path / "other.mocp"
    other.write_bytes(mocpack.encode(walk(0.2), "dwt97"))
    for path, named in ((tmp_path / "none.mocp", ".mocp"), (other, "dwt97")):
        done = subprocess.run([program, path], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert named in done.stderr


def test_the_example_in_c_writes_a_file_within_its_bound(library, tmp_path):
    path = tmp_path / "pendulum.mocp"
    (line,) = output(library.program(CHECKOUT / "examples/c/encode.c"), path)
    clip = mocpack.read(path)
    assert names(line, f"{path.stat().st_size} bytes mm")
    assert clip.skeleton.names == ("upper", "lower")
    angles = 0.8 * np.cos(2.2 * np.arange(300) / 60)
    np.testing.assert_allclose(clip.positions()[:, 1, 0], 0.5 * np.sin(angles), atol=1e-3)


def test_the_example_in_cpp_blends_from_one_clip_into_another(library, files):
    lines = output(library.program(CHECKOUT / "examples/cpp/blend.cpp"), *files)
    first, last = (np.array(line.split(" ")[-4:], float) for line in (lines[0], lines[-1]))
    clips = [mocpack.read(path) for path in files]
    assert abs(first @ clips[0].rotations[0, 0]) > 1 - 1e-4
    assert abs(last @ clips[1].sample(1.0 % (59 / 60)).rotations[0, 0]) > 1 - 1e-4


def test_the_example_of_a_crowd_counts_poses_beside_raw_ones(library, files, monkeypatch):
    monkeypatch.setitem(os.environ, "CROWD_SECONDS", "0.1")
    lines = output(library.program(CHECKOUT / "examples/cpp/crowd.cpp", "-O2"), *files)
    assert lines[0] == "1000 characters, 6 ticks, 2 clips"
    assert [line.split("  ")[0] for line in lines[1:3]] == ["mocpack", "raw float32"]


def output(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_program_that_packs_and_unpacks_ends_without_a_word():
    code = (
        "import mocpack\n"
        "from mocpack.testing import walk\n"
        "mocpack.decode(mocpack.encode(walk(0.2), 'lossless'))\n"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == result.stderr == ""
