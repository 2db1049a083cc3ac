"""The choice of formats, and atomic writing."""

import os
import stat

import numpy as np
import pytest

import mocpack
from mocpack.errors import FormatError, UnsupportedClipError, UsageError
from mocpack.io import (
    atomic,
    files_to_write,
    reading,
    supported_extensions,
    write_bytes,
    write_file,
)
from mocpack.io.motion_file import MotionFile
from mocpack.testing.motions import vertex_wave, walk
from naming import naming
from reading import read_bytes
from takes import markers, take


def test_content_counts_before_the_extension(tmp_path):
    for suffix in (".npz", ".amc", ".txt", ""):
        path = tmp_path / f"clip{suffix}"
        path.write_bytes(write_bytes(walk(0.1), ".bvh"))
        assert MotionFile.open(path).read().frame_count == 6


def test_an_error_for_an_unknown_format_lists_the_known_ones(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    message = naming("notes.txt .amc .asf .bvh .glb .npz .pc2")
    with pytest.raises(FormatError, match=message):
        MotionFile.open(tmp_path / "notes.txt").read()


@pytest.mark.parametrize(
    ("name", "data", "way"),
    [
        ("walk.dae", b"<?xml", "COLLADA Blender BVH .glb"),
        ("walk.mb", b"FOR4", "Maya FBX"),
        ("walk.pth", b"\x80\x09", "PyTorch numpy.savez"),
        ("walk.BLEND", b"BLENDER", "Blender BVH .glb"),
        ("walk.obj", b"v 0 0 0", "OBJ"),
    ],
)
def test_kinds_that_are_not_read_come_with_the_nearest_way(tmp_path, name, data, way):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=naming(f"{name} {way}")):
        MotionFile.open(tmp_path / name).read()


def test_options_that_a_format_does_not_support_are_refused(tmp_path):
    write_file(walk(0.1), tmp_path / "clip.bvh")
    for option, named in (
        ({"clip": "run"}, "clip.bvh BVH"),
        ({"body_model": "x.npz"}, "clip.bvh BVH"),
    ):
        with pytest.raises(UsageError, match=naming(named)):
            MotionFile.open(tmp_path / "clip.bvh", **option).read()


@pytest.mark.parametrize("name", ["a.bvh", "a.npz", "a.glb", "a.mocp"])
def test_any_format_is_sampled_at_another_rate(tmp_path, name):
    mocpack.write(walk(1.0), tmp_path / name)
    clip = mocpack.read(tmp_path / name, fps=12)
    assert (clip.frame_rate, clip.frame_count) == (12, 12)
    with pytest.raises(UsageError, match=naming(f"{name} fps 0")):
        mocpack.read(tmp_path / name, fps=0)


def test_a_vertex_animation_is_not_sampled_at_another_rate(tmp_path):
    mocpack.write(vertex_wave(), tmp_path / "a.mdd")
    with pytest.raises(UsageError, match=naming("a.mdd fps")):
        mocpack.read(tmp_path / "a.mdd", fps=12)


