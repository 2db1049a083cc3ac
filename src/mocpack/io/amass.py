"""AMASS motions: poses of SMPL, SMPL-H and SMPL-X bodies in .npz files.

The files hold rotations but no bones. The bones come from a body model that the user names, or from
a default adult body. In the file, z is up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject
from mocpack.errors import (
    CorruptionError,
    InvalidClipError,
    UnsupportedClipError,
    convert_errors,
    name_errors,
)
from mocpack.io import npz
from mocpack.io.assumptions import STAND_IN_BONES
from mocpack.io.npz import Arrays
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, Skeleton
from mocpack.model.space import conversion_matrix
from mocpack.model.take_data import Track

# (name, parent, position in the parent's frame in meters) in the pose without rotations: arms out,
# y up, left side along +x. These are our own round measurements. The right side mirrors the left.
BODY = (
    ("pelvis", "", (0.0, 0.0, 0.0)),
    ("left_hip", "pelvis", (0.07, -0.09, 0.0)),
    ("right_hip", "pelvis", (-0.07, -0.09, 0.0)),
    ("spine1", "pelvis", (0.0, 0.11, -0.02)),
    ("left_knee", "left_hip", (0.03, -0.38, 0.0)),
    ("right_knee", "right_hip", (-0.03, -0.38, 0.0)),
    ("spine2", "spine1", (0.0, 0.14, 0.0)),
    ("left_ankle", "left_knee", (0.0, -0.4, -0.04)),
    ("right_ankle", "right_knee", (0.0, -0.4, -0.04)),
    ("spine3", "spine2", (0.0, 0.06, 0.02)),
    ("left_foot", "left_ankle", (0.03, -0.06, 0.12)),
    ("right_foot", "right_ankle", (-0.03, -0.06, 0.12)),
    ("neck", "spine3", (0.0, 0.21, -0.03)),
    ("left_collar", "spine3", (0.08, 0.12, -0.02)),
    ("right_collar", "spine3", (-0.08, 0.12, -0.02)),
    ("head", "neck", (0.0, 0.09, 0.05)),
    ("left_shoulder", "left_collar", (0.1, 0.04, 0.0)),
    ("right_shoulder", "right_collar", (-0.1, 0.04, 0.0)),
    ("left_elbow", "left_shoulder", (0.26, 0.0, -0.02)),
    ("right_elbow", "right_shoulder", (-0.26, 0.0, -0.02)),
    ("left_wrist", "left_elbow", (0.25, 0.0, 0.0)),
    ("right_wrist", "right_elbow", (-0.25, 0.0, 0.0)),
)
HANDS = (
    ("left_hand", "left_wrist", (0.08, 0.0, 0.0)),
    ("right_hand", "right_wrist", (-0.08, 0.0, 0.0)),
)
FACE = (
    ("jaw", "head", (0.0, 0.0, 0.02)),
    ("left_eye", "head", (0.03, 0.06, 0.06)),
    ("right_eye", "head", (-0.03, 0.06, 0.06)),
)
# (finger, position of its first joint at the left wrist, length of the next two bones)
FINGERS = (
    ("index", (0.1, 0.0, 0.025), 0.032, 0.023),
    ("middle", (0.1, 0.0, 0.0), 0.035, 0.025),
    ("pinky", (0.08, 0.0, -0.045), 0.02, 0.018),
    ("ring", (0.09, 0.0, -0.025), 0.032, 0.023),
    ("thumb", (0.03, -0.01, 0.03), 0.03, 0.025),
)
BODY_MODELS = {22: "SMPL", 24: "SMPL", 52: "SMPL-H", 55: "SMPL-X"}  # by number of joints
# Files without `poses` have its parts, under the names of AMASS or of the smplx package.
PART_NAMES = (
    ("root_orient", "pose_body", "pose_jaw", "pose_eye", "pose_hand"),
    (
        *("global_orient", "body_pose", "jaw_pose", "leye_pose", "reye_pose"),
        *("left_hand_pose", "right_hand_pose"),
    ),
)
POSITION_NAMES = ("trans", "transl")
FRAME_RATE_KEYS = ("mocap_framerate", "mocap_frame_rate")
MAX_BETAS = 1000  # SMPL-X has 400
WEIGHT_BOUND = 1e-3  # weights of soft tissue and expressions are of magnitude 1
WEIGHT_TRACKS = {"dmpls": "dmpl.", "expression": "smplx_expression."}  # array: prefix of tracks


def read(
    data: bytes,
    *,
    unit: float | None = None,
    body_model: str | Path | None = None,
    fps: float | None = None,
) -> Clip:
    """Read an AMASS motion, with bones from the file `body_model` or default ones.

    Lengths are meters; `unit` scales only the root positions. `fps` is for files without a rate.
    """
    arrays = Arrays(data)
    poses = _read_poses(arrays)
    joints = poses.shape[1] // 3
    position_name = next((name for name in POSITION_NAMES if name in arrays), POSITION_NAMES[0])
    positions = _read_rows(arrays, position_name)
    if positions.shape != (len(poses), 3):
        raise CorruptionError(
            f"{position_name} must have shape ({len(poses)}, 3), got {positions.shape}"
        )
    rate = _read_rate(arrays, fps)
    betas = _read_betas(arrays)
    skeleton, root = _build_skeleton(joints, betas, body_model)
    upright = conversion_matrix("z", "right")
    turns = rotations.from_rotvec(poses.reshape(len(poses), joints, 3))
    # Only the root is converted from z up to y up; the other rotations are local.
    turns[:, 0] = rotations.multiply(rotations.from_matrix(upright), turns[:, 0])
    meters = 1.0 if unit is None else unit
    with convert_errors(InvalidClipError):
        return Clip.build(
            skeleton,
            turns,
            (positions * meters + root) @ upright.T,
            frame_rate=rate,
            up="z",
            tracks=_read_tracks(arrays, len(poses)),
            metadata=_read_metadata(arrays, joints, betas, body_model)
            # The pelvis position of the body model, which `trans` does not include.
            | ({} if body_model is None else {"pelvis": root.tolist()}),
        )


def write(clip: Clip) -> bytes:
    """Return a clip of an SMPL body in AMASS layout: rotation vectors, z up, meters.

    The frame rate is stored under both names that readers use. SMPL-X files also hold the poses
    split by body part.
    """
    if clip.header.is_scaled or clip.take_data.times is not None:
        raise UnsupportedClipError("AMASS holds one body at even frame times, without scales")
    count = len(clip.skeleton)
    if count not in BODY_MODELS or set(clip.skeleton.names) != set(joint_names(count)):
        raise UnsupportedClipError(
            "AMASS holds the 22, 24, 52 or 55 joints of SMPL, SMPL-H or SMPL-X (pelvis, left_hip, "
            f"…), but this clip has {count} other joints"
        )
    order = [clip.skeleton.index(name) for name in joint_names(count)]
    if order[0] not in clip.translated_joints:
        raise UnsupportedClipError(
            "AMASS needs the position of the pelvis, but this clip does not move it"
        )
    upright = conversion_matrix("z", "right")
    turns = np.array(clip.rotations[:, order])
    turns[:, 0] = rotations.multiply(rotations.from_matrix(upright.T), turns[:, 0])
    poses = _unwrap_rotation_vectors(rotations.as_rotvec(turns)).reshape(len(turns), -1)
    positions = clip.translations[:, clip.translated_joints.index(order[0])] @ upright
    metadata = clip.metadata
    return npz.pack(
        {
            "trans": positions - np.asarray(metadata.get("pelvis", np.zeros(3)), np.float64),
            "poses": poses,
            "gender": np.array(str(metadata.get("gender", "neutral"))),
            "betas": np.asarray(metadata.get("betas", np.zeros(16)), np.float64),
            **{name: np.array(clip.frame_rate) for name in FRAME_RATE_KEYS},
            **_collect_weights(clip),
            **(_split_smplx_poses(poses) if count == 55 else {}),
        }
    )


def _unwrap_rotation_vectors(vectors: F64) -> F64:
    """Return rotation vectors (T, J, 3) without jumps between frames; angles can exceed 180°."""
    angles = np.linalg.norm(vectors, axis=-1, keepdims=True)
    other = vectors * (1 - 2 * np.pi / np.where(angles > 0, angles, np.inf))
    unwrapped = vectors.copy()
    for t in range(1, len(unwrapped)):
        apart = [np.linalg.norm(v[t] - unwrapped[t - 1], axis=-1) for v in (vectors, other)]
        unwrapped[t] = np.where((apart[1] < apart[0])[:, np.newaxis], other[t], vectors[t])
    return unwrapped


def _collect_weights(clip: Clip) -> dict[str, F64]:
    """Return the arrays of soft tissue and expression weights that the clip has as tracks."""
    weights: dict[str, F64] = {}
    for name, prefix in WEIGHT_TRACKS.items():
        columns: list[F64] = []
        while (track := clip.tracks.get(f"{prefix}{len(columns)}")) is not None:
            if track.kind != "scalar" or len(track) != clip.frame_count:
                break
            columns.append(np.asarray(track.values, np.float64))
        if columns:
            weights[name] = np.stack(columns, 1)
    return weights


def _split_smplx_poses(poses: F64) -> dict[str, npt.ArrayLike]:
    """Return the poses of SMPL-X split by body part, which its files hold in addition."""
    bounds = {"root_orient": 3, "pose_body": 66, "pose_jaw": 69, "pose_eye": 75, "pose_hand": 165}
    starts = [0, *bounds.values()]
    parts = {
        name: poses[:, start:end]
        for start, (name, end) in zip(starts, bounds.items(), strict=False)
    }
    return {"surface_model_type": np.array("smplx"), **parts}


def joint_names(count: int) -> tuple[str, ...]:
    """Return the names of the 22, 24, 52 or 55 joints of a body model, in file order."""
    return tuple(name for name, _, _ in _list_bones(count))


def _list_bones(count: int) -> list[tuple[str, str, tuple[float, float, float]]]:
    bones = [*BODY, *(HANDS if count == 24 else ()), *(FACE if count == 55 else ())]
    if count < 52:
        return bones
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for finger, (x, y, z), second, third in FINGERS:
            names = [f"{side}_{finger}{k}" for k in (1, 2, 3)]
            bones += [
                (names[0], f"{side}_wrist", (sign * x, y, z)),
                (names[1], names[0], (sign * second, 0.0, 0.0)),
                (names[2], names[1], (sign * third, 0.0, 0.0)),
            ]
    return bones


def _build_skeleton(count: int, betas: F64, body_model: str | Path | None) -> tuple[Skeleton, F64]:
    """Return the skeleton, and the position of its root in the body's own frame."""
    bones = _list_bones(count)
    names = [name for name, _, _ in bones]
    parents = [names.index(parent) if parent else -1 for _, parent, _ in bones]
    offsets, root = np.array([place for _, _, place in bones]), np.zeros(3)
    if body_model is not None:
        joints = _read_model_joints(Path(body_model), count, betas)
        root = joints[0]
        offsets = joints - np.where(np.array(parents)[:, np.newaxis] < 0, root, joints[parents])
    channels = [DEFAULT_ROOT] + [DEFAULT_JOINT] * (count - 1)
    return Skeleton(tuple(names), tuple(parents), offsets, channels=tuple(channels)), root


