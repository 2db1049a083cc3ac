"""Hinges: angles determine joint rotations exactly, for all axes, orders and limits."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack import Clip, Hinges, Skeleton
from mocpack.container import pack_skeleton, pack_take_data, read_skeleton
from mocpack.container.hinge import pack_hinges
from mocpack.container.take_chunks import pack_rest
from mocpack.errors import CorruptionError, HingeWarning, InvalidClipError, UsageError
from mocpack.model import rotations
from mocpack.model.codec_clip import drop_take_data
from mocpack.model.dofs import from_dofs
from mocpack.model.skeleton import channel_hinges
from mocpack.model.take_data import TakeData
from mocpack.testing import walk
from naming import naming
from reference.hinge_angles import hinge_angles
from robots import hinged_motion, hinged_skeleton
from takes import take


def arm(hinges, rest=None):
    offsets = [[0, 1, 0], [0, 0.3, 0], [0.2, 0, 0.1]]
    rest = np.zeros((0, 4)) if rest is None else rest
    return Skeleton(("base", "upper", "lower"), (-1, 0, 1), offsets, rest=rest, hinges=hinges)


ELBOW = Hinges((2,), [[0, 1, 0]], [[-1, 2]], names=("elbow",))


def about(axis, angle):
    """The textbook's matrix of a turn about a unit axis (Rodrigues)."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def test_a_hinge_turns_from_its_rest_rotation_about_its_axis():
    rest = np.tile([0, 0, np.sin(0.4), np.cos(0.4)], (3, 1))
    clip = Clip.from_angles(arm(ELBOW, rest), [[0.7], [-0.2]])
    found = rotations.as_matrix(clip.rotations[:, 2])
    for pose, angle in zip(found, (0.7, -0.2), strict=True):
        np.testing.assert_allclose(
            pose, about((0, 0, 1), 0.8) @ about((0, 1, 0), angle), atol=1e-15
        )


def test_rows_of_one_joint_apply_in_their_order():
    two = Hinges((1, 1), [[0, 0, 1], [1, 0, 0]])
    clip = Clip.from_angles(arm(two), [[0.5, 1.1]])
    expected = about((0, 0, 1), 0.5) @ about((1, 0, 0), 1.1)
    np.testing.assert_allclose(rotations.as_matrix(clip.rotations[0, 1]), expected, atol=1e-15)


