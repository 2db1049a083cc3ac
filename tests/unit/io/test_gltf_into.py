"""Clips added to glTF characters, and clips as VRM animations."""

import contextlib
import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import run_text as run
from made_gltf import Made

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import (
    FormatError,
    FormatWarning,
    MocpackError,
    UnsupportedClipError,
    UsageError,
)
from mocpack.io import gltf, gltf_file, gltf_into, vrm
from mocpack.model.take_data import Track
from mocpack.testing import walk
from naming import names, naming
from reading import read_bytes

FOX = Path(__file__).parents[2] / "samples/Fox.glb"


def character(clip, **changes):
    """A file with nodes named like the clip's joints in reverse order, a mesh and an animation."""
    names = list(clip.skeleton.names)[::-1]
    nodes = [{"name": name, "translation": [0, k, 0]} for k, name in enumerate(names)]
    nodes.append({"name": "skin", "mesh": 0, **changes})
    made = Made(nodes, scenes=[{"nodes": list(range(len(nodes)))}], scene=0)
    place = made.array(np.zeros((3, 3)), min=[0] * 3, max=[0] * 3)
    made.document["meshes"] = [{"primitives": [{"attributes": {"POSITION": place}}]}]
    made.animate((0, "rotation", [0, 1], [[0, 0, 0, 1]] * 2, "LINEAR"), name="own")
    return made


def test_joints_are_found_by_name_and_all_else_stays():
    clip = walk(0.3)
    made = character(clip)
    document = gltf_file.parse(gltf_into.write(clip, made.glb()))
    assert gltf.list_animations(document) == ["own", "motion"]
    for name in ("nodes", "meshes", "scenes"):
        assert document.root[name] == made.document[name]
    keys = gltf.parse_channels(document, 1)
    names = [node["name"] for node in document.items("nodes")]
    for j, name in enumerate(clip.skeleton.names):
        found = keys[names.index(name), "rotation"].at(clip.times)
        np.testing.assert_allclose(np.abs((found * clip.rotations[:, j]).sum(1)), 1, atol=1e-6)


def test_joints_without_a_node_are_named_and_none_at_all_is_refused():
    clip = walk(0.3)
    made = character(clip)
    made.document["nodes"][0]["name"] = "another"
    found = gltf_into.match_joints(clip, gltf_file.parse(made.glb()))
    assert found.missing == (clip.skeleton.names[-1],)
    for node in made.document["nodes"]:
        node["name"] = "x"
    with pytest.raises(UsageError, match=naming("joint clip (Hips 13 (x)")):
        gltf_into.write(clip, made.glb())


def test_an_animation_of_the_same_name_is_replaced_and_its_numbers_are_gone():
    clip = mocpack.read(FOX, clip="Survey")
    made = gltf_into.write(clip, FOX.read_bytes())
    document = gltf_file.parse(made)
    assert gltf.list_animations(document) == ["Walk", "Run", "Survey"]
    views = document.items("bufferViews")
    used = sum(view["byteLength"] for view in views)
    assert used <= len(document.body) <= used + 8 * len(views)
    again = read_bytes(made, clip="Survey")
    np.testing.assert_allclose(again.positions(), clip.positions(), atol=1e-4)
    walking = read_bytes(made, clip="Walk")
    np.testing.assert_array_equal(walking.positions(), mocpack.read(FOX, clip="Walk").positions())
    # the mesh and its picture, byte for byte
    before = gltf_file.parse(FOX.read_bytes())
    for name, number in document.items("meshes")[0]["primitives"][0]["attributes"].items():
        old = before.items("meshes")[0]["primitives"][0]["attributes"][name]
        np.testing.assert_array_equal(document.array(number), before.array(old))


def test_a_node_that_is_given_by_a_matrix_can_be_moved():
    made = Made([{"name": "a", "matrix": [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1]}])
    skeleton = mocpack.Skeleton(("a",), (-1,), np.zeros((1, 3)))
    turns = mocpack.rotations.from_euler(np.array([[[0.0]], [[1.0]]]), "X")
    clip = mocpack.Clip.build(skeleton, turns, np.zeros((2, 1, 3)), frame_rate=10)
    (node,) = gltf_file.parse(gltf_into.write(clip, made.glb())).items("nodes")
    assert "matrix" not in node
    assert node["scale"] == [2, 2, 2]


