"""Cutting and retiming on the command line, the same for `compress` and `convert`."""

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
from mocpack.common.units import format_length
from mocpack.testing import walk
from naming import names


@pytest.fixture
def folder(tmp_path):
    """A folder with a walk of two seconds, in walk.npz."""
    mocpack.write(walk(2.0, frame_rate=60), tmp_path / "walk.npz")
    return tmp_path


def changed(folder, *words):
    """Return the motion that both commands make with these options; they must agree."""
    packed = run("compress", "walk.npz", "--codec", "raw", "-f", *words, folder=folder)
    assert packed.returncode == 0, packed.stderr
    converted = run("convert", "walk.npz", "out.npz", "-f", *words, folder=folder)
    assert converted.returncode == 0, converted.stderr
    clip, other = mocpack.read(folder / "walk.mocp"), mocpack.read(folder / "out.npz")
    np.testing.assert_allclose(clip.positions(), other.positions(), atol=1e-5)
    assert clip.header.loop == other.header.loop
    return other, packed.stdout + packed.stderr, converted.stderr


def test_seconds_cut_a_motion(folder):
    clip, *_ = changed(folder, "--seconds", "0.5:1.5")
    expected = mocpack.read(folder / "walk.npz")[30:90]
    np.testing.assert_allclose(clip.positions(), expected.positions(), atol=1e-6)


def test_seconds_beyond_the_end_are_cut_and_said(folder):
    clip, *printed = changed(folder, "--seconds", "1.5:9")
    assert clip.frame_count == 30
    for text in printed:
        assert names(text, "--seconds 1.5:9 2 s"), text


def test_half_the_speed_takes_twice_the_time(folder):
    clip, *_ = changed(folder, "--speed", "0.5", "--fps", "30")
    assert clip.fps == pytest.approx(30)
    assert clip.duration == pytest.approx(4, abs=0.1)


def test_a_loop_is_joined_and_says_how_far_joints_moved(folder):
    clip, *printed = changed(folder, "--seconds", "0.1:1.2", "--loop")
    assert clip.header.loop
    before = mocpack.read(folder / "walk.npz")[6:72]
    moved = np.linalg.norm(clip.positions() - before.positions(), axis=-1).max()
    for text in printed:
        assert names(text, f"--loop {format_length(float(moved))}"), text


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--seconds", "2"), "seconds '2'"),
        (("--seconds", "5:9"), "5 9 2"),
        (("--seconds", "0:1", "--frames", "1:"), "--seconds --frames"),
        (("--speed", "0"), "speed 0.0"),
    ],
)
def test_a_wrong_option_is_refused(folder, words, named):
    for command in (("compress", "walk.npz"), ("convert", "walk.npz", "out.npz")):
        result = run(*command, *words, folder=folder)
        assert result.returncode == 2
        assert names(result.stderr, named), result.stderr
