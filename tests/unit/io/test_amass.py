"""Motions of AMASS, on a stand-in body and on one of a model."""

import numpy as np
import pytest

import mocpack
from mocpack.errors import CorruptionError
from mocpack.io import npz, read_bytes
from mocpack.io.amass import joint_names


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


@pytest.mark.parametrize(("joints", "body"), [(52, "SMPL-H"), (55, "SMPL-X")])
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
    with pytest.raises(CorruptionError, match=r"body model .*has no array 'shapedirs'"):
        mocpack.read(tmp_path / "a.npz", body_model=path)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"poses": np.zeros((5, 72))}, "156 numbers .* got 72"),
        ({"poses": np.zeros((0, 156))}, "one row a frame"),
        ({"poses": np.full((5, 156), np.nan)}, "poses must be finite"),
        ({"trans": np.zeros((4, 3))}, r"trans must have shape \(5, 3\)"),
        ({"trans": np.full((5, 3), 1e30)}, "metres"),
        ({"mocap_framerate": None}, "mocap_framerate must be frames a second"),
        ({"mocap_framerate": -1.0}, "mocap_framerate must be frames a second"),
        ({"dmpls": np.zeros((3, 8))}, "dmpls must have 5 rows"),
        ({"betas": np.array([np.inf])}, "betas must be finite"),
    ],
)
def test_what_is_wrong_is_a_sentence(changes, complaint):
    with pytest.raises(CorruptionError, match=complaint):
        read_bytes(motion(**changes), name="a.npz")
