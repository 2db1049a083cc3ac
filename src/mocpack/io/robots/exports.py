"""Write robot motions in the file layouts of training programs, chosen by program name."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.errors import HingeWarning, UnsupportedClipError
from mocpack.io import npz
from mocpack.io.assumptions import warn_of_frame_rate
from mocpack.io.robots import bones_seed, csv, torch_file, tracking_npz
from mocpack.io.robots.kinematics import RobotMotion, robot_motion
from mocpack.io.robots.motion import DEFAULT_FPS
from mocpack.io.robots.orders import (
    list_bodies_breadth_first,
    list_bodies_depth_first,
    list_hinges_breadth_first,
    list_hinges_depth_first,
)
from mocpack.model import rotations
from mocpack.model.clip import MAX_QUIET_ANGLE_RAD, Clip


def _write_mjlab(motion: RobotMotion) -> bytes:
    return tracking_npz.write(
        motion, list_hinges_depth_first(motion.robot), list_bodies_depth_first(motion.robot)
    )


def _write_beyondmimic(motion: RobotMotion) -> bytes:
    rows, bodies = list_hinges_breadth_first(motion.robot), list_bodies_breadth_first(motion.robot)
    return tracking_npz.write(motion, rows, bodies)


def _write_qpos(motion: RobotMotion) -> bytes:
    names = motion.robot.hinges.names
    return npz.pack(
        {
            "qpos": motion.qpos,
            "fps": motion.frame_rate,
            "joint_names": np.array(
                [names[h] for h in list_hinges_depth_first(motion.robot)], np.str_
            ),
            "quaternion_order": "wxyz",
        }
    )


def _write_csv(motion: RobotMotion) -> bytes:
    warn_of_frame_rate(motion.frame_rate, DEFAULT_FPS, "a robot table")
    if motion.robot.floating is False:
        return csv.write(motion.angles)
    return csv.write(np.concatenate([*motion.root_pose, motion.angles], axis=1))


def _write_gmr(motion: RobotMotion) -> bytes:
    root, turned = motion.root_pose
    back = rotations.conjugate(turned)[:, np.newaxis]
    local = rotations.rotate(back, motion.body_poses[0] - root[:, np.newaxis])
    rows, names = list_hinges_depth_first(motion.robot), motion.robot.hinges.names
    content = {
        "fps": motion.frame_rate,
        "root_pos": root,
        "root_rot": turned,
        "dof_pos": motion.angles[:, rows],
        "local_body_pos": local.astype(np.float32),
        "link_body_list": [body.name for body in motion.robot.bodies],
        "joint_names": [names[h] for h in rows],
    }
    return pickle.dumps(content, protocol=4)


def _write_protomotions(motion: RobotMotion) -> bytes:
    rows, names = list_hinges_depth_first(motion.robot), motion.robot.hinges.names
    positions, turns = motion.body_poses
    linear, angular = motion.body_velocities

    def single(values: F64) -> npt.NDArray[np.float32]:
        return values.astype("<f4")

    return torch_file.pack(
        {
            "fps": motion.frame_rate,
            "dof_pos": single(motion.angles[:, rows]),
            "dof_vel": single(motion.joint_velocities[:, rows]),
            "rigid_body_pos": single(positions),
            "rigid_body_rot": single(turns),
            "rigid_body_vel": single(linear),
            "rigid_body_ang_vel": single(angular),
            "joint_names": [names[h] for h in rows],
            "body_names": [body.name for body in motion.robot.bodies],
        }
    )


WRITERS: dict[str, Callable[[RobotMotion], bytes]] = {  # by the names in `table.ROBOT_DIALECTS`
    "mjlab": _write_mjlab,  # angles, pose and velocity of every body, in MuJoCo's order
    "beyondmimic": _write_beyondmimic,  # the same in Isaac's order
    "gmr": _write_gmr,  # root and angles as a pickle
    "protomotions": _write_protomotions,  # tensors for every body
    "qpos": _write_qpos,  # MuJoCo's positions
    "csv": _write_csv,  # root and angles as text, in the order of the robot's file
    "bones-seed": bones_seed.write,  # in centimeters and degrees, with a header
}


def write(clip: Clip, name: str) -> bytes:
    """Return the clip as a file in this dialect."""
    if clip.skeleton.hinges is None:
        raise UnsupportedClipError(f"{name} holds robot motions, but this clip has no hinges")
    if clip.header.is_scaled or clip.take_data.times is not None or len(clip.skeleton.roots) > 1:
        raise UnsupportedClipError(
            f"{name} holds one robot at even frame times without scales, but this clip has more"
        )
    motion = robot_motion(clip)
    if motion.max_hinge_error > MAX_QUIET_ANGLE_RAD:
        warnings.warn(
            f"joints deviate from their hinges by up to {motion.max_hinge_error:.3g} rad, "
            "within the codec's error; the nearest angles are written",
            HingeWarning,
            stacklevel=2,
        )
    return WRITERS[name](motion)


def write_csv(clip: Clip) -> bytes:
    """Return a robot's motion as a table of numbers."""
    return write(clip, "csv")
