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

RECORDED = {  # a key for each frame; frames and joints
    "blender_293_barbarian_7400_binary": (63, 31),
    "maya_anim_no_inherit_scale_7700_ascii": (34, 7),
    "maya_kenney_character_7700_binary": (21, 59),
}
KEYED = {  # few keys; the same, and the scene's frames per second
    "maya_anim_interpolation_7700_binary": (61, 1, 30.0),
    "maya_anim_layers_over_acc_orders_7500_binary": (120, 6, 24.0),
    "maya_anim_pivot_rotate_7700_ascii": (21, 1, 24.0),
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


def apart_from_ufbx(path, clip, times):
    """Return the distances of joints from ufbx's positions, in meters."""
    script = Path(__file__).with_name("ufbx_poses.py")
    words = [sys.executable, script, path, json.dumps(np.asarray(times).tolist())]
    told = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    at = np.interp(times, clip.times, np.arange(clip.frame_count))
    ours = clip.poses_at(at).positions()
    apart = []
    for row, nodes in enumerate(told["frames"]):
        count = Counter(node for node, _ in nodes)
        for node, place in nodes:
            if count[node] == 1 and node in clip.skeleton.names:
                found = ours[row, clip.skeleton.index(node)]
                apart.append(np.abs(found - np.array(place) * told["unit"]).max())
    assert len(apart) >= len(times)
    return max(apart)


@pytest.mark.parametrize("name", RECORDED | KEYED)
def test_joints_stand_where_ufbx_puts_them(model, name):
    path = model(name)
    frames, joints, *fps = (RECORDED | KEYED)[name]
    clip = mocpack.read(path, fps=fps[0] if fps else None)
    assert (clip.frame_count, len(clip.skeleton)) == (frames, joints)
    assert apart_from_ufbx(path, clip, clip.times[::5]) < 1e-5


@pytest.mark.parametrize("name", KEYED)
def test_a_take_of_few_keys_keeps_its_bound_at_any_time(model, name):
    path, rng = model(name), np.random.default_rng(3)
    clip = mocpack.read(path)
    times = np.sort(rng.uniform(clip.times[0], clip.times[-1], 300))
    after = np.clip(np.searchsorted(clip.times, times), 1, clip.frame_count - 1)
    times = times[np.diff(clip.times)[after - 1] > 1e-4]  # within a jump there are two values
    assert apart_from_ufbx(path, clip, times) < 1e-4
    packed = mocpack.decode(mocpack.encode(clip, max_error="1mm", effort="fast"))
    assert apart_from_ufbx(path, packed, times) < 1e-3


@pytest.mark.parametrize("name", STILL)
def test_files_in_which_nothing_moves_are_called_static(model, name):
    with pytest.raises(FormatError, match="takes"):
        mocpack.read(model(name))


def test_blend_shapes_are_tracks(model):
    tracks = mocpack.read(model("blender_293_barbarian_7400_binary")).tracks
    assert {"Left", "Right", "Mouth"} <= tracks.keys()
    assert all(np.abs(track.values).max() <= 1 for track in tracks.values())