def test_weights_of_a_mesh_are_put_on_its_node():
    clip = walk(0.3)
    values = np.linspace(0, 1, clip.frame_count)
    tracks = {
        f"skin.{name}": Track("scalar", v, times=clip.times, bound=1e-4)
        for name, v in (("smile", values), ("weight 1", 1 - values))
    }
    made = character(clip)
    primitive = made.document["meshes"][0]["primitives"][0]
    primitive["targets"] = [{"POSITION": primitive["attributes"]["POSITION"]}] * 2
    made.document["meshes"][0]["extras"] = {"targetNames": ["smile"]}
    back = read_bytes(gltf_into.write(clip.replace(tracks=tracks), made.glb()), clip="motion")
    for name, track in tracks.items():
        np.testing.assert_allclose(back.tracks[name].values, track.values, atol=1e-6)


def test_files_beside_a_character_come_inside(tmp_path):
    clip = walk(0.1)
    made = character(clip)
    made.document["images"] = [{"uri": "skin.png"}]
    (tmp_path / "body.bin").write_bytes(made.body)
    (tmp_path / "skin.png").write_bytes(b"picture")
    (tmp_path / "a.gltf").write_bytes(made.gltf("body.bin"))
    with pytest.warns(FormatWarning, match="b.gltf"):  # the character is a heap of bones
        mocpack.write(clip, tmp_path / "b.gltf", into=tmp_path / "a.gltf")
    text = (tmp_path / "b.gltf").read_text()
    assert not re.findall(r'"uri":"(?!data:)', text)
    assert json.loads(text)["images"] == [{"uri": "data:image/png;base64,cGljdHVyZQ=="}]
    made.document["images"] = [{"uri": "../secret.png"}]
    (tmp_path / "a.gltf").write_bytes(made.gltf("body.bin"))
    with pytest.raises(FormatError, match="--allow-outside"):
        mocpack.write(clip, tmp_path / "b.gltf", into=tmp_path / "a.gltf")


def test_a_hostile_character_gives_a_clear_error():
    clip = walk(0.1)
    rng = random.Random(1)
    text = json.dumps(
        {**character(clip).document, "buffers": [{"byteLength": 0, "uri": "data:;base64,"}]}
    )
    text = text.replace('"own"', '"motion"')  # which is then taken out
    spots = [m.span() for m in re.finditer(r'\d+|"[^"]*"|\[[^][]*\]|\{[^{}]*\}', text)]
    for _ in range(300):
        start, stop = rng.choice(spots)
        other = rng.choice(["null", "-1", "99", '"x"', "[]", "{}", "[[]]", "1e9", "true"])
        with contextlib.suppress(MocpackError):
            gltf_into.write(clip, (text[:start] + other + text[stop:]).encode())


def character_file(path, clip, change):
    """Write a character with the clip's joints whose offsets are changed, and return its path."""
    offsets = clip.skeleton.offsets.copy()
    change(offsets, clip.skeleton.names)
    mocpack.write(clip.frames(0, 1).replace(skeleton=replace(clip.skeleton, offsets=offsets)), path)
    return path


def raise_arm(offsets, names):
    """Turn the rest pose of the left arm from horizontal to upward."""
    for name in ("LeftForeArm", "LeftHand"):
        j = names.index(name)
        offsets[j] = np.linalg.norm(offsets[j]) * np.array([0.0, 1.0, 0.0])


def test_the_largest_error_of_a_character_is_returned(tmp_path):
    clip = walk(0.5)
    same = character_file(tmp_path / "same.glb", clip, lambda offsets, names: None)
    fit = mocpack.write(clip, tmp_path / "a.glb", into=same)
    assert fit.meters < 1e-5
    assert fit.is_close
    assert fit.missing == ()
    assert 1.3 < fit.body_height < 2
    assert mocpack.write(clip, tmp_path / "b.glb") is None


