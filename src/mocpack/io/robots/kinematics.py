"""Compute what training reads besides angles: poses and velocities of all bodies.

They follow from the angles, as in a simulator. Velocities of joints and root are central
differences; body velocities follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import UnsupportedClipError
from mocpack.io.robots.model import (
    UP,
    Robot,
    find_ball_joints,
    has_floating_base,
    robot_from_metadata,
)
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.hinges import Hinges, rotation_about
from mocpack.model.space import conversion_matrix


@dataclass(frozen=True)
class RobotMotion:
    """A robot's motion in the robot's world: z up, meters, radians, seconds."""

    source: Clip
    angles: F64  # (T, H), in the order of the robot's file

    @property
    def max_hinge_error(self) -> float:
        """Largest deviation of the source's joints from their hinges, in radians."""
        off_axis = self.source.hinge_angles().off_axis
        return float(off_axis[:, ~self.hinges.slides].max(initial=0.0))

    @cached_property
    def robot(self) -> Robot:
        """The robot, from the skeleton and the metadata."""
        return robot_from_metadata(self.source.skeleton, self.source.metadata)

    @property
    def hinges(self) -> Hinges:
        assert self.source.skeleton.hinges is not None
        return self.source.skeleton.hinges

    @property
    def frame_rate(self) -> float:
        """Frames per second."""
        return self.source.frame_rate

    @cached_property
    def clip(self) -> Clip:
        """The clip with all joints exactly on their hinges."""
        source, free = self.source, 0 not in self.hinges.joints
        settled = Clip.from_angles(
            source.skeleton,
            self.angles,
            local=source.rotations,
            frame_time=source.frame_time,
            metadata=source.metadata,
        )
        positions = settled.translations.copy()
        if free and 0 in source.translated_joints:
            positions[:, 0] = source.translations[:, source.translated_joints.index(0)]
        return Clip(replace(settled.header, up=UP), settled.rotations, positions)

    @cached_property
    def root_pose(self) -> tuple[F64, F64]:
        """Position (T, 3) and rotation (T, 4) of the root."""
        return (self.clip if 0 in self.hinges.joints else self.source).source_root()

    @cached_property
    def qpos(self) -> F64:
        """MuJoCo's positions (T, nq): root, ball joints and angles, quaternions (w, x, y, z)."""
        skeleton, hinges = self.source.skeleton, self.hinges
        parts: list[F64] = []
        if has_floating_base(self.source.metadata):
            positions, turns = self.root_pose
            parts += [positions, turns[:, [3, 0, 1, 2]]]
        balls = find_ball_joints(skeleton)
        if not balls:
            return np.concatenate([*parts, self.angles[:, list(hinges.by_joint)]], axis=1)
        rows = dict(hinges.rows_by_joint())
        for j in range(len(skeleton)):
            if j in balls:
                rest = rotations.conjugate(skeleton.rest[j])
                turned = rotations.multiply(rest, self.source.rotations[:, j])
                parts.append(np.roll(turned, 1, axis=1))
            parts.append(self.angles[:, rows.get(j, [])])
        return np.concatenate(parts, axis=1)

    @cached_property
    def joint_poses(self) -> tuple[F64, F64]:
        """Positions (T, J, 3) and rotations (T, J, 4) of the skeleton's joints."""
        positions, turns = self.clip.world()
        upright = conversion_matrix(UP, "right")
        back = rotations.conjugate(rotations.from_matrix(upright))
        return positions @ upright, rotations.multiply(back, turns)

    @cached_property
    def body_poses(self) -> tuple[F64, F64]:
        """Positions (T, B, 3) and rotations (T, B, 4) of the robot's bodies."""
        at = [body.joint for body in self.robot.bodies]
        positions, turns = self.joint_poses[0][:, at], self.joint_poses[1][:, at]
        offsets = np.array([body.position for body in self.robot.bodies])
        fixed = np.array([body.rotation for body in self.robot.bodies])
        return positions + rotations.rotate(turns, offsets), rotations.multiply(turns, fixed)

    @cached_property
    def joint_velocities(self) -> F64:
        """Velocities (T, H) of the angles, in radians or meters per second."""
        return differentiate(self.angles, self.frame_rate)

    @cached_property
    def body_velocities(self) -> tuple[F64, F64]:
        """Linear and angular velocities (T, B, 3) of the bodies' origins, in the world."""
        linear, angular = self._world_velocities
        at = [body.joint for body in self.robot.bodies]
        lever = self.body_poses[0] - self.joint_poses[0][:, at]
        return linear[:, at] + rotations.cross(angular[:, at], lever), angular[:, at]

    @cached_property
    def _world_velocities(self) -> tuple[F64, F64]:
        skeleton, (positions, turns) = self.clip.skeleton, self.joint_poses
        linear, angular = np.zeros_like(positions), np.zeros_like(positions)
        rows = dict(self.hinges.rows_by_joint())
        for j, parent in enumerate(skeleton.parents):
            if parent < 0:
                base = rotations.conjugate(rotations.from_matrix(conversion_matrix(UP, "right")))
                turned = np.broadcast_to(base, (len(positions), 4))
            else:
                turned = turns[:, parent]
                linear[:, j], angular[:, j] = linear[:, parent], angular[:, parent]
                lever = positions[:, j] - positions[:, parent]
                linear[:, j] += rotations.cross(angular[:, parent], lever)
            if j not in rows:
                if parent < 0:
                    linear[:, j] = differentiate(positions[:, j], self.frame_rate)
                own = self.clip.rotations[:, j]
                angular[:, j] += rotations.rotate(turned, angular_velocities(own, self.frame_rate))
                continue
            frame = rotations.multiply(turned, skeleton.rest[j])
            slid, spun = self._row_velocities(self.hinges, rows[j], frame)
            linear[:, j] += slid
            angular[:, j] += spun
        return linear, angular

    def _row_velocities(self, hinges: Hinges, rows: list[int], frame: F64) -> tuple[F64, F64]:
        """Return what the hinge rows of a joint add to its linear and angular velocity."""
        slid, spun = np.zeros((len(frame), 3)), np.zeros((len(frame), 3))
        for h in rows:
            axis = rotations.rotate(frame, np.broadcast_to(hinges.axes[h], (len(frame), 3)))
            part = axis * self.joint_velocities[:, h, np.newaxis]
            if hinges.slides[h]:
                slid += part
            else:
                spun += part
                frame = rotations.multiply(frame, rotation_about(hinges.axes[h], self.angles[:, h]))
        return slid, spun


def robot_motion(clip: Clip) -> RobotMotion:
    """Return a clip with hinges as a robot's motion, with its joints moved onto their hinges."""
    if clip.skeleton.hinges is None:
        raise UnsupportedClipError("expected a robot's motion, but this clip has no hinges")
    return RobotMotion(clip, clip.hinge_angles(measure_off_axis=False).angles)


def differentiate(values: F64, rate: float) -> F64:
    """Return the rate of change of values (T, …) per second, by central differences."""
    if len(values) < 2:
        return np.zeros_like(values)
    return np.asarray(np.gradient(values, axis=0) * rate)


def angular_velocities(turns: F64, rate: float) -> F64:
    """Return angular velocities (T, 3) of rotations (T, 4), in their parent frame."""
    if len(turns) < 2:
        return np.zeros((len(turns), 3))
    before, after = turns[[0, *range(len(turns) - 1)]], turns[[*range(1, len(turns)), -1]]
    steps = np.r_[1, np.full(len(turns) - 2, 2), 1]
    change = rotations.as_rotvec(rotations.multiply(after, rotations.conjugate(before)))
    return np.asarray(change * rate / steps[:, np.newaxis])
