"""Real FBX files, against ufbx's evaluation of whole scenes; `make test-blender` has Blender's."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.errors import FormatError

pytest.importorskip("ufbx")

MOVING = {  # frames and joints
    "blender_293_barbarian_7400_binary": (63, 31),
    "maya_anim_interpolation_7700_binary": (61, 1),
    "maya_anim_layers_over_acc_orders_7500_binary": (120, 6),
    "maya_anim_no_inherit_scale_7700_ascii": (34, 7),
    "maya_anim_pivot_rotate_7700_ascii": (21, 1),
    "maya_kenney_character_7700_binary": (21, 59),
}
STILL = (
    "maya_character_6100_binary",
    "maya_human_ik_7400_binary",
    "motionbuilder_actor_7700_ascii",
)


@pytest.fixture
def model(data):
    def find(name):
        path = data / "fbx" / f"{name}.fbx"
        if not path.is_file():
            pytest.skip(f"{path.name} is not in the folder that MOCPACK_DATA names")
        return path

    return find


@pytest.mark.parametrize("name", MOVING)
def test_joints_stand_where_ufbx_puts_them(model, name):
    path = model(name)
    clip = mocpack.read(path)
    assert (clip.frame_count, len(clip.skeleton)) == MOVING[name]
    rows = np.arange(0, clip.frame_count, 5)
    script = Path(__file__).with_name("ufbx_poses.py")
    words = [sys.executable, script, path, json.dumps(clip.times[rows].tolist())]
    told = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    compared = 0
    for row, nodes in zip(rows, told["frames"], strict=True):
        count = Counter(node for node, _ in nodes)
        for node, place in nodes:
            if count[node] == 1 and node in clip.skeleton.names:
                found = clip.positions()[row, clip.skeleton.index(node)]
                np.testing.assert_allclose(found, np.array(place) * told["unit"], atol=1e-5)
                compared += 1
    assert compared >= len(rows)


@pytest.mark.parametrize("name", STILL)
def test_files_in_which_nothing_moves_are_called_static(model, name):
    with pytest.raises(FormatError, match="static"):
        mocpack.read(model(name))


def test_blend_shapes_are_tracks(model):
    tracks = mocpack.read(model("blender_293_barbarian_7400_binary")).tracks
    assert {"Left", "Right", "Mouth"} <= tracks.keys()
    assert all(np.abs(track.values).max() <= 1 for track in tracks.values())
