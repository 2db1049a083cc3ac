"""Converted motion has the positions that three.js computes with its own loaders."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from in_three import VIEWER, find_three, joints_of, pose
from motion_files import SKELETONS

import mocpack

SCRIPT = Path(__file__).with_name("bvh_pose.mjs")
HUMAN = ("BVH", "AMC", "VRMA", "npz", "AMASS")


@pytest.fixture(autouse=True)
def three():
    find_three()


def source(name, folder):
    path, options = SKELETONS[name](folder)
    clip = mocpack.read(path, **options)
    return clip.frames(0, min(clip.frame_count, 20))


def check_places(clip, names, places):
    """Compare places (T, N, 3) of joints of these names; three leaves some signs out of names."""
    ours = {three_name(name): j for j, name in enumerate(clip.skeleton.names)}
    pairs = [(ours[n], k) for k, n in enumerate(names) if n in ours]
    assert len(pairs) == len(clip.skeleton)
    mine, theirs = (list(column) for column in zip(*pairs, strict=True))
    reach = 1 + np.abs(clip.positions()).max()
    np.testing.assert_allclose(places[:, theirs], clip.positions()[:, mine], atol=1e-5 * reach)


def three_name(name):
    return "".join("_" if c.isspace() else c for c in name if c not in "[].:/")


def in_gltf(path, clip):
    # keys are at times of single precision, and a jump takes but 10 µs
    matrices, _ = pose(path, 0, clip.times.astype(np.float32).astype(float))
    nodes = joints_of(path)
    document = mocpack.io.gltf_file.parse(path.read_bytes())
    names = [three_name(document.items("nodes")[n]["name"]) for n in nodes]
    return names, matrices[:, nodes][..., :3, 3]


@pytest.mark.parametrize("name", SKELETONS)
def test_as_glb(name, tmp_path):
    clip = source(name, tmp_path)
    mocpack.write(clip, tmp_path / "goal.glb")
    check_places(clip, *in_gltf(tmp_path / "goal.glb", clip))


@pytest.mark.parametrize("name", HUMAN)
@pytest.mark.parametrize("extension", [".gltf", ".vrma"])
def test_as_text_and_for_vrm_models(name, extension, tmp_path):
    clip = source(name, tmp_path)
    mocpack.write(clip, tmp_path / f"goal{extension}")
    check_places(clip, *in_gltf(tmp_path / f"goal{extension}", clip))


@pytest.mark.parametrize("name", ["BVH", "AMC", "npz", "mocp", "AMASS", "DeepMimic"])
def test_as_bvh(name, tmp_path):
    clip = source(name, tmp_path)
    mocpack.write(clip, tmp_path / "goal.bvh")
    done = subprocess.run(
        ["node", str(SCRIPT), str(tmp_path / "goal.bvh")],
        input=json.dumps((clip.times - clip.times[0]).tolist()),
        env=os.environ | {"MOCPACK_VIEWER": str(VIEWER)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = json.loads(done.stdout)
    check_places(clip, found["names"], np.array(found["places"]) * clip.unit)