def _read_model_joints(path: Path, count: int, betas: F64) -> F64:
    """Return the joint positions (J, 3) of a body with this shape, from its model's .npz file."""
    with name_errors(f"body model {path}", CorruptionError):
        model = Arrays(path.read_bytes())
        regressor, shape, blends = map(model.numbers, ("J_regressor", "v_template", "shapedirs"))
    vertices = len(shape)
    fits = shape.shape == (vertices, 3) and blends.shape[:2] == (vertices, 3) and blends.ndim == 3
    if count == len(BODY) and len(regressor) in BODY_MODELS:
        regressor = regressor[:count]  # the first joints of all body models are the same
    if not fits or regressor.shape != (count, vertices):
        raise CorruptionError(
            f"body model {path}: J_regressor {regressor.shape}, v_template {shape.shape} and "
            f"shapedirs {blends.shape} do not match a body of {count} joints"
        )
    used = min(len(betas), blends.shape[2])
    joints = regressor @ (shape + blends[..., :used] @ betas[:used])
    if not np.isfinite(joints).all():
        raise CorruptionError(f"body model {path}: joint positions must be finite")
    return np.asarray(joints)


def _read_poses(arrays: Arrays) -> F64:
    """Return rotation vectors (T, 3 J), from `poses` or from its parts."""
    parts = [[name for name in names if name in arrays] for names in (("poses",), *PART_NAMES)]
    names = next((part for part in parts if part), ["poses"])
    tables = [_read_rows(arrays, name) for name in names]
    counts = {len(table) for table in tables}
    if len(counts) > 1:
        raise CorruptionError(f"{', '.join(names)} must have equally many rows, got {counts}")
    poses = np.concatenate(tables, axis=1)
    if poses.shape[1] not in [3 * count for count in BODY_MODELS]:
        raise CorruptionError(
            f"{', '.join(names)} must have 66 or 72 numbers (SMPL), 156 (SMPL-H) or 165 (SMPL-X) "
            f"per frame, got {poses.shape[1]}"
        )
    return poses


