"""Commands say what a reader assumed: bones of a default adult, and bones fitted to positions."""

import io
import json

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
from mocpack.cli.notes import describe_assumptions
from mocpack.io import npz
from mocpack.testing import walk
from naming import names

SAID = "bones --body-model"


@pytest.fixture
def folder(tmp_path):
    """A folder of an AMASS motion, a BVH, and joint positions whose bones change length."""
    rng = np.random.default_rng(0)
    arrays = {"poses": 0.1 * rng.normal(size=(8, 66)), "trans": np.zeros((8, 3)), "fps": 30.0}
    (tmp_path / "amass.npz").write_bytes(npz.pack(arrays))
    mocpack.write(walk(0.2), tmp_path / "walk.bvh")
    file = io.BytesIO()
    np.save(file, rng.normal(size=(8, 22, 3)))
    (tmp_path / "noise.npy").write_bytes(file.getvalue())
    return tmp_path


def test_compress_and_info_say_which_bones_stand_in(folder):
    done = run("compress", "amass.npz", "--max-error", "5mm", folder=folder)
    assert done.returncode == 0
    assert names(done.stdout.replace("\n", " "), SAID)
    for path in ("amass.npz", "amass.mocp"):
        assert names(run("info", path, folder=folder).stdout, "--body-model"), path
    assert "--body-model" not in run("info", "walk.bvh", folder=folder).stdout
    [facts] = json.loads(run("info", "amass.npz", "--json", folder=folder).stdout)
    assert len(facts["motions"][0]["notes"]) == 1


def test_compress_says_that_its_input_is_compressed_already(folder):
    words = ("compress", "--codec", "raw", "--json")
    (first,) = json.loads(run(*words, "walk.bvh", folder=folder).stdout)
    (again,) = json.loads(run(*words, "walk.mocp", "-o", "again.mocp", folder=folder).stdout)
    assert len(again["notes"]) == len(first["notes"]) + 1


def test_a_folder_says_it_once_with_the_number_of_files(folder):
    done = run("compress", ".", "--max-error", "5mm", "-o", "packed/", folder=folder)
    assert done.stdout.count("--body-model") == 1
    assert names(done.stdout, "1 of 3")
    rows = json.loads(
        run("compress", ".", "--max-error", "5mm", "-o", "again/", "--json", folder=folder).stdout
    )
    notes = {row["input"]: len(row["notes"]) for row in rows}
    # the unit of the BVH is a guess, and so is the frame rate of another file
    assert sorted(notes.values()) == [1, 1, 2]


def test_commands_say_that_a_clip_is_stored_without_loss(folder):
    words = ("walk.bvh", "--max-error", "0.0001um", "--effort", "fast")
    for command in (
        ("compress", *words),
        ("compress", *words, "-o", "folder/", "-j", "2"),
        ("scene", *words, "-o", "scene.mocp"),
        ("corpus", "pack", *words, "-o", "at-once.mocps"),
        ("corpus", "pack", *words, "-o", "parts.mocps", "--resume"),
        ("info", "parts.mocps"),
    ):
        done = run(*command, folder=folder)
        assert done.returncode == 0, done.stderr
        assert (done.stdout + done.stderr).count("0.1 nm") == 1, command
    usual = run("compress", "walk.bvh", "-f", folder=folder)
    assert "without loss" not in usual.stdout + usual.stderr


def test_a_catalog_marks_clips_with_stand_in_bones(folder):
    pytest.importorskip("pyarrow")
    done = run("corpus", "pack", ".", "-o", "all.mocps", "--max-error", "5mm", folder=folder)
    assert done.returncode == 0
    info = run("info", "all.mocps", folder=folder)
    for text in (done.stdout, info.stdout):
        assert names(text, "1 3 --body-model")
    listed = run(
        "corpus", "ls", "all.mocps", "--where", "bones = 'stand-in'", "--json", folder=folder
    )
    assert [row["clip"] for row in json.loads(listed.stdout)] == ["amass"]
    (folder / "amass.npz").unlink()
    run("corpus", "pack", ".", "-o", "others.mocps", "--max-error", "5mm", folder=folder)
    [facts] = json.loads(run("info", "others.mocps", "--json", folder=folder).stdout)
    assert not any("bones" in note for note in facts["notes"])
    assert "bones" not in facts["columns"]


def test_pack_and_info_say_which_unit_was_guessed(folder):
    pytest.importorskip("pyarrow")
    words = ["corpus", "pack", "walk.bvh", "-o", "walks.mocps", "--effort", "fast"]
    packed = run(*words, folder=folder)
    for done in (packed, run("info", "walks.mocps", folder=folder)):
        assert names(done.stdout, "m --unit"), done.stdout
    again = run(*words, "-f", "--unit", "m", "--json", folder=folder)
    assert json.loads(again.stdout)[0]["notes"] == []


def test_only_notes_of_readers_are_printed():
    for metadata in ({}, {"bones": "SMPLH_MALE.npz"}, {"fit_error_mm": 0.002}):
        assert describe_assumptions(metadata) == []
    assert describe_assumptions({"bones": ["stand-in"], "fit_error_mm": "12"}) == []
    [note] = describe_assumptions({"fit_error_mm": 12.0})
    assert names(note, "12.0 mm") or names(note, "12 mm")
