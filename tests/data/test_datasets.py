"""Files of training datasets, compared with the numbers in them; `make test-data` runs them."""

import numpy as np
import pytest
from command_line import run

import mocpack
from mocpack.corpora import PackOptions, open_corpus, pack
from mocpack.io import npz
from mocpack.io.amass import joint_names
from mocpack.io.humanml3d import JOINT_NAMES, VELOCITIES, compute_features, recover_positions
from mocpack.model import rotations

HUMANML3D = ("000612", "012314")
SIGHT = 81  # frames: smoothing of the heading looks so far ahead


@pytest.fixture
def sample(data):
    """Find a file by its path in the folder."""

    def find(name):
        if not (data / name).is_file():
            pytest.skip(f"{name} is not in the folder that MOCPACK_DATA names")
        return data / name

    return find


def recover_all(features):
    """Return the T + 1 positions that features describe; the last from the joint velocities."""
    found = recover_positions(features)
    local = features[-1, 4:67].reshape(21, 3)
    across = found[-1, 1:] - found[-1, 0] * [1, 0, 1]
    far = np.argmax(np.hypot(local[:, 0], local[:, 2]))
    angle = np.arctan2(*across[far, [0, 2]]) - np.arctan2(*local[far, [0, 2]])
    turn = np.array([0, np.sin(angle / 2), 0, np.cos(angle / 2)])
    steps = rotations.rotate(turn, features[-1, VELOCITIES].reshape(22, 3))
    return np.concatenate([found, [found[-1] + steps]])


@pytest.mark.parametrize("name", HUMANML3D)
def test_every_feature_of_the_dataset_is_computed_from_its_positions(sample, name):
    given = np.load(sample(f"humanml3d/{name}-263.npy")).astype(np.float64)
    apart = np.abs(compute_features(recover_all(given)) - given)
    print(f"{name}: {len(given)} rows, at most {apart.max():.2g} apart")
    assert apart.max() < 1e-5


def test_positions_are_those_that_the_dataset_recovers(sample):
    features = np.load(sample("humanml3d/012314-263.npy")).astype(np.float64)
    positions = np.load(sample("humanml3d/012314-joints.npy"))
    apart = np.abs(recover_positions(features) - positions).max()
    print(f"at most {apart:.2g} m apart")
    assert apart < 1e-6
    # positions alone lack the last frame, which the smoothed heading of the last rows needs
    again = np.abs(compute_features(positions.astype(np.float64)) - features[:-1])[:-SIGHT]
    print(f"{len(again)} rows from positions alone: at most {again.max():.2g} apart")
    assert again.max() < 1e-5


@pytest.mark.parametrize("name", ["000612-263", "012314-263", "012314-joints"])
def test_a_file_of_humanml3d_becomes_a_bvh_with_its_joints_in_place(sample, tmp_path, name):
    path = sample(f"humanml3d/{name}.npy")
    assert run("convert", path, tmp_path / "walk.bvh").returncode == 0
    array = np.load(path).astype(np.float64)
    expected = recover_positions(array) if array.ndim == 2 else array
    back = mocpack.read(tmp_path / "walk.bvh")
    found = back.positions()[:, [back.skeleton.index(joint) for joint in JOINT_NAMES]]
    apart = np.linalg.norm(found - expected, axis=-1).max()
    print(f"{name}: joints at most {1e6 * apart:.3g} µm apart")
    assert apart < 1e-5
    assert 0.7 < np.median(found[:, 0, 1]) < 1.1


def test_windows_of_an_archive_are_rows_of_the_dataset(sample, tmp_path):
    files = {name: sample(f"humanml3d/{name}-263.npy") for name in HUMANML3D}
    assert pack(files, tmp_path / "a.mocps", PackOptions(codec="lossless")) == []
    worst = count = 0
    with open_corpus(tmp_path / "a.mocps") as corpus:
        windows = corpus.windows(seconds=2, stride=0.25, features="humanml3d")
        for index in range(len(windows)):
            clip, start, _ = windows.locate(index)
            given = np.load(files[corpus.names[windows.clips[clip]]])
            rows = slice(start, min(start + windows.rows, len(given) - 1 - SIGHT))
            apart = np.abs(windows[index][: max(0, rows.stop - start)] - given[rows])
            worst, count = max(worst, apart.max(initial=0)), count + len(apart)
    print(f"{count} rows of windows, at most {worst:.2g} apart")
    assert count > 500
    assert worst < 1e-5


def test_parts_of_an_amass_motion_are_the_same_as_the_whole(sample, tmp_path):
    path = sample("amass/sample.npz")
    arrays = npz.Arrays(path.read_bytes())
    poses, others = arrays.read("poses"), ("trans", "betas", "mocap_framerate")
    kept = {name: arrays.read(name) for name in others if name in arrays}
    whole = mocpack.read(path)
    parts = {"root_orient": slice(0, 3), "pose_body": slice(3, 66), "pose_hand": slice(66, 156)}
    for joints, names in ((22, list(parts)[:2]), (52, list(parts))):
        made = npz.pack(kept | {name: poses[:, parts[name]] for name in names})
        clip = mocpack.read_data(made, name="a.npz")
        assert clip.skeleton.names == joint_names(joints)
        np.testing.assert_array_equal(clip.positions(), whole.positions()[:, :joints])
