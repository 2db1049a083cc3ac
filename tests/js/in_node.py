"""Opens files with the JavaScript package in Node.js and compares them with Python."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.model.kinematics import end_positions, forward_kinematics

NANOMETER = 1e-9
TIMES = (-1.0, 0.0, 0.0123, 0.31, 1e6)  # seconds, some outside of every clip


PACKAGE = Path(__file__).parents[2] / "js"


def find_package():
    """Return the folder of the package; skip the test if it cannot run."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not ((PACKAGE / "dist/index.js").exists() and (PACKAGE / "dist/mocpack.wasm").exists()):
        pytest.skip("the JavaScript package is not built; `make js` builds it")
    return PACKAGE


def in_javascript(package, folder, jobs):
    """Open files in Node.js; return the header of each and a function that reads its arrays."""
    for job in jobs:
        job |= {"out": str(folder / re.sub(r"\W+", "_", job["name"])), "times": TIMES}
    listed = folder / "jobs.json"
    listed.write_text(json.dumps(jobs))
    command = ["node", str(package / "test/dump.mjs"), str(listed)]
    subprocess.run(command, check=True, timeout=300)
    return [Found(job["out"]) for job in jobs]


class Found:
    def __init__(self, out):
        self.out = out
        self.header = json.loads(Path(f"{out}.json").read_text())

    def array(self, name, *shape):
        return np.fromfile(f"{self.out}.{name}", "<f8").reshape(*shape)


def world_of(clip):
    if clip.header.is_scaled:
        positions, matrices = clip.world_matrices()
        carried = matrices[:, list(clip.skeleton.end_site_joints)]
        ends = (carried @ clip.skeleton.end_sites[..., np.newaxis])[..., 0]
        return positions, positions[:, list(clip.skeleton.end_site_joints)] + ends
    positions, world = forward_kinematics(
        clip.skeleton, clip.rotations, clip.translations, clip.translated_joints
    )
    return positions, end_positions(clip.skeleton, positions, world)


def check_same_motion(found, clip):
    frames, joints = clip.frame_count, len(clip.skeleton)
    rotations = found.array("rotations", frames, joints, 4)
    # either sign is the same rotation
    turned = np.abs((rotations * clip.rotations).sum(-1))
    np.testing.assert_allclose(turned, 1, rtol=0, atol=1e-12)
    places = np.tile(clip.skeleton.offsets, (frames, 1, 1))
    places[:, list(clip.translated_joints)] = clip.translations
    found_places = found.array("translations", frames, joints, 3)
    np.testing.assert_allclose(found_places, places, rtol=0, atol=NANOMETER)
    if clip.header.is_scaled:
        scales = found.array("scales", frames, joints, 3)
        np.testing.assert_allclose(scales, clip.scales, rtol=1e-15)
    positions, ends = world_of(clip)
    found_positions = found.array("joints", frames, joints, 3)
    np.testing.assert_allclose(found_positions, positions, rtol=0, atol=NANOMETER)
    found_ends = found.array("ends", frames, len(clip.skeleton.end_sites), 3)
    np.testing.assert_allclose(found_ends, ends, rtol=0, atol=NANOMETER)
    for i, time in enumerate(TIMES):
        expected, _ = world_of(clip.sample(time))
        sampled = found.array(f"sample{i}", 1, joints, 3)
        np.testing.assert_allclose(sampled, expected, rtol=0, atol=NANOMETER)


def check_same_header(found, clip):
    skeleton, header = clip.skeleton, found.header
    assert header["skeleton"]["names"] == list(skeleton.names)
    assert header["skeleton"]["parents"] == list(skeleton.parents)
    assert header["skeleton"]["endJoints"] == list(skeleton.end_site_joints)
    assert header["skeleton"]["translatedJoints"] == list(clip.translated_joints)
    np.testing.assert_array_equal(header["skeleton"]["offsets"], skeleton.offsets.ravel())
    np.testing.assert_array_equal(header["skeleton"]["endOffsets"], skeleton.end_sites.ravel())
    assert header["frameCount"] == clip.frame_count
    assert header["frameTime"] == clip.frame_time
    assert header["metadata"] == dict(clip.header.metadata)


def check_packed(package, folder, clips, spec):
    files = {name: mocpack.encode(clip, spec) for name, clip in clips.items()}
    jobs = []
    for i, (name, data) in enumerate(files.items()):
        path = folder / f"{i}.mocp"
        path.write_bytes(data)
        jobs.append({"name": name, "file": str(path)})
    for (_, data), found in zip(files.items(), in_javascript(package, folder, jobs), strict=True):
        clip = mocpack.decode(data)
        check_same_motion(found, clip)
        check_same_header(found, clip)
        assert found.header["bytes"]["file"] == len(data)
