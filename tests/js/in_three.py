"""Poses of glTF files as computed by three.js in Node.js."""

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.io import external_file_reader, gltf, gltf_file

VIEWER = Path(__file__).parents[2] / "viewer"
SCRIPT = Path(__file__).with_name("pose.mjs")


def find_three():
    """Skip the test if three.js cannot run."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (VIEWER / "node_modules/three").is_dir():
        pytest.skip("three.js is not installed; `make viewer` installs it")


def pose(path, number, times):
    """Return the matrices (T, N, 4, 4) of the file's nodes, and their morph weights."""
    return _pose(Path(path), number, tuple(map(float, times)))


@functools.lru_cache(maxsize=32)
def _pose(path, number, times):
    found = subprocess.run(
        ["node", str(SCRIPT), str(path), str(number)],
        input=json.dumps(times),
        env=os.environ | {"MOCPACK_VIEWER": str(VIEWER)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    rows = json.loads(found.stdout)
    matrices = np.array([[node["matrix"] for node in row] for row in rows])
    weights = [[node["weights"] for node in row] for row in rows]
    return matrices.reshape(*matrices.shape[:2], 4, 4).swapaxes(-1, -2), weights


def joints_of(path):
    """Return the node index of each joint."""
    document = gltf_file.parse(Path(path).read_bytes())
    return gltf.find_joint_nodes(document)


def largest_differences(path, *, packed=None, count=1000, seed=0, fps=None):
    """Yield (animation, difference at frames, at random times) in meters, against three.js.

    `packed` makes of a clip the one that is compared, such as by packing it. Times are kept away
    from steps, where there is no value but two.
    """
    nodes, rng = joints_of(path), np.random.default_rng(seed)
    for number, name in enumerate(gltf.list_clips(path.read_bytes(), external_file_reader(path))):
        original = mocpack.read(path, clip=name, fps=fps)
        clip = original if packed is None else packed(original)
        times = original.times
        between = np.sort(rng.uniform(times[0], times[-1], count))
        between = between[~_in_step(between, times)]
        matrices, _ = pose(path, number, [*times, *between])
        places = matrices[:, nodes][..., :3, 3]
        samples = np.concatenate([clip.sample(time).positions() for time in between])
        at_frames = np.linalg.norm(clip.positions() - places[: len(times)], axis=-1).max()
        at_random = np.linalg.norm(samples - places[len(times) :], axis=-1).max(initial=0.0)
        yield name, at_frames, at_random


def _in_step(seconds, times):
    gaps = np.diff(times)
    after = np.clip(np.searchsorted(times, seconds), 1, len(times) - 1)
    return gaps[after - 1] < 1e-4
