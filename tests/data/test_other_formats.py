"""Real files of other programs: glTF against three.js, C3D against ezc3d where it is installed."""

import numpy as np
import pytest
from in_three import find_three, largest_differences

import mocpack

MODELS = {  # animations in each, and how large the model is, in meters
    "gltf/BrainStem.glb": (1, 2),
    "gltf/CesiumMan.glb": (1, 2),
    "gltf/Fox.glb": (3, 150),
    "gltf/InterpolationTest.glb": (9, 11),
    "gltf/RiggedFigure.glb": (1, 2),
    "gltf/RobotExpressive.glb": (14, 7),
    "vrma/idle_loop.vrma": (1, 2),
    "vrma/test.vrma": (1, 5),
}


@pytest.fixture
def other(data):
    """Find a file by its path in the folder."""

    def find(name):
        if not (data / name).is_file():
            pytest.skip(f"{name} is not in the folder that MOCPACK_DATA names")
        return data / name

    return find


@pytest.mark.parametrize("name", MODELS)
def test_every_animation_matches_three(other, name):
    find_three()
    count, size = MODELS[name]
    found = list(largest_differences(other(name), count=300))
    assert len(found) == count
    worst = max(max(apart) for _, *apart in found)
    print(f"{name}: at most {worst:.2g} m of {size} from three.js")
    assert worst < 1e-4 + 1e-6 * size


@pytest.mark.parametrize("name", MODELS)
def test_every_animation_keeps_its_bound_as_three_poses_it(other, name):
    find_three()
    bound = 1e-3 * max(1, MODELS[name][1] / 2)  # meters

    def packed(clip):
        return mocpack.decode(mocpack.encode(clip, max_error=mocpack.m(bound), effort="fast"))

    for animation, at_frames, at_random in largest_differences(
        other(name), packed=packed, count=1000
    ):
        print(f"{name} {animation}: {at_frames / bound:.3f}, {at_random / bound:.3f} of the bound")
        assert max(at_frames, at_random) <= bound


def test_expressions_and_human_bones_of_a_vrm_animation_are_kept(other):
    clip = mocpack.read(other("vrma/test.vrma"))
    assert list(clip.tracks) == ["expression.happy"]
    assert clip.metadata["vrm_humanoid"]["hips"] in clip.skeleton.names


def test_subjects_of_a_recording_are_those_that_ezc3d_reads(other):
    ezc3d = pytest.importorskip("ezc3d")
    path = other("c3d/markers_analogs.c3d")
    theirs = ezc3d.c3d(str(path))
    labels = theirs["parameters"]["POINT"]["LABELS"]["value"]
    points = theirs["data"]["points"][:3].transpose(2, 1, 0) / 1000
    for subject, clip in mocpack.read_scene(path).items():
        columns = [k for k, label in enumerate(labels) if label.startswith(f"{subject}:")]
        np.testing.assert_allclose(clip.source_points(), points[:, columns], atol=1e-12)
    first = mocpack.read(path)
    ours = np.stack([track.values for track in first.tracks.values()])
    np.testing.assert_allclose(ours, theirs["data"]["analogs"][0], atol=1e-12)


def test_subjects_gaps_and_analogs_of_a_recording(other):
    path = other("c3d/markers_analogs.c3d")
    assert mocpack.clip_names(path.read_bytes()) == ["boite", "Daphnee"]
    box, person = mocpack.read_scene(path).values()
    assert (len(box.skeleton), len(person.skeleton), len(box.tracks)) == (8, 43, 38)
    assert ((~box.valid).sum(), (~person.valid).sum()) == (24, 281)
    heights = np.nanmax(person.points()[..., 1])
    assert 0.5 < heights < 2.5


def test_commas_part_the_columns_of_a_table_of_markers(other):
    clip = mocpack.read(other("c3d/markers.trc"))
    assert (len(clip.skeleton), clip.frame_count, clip.frame_rate) == (51, 93, 100)
    assert clip.metadata["declared_frames"] == "652"


@pytest.mark.parametrize("name", ["walk", "spinkick", "dance_a"])
def test_motions_of_deepmimic_stay_on_the_ground(other, name):
    clip = mocpack.read(other(f"deepmimic/humanoid3d_{name}.txt"))
    feet = [clip.skeleton.index(f"{side}_ankle") for side in ("left", "right")]
    lowest = clip.positions()[:, feet, 1].min()
    assert clip.header.loop
    assert 0 < lowest < 0.15


def test_a_motion_of_amass_stands_on_the_floor(other):
    clip = mocpack.read(other("amass/sample.npz"))
    assert (len(clip.skeleton), clip.frame_count, clip.frame_rate) == (52, 601, 120)
    assert clip.metadata["bones"] == "stand-in"
    assert -0.05 < clip.positions()[..., 1].min() < 0.1