def _read_rate(arrays: Arrays, fps: float | None) -> float:
    stated = next((name for name in (*FRAME_RATE_KEYS, "fps") if name in arrays), None)
    rate = arrays.number(stated, 0.0) if stated else fps or 0.0
    if not 1e-3 < rate < 1e6:
        raise CorruptionError(
            f"{stated or FRAME_RATE_KEYS[0]} must be a frame rate, got {rate:.6g}"
            + ("" if stated else "; pass --fps")
        )
    return rate


def _read_betas(arrays: Arrays) -> F64:
    """Return the shape of the body; the first row if there is one per frame."""
    betas = np.atleast_1d(arrays.numbers("betas", []))
    if betas.shape[-1] > MAX_BETAS:
        raise CorruptionError(f"betas must be at most {MAX_BETAS} numbers, got {betas.shape[-1]}")
    betas = betas.reshape(-1, betas.shape[-1])[0] if betas.size else betas.ravel()
    if not np.isfinite(betas).all():
        raise CorruptionError("betas must be finite")
    return betas


def _read_rows(arrays: Arrays, name: str) -> F64:
    rows = arrays.numbers(name)
    if rows.ndim == 3 and rows.size:
        rows = rows.reshape(len(rows), -1)  # (T, J, 3)
    if rows.ndim != 2 or not len(rows):
        raise CorruptionError(f"{name} must be a table with one row per frame, got {rows.shape}")
    if not np.isfinite(rows).all():
        raise CorruptionError(f"{name} must be finite")
    return rows


def _read_tracks(arrays: Arrays, frames: int) -> dict[str, Track]:
    """Return the weights of soft tissue and expressions as tracks, if the file has them."""
    tracks: dict[str, Track] = {}
    for name, prefix in WEIGHT_TRACKS.items():
        if name not in arrays:
            continue
        rows = _read_rows(arrays, name)
        if len(rows) != frames:
            raise CorruptionError(f"{name} must have {frames} rows, got {len(rows)}")
        for k, values in enumerate(rows.T):
            tracks[f"{prefix}{k}"] = Track("scalar", values, bound=WEIGHT_BOUND)
    return tracks


def _read_metadata(
    arrays: Arrays, joints: int, betas: F64, body_model: str | Path | None
) -> JsonObject:
    gender = arrays.texts("gender")[:1]
    return {
        "body": BODY_MODELS[joints],
        "bones": STAND_IN_BONES if body_model is None else Path(body_model).name,
        "betas": betas.tolist(),
        **({"gender": gender[0][:40]} if gender and gender[0] else {}),
    }
