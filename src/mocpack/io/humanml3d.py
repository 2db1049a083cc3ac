"""HumanML3D motions: 263 features per frame, or the positions of 22 joints, in .npy files.

The features (Guo et al. 2022, "Generating diverse and natural 3D human motions from text") are

====== ===== =======================================================================
column width content
====== ===== =======================================================================
0      1     half the angle by which the heading turns until the next frame, radians
1      2     root velocity along x and z, meters per frame, in the next heading
3      1     root height, meters
4      63    joint positions, relative to the root on the ground, in the heading
67     126   rotations of the bones as two matrix columns
193    66    joint velocities, meters per frame, in the heading
259    4     contacts: left ankle, left foot, right ankle, right foot
====== ===== =======================================================================

A row describes a frame and the way to the next one, so T + 1 positions give T rows.
"""

from __future__ import annotations

import io

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject
from mocpack.errors import CorruptionError, InvalidClipError, UnsupportedClipError, convert_errors
from mocpack.io import npz
from mocpack.io.amass import BODY
from mocpack.io.assumptions import choose_frame_rate
from mocpack.io.position_fit import fit_skeleton
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, Skeleton
from mocpack.model.space import MAX_COORDINATE_M

JOINT_NAMES = tuple(name for name, _, _ in BODY)
PARENTS = tuple(JOINT_NAMES.index(parent) if parent else -1 for _, parent, _ in BODY)
JOINTS, WIDTH = len(JOINT_NAMES), 263
FRAME_RATE = 20.0
POSITIONS, ROTATIONS, VELOCITIES = slice(4, 67), slice(67, 193), slice(193, 259)
LEFT_HIP, RIGHT_HIP, CHEST, LEFT_SHOULDER, RIGHT_SHOULDER = 1, 2, 9, 16, 17
FEET = [7, 10, 8, 11]
MAX_CONTACT_STEP = 0.002  # square of the meters that a planted foot may move per frame
HEADING_SIGMA = 20.0  # frames
UP, FORWARD = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
# Direction of the bone that ends at each joint when it does not turn; capitals point backward.
BONE_AXES = np.array(
    [
        np.eye(3)["xyz".index(axis.lower())] * (-1 if axis.isupper() else 1)
        for axis in "yxXyYYyYYyzzyxXzYYYYYY"
    ]
)
MAX_SIGN_RATIO = 0.5  # of velocity errors; a turn is reversed only if that explains them better
MAX_COLUMN_ERROR = 0.3  # median error of a matrix column's length in features that are not scaled


def read(data: bytes, *, unit: float | None = None, fps: float | None = None) -> Clip:
    """Read features or positions; joints are fitted with rigid bones.

    `unit` is the length of one unit in meters.
    """
    array = npz.read_npy(data)
    if not array.size or array.shape[1:] not in ((WIDTH,), (JOINTS, 3)):
        raise CorruptionError(
            f"a HumanML3D file must have shape (frames, {WIDTH}) for features or (frames, "
            f"{JOINTS}, 3) for joint positions, got {array.shape}"
        )
    if not np.isfinite(array).all():
        bad = np.argmin(np.isfinite(array).reshape(len(array), -1).all(axis=1))
        raise CorruptionError(f"frame {bad} has numbers that are not finite")
    positions = recover_positions(array) if array.ndim == 2 else array
    positions = positions * (1.0 if unit is None else unit)
    farthest = np.abs(positions).max()
    if not farthest < MAX_COORDINATE_M:
        raise CorruptionError(
            f"coordinates must be below {MAX_COORDINATE_M:.0e} m, got {farthest:.9g} m"
        )
    rest = np.array([place for _, _, place in BODY])
    offsets, turns = fit_skeleton(positions, PARENTS, rest)
    channels = (DEFAULT_ROOT, *[DEFAULT_JOINT] * (JOINTS - 1))
    metadata: JsonObject = {"source": "HumanML3D"}
    with convert_errors(InvalidClipError):
        clip = Clip.build(
            Skeleton(JOINT_NAMES, PARENTS, offsets, channels=channels),
            turns,
            positions[:, 0],
            frame_rate=choose_frame_rate(fps, FRAME_RATE, metadata),
        )
        error = np.linalg.norm(clip.positions() - positions, axis=-1).max()
        return clip.replace(metadata=metadata | {"fit_error_mm": float(f"{1000 * error:.3g}")})


def write(clip: Clip) -> bytes:
    """Return the features of a clip of 20 frames per second as an .npy file."""
    if clip.take_data.times is not None:
        raise UnsupportedClipError("HumanML3D holds a body at even frame times")
    missing = [name for name in JOINT_NAMES if name not in clip.skeleton.names]
    if missing:
        raise UnsupportedClipError(
            f"HumanML3D holds the joints of SMPL; this clip does not have {', '.join(missing)}"
        )
    if clip.frame_count < 2 or abs(clip.frame_rate / FRAME_RATE - 1) > 1e-3:
        raise UnsupportedClipError(
            f"HumanML3D holds at least 2 frames at {FRAME_RATE:g} per second, got "
            f"{clip.frame_count} at {clip.frame_rate:.6g}; resample it with mocpack convert "
            f"in.mocp out.mocp --fps {FRAME_RATE:g} (clip.resample({FRAME_RATE:g}))"
        )
    joints = [clip.skeleton.index(name) for name in JOINT_NAMES]
    file = io.BytesIO()
    np.save(file, compute_features(clip.positions()[:, joints]).astype(np.float32))
    return file.getvalue()


