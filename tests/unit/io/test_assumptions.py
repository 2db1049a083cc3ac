"""Writers say what a file cannot state, and readers what they assume."""

import io
import warnings
from dataclasses import replace

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
import robots
from mocpack.errors import FormatWarning
from mocpack.io.robots.files import read_robot
from mocpack.io.robots.motion import build_clip
from mocpack.io.table import ROBOT_DIALECTS
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from naming import names, naming

ASSUMED = {"csv": 30, "bones-seed": 120}  # dialects without a rate


@pytest.fixture
def robot_file(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(robots.urdf(5, links=4))
    return path


def robot_clip(robot_file, rate):
    robot = read_robot(robot_file)
    angles = robots.angles_for(len(robot.hinges), frames=30) / 3
    root = np.tile([0, 0, 0.9], (30, 1)), np.tile([0, 0, 0, 1.0], (30, 1))
    return build_clip(robot, angles, *root, fps=rate, source="test")


def warned(function, *args, **options):
    """Return the warnings of a call, as one text, and its result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*args, **options)
    assert all(one.category is FormatWarning for one in caught)
    return "\n".join(str(one.message) for one in caught), found


@pytest.mark.parametrize("dialect", ROBOT_DIALECTS)
def test_a_dialect_keeps_its_rate_or_says_that_it_cannot(robot_file, tmp_path, dialect):
    path = tmp_path / f"m{ROBOT_DIALECTS[dialect][0]}"
    words, _ = warned(mocpack.write, robot_clip(robot_file, 50.0), path, dialect=dialect)
    given = {"robot": robot_file, "allow_pickle": True}
    said, back = warned(mocpack.read, path, **given)
    if dialect in ASSUMED:
        assert names(words, f"50 {ASSUMED[dialect]} --fps")
        assert names(said, f"{path.name} {ASSUMED[dialect]} --fps")
        assert back.metadata["frame_rate_assumed"] == ASSUMED[dialect]
        said, back = warned(mocpack.read, path, fps=50, **given)
    assert said == ""
    assert back.frame_rate == pytest.approx(50)
    assert "frame_rate_assumed" not in back.metadata


def test_a_rate_that_readers_assume_anyway_needs_no_warning(robot_file, tmp_path):
    for dialect, rate in ASSUMED.items():
        clip = robot_clip(robot_file, float(rate))
        assert warned(mocpack.write, clip, tmp_path / "m.csv", dialect=dialect)[0] == ""


def without_rate(data):
    arrays = {name: a for name, a in np.load(data).items() if name not in ("frame_rate", "fps")}
    arrays.pop("frame_time", None)
    np.savez(data, **arrays)


def test_every_array_file_without_a_rate_says_so(robot_file, tmp_path):
    clip = robot_clip(robot_file, 50.0)
    for name, made, dialect in (
        ("clip", clip, None),
        ("vertices", vertex_wave(), None),
        ("qpos", clip, "qpos"),
        ("mjlab", clip, "mjlab"),
    ):
        path = tmp_path / f"{name}.npz"
        mocpack.write(made, path, dialect=dialect)
        without_rate(path)
        given = {"robot": robot_file} if dialect else {}
        said, back = warned(mocpack.read, path, **given)
        assert names(said, f"{path.name} 30 --fps"), name
        said, back = warned(mocpack.read, path, fps=50, **given)
        assert (said, back.frame_rate) == ("", pytest.approx(50)), name
        assert back.frame_count == made.frame_count


def test_a_point_cache_without_a_rate_says_so_and_takes_one(tmp_path):
    words, _ = warned(mocpack.write, vertex_wave(), tmp_path / "a.pc2")
    assert names(words, "30 24 --fps")
    said, back = warned(mocpack.read, tmp_path / "a.pc2", kind="vertices")
    assert names(said, "a.pc2 24 --fps")
    said, back = warned(mocpack.read, tmp_path / "a.pc2", kind="vertices", fps=30)
    assert (said, back.frame_rate) == ("", pytest.approx(30))


def test_an_acclaim_motion_without_a_rate_says_so(tmp_path):
    clip = walk(0.2)
    for rate in (60, 120):
        mocpack.write(clip.resample(rate), tmp_path / "a.amc")
        said, back = warned(mocpack.read, tmp_path / "a.amc")
        assert back.frame_rate == pytest.approx(rate)
        assert (said == "") == (rate == 60)
    assert names(said, "a.amc 120 :SAMPLES-PER-SECOND")


def test_features_without_a_rate_say_so():
    array = np.zeros((8, 22, 3))
    array[:, 1:, 1] = np.linspace(0.1, 1.7, 21)
    file = io.BytesIO()
    np.save(file, array)
    said, _ = warned(mocpack.read_data, file.getvalue(), name="a.npy")
    assert names(said, "a.npy 20 --fps")


def test_a_bvh_whose_unit_readers_guess_wrong_says_so(tmp_path):
    clip = walk(0.2)
    for size, guessed in ((1.0, ""), (100.0, "cm")):
        offsets = clip.skeleton.offsets * size
        grown = clip.replace(
            skeleton=replace(clip.skeleton, offsets=offsets), translations=clip.translations * size
        )
        words, _ = warned(mocpack.write, grown, tmp_path / "a.bvh")
        assert mocpack.read(tmp_path / "a.bvh").metadata["unit_guessed"] == (guessed or "m")
        assert names(words, f"{guessed} --unit 1m") if guessed else words == ""
    back = mocpack.read(tmp_path / "a.bvh", unit="1m")
    np.testing.assert_allclose(back.positions(), grown.positions(), rtol=1e-5, atol=1e-4)


def test_the_command_line_says_both(robot_file, tmp_path):
    packed = tmp_path / "m.mocp"
    packed.write_bytes(mocpack.encode(robot_clip(robot_file, 50.0), "lossless"))
    done = run("decompress", packed, "-o", tmp_path / "m.csv", "--as", "bones-seed")
    assert done.returncode == 0
    assert names(done.stderr, "m.mocp 50 120 --fps")
    given = ["--robot", robot_file]
    done = run("convert", tmp_path / "m.csv", tmp_path / "n.mocp", *given)
    assert names(done.stderr, "m.csv 120 --fps")
    done = run("compress", tmp_path / "m.csv", "-o", tmp_path / "o.mocp", *given)
    assert names(done.stdout, "120 --fps")
    assert names(run("info", packed.with_name("o.mocp")).stdout, "120 --fps")
    done = run("convert", tmp_path / "m.csv", tmp_path / "p.mocp", "--fps", "50", *given)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_packed_file_keeps_the_note_and_warns_no_more(robot_file, tmp_path):
    mocpack.write(robot_clip(robot_file, 30.0), tmp_path / "m.csv")
    _, clip = warned(mocpack.read, tmp_path / "m.csv", robot=robot_file)
    mocpack.write(clip, tmp_path / "m.mocp")
    said, back = warned(mocpack.read, tmp_path / "m.mocp")
    assert (said, back.metadata["frame_rate_assumed"]) == ("", 30)


def test_a_scene_of_files_warns_of_each(robot_file, tmp_path):
    mocpack.write(robot_clip(robot_file, 30.0), tmp_path / "m.csv")
    with pytest.warns(FormatWarning, match=naming("m.csv 30 --fps")):
        mocpack.read_scene(tmp_path / "m.csv", robot=robot_file)
