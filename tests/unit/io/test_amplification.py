"""Small files with huge declared contents take limited memory and time."""

import base64
import json
import struct

import pytest

import mocpack
from mocpack.errors import FormatError
from mocpack.io import amc, gltf, gltf_file
from mocpack.io.robots import mjcf
from mocpack.robots import read_robot
from naming import naming

KEYS = struct.pack("<2f6f", 0, 1, 0, 0, 0, 1, 1, 1)


def chain(count, accessors, uri):
    """Return a glTF of a chain of nodes, each moved by the same two keys."""
    nodes = [{"name": f"n{i}", "children": [i + 1]} for i in range(count - 1)]
    views = [{"buffer": 0, "byteLength": 8}, {"buffer": 0, "byteOffset": 8, "byteLength": 24}]
    target = [{"sampler": 0, "target": {"node": i, "path": "translation"}} for i in range(count)]
    document = {
        "asset": {"version": "2.0"},
        "nodes": [*nodes, {"name": "end"}],
        "scenes": [{"nodes": [0]}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": 32, "uri": uri}],
        "animations": [{"samplers": [{"input": 0, "output": 1}], "channels": target}],
    }
    return json.dumps(document).encode()


def accessor(view, count, kind):
    return {"bufferView": view, "componentType": 5126, "count": count, "type": kind}


def test_a_buffer_beside_a_gltf_is_read_once():
    read = []
    data = chain(50, [accessor(0, 2, "SCALAR"), accessor(1, 2, "VEC3")], "a.bin")
    assert gltf.read(data, read_external=lambda name: read.append(name) or KEYS) is not None
    assert read == ["a.bin"]


def test_zeros_that_a_gltf_need_not_store_have_a_limit():
    zeros = [
        {"componentType": 5126, "count": gltf_file.MAX_ZEROS // 3, "type": kind}
        for kind in ("SCALAR", "VEC3")
    ]
    uri = "data:application/octet-stream;base64," + base64.b64encode(KEYS).decode()
    with pytest.raises(FormatError, match="zeros"):
        gltf.read(chain(1, zeros, uri))


def test_frames_that_an_amc_leaves_empty_have_a_limit(tmp_path):
    from mocpack.testing import walk

    mocpack.write(walk(0.1), tmp_path / "walk.amc")
    width = mocpack.read(tmp_path / "walk.amc").skeleton.channel_count
    frames = amc.MAX_SPARSE_NUMBERS // width + 1
    assert 8 * amc.MAX_SPARSE_NUMBERS <= 64 << 20
    numbers = b"".join(b"%d\n" % k for k in range(1, frames + 1))
    (tmp_path / "walk.amc").write_bytes(b":DEGREES\n" + numbers)
    with pytest.raises(FormatError, match=naming("walk.amc walk.asf 127101 66")):
        mocpack.read(tmp_path / "walk.amc")


def test_included_files_count_together(tmp_path, monkeypatch):
    monkeypatch.setattr(mjcf, "MAX_ELEMENTS", 10_000)
    (tmp_path / "part.xml").write_text(f"<mujoco>{'<a/>' * 200}</mujoco>")
    includes = '<include file="part.xml"/>' * 90
    (tmp_path / "robot.xml").write_text(f"<mujoco>{includes}</mujoco>")
    with pytest.raises(FormatError, match="elements"):
        read_robot(tmp_path / "robot.xml")
