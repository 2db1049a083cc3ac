"""HumanML3D: features and joint positions in .npy files, against its formulas written as loops."""

import io
from itertools import pairwise

import numpy as np
import pytest
from command_line import run

import mocpack
from mocpack.errors import CorruptionError, FormatError, TruncatedError, UnsupportedClipError
from mocpack.io import humanml3d, npz, position_fit
from mocpack.io.humanml3d import JOINT_NAMES, PARENTS, compute_features, recover_positions
from mocpack.model import rotations
from mocpack.model.clip import Clip
from naming import naming
from reading import read_bytes

AXES = "yxXyYYyYYyzzyxXzYYYYYY"  # of bones that do not turn; capitals are negative
CHAINS = ([0, 2, 5, 8, 11], [0, 1, 4, 7, 10], [0, 3, 6, 9, 12, 15])
CHAINS += ([9, 14, 17, 19, 21], [9, 13, 16, 18, 20])
ALIKE = 1e-9


def body(frames=120, seed=0, turn=0.0):
    """Return a clip of SMPL's body that walks in a curve; `turn` is its heading's change."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, frames / 20, frames)
    waves = rng.normal(size=(3, 22, 3)) * np.array([0.3, 0.2, 0.1])[:, None, None]
    vectors = sum(
        np.sin(rate * time)[:, None, None] * wave
        for rate, wave in zip((1, 2.3, 4.1), waves, strict=True)
    )
    poses = np.zeros((frames, 156))
    poses[:, :66] = vectors.reshape(frames, -1)
    poses[:, :3] = [np.pi / 2, 0, 0]
    clip = read_bytes(npz.pack({"poses": poses, "trans": np.zeros((frames, 3)), "fps": 20.0}))
    half = np.linspace(0, turn / 2, frames)
    yaw = np.stack([0 * half, np.sin(half), 0 * half, np.cos(half)], axis=-1)
    turned = np.array(clip.rotations)
    turned[:, 0] = rotations.multiply(yaw, turned[:, 0])
    places = np.stack([0.8 * time, 0.9 + 0.05 * np.sin(5 * time), 0.3 * time], axis=-1)
    return Clip.build(clip.skeleton, turned, places, frame_rate=20)


def joints(clip):
    return clip.positions()[:, [clip.skeleton.index(name) for name in JOINT_NAMES]]


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def shortest_turn(a, b):
    """Return the matrix of the shortest rotation from a to b, by Rodrigues' formula."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    x, y, z = np.cross(a, b)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + cross + cross @ cross / (1 + a @ b)


def reference_features(positions):
    """Return the features by the dataset's formulas: loops, matrices, a Gaussian of 161 weights."""
    places = positions.copy()
    places[..., 1] -= places[..., 1].min()
    places -= places[0, 0] * [1, 0, 1]
    across = places[0, 2] - places[0, 1] + places[0, 17] - places[0, 16]
    start = shortest_turn(np.cross([0, 1, 0], across), np.array([0.0, 0.0, 1.0]))
    places = places @ start.T
    facing = []
    for frame in places:
        across = frame[1] - frame[2] + frame[17] - frame[16]
        facing.append(np.cross([0, 1, 0], across / np.linalg.norm(across)))
    weights = np.exp(-0.5 * (np.arange(-80, 81) / 20) ** 2)
    smooth = []
    for t in range(len(facing)):
        near = [facing[min(max(t + k, 0), len(facing) - 1)] for k in range(-80, 81)]
        smooth.append(weights @ near / weights.sum())
    heading = [shortest_turn(f * [1, 0, 1], np.array([0.0, 0.0, 1.0])) for f in smooth]
    heading[0] = np.eye(3)
    axes = [np.eye(3)["xyz".index(a.lower())] * (-1 if a.isupper() else 1) for a in AXES]
    rows = []
    for t in range(len(places) - 1):
        now, coming = places[t], places[t + 1]
        turn = heading[t + 1] @ heading[t].T
        columns = {}
        for chain in CHAINS:
            before = heading[t]
            for parent, joint in pairwise(chain):
                bone = shortest_turn(axes[joint], now[joint] - now[parent])
                columns[joint] = (before.T @ bone)[:, :2].T.ravel()
                before = bone
        local = (now - now[0] * [1, 0, 1]) @ heading[t].T
        feet = [np.sum((coming[j] - now[j]) ** 2) < 0.002 for j in (7, 10, 8, 11)]
        row = [
            [np.arctan2(turn[0, 2], turn[2, 2]) / 2],
            (heading[t + 1] @ (coming[0] - now[0]))[[0, 2]],
            [now[0, 1]],
            local[1:].ravel(),
            np.concatenate([columns[j] for j in range(1, 22)]),
            ((coming - now) @ heading[t].T).ravel(),
            feet,
        ]
        rows.append(np.concatenate(row))
    return np.array(rows)