def test_a_character_with_another_rest_pose_is_a_warning_with_joint_and_frame(tmp_path):
    clip = walk(0.5)
    other = character_file(tmp_path / "other.glb", clip, raise_arm)
    with pytest.warns(FormatWarning, match=naming("a.glb 'LeftHand' frame height")):
        fit = mocpack.write(clip, tmp_path / "a.glb", into=other)
    back = mocpack.read(tmp_path / "a.glb", clip="motion")
    order = [back.skeleton.index(name) for name in clip.skeleton.names]
    apart = np.linalg.norm(back.positions()[:, order] - clip.positions(), axis=-1)
    assert fit.meters == pytest.approx(apart.max(), abs=1e-6)
    assert apart[fit.frame, clip.skeleton.index(fit.joint)] == pytest.approx(fit.meters, abs=1e-6)
    assert fit.meters > 0.2


def test_a_character_in_the_unit_of_its_file_is_measured_in_it(tmp_path):
    clip = mocpack.read(FOX, clip="Run", unit="cm")
    fit = mocpack.write(clip, tmp_path / "a.glb", into=FOX)
    assert fit.meters < 1e-5
    assert 0.5 < fit.body_height < 3


def test_joints_that_a_character_does_not_have_are_named(tmp_path):
    clip = walk(0.3)
    made = character(clip)
    made.document["nodes"][0]["name"] = "another"
    (tmp_path / "c.glb").write_bytes(made.glb())
    with pytest.warns(FormatWarning, match=naming(f"a.glb {clip.skeleton.names[-1]}")):
        fit = mocpack.write(clip, tmp_path / "a.glb", into=tmp_path / "c.glb")
    assert fit.missing == (clip.skeleton.names[-1],)


def test_the_command_line_always_prints_the_error_of_a_character(tmp_path):
    clip = walk(0.5)
    mocpack.write(clip, tmp_path / "a.bvh")
    for name, change, named in (
        ("same.glb", lambda offsets, names: None, "out.glb"),
        ("other.glb", raise_arm, "out.glb 'LeftHand' frame height"),
    ):
        character_file(tmp_path / name, clip, change)
        words = ["convert", tmp_path / "a.bvh", tmp_path / "out.glb", "--into", tmp_path / name]
        done = run(*words, "-f")
        assert done.returncode == 0
        assert len(done.stderr.splitlines()) == 1
        assert names(done.stderr, named)


def test_only_gltf_can_hold_a_character(tmp_path):
    with pytest.raises(UsageError, match=naming("character .glb .gltf .vrma")):
        mocpack.write(walk(0.1), tmp_path / "a.bvh", into=FOX)


@pytest.mark.parametrize("name", ["asfamc/02_01", "cmu/02_01"])
def test_human_bones_are_known_by_the_names_of_several_programs(name):
    clip = load_clip(name, COMMITTED).frames(0, 5)
    back = read_bytes(vrm.write(clip))
    assert set(back.metadata["vrm_humanoid"]) >= vrm.REQUIRED
    hips = back.skeleton.index(back.metadata["vrm_humanoid"]["hips"])
    np.testing.assert_allclose(back.positions()[:, hips], clip.positions()[:, 0], atol=1e-5)


def test_written_expressions_round_trip():
    clip = walk(0.3)
    values = np.linspace(0, 1, clip.frame_count)
    names = ("expression.happy", "expression.of my own")
    tracks = {n: Track("scalar", values, times=clip.times, bound=1e-4) for n in names}
    made = vrm.write(clip.replace(tracks=tracks))
    extension = gltf_file.parse(made).root["extensions"][vrm.EXTENSION]
    assert list(extension["expressions"]["preset"]) == ["happy"]
    assert list(extension["expressions"]["custom"]) == ["of my own"]
    back = read_bytes(made)
    assert sorted(back.tracks) == sorted(names)
    for name in names:
        np.testing.assert_allclose(back.tracks[name].values, values, atol=1e-6)
    assert len(back.skeleton) == len(clip.skeleton)


def test_a_body_that_is_not_human_is_refused():
    with pytest.raises(UnsupportedClipError, match=naming("bones body head leftFoot")):
        vrm.write(mocpack.read(FOX))
