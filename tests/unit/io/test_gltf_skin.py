"""glTF meshes, skinned by a clip's joints as by the format's matrices."""

from pathlib import Path

import numpy as np
import pytest
from made_gltf import Made

import mocpack
from mocpack.errors import CorruptionError, FormatError, MocpackError
from mocpack.io.gltf_skin import read_skin
from mocpack.model import rotations
from naming import naming
from reading import read_bytes

FOX = Path(__file__).parents[2] / "samples/Fox.glb"
HALF = 0.5**0.5
TIMES = (0.0, 0.5, 1.0)
TURNS = rotations.from_rotvec(np.array([[0, 0, 0], [0.4, 0.2, 1.1], [0, 1, 2]], float))
CORNERS = np.array([[0, 0, 0], [0.2, 0, 0], [0, 1, 0.1], [0.2, 1, 0], [0, 2, 0], [0.2, 2, 0.3]])
SHARES = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0]] + [[0.2, 0.8, 0, 0]] * 3)


def read(data):
    return read_bytes(data, name="bar.glb")


def matrix(translation=(0, 0, 0), rotation=(0, 0, 0, 1), scale=(1, 1, 1)):
    found = np.eye(4)
    found[:3, :3] = rotations.as_matrix(np.array(rotation, float)) * np.array(scale, float)
    found[:3, 3] = translation
    return found


ARMATURE = {"translation": [0, 0, 1], "scale": [2, 2, 2], "rotation": [0, HALF, 0, HALF]}
UPPER = {"translation": [0.1, 1, 0]}
HAT = {"translation": [0, 0.5, 0], "rotation": [HALF, 0, 0, HALF], "scale": [1, 3, 1]}


def bar(**primitive):
    """A bar on two bones below a node that is scaled, and a hat carried by the upper bone."""
    made = Made(
        [
            {"name": "armature", "children": [1], **ARMATURE},
            {"name": "lower", "children": [2]},
            {"name": "upper", "children": [4], **UPPER},
            {"name": "bar", "mesh": 0, "skin": 0},
            {"name": "hat", "mesh": 1, **HAT},
            {"name": "scenery", "mesh": 1},
        ]
    )
    binds = [np.linalg.inv(m).T.ravel() for m in posed(0)[1:3]]
    attributes = {
        "POSITION": made.array(CORNERS),
        "JOINTS_0": made.array(np.tile([0, 1, 0, 0], (6, 1)), 5121),
        "WEIGHTS_0": made.array(SHARES),
    }
    strip = {"attributes": attributes, "indices": made.array([0, 1, 2, 3, 4, 5], 5123), "mode": 5}
    hat = {"attributes": {"POSITION": made.array(CORNERS[:3])}}
    made.document["meshes"] = [{"primitives": [strip | primitive]}, {"primitives": [hat]}]
    made.document["skins"] = [{"joints": [1, 2], "inverseBindMatrices": made.array(binds)}]
    return made.animate((2, "rotation", TIMES, TURNS, "LINEAR"))


def posed(key):
    """World matrices of armature, lower and upper bone, and hat, at one of the keys."""
    armature = matrix(**ARMATURE)
    upper = armature @ matrix(rotation=TURNS[key], **UPPER)
    return [armature, armature, upper, upper @ matrix(**HAT)]


def moved(skin, clip, frame):
    """Vertices as a reader of `Skin` moves them."""
    places, turns = clip[frame].world()
    matrices = rotations.as_matrix(turns[0])[skin.joints] @ skin.matrices
    matrices[:, :, 3] += places[0][skin.joints]
    corners = np.c_[skin.vertices, np.ones(len(skin.vertices))]
    return np.einsum("vk,vkij,vj->vi", skin.weights, matrices[skin.binds], corners)


@pytest.mark.parametrize("key", [0, 1, 2])
def test_vertices_stand_where_the_formats_own_matrices_put_them(key):
    data = bar().glb()
    clip = read(data)
    found = moved(read_skin(data, clip), clip, np.abs(clip.times - TIMES[key]).argmin())
    _, lower, upper, hat = posed(key)
    binds = [np.linalg.inv(m) for m in posed(0)[1:3]]
    corners = np.c_[CORNERS, np.ones(6)]
    bones = np.stack([corners @ (lower @ binds[0]).T, corners @ (upper @ binds[1]).T], 1)
    expected = np.einsum("vk,vkj->vj", SHARES[:, :2], bones)[:, :3]
    np.testing.assert_allclose(found[:6], expected, atol=1e-5)
    np.testing.assert_allclose(found[6:], (corners[:3] @ hat.T)[:, :3], atol=1e-5)


def test_scenery_that_nothing_carries_is_left_out_and_strips_become_triangles():
    data = bar().glb()
    skin = read_skin(data, read(data))
    assert len(skin.vertices) == 9
    np.testing.assert_array_equal(
        skin.triangles, [[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5], [6, 7, 8]]
    )
    np.testing.assert_allclose(skin.weights.sum(1), 1)


def test_the_fox_has_its_fur_on():
    data = FOX.read_bytes()
    clip = mocpack.read(FOX)
    skin = read_skin(data, clip)
    assert (len(skin.vertices), len(skin.triangles), len(skin.joints)) == (1728, 576, 24)
    shape = moved(skin, clip, len(clip) // 2)
    joints = clip.positions()[len(clip) // 2]
    assert (shape.min(0) < joints[2:].min(0) + 5).all()
    assert np.ptp(shape, axis=0)[1] > 50  # it stands on its legs


def test_a_file_without_a_mesh_has_no_skin():
    data = Made([{"name": "a"}]).animate((0, "rotation", TIMES, TURNS, "LINEAR")).glb()
    assert read_skin(data, read(data)) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attributes": {}}, "accessors"),
        ({"attributes": 3}, "attributes"),
        ({"indices": 99}, "accessors"),
        ({"extensions": {"KHR_draco_mesh_compression": {}}}, "KHR_draco"),
    ],
)
def test_a_mesh_that_contradicts_the_format_is_a_clear_error(change, message):
    data = bar(**change).glb()
    with pytest.raises(FormatError, match=message):
        read_skin(data, read(data))


def test_joints_and_corners_beyond_the_last_are_corrupt():
    made = bar()
    made.document["skins"][0]["joints"] = [1]
    data = made.glb()
    with pytest.raises(CorruptionError, match=naming("1")):
        read_skin(data, read(data))
    made = bar()
    made.document["meshes"][0]["primitives"][0]["indices"] = made.array([0, 1, 6], 5123)
    data = made.glb()
    with pytest.raises(CorruptionError, match=naming("6")):
        read_skin(data, read(data))


def test_any_damage_to_the_document_is_a_clear_error_or_a_mesh():
    rng = np.random.default_rng(3)
    whole = bar().glb()
    clip = read(whole)
    for _ in range(300):
        data = bytearray(whole)
        data[rng.integers(20, len(data))] ^= 1 << rng.integers(8)
        try:
            read_skin(bytes(data), clip)
        except MocpackError:
            continue
