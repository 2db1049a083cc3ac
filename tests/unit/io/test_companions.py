"""The list of files that reading a motion file opens."""

import json

import pytest

import mocpack
from mocpack.io import files_to_read, list_robot_files
from mocpack.io.motion_file import MotionFile
from mocpack.testing import walk


def document(*uris):
    buffers = [{"uri": uri, "byteLength": 4} for uri in uris]
    return json.dumps({"asset": {"version": "2.0"}, "buffers": buffers}).encode()


def test_a_gltf_names_its_buffers_once_each():
    uris = ["a.bin", "data:,x", "sub/b%20c.bin", "a.bin", "../secret"]
    found = MotionFile(document(*uris), "a.gltf").list_external_files()
    assert found == ["a.bin", "sub/b c.bin", "../secret"]


def test_files_that_reading_refuses_are_not_listed(tmp_path):
    path = tmp_path / "a.gltf"
    path.write_bytes(document("a.bin", "../secret", "https://host/x.bin", "/etc/passwd"))
    assert files_to_read(path) == [path, tmp_path / "a.bin"]


def test_files_that_are_whole_in_themselves_open_no_other(tmp_path):
    for name in ("a.bvh", "a.glb", "a.npz"):
        mocpack.write(walk(0.1), tmp_path / name)
        assert files_to_read(tmp_path / name) == [tmp_path / name]


def test_all_files_of_a_motion_are_listed_by_path(tmp_path):
    path = tmp_path / "a.gltf"
    path.write_bytes(document("a.bin"))
    assert files_to_read(path) == [path, tmp_path / "a.bin"]
    mocpack.write(walk(0.1), tmp_path / "01_02.amc")
    assert files_to_read(tmp_path / "01_02.amc")[1].suffix == ".asf"


def test_files_that_a_usd_refers_to_are_found_through_others(tmp_path):
    pytest.importorskip("pxr")
    mocpack.write(walk(0.1), tmp_path / "body.usda")
    (tmp_path / "list.usda").write_text("#usda 1.0\n(subLayers = [@./body.usda@])\n")
    (tmp_path / "scene.usda").write_text("#usda 1.0\n(subLayers = [@list.usda@])\n")
    found = [path.name for path in files_to_read(tmp_path / "scene.usda")]
    assert found == ["scene.usda", "list.usda", "body.usda"]


def test_a_robot_names_the_files_that_it_includes(tmp_path):
    (tmp_path / "robot.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>')
    missing = [tmp_path / "robot.xml", tmp_path / "arm.xml"]
    assert list_robot_files(tmp_path / "robot.xml") == missing
    (tmp_path / "arm.xml").write_text('<mujoco><include file="hand.xml"/></mujoco>')
    assert list_robot_files(tmp_path / "robot.xml") == [*missing, tmp_path / "hand.xml"]
