"""AMASS motions, on a default body and on that of a model."""

import numpy as np
import pytest
from command_line import run

import mocpack
from mocpack.errors import CorruptionError, MocpackError
from mocpack.io import amass, npz
from mocpack.io.amass import joint_names
from mocpack.testing import walk
from naming import naming
from reading import read_bytes


def motion(frames=5, joints=52, **changes):
    rng = np.random.default_rng(0)
    arrays = {
        "poses": 0.3 * rng.normal(size=(frames, 3 * joints)),
        "trans": np.tile([1.0, 2.0, 0.9], (frames, 1)),
        "mocap_framerate": 60.0,
        "betas": np.array([2.0, -1.0, 0.5]),
        "gender": "female",
        "dmpls": rng.normal(size=(frames, 2)),
    }
    return npz.pack({k: v for k, v in (arrays | changes).items() if v is not None})


def test_the_body_stands_upright_where_z_is_up_in_the_file():
    clip = read_bytes(motion(poses=np.zeros((5, 156))))
    assert clip.header.up == "z"
    places = dict(zip(clip.skeleton.names, clip.source_points()[0], strict=True))
    np.testing.assert_allclose(places["pelvis"], [1, 2, 0.9])
    # without a turn of the root its own y, and not z, is the way to the head
    assert places["head"][1] - places["left_foot"][1] == pytest.approx(1.54)
    turned = np.zeros((5, 156))
    turned[:, 0] = np.pi / 2
    upright = read_bytes(motion(poses=turned))
    head, foot = (upright.skeleton.index(name) for name in ("head", "left_foot"))
    assert np.subtract(*upright.positions()[0, [head, foot]])[1] == pytest.approx(1.54)


@pytest.mark.parametrize(
    ("joints", "body"), [(22, "SMPL"), (24, "SMPL"), (52, "SMPL-H"), (55, "SMPL-X")]
)
def test_joints_shape_gender_and_soft_tissue_are_kept(joints, body):
    clip = read_bytes(motion(joints=joints))
    assert clip.skeleton.names == joint_names(joints)
    assert len(set(joint_names(joints))) == joints
    assert clip.metadata["body"] == body
    assert clip.metadata["bones"] == "stand-in"
    assert clip.metadata["betas"] == [2.0, -1.0, 0.5]
    assert clip.metadata["gender"] == "female"
    assert list(clip.tracks) == ["dmpl.0", "dmpl.1"]
    assert clip.frame_rate == 60


def test_left_and_right_mirror_each_other():
    clip = read_bytes(motion())
    offsets = dict(zip(clip.skeleton.names, clip.skeleton.offsets, strict=True))
    for name, place in offsets.items():
        if name.startswith("left_"):
            mirrored = offsets[name.replace("left_", "right_")]
            np.testing.assert_array_equal(place * [-1, 1, 1], mirrored)


def split(poses, names, widths):
    ends = np.cumsum(widths)
    return {n: poses[:, e - w : e] for n, w, e in zip(names, widths, ends, strict=True)}


@pytest.mark.parametrize(
    ("joints", "names", "widths"),
    [
        (22, "root_orient pose_body", [3, 63]),
        (52, "root_orient pose_body pose_hand", [3, 63, 90]),
        (55, "root_orient pose_body pose_jaw pose_eye pose_hand", [3, 63, 3, 6, 90]),
        (24, "global_orient body_pose", [3, 69]),
        (
            55,
            "global_orient body_pose jaw_pose leye_pose reye_pose left_hand_pose right_hand_pose",
            [3, 63, 3, 3, 3, 45, 45],
        ),
    ],
)
def test_parts_of_the_pose_are_read_in_the_order_of_the_body_model(joints, names, widths):
    whole = read_bytes(motion(joints=joints))
    poses = npz.Arrays(motion(joints=joints)).read("poses")
    parts = split(poses, names.split(), widths)
    found = read_bytes(motion(joints=joints, poses=None, **parts))
    assert found.skeleton == whole.skeleton
    np.testing.assert_array_equal(found.rotations, whole.rotations)
    # the smplx package's name of the root position, and joints as an axis of their own
    both = motion(
        poses=poses.reshape(5, joints, 3), trans=None, transl=np.tile([1.0, 2.0, 0.9], (5, 1))
    )
    np.testing.assert_array_equal(read_bytes(both).rotations, whole.rotations)
    np.testing.assert_array_equal(read_bytes(both).translations, whole.translations)