@pytest.mark.parametrize("turn", [0.0, 1.5, -2.5])
def test_features_are_those_of_the_formulas(turn):
    positions = joints(body(seed=3, turn=turn))
    found = compute_features(positions)
    assert found.shape == (119, 263)
    np.testing.assert_allclose(found, reference_features(positions), atol=ALIKE)
    assert set(np.unique(found[:, 259:])) == {0, 1}


def test_where_the_body_starts_does_not_matter():
    positions = joints(body(seed=1))
    moved = rotations.rotate(np.array([0, np.sin(1), 0, np.cos(1)]), positions) + np.array(
        [3, -1, 2]
    )
    np.testing.assert_allclose(compute_features(moved), compute_features(positions), atol=ALIKE)


@pytest.mark.parametrize("turn", [0.5, 7.0, -9.0])
def test_positions_are_recovered_even_where_the_heading_passes_half_a_turn(turn):
    positions = joints(body(seed=2, turn=turn))
    back = recover_positions(compute_features(positions))
    np.testing.assert_allclose(
        np.linalg.norm(back[1:, :, None] - back[:-1, None, :], axis=-1),
        np.linalg.norm(positions[1:-1, :, None] - positions[:-2, None, :], axis=-1),
        atol=1e-6,
    )


def test_positions_become_rigid_bones_within_a_micrometer():
    positions = joints(body(seed=4, turn=2.0)) + np.array([1.0, 0.5, -2.0])
    clip = read_bytes(npy(positions))
    assert clip.skeleton.names == JOINT_NAMES
    assert clip.skeleton.parents == PARENTS
    assert clip.frame_rate == 20
    np.testing.assert_allclose(clip.positions(), positions, atol=1e-6)
    assert clip.metadata["fit_error_mm"] < 1e-3
    # the rest pose stands: the spine goes up, the legs go down, the left arm to the left
    rest = dict(zip(JOINT_NAMES, clip.skeleton.offsets, strict=True))
    assert rest["spine1"][1] > 0.05
    assert rest["left_knee"][1] < -0.3
    assert rest["left_elbow"][0] > 0.2


def test_bones_of_changing_length_keep_their_mean_and_the_metadata_says_how_far_joints_moved():
    rng = np.random.default_rng(0)
    positions = joints(body()) + 0.01 * rng.normal(size=(120, 22, 3))
    clip = read_bytes(npy(positions))
    apart = np.linalg.norm(clip.positions() - positions, axis=-1).max()
    assert clip.metadata["fit_error_mm"] == pytest.approx(1000 * apart, rel=1e-2)
    assert apart < 0.1


def test_errors_of_bone_lengths_do_not_add_up_along_a_chain():
    rng = np.random.default_rng(1)
    positions = joints(body()) + 0.01 * rng.normal(size=(120, 22, 3))
    apart = np.linalg.norm(read_bytes(npy(positions)).positions() - positions, axis=-1)
    assert apart[:, JOINT_NAMES.index("left_wrist")].mean() < 0.015


def test_joints_that_all_lie_in_one_place_are_read():
    clip = read_bytes(npy(np.ones((3, 22, 3))))
    np.testing.assert_array_equal(clip.positions(), 1)


def test_opposite_directions_turn_half_a_turn():
    for axis in np.eye(3):
        turned = rotations.rotate(rotations.between(axis, -axis), axis)
        np.testing.assert_allclose(turned, -axis, atol=1e-12)
    still = rotations.between(np.zeros(3), np.array([1.0, 0, 0]))
    np.testing.assert_array_equal(still, rotations.IDENTITY)


def test_a_single_child_turns_without_twist():
    rest = np.array([[0, 0, 0], [0, 1.0, 0], [0, 1, 0]])
    positions = np.array([[[0, 0, 0], [2.0, 0, 0], [2, 0, 3]]])
    offsets, turns = position_fit.fit_skeleton(positions, (-1, 0, 1), rest)
    np.testing.assert_allclose(offsets, [[0, 0, 0], [0, 2, 0], [0, 3, 0]])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(turns[0, 0], [0, 0, -half, half], atol=1e-12)
    np.testing.assert_array_equal(turns[0, 2], rotations.IDENTITY)


def test_features_are_written_and_read_back(tmp_path):
    clip = body(frames=200, seed=5, turn=1.0)
    mocpack.write(clip, tmp_path / "a.npy", dialect="humanml3d")
    given = np.load(tmp_path / "a.npy")
    assert (given.shape, given.dtype) == ((199, 263), np.float32)
    again = compute_features(mocpack.read(tmp_path / "a.npy").positions())
    # the last frame is not in the file, and smoothing looks 80 frames ahead
    np.testing.assert_allclose(again[:118], given[:118], atol=2e-5)


