"""``mocpack scene``: several motions on one clock, written, listed and extracted."""

import json

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from naming import names
from takes import markers, take


@pytest.fixture
def folder(tmp_path):
    mocpack.write(walk(0.4), tmp_path / "anna.bvh")
    mocpack.write(walk(0.3, seed=2), tmp_path / "ben.bvh")
    mocpack.write(markers(20, 3), tmp_path / "prop.trc")
    return tmp_path


def test_two_actors_and_a_prop_become_a_scene_and_are_extracted_again(folder):
    words = ["scene", "anna.bvh", "ben.bvh", "box=prop.trc", "-o", "duo.mocp"]
    made = run(*words, "--max-error", "1mm", "--start", "ben=0.5", folder=folder)
    assert made.returncode == 0, made.stderr
    assert names(made.stdout, "3 clips")
    scene = mocpack.read_scene(folder / "duo.mocp")
    assert list(scene) == ["anna", "ben", "box"]
    assert [clip.start_time for clip in scene.values()] == [0.0, 0.5, 0.0]
    for name, source in (("anna", "anna.bvh"), ("box", "prop.trc")):
        off = scene[name].positions() - mocpack.read(folder / source).positions()
        assert np.linalg.norm(off, axis=-1).max() <= 1e-3
    back = run("decompress", "duo.mocp", "--clip", "ben", "-o", "back.bvh", folder=folder)
    assert back.returncode == 0
    assert mocpack.read(folder / "back.bvh").frame_count == 18
    parts = run("convert", "duo.mocp", "-o", "parts/", "--each", folder=folder)
    assert parts.returncode == 0
    assert sorted(p.name for p in (folder / "parts").iterdir()) == [
        "anna.mocp",
        "ben.mocp",
        "box.mocp",
    ]


def test_convert_copies_compressed_clips_unchanged_unless_an_option_changes_them(folder):
    run("compress", "anna.bvh", "--effort", "fast", "--max-error", "0.2mm", folder=folder)
    packed = (folder / "anna.mocp").read_bytes()
    run("scene", "anna.mocp", "ben.bvh", "-o", "duo.mocp", folder=folder)
    run("convert", "duo.mocp", "-o", "parts/", "--each", folder=folder)
    assert (folder / "parts/anna.mocp").read_bytes() == packed
    run("corpus", "pack", "anna.mocp", "-o", "all.mocps", folder=folder)
    for words in (["anna.mocp"], ["duo.mocp", "--clip", "anna"], ["all.mocps", "--clip", "anna"]):
        done = run("convert", *words, "-o", "copy.mocp", "-f", folder=folder)
        assert done.returncode == 0, done.stderr
        assert (folder / "copy.mocp").read_bytes() == packed
    run("convert", "anna.mocp", "cut.mocp", "--frames", "2:9", folder=folder)
    assert mocpack.read(folder / "cut.mocp").frame_count == 7


def test_json_has_a_row_for_each_clip(folder):
    words = ["scene", "anna.bvh", "box=prop.trc", "-o", "duo.mocp", "--json"]
    rows = json.loads(run(*words, folder=folder).stdout)
    assert [row["clip"] for row in rows] == ["anna", "box"]
    assert all(row["ok"] and row["error"] is None for row in rows)
    assert rows[0]["end_time"] == pytest.approx(23 / 60)


def test_compressed_files_are_sampled_at_another_rate(folder):
    assert run("compress", "anna.bvh", "--effort", "fast", folder=folder).returncode == 0
    made = run("scene", "anna.mocp", "-o", "slow.mocp", "--fps", "12", folder=folder)
    assert made.returncode == 0, made.stderr
    assert mocpack.read(folder / "slow.mocp").frame_rate == 12


def test_compressed_files_and_scenes_are_copied_unchanged(folder):
    assert run("compress", "anna.bvh", "--max-error", "5mm", folder=folder).returncode == 0
    assert run("scene", "ben.bvh", "prop.trc", "-o", "two.mocp", folder=folder).returncode == 0
    made = run("scene", "anna.mocp", "two.mocp", "-o", "three.mocp", folder=folder)
    assert made.returncode == 0, made.stderr
    whole = (folder / "three.mocp").read_bytes()
    assert (folder / "anna.mocp").read_bytes() in whole
    assert list(mocpack.read_scene(folder / "three.mocp")) == ["anna", "ben", "prop"]
    again = run(
        "scene",
        "anna.mocp",
        "-o",
        "finer.mocp",
        "--codec",
        "raw",
        "--start",
        "anna=1",
        folder=folder,
    )
    assert again.returncode == 0, again.stderr
    assert mocpack.read_scene(folder / "finer.mocp")["anna"].start_time == 1.0


def test_tracks_and_uneven_times_move_with_the_start(folder):
    clip = take(["tracks", "times"])
    mocpack.write(clip, folder / "all.npz")
    made = run(
        "scene", "all.npz", "-o", "all.mocp", "--lossless", "--start", "all=10", folder=folder
    )
    assert made.returncode == 0, made.stderr
    back = mocpack.read_scene(folder / "all.mocp")["all"]
    later = 10 - clip.start_time
    np.testing.assert_allclose(back.times, clip.times + later, atol=1e-12)
    for name, track in clip.tracks.items():
        np.testing.assert_allclose(
            back.tracks[name].seconds(clip.frame_time),
            track.seconds(clip.frame_time) + later,
            atol=1e-12,
        )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["anna.bvh", "anna.bvh", "other/anna.bvh"], "anna.bvh 'anna' anna-2=anna.bvh"),
        (["nowhere.bvh"], "nowhere.bvh"),
        (["anna.bvh", "--start", "carl=2"], "--start carl anna"),
        (["anna.bvh", "--start", "anna=soon"], "--start anna=2.5"),
        (["anna.mocp", "--start", "anna=2"], "anna.mocp --max-error 2 s"),
        (["wave.npz", "--codec", "raw", "--start", "wave=2"], "wave.npz 0 --start"),
        (["wave.npz", "--codec", "keysine"], "wave.npz keysine vertices"),
        (["anna.bvh", "--max-error", "1mm", "--lossless"], "--max-error --lossless"),
    ],
)
def test_bad_scenes_are_clear_errors(folder, words, named):
    (folder / "other").mkdir()
    mocpack.write(walk(0.2), folder / "other/anna.bvh")
    mocpack.write(vertex_wave(), folder / "wave.npz")
    (folder / "anna.mocp").write_bytes(mocpack.encode(walk(0.2), "raw"))
    result = run("scene", *words, "-o", "x.mocp", folder=folder)
    assert result.returncode == 2
    assert names(result.stderr, named)
    assert "Traceback" not in result.stderr
    assert not (folder / "x.mocp").exists()


def test_a_scene_is_not_written_over_another_file_without_force(folder):
    (folder / "x.mocp").write_bytes(b"mine")
    result = run("scene", "anna.bvh", "-o", "x.mocp", folder=folder)
    assert result.returncode == 2
    assert (folder / "x.mocp").read_bytes() == b"mine"


def test_one_clip_of_a_scene_is_compared_with_its_source(folder):
    words = ["scene", "anna.bvh", "ben.bvh", "-o", "duo.mocp", "--max-error", "2mm"]
    assert run(*words, folder=folder).returncode == 0
    found = run("compare", "ben.bvh", "duo.mocp", "--clip", "ben", folder=folder)
    assert found.returncode == 0, found.stderr
    assert names(found.stdout, "2 mm")
    missed = run("compare", "ben.bvh", "duo.mocp", folder=folder)
    assert missed.returncode == 2
    assert names(missed.stderr, "duo.mocp anna ben")
