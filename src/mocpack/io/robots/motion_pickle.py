"""Robot motions in pickles of GMR, ASAP (joblib) and ProtoMotions (PyTorch).

| | root | angles | bodies |
|---|---|---|---|
| GMR | ``root_pos``, ``root_rot`` | ``dof_pos`` | ``local_body_pos`` of ``link_body_list`` |
| ASAP | ``root_trans_offset``, ``root_rot`` | ``dof`` | |
| ProtoMotions | the first body | ``dof_pos`` | ``rigid_body_pos``, ``rigid_body_rot`` |

Quaternions are (x, y, z, w). Angles are in MuJoCo's order, or in that of ``joint_names`` or
``dof_names``. A pickle may hold several motions by name.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import find_index, list_names
from mocpack.errors import CorruptionError, FormatError, SceneError
from mocpack.io.robots import restricted_pickle
from mocpack.io.robots.kinematics import robot_motion
from mocpack.io.robots.model import Robot
from mocpack.io.robots.motion import build_clip, match_columns_by_name, parse_quaternions, to_angles
from mocpack.io.robots.orders import (
    MAX_BODY_OFFSET_M,
    BodyMotion,
    clip_from_bodies,
    list_hinges_depth_first,
    match_columns_by_order,
)
from mocpack.io.robots.restricted_pickle import to_array
from mocpack.model import rotations
from mocpack.model.clip import Clip

DEFAULT_ORDER = "xyzw"
ANGLE_KEYS = ("dof_pos", "dof")
POSITION_KEYS = ("root_pos", "root_trans_offset", "root_trans")
ROTATION_KEYS = ("root_rot", "root_quat")
NAME_KEYS = ("joint_names", "dof_names")
PICKLE_REFUSAL = (
    "this is a pickle, which can run code when it is opened; pass --allow-pickle "
    "(allow_pickle=True in Python) to read only its arrays and plain values, without "
    "running it"
)


def read(
    data: bytes,
    robot: Robot,
    *,
    fps: float | None = None,
    quaternion: str | None = None,
    clip: str | None = None,
    allow_pickle: bool | None = None,
) -> Clip:
    """Read one of the motions in a pickle."""
    if not allow_pickle:
        raise FormatError(PICKLE_REFUSAL)
    motion = _choose_motion(restricted_pickle.load(data), clip)
    rate = fps
    if fps is None and "fps" in motion:
        rate = float(to_array(motion["fps"], "fps").reshape(-1)[:1].sum())
    if "rigid_body_pos" in motion:
        return _read_body_motion(robot, motion, rate, quaternion)
    angles = _read_angles(robot, motion)
    turns = parse_quaternions(
        _read_rows(motion, ROTATION_KEYS, 4, len(angles)),
        quaternion,
        DEFAULT_ORDER,
        "the root's quaternions",
    )
    positions = _read_rows(motion, POSITION_KEYS, 3, len(angles))
    made = build_clip(robot, angles, positions, turns, fps=rate, source="pickle")
    _check_bodies(made, motion)
    return made


def _choose_motion(content: object, clip: str | None) -> Mapping[str, object]:
    """Return the only motion of a pickle, or the one with this name or index."""
    if not isinstance(content, Mapping):
        raise CorruptionError(f"a pickled motion must be a dict, got {type(content).__name__}")
    if _is_motion(content):
        if clip is not None:
            raise SceneError(f"the pickle holds one motion, so clip {clip!r} cannot be chosen")
        return content
    inside = {str(k): v for k, v in content.items() if isinstance(v, Mapping) and _is_motion(v)}
    if not inside:
        keys = list_names([str(key) for key in content])
        raise CorruptionError(f"expected a motion (dof_pos or dof), but the pickle has: {keys}")
    return list(inside.values())[find_index(list(inside), clip, "motion", required=True)]


def _is_motion(value: Mapping[str, object]) -> bool:
    return any(name in value for name in ANGLE_KEYS)


def _read_angles(robot: Robot, motion: Mapping[str, object]) -> F64:
    name = next(name for name in ANGLE_KEYS if name in motion)
    numbers = to_array(motion[name], name)
    if numbers.ndim == 3 and numbers.shape[2] == 1:
        numbers = numbers[..., 0]
    if numbers.ndim != 2 or not len(numbers):
        raise CorruptionError(f"{name} must be a table with one row per frame, got {numbers.shape}")
    names = _read_names(motion, NAME_KEYS)
    if names is not None:
        columns = match_columns_by_name(robot, names, "the pickle")
    else:
        columns = match_columns_by_order(
            robot, numbers.shape[1], list_hinges_depth_first(robot), "the pickle"
        )
    if max(columns) >= numbers.shape[1]:
        raise CorruptionError(
            f"{name} has {numbers.shape[1]} columns, but {len(names or [])} names"
        )
    return to_angles(robot, numbers, columns)


def _read_rows(
    motion: Mapping[str, object], names: tuple[str, ...], width: int, frames: int
) -> F64:
    name = next((name for name in names if name in motion), None)
    if name is None:
        raise CorruptionError(f"the motion must have one of: {', '.join(names)}")
    rows = to_array(motion[name], name)
    if rows.shape != (frames, width):
        raise CorruptionError(f"{name} must have shape ({frames}, {width}), got {rows.shape}")
    return rows


def _read_names(motion: Mapping[str, object], names: tuple[str, ...]) -> list[str] | None:
    for name in names:
        words = motion.get(name)
        words = words.tolist() if isinstance(words, np.ndarray) else words
        if not isinstance(words, list | tuple | None):
            raise CorruptionError(f"{name} must be a list, got {type(words).__name__}")
        if words:
            return [str(word) for word in words]
    return None


def _read_body_motion(
    robot: Robot, motion: Mapping[str, object], fps: float | None, quaternion: str | None
) -> Clip:
    name = next(name for name in ANGLE_KEYS if name in motion)
    given = BodyMotion(
        to_array(motion[name], name),
        to_array(motion["rigid_body_pos"], "rigid_body_pos"),
        to_array(motion.get("rigid_body_rot", []), "rigid_body_rot"),
        _read_names(motion, NAME_KEYS),
        _read_names(motion, ("body_names",)),
        quaternion,
        DEFAULT_ORDER,
    )
    if given.numbers.ndim != 2 or not len(given.numbers):
        raise CorruptionError(f"{name} must be a table with one row per frame")
    return clip_from_bodies(robot, given, fps, "pickle")


def _check_bodies(clip: Clip, motion: Mapping[str, object]) -> None:
    """Raise an error if bodies are not where the angles put them."""
    names = _read_names(motion, ("link_body_list",))
    local = motion.get("local_body_pos")
    if names is None or local is None:
        return
    positions = to_array(local, "local_body_pos")
    if positions.shape != (clip.frame_count, len(names), 3):
        return
    expected = robot_motion(clip)
    root, turned = expected.root_pose
    for b, body in enumerate(expected.robot.bodies):
        if body.name not in names:
            continue
        at = expected.body_poses[0][:, b] - root
        own = rotations.rotate(rotations.conjugate(turned), at)
        apart = np.linalg.norm(own - positions[:, names.index(body.name)], axis=1).max()
        if apart > MAX_BODY_OFFSET_M:
            raise CorruptionError(
                f"body {body.name!r} is {apart:.3g} m from where the angles put it; the joint "
                f"order or the robot is wrong: {expected.robot.name!r} has "
                f"{list_names(expected.robot.hinges.names)}"
            )