def test_a_slider_moves_along_its_axis_as_the_rest_rotation_turns_it():
    rest = np.tile([0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)], (3, 1))
    slider = Hinges((2,), [[1, 0, 0]], slides=[True])
    clip = Clip.from_angles(arm(slider, rest), [[0.0], [0.05]])
    np.testing.assert_allclose(clip.translations[1, 1], [0.2, 0.05, 0.1], atol=1e-15)
    np.testing.assert_allclose(clip.angles, [[0.0], [0.05]], atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_angles_round_trip_from_the_pose_for_any_axes_and_any_order(seed):
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(4, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    limits = [[-3, 3], [-3, 3], [-np.inf, np.inf], [-0.2, 0.2]]
    hinges = Hinges((2, 1, 2, 1), axes, limits, [False, True, False, False])
    rest = rotations.from_rotvec(rng.normal(size=(3, 3)))
    angles = np.cumsum(rng.uniform(-0.5, 0.5, (40, 4)), axis=0)
    angles[:, [0, 3]] = np.clip(angles[:, [0, 3]], -0.2, 3)
    clip = Clip.from_angles(arm(hinges, rest), angles)
    np.testing.assert_allclose(clip.angles, angles, atol=1e-12)
    assert clip.hinge_angles().off_axis.max() < 1e-12


def test_an_angle_above_180_degrees_stays_between_its_limits():
    wide = replace(ELBOW, limits=[[1.0, 5.0]])
    angles = np.array([[4.9], [1.1], [3.3]])
    np.testing.assert_allclose(Clip.from_angles(arm(wide), angles).angles, angles, atol=1e-14)


def test_a_wheel_goes_round_and_round():
    wheel = replace(ELBOW, limits=[[-np.inf, np.inf]])
    angles = np.linspace(0, 30, 50)[:, None]
    np.testing.assert_allclose(Clip.from_angles(arm(wheel), angles).angles, angles, atol=1e-13)


def test_the_root_has_the_position_of_the_source_for_any_up_axis():
    rng = np.random.default_rng(1)
    places, turns = rng.normal(size=(5, 3)), rotations.from_rotvec(rng.normal(size=(5, 3)))
    for up in "xyz":
        clip = Clip.from_angles(arm(ELBOW), np.zeros((5, 1)), places, turns, up=up)
        found, turned = clip.source_root()
        np.testing.assert_allclose(found, places, atol=1e-15)
        assert rotations.angle_between(turned, turns).max() < 1e-7
        height = "xyz".index(up)
        np.testing.assert_allclose(clip.positions()[:, 0, 1], places[:, height], atol=1e-15)


def test_a_joint_off_its_hinge_gives_the_nearest_angle_and_a_warning():
    clip = Clip.from_angles(arm(ELBOW), [[0.4]])
    tilt = rotations.from_rotvec(np.array([0.03, 0, 0]))
    turns = clip.rotations.copy()
    turns[:, 2] = rotations.multiply(turns[:, 2], tilt)
    bent = Clip(clip.header, turns, clip.translations)
    with pytest.warns(HingeWarning, match=r"0\.03 rad"):
        angles = bent.angles
    assert abs(angles[0, 0] - 0.4) < 1e-12
    assert abs(bent.hinge_angles().off_axis[0, 0] - 0.03) < 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clip.angles[0, 0] == pytest.approx(0.4)


def test_angles_of_a_skeleton_without_hinges_are_none_and_cannot_be_given():
    clip = walk(0.1)
    assert clip.angles.shape == (clip.frame_count, 0)
    with pytest.raises(UsageError, match=naming("hinges")):
        Clip.from_angles(clip.skeleton, np.zeros((3, 0)))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"joints": ()}, "hinges 1 65535 0"),
        ({"axes": [[0, 2, 0]]}, "hinge axes"),
        ({"axes": [[0, np.nan, 0]]}, "hinge axes"),
        ({"axes": [[0, 1]]}, "axes (1, 3) 2)"),
        ({"limits": [[1, 0]]}, "limits 1.0 0.0"),
        ({"limits": [[np.nan, 0]]}, "limits nan 0.0"),
        ({"names": ("a", "b")}, "names 1 2"),
        ({"names": ("\ud800",)}, r"hinge '\ud800'"),
        ({"joints": (2, 2), "axes": [[0, 1, 0], [0, -1, 0]]}, "axes joint 2"),
        (
            {
                "joints": (2, 2),
                "axes": [[0, 1, 0], [0, 0, 1]],
                "slides": [False, True],
            },
            "joint 2",
        ),
        (
            {"joints": (1, 1, 1), "axes": np.eye(3)},
            "joint 1 2 3 0",
        ),
    ],
)
def test_hinges_that_are_none_are_refused_by_name(given, named):
    with pytest.raises(InvalidClipError, match=naming(named)):
        Hinges(**({"joints": (2,), "axes": [[0, 1, 0]]} | given))


def test_a_hinge_of_a_missing_joint_is_refused():
    with pytest.raises(InvalidClipError, match=naming("joints 3 0 2")):
        arm(replace(ELBOW, joints=(3,)))


def test_a_slider_must_be_translated():
    with pytest.raises(InvalidClipError, match=naming("'lower' translated_joints")):
        Clip.build(
            arm(replace(ELBOW, slides=[True])), np.tile([0, 0, 0, 1], (1, 3, 1)), [[0, 0, 0]]
        )


def test_hinges_go_with_their_joints():
    skeleton = take(["hinges", "roots"]).skeleton
    assert skeleton.subset([0, 1]).hinges.names == ("knee_hinge",)
    assert skeleton.subset([0]).hinges is None
    assert skeleton.as_single_tree.hinges.joints == (4, 4, 2, 3, 3)
    assert pickle.loads(pickle.dumps(skeleton)) == skeleton


@pytest.mark.parametrize("features", [["hinges"], ["hinges", "rest", "scale", "roots"]])
def test_the_codec_clip_has_the_same_angles(features):
    clip = take(features)
    seen = drop_take_data(clip)
    assert seen.hinge_angles().off_axis.max() < 1e-9
    turning = ~clip.skeleton.hinges.slides
    np.testing.assert_allclose(seen.angles[:, turning], clip.angles[:, turning], atol=1e-12)


def test_a_clip_without_hinges_has_no_byte_for_them():
    assert not [tag for tag, _ in pack_take_data(walk(0.1).header, TakeData()) if tag == "HING"]


