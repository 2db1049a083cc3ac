"""`--clip` chooses a motion of any file that holds several, in every command."""

import shutil
from pathlib import Path

import pytest
from command_line import run_text as run

import mocpack
from mocpack.container import pack_scene
from mocpack.errors import SceneError, UsageError
from mocpack.testing import walk
from naming import names, naming

FOX = Path(__file__).parents[1] / "samples/Fox.glb"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An archive of a walk and of the fox's three animations, its sources, and a scene."""
    pytest.importorskip("pyarrow")
    there = tmp_path_factory.mktemp("clips")
    (there / "in").mkdir()
    mocpack.write(walk(0.5), there / "in/walk_01.bvh")
    shutil.copy(FOX, there / "in/Fox.glb")
    done = run("corpus", "pack", "in", "-o", "all.mocps", "--effort", "fast", folder=there)
    assert done.returncode == 0, done.stderr
    clips = {name: mocpack.encode(walk(0.3), max_error="1mm") for name in ("anna", "ben")}
    (there / "duo.mocp").write_bytes(pack_scene(clips))
    return there


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "in/walk_01.bvh", "all.mocps", "--clip", "walk_01"),
        ("compare", "in/Fox.glb", "all.mocps", "--clip", "Fox/Walk"),
        ("compare", "in/Fox.glb", "in/Fox.glb", "--clip", "Walk"),
        ("compare", "duo.mocp", "duo.mocp", "--clip", "ben"),
        ("info", "all.mocps", "--clip", "walk_01"),
        ("info", "in/Fox.glb", "--clip", "Walk"),
        ("convert", "all.mocps", "a.bvh", "--clip", "walk_01", "-f"),
        ("decompress", "all.mocps", "-o", "b.bvh", "--clip", "walk_01", "-f"),
        ("compress", "all.mocps", "-o", "c.mocp", "--clip", "walk_01", "-f"),
        ("scene", "all.mocps", "duo.mocp", "--clip", "0", "-o", "d.mocp", "-f"),
        ("scene", "all.mocps", "in/walk_01.bvh", "--clip", "Fox/Run", "-o", "e.mocp", "-f"),
        (
            *[
                "edit",
                "duo.mocp",
                "--clip",
                "ben",
                "-o",
                "f.mocp",
                "-f",
                "--at",
                "0.1",
                "--joint",
                "Head",
                "--by",
                "0,0.01,0",
            ],
        ),
    ],
    ids=" ".join,
)
def test_every_command_chooses_a_motion_by_its_name(folder, words):
    done = run(*words, folder=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("decompress", "all.mocps", "-o", "x.bvh", "--clip", "walk_1"), "all.mocps 'walk_01'"),
        (("compare", "in/walk_01.bvh", "all.mocps", "--clip", "walk_1"), "all.mocps 'walk_01'"),
        (("info", "all.mocps", "--clip", "walk_1"), "all.mocps 'walk_01'"),
        (("info", "in/Fox.glb", "--clip", "Wlk"), "Fox.glb 'Walk' Survey Run"),
        (("decompress", "duo.mocp", "-o", "x.bvh", "--clip", "bn"), "duo.mocp 'ben' anna"),
        (("decompress", "all.mocps", "-o", "x.bvh"), "all.mocps --clip 4 walk_01"),
        (("compare", "in/walk_01.bvh", "in/walk_01.bvh", "--clip", "a"), "in/walk_01.bvh 'a'"),
    ],
    ids=str,
)
def test_an_unknown_name_is_an_error_that_lists_names_and_suggests_one(folder, words, named):
    done = run(*words, folder=folder)
    assert done.returncode == 2
    assert names(done.stderr, named)
    assert len(done.stderr) < 1000


def test_python_chooses_by_the_same_names(folder):
    expected = ["Fox/Run", "Fox/Survey", "Fox/Walk", "walk_01"]
    assert sorted(mocpack.clip_names(folder / "all.mocps")) == expected
    assert mocpack.clip_names(folder / "in/Fox.glb") == ["Survey", "Walk", "Run"]
    with mocpack.open(folder / "all.mocps", clip="walk_01") as motion:
        assert motion.frame_count == walk(0.5).frame_count
    assert mocpack.read(folder / "all.mocps", clip="Fox/Walk").frame_count == 18
    with pytest.raises(SceneError, match=naming("'walk_01'")):
        mocpack.open(folder / "all.mocps", clip="walk_1")


def test_clips_in_shards_are_opened_by_the_archive(folder):
    words = ("corpus", "pack", "in", "-o", "parts.mocps", "--shard-size", "2kB")
    assert run(*words, "--effort", "fast", folder=folder).returncode == 0
    assert len(list(folder.glob("parts*.mocps"))) > 1
    assert mocpack.read(folder / "parts.mocps", clip="Fox/Run").frame_count == 140


def test_write_takes_the_options_of_encode_for_mocp_files(tmp_path):
    clip = walk(0.3)
    mocpack.write(clip, tmp_path / "a.mocp", max_error="2mm", effort="fast")
    mocpack.write(clip, tmp_path / "b.mocp")
    with mocpack.open(tmp_path / "a.mocp") as a, mocpack.open(tmp_path / "b.mocp") as b:
        assert (a.errors.declared, b.errors.declared) == pytest.approx((0.002, 0.001))
    with pytest.raises(UsageError, match=naming("c.bvh max_error effort")):
        mocpack.write(clip, tmp_path / "c.bvh", max_error="1mm", effort="fast")
    with pytest.raises(UsageError, match=naming("d.mocp dialect")):
        mocpack.write(clip, tmp_path / "d.mocp", dialect="amass")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mocp", "b.mocp"]