def test_convert_writes_a_bvh_from_features_and_from_positions(tmp_path):
    positions = joints(body())
    for array in (compute_features(positions), positions.astype(np.float32)):
        (tmp_path / "000612.npy").write_bytes(npy(array))
        given, made = tmp_path / "000612.npy", tmp_path / "walk.bvh"
        assert run("convert", given, made, "-f").returncode == 0
        clip, back = (mocpack.read(tmp_path / name) for name in ("000612.npy", "walk.bvh"))
        order = [back.skeleton.index(name) for name in JOINT_NAMES]
        np.testing.assert_allclose(back.positions()[:, order], clip.positions(), atol=1e-5)
        assert back.frame_rate == pytest.approx(20)
    # .npy and .mocp files start with the same byte
    for command in ("info", "compress"):
        assert run(command, tmp_path / "000612.npy").returncode == 0
    assert mocpack.read(tmp_path / "000612.mocp").frame_count == len(positions)


def test_fortran_order_integers_other_rates_and_units_are_read():
    positions = joints(body(frames=10))
    clip = read_bytes(npy(np.asfortranarray(100 * positions)), unit=0.01, fps=30.0)
    np.testing.assert_allclose(clip.positions(), positions, atol=1e-6)
    assert clip.frame_rate == pytest.approx(30)
    assert read_bytes(npy(np.round(100 * positions).astype(np.int32)), unit=0.01).frame_count == 10


def header(text):
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("data", "kind", "named"),
    [
        (npy(np.zeros((5, 251))), CorruptionError, "a.npy (5, 251) 263 22"),
        (npy(np.zeros((5, 24, 3))), CorruptionError, "a.npy (5, 24, 3)"),
        (npy(np.zeros((0, 263))), CorruptionError, "a.npy (0, 263)"),
        (npy(np.zeros(263)), CorruptionError, "a.npy (263,)"),
        (npy(np.float64(3)), CorruptionError, "a.npy ()"),
        (npy(np.zeros((5, 263), complex)), CorruptionError, "a.npy complex128"),
        (npy(np.full((5, 263), "x")), CorruptionError, "a.npy <U1"),
        (npy(np.array([{"motion": 1}], object)), CorruptionError, "a.npy"),
        (npy(np.zeros((5, 22, 3)))[:-1], CorruptionError, "a.npy (5, 22, 3)"),
        (npy(np.zeros((5, 22, 3)))[:30], CorruptionError, "a.npy"),
        (b"\x93NUMPY", CorruptionError, "a.npy"),
        (
            header(b"{'descr': '<q9', 'fortran_order': False, 'shape': (1, 263), }\n"),
            CorruptionError,
            "a.npy '<q9'",
        ),
        (
            header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (900000000000, 263), }\n"),
            CorruptionError,
            "a.npy 900000000000",
        ),
    ],
)
def test_errors_are_sentences(data, kind, named):
    with pytest.raises(kind, match=naming(named)):
        read_bytes(data, name="a.npy")


def test_numbers_that_are_not_finite_are_named_by_their_frame():
    for value in (np.nan, np.inf):
        positions = joints(body(frames=10))
        positions[7, 3, 1] = value
        with pytest.raises(FormatError, match=naming("a.npy 7")):
            read_bytes(npy(positions), name="a.npy")


@pytest.mark.parametrize("value", [1e8, -1e200, 1e308])
def test_positions_beyond_any_place_on_earth_are_refused(value):
    positions = joints(body(frames=10))
    positions[7, 3, 1] = value
    features = compute_features(joints(body(frames=10)))
    features[7, 3] = value
    for array in (positions, features):
        with pytest.raises(CorruptionError, match=naming("a.npy 1e+07")):
            read_bytes(npy(array), name="a.npy")


def test_normalized_features_are_refused():
    features = compute_features(joints(body()))
    spread = features.std(axis=0) + 1e-3
    with pytest.raises(CorruptionError, match=naming("a.npy Std Mean")):
        read_bytes(npy((features - features.mean(axis=0)) / spread), name="a.npy")


def test_clips_that_cannot_be_written_are_refused():
    with pytest.raises(UnsupportedClipError, match=naming("pelvis left_hip")):
        humanml3d.write(mocpack.testing.walk(0.2))
    for clip in (body().replace(frame_time=1 / 30), body()[:1]):
        with pytest.raises(UnsupportedClipError, match=naming("20 --fps")):
            humanml3d.write(clip)


def test_a_truncated_file_is_not_a_motion():
    with pytest.raises((CorruptionError, TruncatedError)):
        read_bytes(npy(np.zeros((5, 22, 3)))[:100], name="a.npy")