def test_the_first_22_joints_are_the_same_for_all_body_models():
    for joints in (24, 52, 55):
        assert joint_names(joints)[:22] == joint_names(22)


def test_the_first_22_rows_of_any_body_model_give_the_bones_of_a_body(tmp_path):
    rng = np.random.default_rng(1)
    regressor, template = rng.uniform(size=(55, 70)), 0.02 * rng.normal(size=(70, 3))
    model = {"J_regressor": regressor, "v_template": template, "shapedirs": np.zeros((70, 3, 4))}
    (tmp_path / "SMPLX.npz").write_bytes(npz.pack(model))
    (tmp_path / "a.npz").write_bytes(motion(joints=22, poses=np.zeros((5, 66))))
    clip = mocpack.read(tmp_path / "a.npz", body_model=tmp_path / "SMPLX.npz")
    expected = (regressor @ template)[:22] + np.array([1, 2, 0.9])
    np.testing.assert_allclose(clip.source_points()[0], expected, atol=1e-12)


def test_a_file_without_a_rate_takes_it_from_the_user():
    assert read_bytes(motion(mocap_framerate=None), fps=50.0).frame_rate == pytest.approx(50)
    assert read_bytes(motion(mocap_framerate=None, fps=np.array(25))).frame_rate == 25


def test_a_file_with_a_rate_is_sampled_at_another():
    clip, sampled = read_bytes(motion()), read_bytes(motion(), fps=60.0)
    assert sampled.frame_rate == pytest.approx(60)
    np.testing.assert_allclose(sampled.translations, clip.resample(60).translations)


def test_one_shape_per_frame_gives_the_first():
    clip = read_bytes(motion(betas=np.tile([1.0, 2.0], (5, 1))))
    assert clip.metadata["betas"] == [1.0, 2.0]


def test_both_spellings_of_the_rate_are_known():
    clip = read_bytes(motion(mocap_framerate=None, mocap_frame_rate=np.array(100.0)))
    assert clip.frame_rate == 100


def test_a_body_model_gives_the_bones_of_its_shape(tmp_path):
    rng = np.random.default_rng(1)
    regressor = rng.uniform(size=(52, 70))
    template, blends = 0.02 * rng.normal(size=(70, 3)), 0.01 * rng.normal(size=(70, 3, 16))
    path = tmp_path / "model.npz"
    path.write_bytes(
        npz.pack({"J_regressor": regressor, "v_template": template, "shapedirs": blends})
    )
    (tmp_path / "a.npz").write_bytes(motion(poses=np.zeros((5, 156))))
    clip = mocpack.read(tmp_path / "a.npz", body_model=path)
    joints = regressor @ (template + blends[..., :3] @ [2.0, -1.0, 0.5])
    moved = joints + np.array([1, 2, 0.9])
    np.testing.assert_allclose(clip.source_points()[0], moved, atol=1e-12)
    assert clip.metadata["bones"] == "model.npz"
    path.write_bytes(npz.pack({"J_regressor": regressor[:9], "v_template": template}))
    with pytest.raises(CorruptionError, match=naming("model.npz 'shapedirs'")):
        mocpack.read(tmp_path / "a.npz", body_model=path)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"poses": np.zeros((5, 75))}, "poses 66 72 156 165 75"),
        ({"poses": np.zeros((5, 67))}, "poses 67"),
        ({"poses": np.zeros(66)}, "poses (66,)"),
        ({"poses": np.zeros((5, 66), complex)}, "'poses' complex128"),
        ({"poses": np.full((5, 66), "x")}, "'poses' <U1"),
        ({"poses": None, "root_orient": np.zeros((5, 3))}, "root_orient 66 3"),
        (
            {"poses": None, "root_orient": np.zeros((5, 3)), "pose_body": np.zeros((4, 63))},
            "root_orient pose_body 4 5",
        ),
        ({"trans": None, "transl": np.zeros((4, 3))}, "transl (5, 3) (4,"),
        ({"expression": np.zeros((6, 10))}, "expression 5 6"),
        ({"expression": np.full((5, 10), np.nan)}, "expression"),
        ({"betas": np.zeros(2000)}, "betas 2000"),
        ({"poses": np.zeros((0, 156))}, "poses (0, 156)"),
        ({"poses": np.full((5, 156), np.nan)}, "poses"),
        ({"trans": np.zeros((4, 3))}, "trans (5, 3) (4,"),
        ({"trans": np.full((5, 3), 1e30)}, "translations"),
        ({"mocap_framerate": None}, "mocap_framerate 0 --fps"),
        ({"mocap_framerate": None, "fps": 0.0}, "fps 0"),
        ({"mocap_framerate": -1.0}, "mocap_framerate -1"),
        ({"dmpls": np.zeros((3, 8))}, "dmpls 5 3"),
        ({"betas": np.array([np.inf])}, "betas"),
    ],
)
def test_errors_are_sentences(changes, named):
    with pytest.raises(CorruptionError, match=naming(named)):
        read_bytes(motion(**changes), name="a.npz")


