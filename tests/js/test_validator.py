"""The Khronos validator accepts the glTF files that mocpack writes."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from in_three import find_three, joints_of, pose

import mocpack
from mocpack.testing import walk
from mocpack.testing.motions import hard_clips
from takes import take

FOLDER = Path(__file__).parent
FOX = FOLDER.parent / "samples/Fox.glb"
# unknown to the validator, which reports it
UNKNOWN = "UNSUPPORTED_EXTENSION at /extensionsUsed/0: Cannot validate an extension as it is not "


@pytest.fixture(autouse=True)
def validator():
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (FOLDER / "node_modules/gltf-validator").is_dir():
        pytest.skip("the validator is not installed; `make js-tools` installs it")


def issues(*paths):
    """Return the messages of the validator for each file, including hints."""
    command = ["node", str(FOLDER / "validate.mjs"), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(done.stdout)


def written(clip, path, **options):
    mocpack.write(clip, path, **options)
    return path


def test_it_does_find_something_in_a_bad_file(tmp_path):
    data = written(walk(0.1), tmp_path / "bad.gltf").read_bytes()
    (tmp_path / "bad.gltf").write_bytes(data.replace(b'"LINEAR"', b'"LINEAL"', 1))
    (found,) = issues(tmp_path / "bad.gltf")
    assert any("LINEAL" in issue for issue in found)


@pytest.mark.parametrize("extension", [".glb", ".gltf"])
def test_nothing_is_found_in_any_clip(tmp_path, extension):
    clips = hard_clips() | {"take": take(["rest", "roots", "scale", "scales", "times", "names"])}
    markers = mocpack.Skeleton.from_point_names(["a", "b", "c"])
    places = np.random.default_rng(0).normal(size=(5, 3, 3))
    clips["points"] = mocpack.Clip.build(
        markers, np.tile([0, 0, 0, 1.0], (5, 3, 1)), places, translated_joints=(0, 1, 2)
    )
    paths = [written(clip, tmp_path / f"{n}{extension}") for n, clip in enumerate(clips.values())]
    assert dict(zip(clips, issues(*paths), strict=True)) == {name: [] for name in clips}


def test_nothing_is_found_in_an_animation_for_vrm_models(tmp_path):
    (found,) = issues(written(walk(0.2), tmp_path / "walk.vrma"))
    assert [issue for issue in found if not issue.startswith(UNKNOWN)] == []


@pytest.mark.parametrize("name", ["Survey", "Walk", "Run"])
@pytest.mark.parametrize("extension", [".glb", ".gltf"])
def test_nothing_is_found_in_a_character_with_a_motion_put_in(tmp_path, name, extension):
    find_three()
    clip = mocpack.read(FOX, clip=name)
    path = written(clip, tmp_path / f"fox{extension}", into=FOX)
    assert issues(path) == [[]]
    # the added animation is the last one
    matrices, _ = pose(path, 2, clip.times)
    places = matrices[:, joints_of(path)][..., :3, 3]
    np.testing.assert_allclose(places, clip.positions(), atol=1e-4)  # the fox is 100 units long


def test_a_replaced_animation_leaves_nothing_behind(tmp_path):
    clip = mocpack.read(FOX, clip="Run")
    once = written(clip, tmp_path / "once.glb", into=FOX)
    twice = written(clip, tmp_path / "twice.glb", into=once)
    assert twice.stat().st_size == once.stat().st_size