def read_hinges(body, skeleton):
    """Return the hinges of a HING chunk beside the other chunks of a skeleton."""
    plain = pack_skeleton(replace(skeleton, hinges=None), tuple(range(len(skeleton))), 1.0)
    return read_skeleton(plain, pack_rest(skeleton.rest), body)[0].hinges


@pytest.mark.parametrize("features", [["hinges"], ["hinges", "names", "rest"]])
def test_the_chunk_brings_back_the_hinges(features):
    skeleton = take(features).skeleton
    assert read_hinges(pack_hinges(skeleton), skeleton) == skeleton.hinges


def test_hinges_of_channels_take_a_byte_and_a_bit_for_each_limit():
    base = walk(0.1).skeleton
    channels = [c[-1:] if j % 3 == 1 else c[-2:] if j % 3 == 2 else c
                for j, c in enumerate(base.channels)]  # fmt: skip
    skeleton = replace(base, channels=channels)
    skeleton = replace(skeleton, hinges=channel_hinges(skeleton))
    body = pack_hinges(skeleton)
    assert len(body) == 1 + -(-2 * len(skeleton.hinges) // 8)
    assert read_hinges(body, skeleton) == skeleton.hinges
    limits = np.tile([-1.5, np.inf], (len(skeleton.hinges), 1))
    limited = replace(skeleton, hinges=replace(skeleton.hinges, limits=limits))
    assert read_hinges(pack_hinges(limited), limited) == limited.hinges


def test_channels_of_bvh_and_asf_turn_as_their_hinges_do():
    turned = rotations.from_rotvec(np.array([[0.3, -0.2, 0.9]] * 3))
    channels = [("Zrotation", "Xrotation"), ("rx", "rz"), ("ry",)]
    skeleton = Skeleton(("a", "b", "c"), (-1, 0, 1), np.eye(3), channels=channels, axes=turned)
    hinges = channel_hinges(skeleton)
    assert hinges.names == ("a.Zrotation", "a.Xrotation", "b.rz", "b.rx", "c.ry")
    header = mocpack.ClipHeader(replace(skeleton, hinges=hinges), 1, translated_joints=())
    matrix = np.array([[0.5, 0.7, -0.4, 1.2, 0.1]])
    clip = from_dofs(matrix, header)
    np.testing.assert_allclose(clip.angles, [[0.5, 0.7, 1.2, -0.4, 0.1]], atol=1e-14)


@pytest.mark.parametrize("body", [b"\x02", b"\x01", b"\x00\x00"])
def test_a_broken_chunk_is_a_format_error(body):
    with pytest.raises((CorruptionError, mocpack.errors.TruncatedError)):
        read_hinges(body, arm(None))


def test_every_flip_of_the_chunk_is_an_error_or_hinges():
    skeleton = take(["hinges"]).skeleton
    body = pack_hinges(skeleton)
    for bit in range(8 * len(body)):
        bad = bytearray(body)
        bad[bit // 8] ^= 1 << bit % 8
        try:
            replace(skeleton, hinges=read_hinges(bytes(bad), skeleton))
        except (mocpack.errors.FormatError, InvalidClipError):
            continue


def knee(frames=60, *, base=None, noise=0.0, axis=(0.0, 1.0, 0.0)):
    """A leg of three joints whose second is a hinge that nothing names."""
    rng = np.random.default_rng(0)
    time = np.arange(frames)[:, None]
    turns = rotations.from_rotvec(
        0.5 * np.sin(0.1 * time[:, :, None] + rng.uniform(0, 6, (1, 3, 3)))
    )
    base = rotations.IDENTITY if base is None else base
    bend = rotations.from_rotvec((0.8 + 0.7 * np.sin(0.2 * time)) * np.array(axis))
    jitter = rotations.from_rotvec(noise * rng.normal(size=(frames, 3)))
    turns[:, 1] = rotations.multiply(rotations.multiply(base, bend), jitter)
    return Clip.build(arm(None), turns, np.zeros((frames, 3)))


@pytest.mark.parametrize("seed", range(5))
def test_a_hinge_is_found_for_any_axis_and_rest_rotation(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    base = rotations.from_rotvec(rng.normal(size=3)) if seed else None
    clip = knee(base=base, axis=axis)
    found = clip.with_hinges(detect=True)
    assert found.skeleton.hinges.names == ("upper",)
    assert abs(abs(found.skeleton.hinges.axes[0] @ axis) - 1) < 1e-9
    assert found.hinge_angles().off_axis.max() < 1e-7
    assert list(found.metadata["hinges_found"]) == ["upper"]
    np.testing.assert_array_equal(found.rotations, clip.rotations)
    swing = np.ptp(found.angles)
    assert swing == pytest.approx(1.4, abs=0.01)


def test_rounding_is_forgiven_and_more_is_not():
    assert knee(noise=2e-5).with_hinges(detect=True).skeleton.hinges is not None
    assert knee(noise=2e-3).with_hinges(detect=True).skeleton.hinges is None
    forgiving = knee(noise=2e-3).with_hinges(detect=True, tolerance=0.02)
    assert forgiving.metadata["hinges_found"]["upper"] > 1e-3


def test_joints_that_hardly_move_are_no_hinges():
    clip = knee()
    still = Clip(clip.header, np.tile(clip.rotations[:1], (60, 1, 1)), clip.translations)
    assert still.with_hinges(detect=True) is still


def test_nothing_is_looked_for_unless_asked():
    clip = knee()
    assert clip.with_hinges() is clip


def test_a_rest_rotation_of_the_source_is_not_replaced():
    clip = knee(base=rotations.from_rotvec(np.array([0.3, 0.2, 0.1])))
    other = rotations.from_rotvec(np.array([0.0, 0.0, 1.0]))
    skeleton = replace(clip.skeleton, rest=np.tile(other, (3, 1)))
    kept = Clip(replace(clip.header, skeleton=skeleton), clip.rotations, clip.translations)
    assert kept.with_hinges(detect=True).skeleton.hinges is None


def test_channels_that_a_joint_does_not_keep_to_are_named():
    clip = knee()
    skeleton = replace(clip.skeleton, channels=[("Zrotation",), ("Yrotation",), ("Xrotation",)])
    bare = Clip(replace(clip.header, skeleton=skeleton), clip.rotations, clip.translations)
    found = bare.with_hinges()
    assert found.skeleton.hinges.names == ("upper.Yrotation",)
    assert set(found.metadata["hinges_left"]) == {"base.Zrotation", "lower.Xrotation"}


def test_a_bvh_with_one_channel_a_joint_comes_with_hinges(tmp_path):
    (tmp_path / "arm.bvh").write_text(
        "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation "
        "Xrotation Yrotation\nJOINT b\n{\nOFFSET 0 100 0\nCHANNELS 2 Zrotation Xrotation\nJOINT c\n"
        "{\nOFFSET 0 80 0\nCHANNELS 1 Xrotation\nEnd Site\n{\nOFFSET 0 10 0\n}\n}\n}\n}\n"
        "MOTION\nFrames: 2\nFrame Time: 0.01\n0 0 0 1 2 3 30 -20 45\n0 0 0 1 2 3 31 -21 46\n"
    )
    clip = mocpack.read(tmp_path / "arm.bvh")
    assert clip.skeleton.hinges.names == ("b.Zrotation", "b.Xrotation", "c.Xrotation")
    np.testing.assert_allclose(np.degrees(clip.angles), [[30, -20, 45], [31, -21, 46]], atol=1e-9)
    back = mocpack.decode(mocpack.encode(clip, "lossless"))
    assert back.skeleton == clip.skeleton


def reference_angles(clip):
    s = clip.skeleton
    pose = clip.rotations, clip.translations, clip.translated_joints
    return hinge_angles(s.hinges, s.rest, s.offsets, *pose)


@pytest.mark.parametrize("seed", range(12))
def test_angles_of_the_core_are_those_of_numpy(seed):
    clip = hinged_motion(hinged_skeleton(seed), seed)
    expected, found = reference_angles(clip), clip.hinge_angles()
    np.testing.assert_allclose(found.angles, expected.angles, atol=1e-9)
    np.testing.assert_allclose(found.off_axis, expected.off_axis, atol=1e-7)
    np.testing.assert_array_equal(clip.hinge_angles(measure_off_axis=False).angles, found.angles)
    limits = np.where(clip.skeleton.hinges.slides[:, None], np.inf, np.pi) * [-1, 1]
    narrow = replace(clip.skeleton.hinges, limits=limits - np.array([0, 1e-9]))
    header = replace(clip.header, skeleton=replace(clip.skeleton, hinges=narrow))
    clip = mocpack.Clip(header, clip.rotations, clip.translations)
    apart = np.abs(clip.hinge_angles().angles - reference_angles(clip).angles)
    np.testing.assert_allclose(np.minimum(apart, 2 * np.pi - apart), 0, atol=1e-9)