@pytest.mark.parametrize("joints", [22, 24, 52, 55])
def test_written_files_hold_the_same_motion(tmp_path, joints):
    data = motion(joints=joints, expression=np.ones((5, 3)) / 3)
    mocpack.write(read_bytes(data), tmp_path / "back.npz", dialect="amass")
    given, back = npz.Arrays(data), npz.Arrays((tmp_path / "back.npz").read_bytes())
    for name in ("poses", "trans", "betas", "dmpls", "expression"):
        np.testing.assert_allclose(back.read(name), given.read(name), atol=1e-12)
    assert back.read("gender", kinds="U") == "female"
    assert back.number("mocap_framerate", 0) == back.number("mocap_frame_rate", 0) == 60
    if joints == 55:
        parts = ("root_orient", "pose_body", "pose_jaw", "pose_eye", "pose_hand")
        whole = np.concatenate([back.read(name) for name in parts], axis=1)
        np.testing.assert_array_equal(whole, back.read("poses"))
        assert back.read("surface_model_type", kinds="U") == "smplx"


def test_turns_beyond_half_a_turn_go_on():
    poses = np.zeros((9, 156))
    poses[:, 4] = np.linspace(2.5, 4.5, 9)
    back = npz.Arrays(amass.write(read_bytes(motion(frames=9, poses=poses))))
    np.testing.assert_allclose(back.read("poses"), poses, atol=1e-12)


def test_the_pelvis_of_a_body_model_is_taken_off_again(tmp_path):
    rng = np.random.default_rng(2)
    model = {
        "J_regressor": rng.uniform(0, 1, (52, 6)),
        "v_template": rng.normal(size=(6, 3)),
        "shapedirs": rng.normal(size=(6, 3, 10)),
    }
    (tmp_path / "model.npz").write_bytes(npz.pack(model))
    clip = read_bytes(motion(), body_model=tmp_path / "model.npz")
    back = npz.Arrays(amass.write(clip))
    np.testing.assert_allclose(back.read("trans"), np.tile([1.0, 2.0, 0.9], (5, 1)), atol=1e-12)


def test_a_packed_motion_round_trips_within_its_bound(tmp_path):
    (tmp_path / "a.npz").write_bytes(motion(frames=40, poses=smooth(40)))
    packed = mocpack.encode(mocpack.read(tmp_path / "a.npz"), max_error="1mm")
    (tmp_path / "a.mocp").write_bytes(packed)
    words = ["decompress", "a.mocp", "-o", "b.npz", "--as", "amass"]
    assert run(*words, folder=tmp_path).returncode == 0
    one, other = mocpack.read(tmp_path / "a.npz"), mocpack.read(tmp_path / "b.npz")
    assert np.linalg.norm(one.positions() - other.positions(), axis=-1).max() <= 1e-3
    assert other.metadata == one.metadata
    for name, track in one.tracks.items():
        assert track.error(other.tracks[name]) <= track.bound


def smooth(frames):
    waves = np.sin(np.arange(frames)[:, None] / 15 + np.arange(156))
    return 0.2 * waves


def test_other_skeletons_and_other_files_are_refused(tmp_path):
    with pytest.raises(MocpackError, match=naming("SMPL-H SMPL-X 21")):
        mocpack.write(walk(0.1), tmp_path / "a.npz", dialect="amass")
    with pytest.raises(MocpackError, match=naming(".npz '.bvh'")):
        mocpack.write(read_bytes(motion()), tmp_path / "a.bvh", dialect="amass")
