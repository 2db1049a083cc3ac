"""Bounds of single joints: patterns, all codecs, and what files state."""

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.container import unpack
from mocpack.errors import UsageError
from mocpack.metrics.angles import joint_angles
from mocpack.model.clip import measure_error
from mocpack.testing import walk
from naming import naming

CLIP = walk(0.5)
NAMES = CLIP.skeleton.names


def encoded(clip=CLIP, codec="keysine:effort=fast", **target):
    data = mocpack.encode(clip, codec, **target)
    return data, mocpack.decode(data), unpack(data).errors.joints


def bound_of(errors, name):
    return errors.declared[NAMES.index(name)]


def test_each_joint_keeps_its_own_bound_and_the_file_states_it():
    own = {"*Foot": "20mm", "*Hand": mocpack.mm(10), "Head": "0.2mm"}
    _, decoded, joints = encoded(max_error="2mm", joint_errors=own)
    assert bound_of(joints, "LeftFoot") == pytest.approx(0.02)
    assert bound_of(joints, "RightHand") == pytest.approx(0.01)
    assert bound_of(joints, "Head") == pytest.approx(0.0002)
    assert bound_of(joints, "Spine") == pytest.approx(0.002)
    found = measure_error(CLIP, decoded).joints
    assert (found <= joints.declared * (1 + 1e-6)).all()
    assert (found <= joints.max * (1 + 1e-9)).all()
    assert found.max() > 0.002


def test_the_head_of_the_file_declares_the_largest_bound():
    data, _, _ = encoded(max_error="2mm", joint_errors={"*Foot": "20mm"})
    assert unpack(data).errors.declared == pytest.approx(0.02)


def test_looser_bounds_make_a_smaller_file_and_tighter_ones_a_larger_one():
    clip = load_clip("cmu/49_02", COMMITTED).frames(0, 240)
    sizes = [
        len(mocpack.encode(clip, "keysine:effort=fast", max_error="1mm", joint_errors=own))
        for own in ({"*Toe*": "4mm", "*Hand*": "4mm"}, None, {"Head": "0.3mm"})
    ]
    assert sizes[0] < sizes[1] < sizes[2]


def test_later_patterns_win():
    _, _, joints = encoded(max_error="2mm", joint_errors={"*Foot": "9mm", "Left*": "5mm"})
    assert bound_of(joints, "LeftFoot") == pytest.approx(0.005)
    assert bound_of(joints, "RightFoot") == pytest.approx(0.009)


def test_patterns_mind_case_and_one_without_a_joint_is_an_error_that_names_it():
    with pytest.raises(UsageError, match=naming("*foot")):
        mocpack.encode(CLIP, max_error="2mm", joint_errors={"*foot": "9mm"})


def test_one_bound_for_all_joints_is_that_of_the_file():
    data, _, joints = encoded(max_error="2mm", joint_errors={"*": "5mm"})
    assert joints is None
    assert data == mocpack.encode(CLIP, "keysine:effort=fast", max_error="5mm")


def test_an_angle_bounds_the_angle_of_a_joint():
    pairs = [("LeftLeg", "0.05deg"), ("LeftLeg", "3mm")]
    _, decoded, joints = encoded(max_error="20mm", joint_errors=pairs)
    leg = NAMES.index("LeftLeg")
    assert joints.declared_angle[leg] == pytest.approx(np.radians(0.05))
    assert joints.declared[leg] == pytest.approx(0.003)
    assert np.count_nonzero(joints.declared_angle) == 1
    assert joint_angles(CLIP, decoded)[leg] <= np.radians(0.05) * (1 + 1e-6)
    assert joint_angles(CLIP, decoded).max() > np.radians(0.05)


def test_patterns_match_hinges_too():
    clip = load_clip("cmu/49_02", COMMITTED).frames(0, 60).with_hinges(detect=True)
    name = clip.skeleton.hinges.names[0]
    _, decoded, joints = encoded(clip, max_error="20mm", joint_errors={name: "0.1deg"})
    joint = clip.skeleton.hinges.joints[0]
    assert joints.declared_angle[joint] > 0
    assert joint_angles(clip, decoded)[joint] <= np.radians(0.1) * (1 + 1e-6)


@pytest.mark.parametrize("codec", ["raw", "lossless", "wavelet", "fk-wavelet"])
def test_other_codecs_keep_joint_bounds_too(codec):
    _, decoded, joints = encoded(codec=codec, max_error="20mm", joint_errors={"Head": "5mm"})
    assert (measure_error(CLIP, decoded).joints <= joints.declared * (1 + 1e-6)).all()


@pytest.mark.parametrize("target", [{"preset": "game"}, {"size": "4kB"}, {"ratio": 8.0}, {}])
def test_joint_bounds_go_with_every_target_on_the_largest_error(target):
    _, decoded, joints = encoded(joint_errors={"Head": "0.3mm"}, **target)
    assert bound_of(joints, "Head") == pytest.approx(0.0003)
    assert (measure_error(CLIP, decoded).joints <= joints.declared * (1 + 1e-6)).all()


def test_layers_keep_joint_bounds():
    _, decoded, joints = encoded(
        codec="keysine:effort=fast,layers=3", max_error="2mm", joint_errors={"*Foot": "9mm"}
    )
    assert (measure_error(CLIP, decoded).joints <= joints.declared * (1 + 1e-6)).all()


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ({"mean_error": "1mm", "joint_errors": {"Head": "1mm"}}, "mean_error"),
        ({"joint_errors": {"Head": "1"}}, "1"),
        ({"joint_errors": {"Head": 1.0}}, "Head"),
        ({"joint_errors": {"Head": "-1mm"}}, "-1mm"),
        ({"joint_errors": ["Head"]}, "Head"),
    ],
)
def test_invalid_arguments_are_usage_errors(target, named):
    with pytest.raises(UsageError, match=naming(named)):
        mocpack.encode(CLIP, **target)


def test_a_codec_without_a_bound_refuses_a_size_with_joint_bounds_by_its_name():
    with pytest.raises(UsageError, match=naming("fk-wavelet")):
        mocpack.encode(CLIP, "fk-wavelet", size="9kB", joint_errors={"Head": "1mm"})


def test_clips_with_motion_between_frames_keep_joint_bounds_there():
    clip = mocpack.Clip.build(
        CLIP.skeleton,
        CLIP.rotations,
        CLIP.translations,
        frame_time=CLIP.frame_time,
        translated_joints=CLIP.translated_joints,
        interpolated=True,
    )
    _, decoded, joints = encoded(clip, max_error="2mm", joint_errors={"*Foot": "9mm"})
    at = np.arange(clip.frame_count - 1) + 0.5
    found = measure_error(clip.poses_at(at), decoded.poses_at(at)).joints
    assert (found <= joints.declared * (1 + 1e-6)).all()
