"""Written binary glTF: parsed by hand and checked against the specification."""

import json
import struct

import numpy as np
import pytest

from mocpack.bench.peers.gltf import read_motion
from mocpack.errors import CorruptionError
from mocpack.io import glb, gltf_file
from mocpack.model.clip import measure_error
from mocpack.testing import still, walk
from mocpack.testing.motions import hard_clips
from reading import read_bytes
from takes import take


def document_of(data):
    magic, version, size = struct.unpack_from("<4sII", data)
    assert (magic, version, size) == (b"glTF", 2, len(data))
    length, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    assert length % 4 == 0
    body_length, kind = struct.unpack_from("<I4s", data, 20 + length)
    assert kind == b"BIN\0"
    assert 28 + length + body_length == size
    return json.loads(data[20 : 20 + length])


def test_nodes_are_the_joints_then_the_end_sites():
    clip = walk(0.2)
    document = document_of(glb.write(clip))
    names = [n["name"] for n in document["nodes"]]
    assert names[: len(clip.skeleton)] == list(clip.skeleton.names)
    assert names.pop() == "figure"
    assert all(name.endswith("_end") for name in names[len(clip.skeleton) :])
    assert document["skins"][0]["joints"] == list(range(len(clip.skeleton)))
    below = [c for n in document["nodes"] for c in n.get("children", ())]
    assert sorted(below) == list(range(1, len(names)))


def test_every_accessor_lies_within_the_buffer_and_times_have_bounds():
    clip = walk(0.5)
    document = document_of(glb.write(clip))
    total = document["buffers"][0]["byteLength"]
    assert all(v["byteOffset"] + v["byteLength"] <= total for v in document["bufferViews"])
    times = document["accessors"][document["animations"][0]["samplers"][0]["input"]]
    assert times["min"] == [0.0]
    assert times["max"][0] == pytest.approx((clip.frame_count - 1) * clip.frame_time)


def test_joints_that_keep_still_have_no_keys():
    document = document_of(glb.write(still()))
    animation = document["animations"][0]
    assert len(animation["channels"]) == len(animation["samplers"]) == 1


@pytest.mark.parametrize("name", hard_clips())
def test_the_motion_round_trips_to_float32(name):
    clip = hard_clips()[name]
    back = read_motion(glb.write(clip), clip.header)
    reach = 1 + np.abs(clip.positions()).max()
    assert measure_error(clip, back).max < 3e-6 * reach


def test_a_broken_file_is_a_corruption_error():
    clip = walk(0.2)
    data = glb.write(clip)
    for bad in (b"", data[:15], data[:-20], data.replace(b"VEC4", b"VEC9"), b"x" + data[1:]):
        with pytest.raises(CorruptionError, match="glTF: "):
            read_motion(bad, clip.header)


def test_scales_rest_times_and_several_roots_are_written():
    clip = take(["rest", "roots", "scale", "scales", "times", "names"])
    document = document_of(glb.write(clip))
    nodes, animation = document["nodes"], document["animations"][0]
    assert nodes[0]["scale"] == [100.0] * 3
    assert nodes[3]["scale"] == [1.0, 1.5, 0.8]
    assert nodes[1]["rotation"] == clip.skeleton.rest[1].tolist()
    assert "name" not in nodes[2]
    top, figure = document["scenes"][0]["nodes"]
    assert nodes[figure] == {"name": "figure", "mesh": 0, "skin": 0}
    assert nodes[top]["children"] == [0, 5]
    scaled = [c["target"]["node"] for c in animation["channels"] if c["target"]["path"] == "scale"]
    assert scaled == [1, 6]
    times = document["accessors"][animation["samplers"][0]["input"]]
    assert times["min"][0] == pytest.approx(clip.times[0])
    assert times["max"][0] == pytest.approx(clip.times[-1])


def test_bones_are_drawn_from_each_joint_to_the_next():
    clip = walk(0.2)
    data = glb.write(clip)
    document = gltf_file.parse(data)
    (mesh,) = document.items("meshes")
    attributes = mesh["primitives"][0]["attributes"]
    corners = document.array(attributes["POSITION"]).reshape(-1, 6, 3)
    owners = document.array(attributes["JOINTS_0"])[::6, 0].astype(int)
    skeleton = clip.skeleton
    bones = [(p, skeleton.offsets[j]) for j, p in enumerate(skeleton.parents) if p >= 0]
    bones += zip(skeleton.end_site_joints, skeleton.end_sites, strict=True)
    bones = [(j, end) for j, end in bones if end.any()]
    assert owners.tolist() == [j for j, _ in bones]
    np.testing.assert_allclose(corners[:, 0], 0)
    np.testing.assert_allclose(corners[:, 1], [end for _, end in bones], atol=1e-6)


def test_a_file_without_a_figure_has_no_mesh():
    assert "meshes" not in document_of(glb.write(walk(0.2), figure=False))


def test_as_text_it_holds_the_same_numbers():
    clip = walk(0.2)
    binary, text = (read_bytes(data) for data in (glb.write(clip), glb.write_text(clip)))
    np.testing.assert_array_equal(binary.rotations, text.rotations)
    np.testing.assert_array_equal(binary.positions(), text.positions())