@pytest.mark.parametrize("name", ["a.bvh", "a.glb", "a.csv", "a.xyz"])
def test_an_empty_file_is_an_error_that_says_so(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(FormatError, match=naming(f"{name} empty")):
        mocpack.read(tmp_path / name)


def test_a_picture_named_bvh_is_not_a_bvh_file(tmp_path):
    (tmp_path / "a.bvh").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    with pytest.raises(FormatError, match=naming("a.bvh BVH HIERARCHY PNG")):
        mocpack.read(tmp_path / "a.bvh")


def test_an_error_for_an_unwritable_extension_lists_the_writable_ones(tmp_path):
    with pytest.raises(
        UsageError,
        match=naming("'.fbx' FBX .amc .bvh"),
    ):
        write_file(walk(0.1), tmp_path / "clip.fbx")
    assert not list(tmp_path.iterdir())


def test_extensions_are_listed_once():
    known = (
        ".amc .asf .bvh .c3d .csv .fbx .glb .gltf .mdd .motion .npy .npz .pc2 .pickle .pkl .pt .trc"
    )
    assert supported_extensions() == [*known.split(), ".usd", ".usda", ".usdc", ".usdz", ".vrma"]
    written = ".amc .bvh .c3d .csv .glb .gltf .mdd .npz .pc2 .trc .usd .usda .usdc .usdz .vrma"
    assert supported_extensions(writable=True) == written.split()


def test_case_of_the_extension_does_not_matter(tmp_path):
    write_file(walk(0.1), tmp_path / "CLIP.BVH")
    assert MotionFile.open(tmp_path / "CLIP.BVH").read().frame_count == 6


def test_a_format_of_two_files_says_so_beforehand(tmp_path):
    names = [path.name for path in files_to_write(tmp_path / "walk.amc")]
    assert names == ["walk.asf", "walk.amc"]
    assert files_to_write("walk.bvh")[0].name == "walk.bvh"


def test_motion_that_needs_a_skeleton_says_so_where_none_can_be_found():
    motion = write_bytes(walk(0.1), ".amc")
    with pytest.raises(FormatError, match=naming("input AMC --skeleton")):
        mocpack.read_data(motion)


def test_the_skeleton_of_bytes_can_be_named(tmp_path):
    (tmp_path / "body.asf").write_bytes(write_bytes(walk(0.1), ".asf"))
    clip = mocpack.read_data(write_bytes(walk(0.1), ".amc"), skeleton=tmp_path / "body.asf")
    assert clip.frame_count == 6


def test_other_formats_do_not_mind_a_skeleton(tmp_path):
    write_file(walk(0.1), tmp_path / "clip.bvh")
    assert (
        MotionFile.open(tmp_path / "clip.bvh", skeleton=tmp_path / "none.asf").read().frame_count
        == 6
    )


def test_a_file_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    write_file(walk(0.1), tmp_path / "clip.bvh")
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 100)
    with pytest.raises(FormatError, match=naming("clip.bvh")):
        MotionFile.open(tmp_path / "clip.bvh").read()


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "clip.bvh"
    path.write_bytes(b"old")

    def full_disk(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match=naming("clip.bvh")):
        write_file(walk(0.1), path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["clip.bvh"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/clip\.bvh"):
        write_file(walk(0.1), tmp_path / "nowhere" / "clip.bvh")


def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path):
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_bytes(b"")
    old.chmod(0o640)
    plain.write_bytes(b"")
    atomic.write_atomically(b"1", old)
    atomic.write_atomically(b"2", new)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_files_that_belong_together_are_put_in_place_together(tmp_path):
    first, second = tmp_path / "a", tmp_path / "missing" / "b"
    first.write_bytes(b"old")
    with pytest.raises(OSError, match="missing"):
        atomic.write_all_atomically({first: b"new", second: b"new"})
    assert first.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_writing_a_clip_that_was_read_changes_no_number(tmp_path):
    write_file(walk(0.1), tmp_path / "a.bvh")
    write_file(MotionFile.open(tmp_path / "a.bvh").read(), tmp_path / "b.bvh")
    a, b = MotionFile.open(tmp_path / "a.bvh").read(), MotionFile.open(tmp_path / "b.bvh").read()
    np.testing.assert_array_equal(a.channels, b.channels)


@pytest.mark.parametrize("extension", [".bvh", ".amc"])
def test_conversions_that_would_change_poses_or_times_are_refused(extension):
    for feature, named in (("scales", "scales"), ("times", "--fps")):
        with pytest.raises(UnsupportedClipError, match=naming(named)):
            write_bytes(take([feature]), extension)


def test_several_roots_and_markers_hang_from_an_origin_where_a_format_has_one_root():
    for clip in (take(["roots", "names", "rest", "tracks"]), markers()):
        back = read_bytes(write_bytes(clip, ".bvh"), unit=clip.unit)
        places = {name: j for j, name in enumerate(back.skeleton.names)}
        assert back.skeleton.names[0] == "origin"
        order = [places[name] for name in clip.skeleton.unique_names]
        np.testing.assert_allclose(back.positions()[:, order], clip.positions(), atol=1e-5)


def test_a_packed_clip_of_uneven_times_is_sampled_evenly_on_demand(tmp_path):
    path = tmp_path / "uneven.mocp"
    path.write_bytes(mocpack.encode(take(["times"]), max_error="1mm", effort="fast"))
    assert mocpack.read(path).take_data.times is not None
    clip = mocpack.read(path, fps=25.0)
    assert clip.take_data.times is None
    assert clip.frame_rate == pytest.approx(25)
    for fps, named in ((-1.0, "long.mocp -1.0"), (1e5, "long.mocp 500000001 21")):
        long = tmp_path / "long.mocp"
        long.write_bytes(mocpack.encode(walk(0.1).replace(frame_time=1e3), max_error="1mm"))
        with pytest.raises(UsageError, match=naming(named)):
            mocpack.read(long, fps=fps)