def recover_positions(features: F64) -> F64:
    """Return joint positions (T, 22, 3) of features (T, 263): integrate heading and root."""
    norms = np.linalg.norm(features[:, ROTATIONS].reshape(-1, 3), axis=-1)
    if np.median(np.abs(norms - 1)) > MAX_COLUMN_ERROR:
        raise CorruptionError(
            "columns 67 to 192 must be rotation matrices; these features look normalized: "
            "multiply them by the dataset's Std and add its Mean first"
        )
    local = np.zeros((len(features), JOINTS, 3))
    local[:, 0, 1] = features[:, 3]
    local[:, 1:] = features[:, POSITIONS].reshape(-1, JOINTS - 1, 3)
    steps = np.zeros((len(features), 3))  # of the root, in the heading of the frame they lead to
    steps[1:, [0, 2]] = features[:-1, 1:3]
    halves = np.zeros(len(features))
    halves[1:] = np.cumsum(_correct_signs(features, local, steps))
    back = rotations.conjugate(_turn_about_y(halves))
    root = np.cumsum(rotations.rotate(back, steps), axis=0)
    return rotations.rotate(back[:, np.newaxis], local) + root[:, np.newaxis]


def _correct_signs(features: F64, local: F64, steps: F64) -> F64:
    """Return half the angles (T - 1,) by which the heading turns, with the right sign.

    HumanML3D's script turns the wrong way where the heading passes 180°. The joint velocities show
    the right way there.
    """
    halves, given = features[:-1, 0], features[:-1, VELOCITIES].reshape(-1, JOINTS, 3)
    coming = (local + steps[:, np.newaxis])[1:]
    errors = [
        np.abs(rotations.rotate(_turn_about_y(half)[:, np.newaxis], coming) - local[:-1] - given)
        for half in (-halves, halves)
    ]
    as_given, reverse = (error.max(axis=(1, 2)) for error in errors)
    return np.where(reverse < MAX_SIGN_RATIO * as_given, -halves, halves)


def compute_features(positions: F64) -> F64:
    """Return features (T, 263) of joint positions (T + 1, 22, 3) in meters, y up.

    This follows HumanML3D's script, without its first step, which gives all bodies the bone lengths
    of one of them. It keeps two peculiarities, because models are trained on them: the heading
    subtracts the hips from the shoulders, and rotations of the arms are relative to the root.
    """
    positions = positions - [*positions[0, 0, :1], positions[..., 1].min(), *positions[0, 0, 2:]]
    across = positions[0, RIGHT_HIP] - positions[0, LEFT_HIP]
    across = across + positions[0, RIGHT_SHOULDER] - positions[0, LEFT_SHOULDER]
    start = rotations.between(rotations.cross(UP, across), FORWARD)
    positions = rotations.rotate(start, positions)
    heading = _find_heading(positions)
    steps = np.diff(positions, axis=0)
    turns = rotations.multiply(heading[1:], rotations.conjugate(heading[:-1]))
    local = positions - positions[:, :1] * [1, 0, 1]
    local = rotations.rotate(heading[:, np.newaxis], local)
    parts = (
        np.arcsin(np.clip(turns[:, 1:2], -1, 1)),
        rotations.rotate(heading[1:], steps[:, 0])[:, [0, 2]],
        local[:-1],  # the first joint is the root; only its height is nonzero
        rotations.as_6d(_compute_bone_rotations(positions, heading))[:-1],
        rotations.rotate(heading[:-1, np.newaxis], steps),
        np.sum(steps[:, FEET] ** 2, axis=-1) < MAX_CONTACT_STEP,
    )
    rows = [np.reshape(part, (len(steps), -1)) for part in parts]
    rows[2] = rows[2][:, [1, *range(3, 3 * JOINTS)]]
    return np.concatenate(rows, axis=1)


def _find_heading(positions: F64) -> F64:
    """Return the rotations (T, 4) that turn the smoothed facing direction to +z."""
    across = positions[:, LEFT_HIP] - positions[:, RIGHT_HIP]
    across = across + positions[:, RIGHT_SHOULDER] - positions[:, LEFT_SHOULDER]
    across /= np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-12)
    forward = _smooth(rotations.cross(np.broadcast_to(UP, across.shape), across))
    heading = rotations.between(forward, np.broadcast_to(FORWARD, forward.shape))
    heading[0] = rotations.IDENTITY  # the first frame faces +z before smoothing
    return heading


def _smooth(values: F64) -> F64:
    """Return values (T, N) smoothed by a Gaussian of four sigmas; the ends are repeated."""
    reach = int(4 * HEADING_SIGMA + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / HEADING_SIGMA) ** 2)
    weights /= weights.sum()
    wide = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, weights, "valid") for column in wide.T], axis=-1)


def _compute_bone_rotations(positions: F64, heading: F64) -> F64:
    """Return the rotation (T, 21, 4) of each bone, relative to the bone before it."""
    bones = positions[:, 1:] - positions[:, PARENTS[1:]]
    world = np.concatenate(
        [heading[:, np.newaxis], rotations.between(BONE_AXES[1:], bones)], axis=1
    )
    # Bones that start at a joint of several chains are relative to the root.
    before = [0 if parent == CHEST and j != 12 else parent for j, parent in enumerate(PARENTS)]
    return rotations.multiply(rotations.conjugate(world[:, before[1:]]), world[:, 1:])


def _turn_about_y(half: F64) -> F64:
    zero = np.zeros_like(half)
    return np.stack([zero, np.sin(half), zero, np.cos(half)], axis=-1)
