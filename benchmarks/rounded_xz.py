"""A common ad hoc format of robot labs: values rounded to a grid, differences, xz."""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.codec import Codec, Quality
from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, UnsupportedClipError
from mocpack.io.robots.model import Robot, robot_from_metadata
from mocpack.io.robots.qpos import clip_from_qpos
from mocpack.model.clip import Clip, ClipHeader
from mocpack.robots import robot_motion

ANGLE_STEPS = 2.0  # relative to the steps of root positions (meters) and quaternions


@dataclass(frozen=True)
class RoundedXz(Codec):
    """A robot's positions, rounded, stored as differences and compressed by xz -9.

    The steps of root positions, quaternions and angles are in the ratio 1 : 1 : 2. The payload is
    the smallest of first and second differences, by frame and by column, in the narrowest integers.
    """

    codec_id = "rounded-xz"
    bitstream_version = 1
    quality: ClassVar[Quality] = Quality("step", 1e-7, 1.0)
    step: float = 1e-3

    def encode(self, clip: Clip) -> bytes:
        if clip.skeleton.hinges is None:
            raise UnsupportedClipError(
                "rounded-xz encodes motions of robots, but this clip has no hinges"
            )
        numbers = self._whole(clip)
        ways = []
        for order in (1, 2):
            rows = np.diff(numbers, order, axis=0, prepend=np.zeros((order, numbers.shape[1]), int))
            width = next(w for w in ["<i1", "<i2", "<i4", "<i8"] if _fits(rows, w))
            for by_column in (False, True):
                laid = rows.T if by_column else rows
                head = f"{order}{width}{int(by_column)}".encode()
                ways.append(head + lzma.compress(laid.astype(width).tobytes(), preset=9))
        return min(ways, key=len)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        robot = robot_from_metadata(header.skeleton, header.metadata)
        columns = 7 * (robot.floating is not False) + 4 * len(robot.ball_joints) + len(robot.hinges)
        order, width, by_column = int(payload[:1]), payload[1:4].decode(), payload[4:5] == b"1"
        try:
            flat = np.frombuffer(lzma.decompress(payload[5:]), width).astype(np.int64)
        except lzma.LZMAError as error:
            raise CorruptionError(f"xz: {error}") from error
        rows = flat.reshape(columns, -1).T if by_column else flat.reshape(-1, columns)
        for _ in range(order):
            rows = np.cumsum(rows, axis=0)
        return self._clip(rows, robot, header)

    def rounded(self, clip: Clip) -> Clip:
        """Return the decoded clip without encoding it."""
        return self._clip(
            self._whole(clip), robot_from_metadata(clip.skeleton, clip.metadata), clip.header
        )

    def _whole(self, clip: Clip) -> npt.NDArray[np.int64]:
        motion = robot_motion(clip)
        return np.rint(motion.qpos / self._steps(motion.robot)).astype(np.int64)

    def _clip(self, rows: npt.NDArray[np.int64], robot: Robot, header: ClipHeader) -> Clip:
        numbers = _unit(rows * self._steps(robot), robot)
        found = clip_from_qpos(robot, numbers, header.frame_rate, order="wxyz", source="")
        return Clip(header, found.rotations, found.translations)

    def _steps(self, robot: Robot) -> F64:
        hinges, steps = robot.hinges, [self.step] * 7 * (robot.floating is not False)
        rows = dict(hinges.rows_by_joint())
        for j in range(len(robot.skeleton)):
            steps += [self.step] * 4 * (j in robot.ball_joints)
            for h in rows.get(j, []):
                steps.append(self.step * (1.0 if hinges.slides[h] else ANGLE_STEPS))
        return np.array(steps)


def _fits(numbers: npt.NDArray[np.int64], width: str) -> bool:
    info = np.iinfo(width)
    return bool(numbers.min() >= info.min and numbers.max() <= info.max)


def _unit(numbers: F64, robot: Robot) -> F64:
    """Normalize the quaternions of rows (T, nq) in place."""
    at, rows = 3, dict(robot.hinges.rows_by_joint())
    starts = [at] if robot.floating is not False else []
    at = 7 * (robot.floating is not False)
    for j in range(len(robot.skeleton)):
        if j in robot.ball_joints:
            starts.append(at)
            at += 4
        at += len(rows.get(j, []))
    for start in starts:
        part = numbers[:, start : start + 4]
        numbers[:, start : start + 4] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return numbers
