"""Orders of joints and bodies: depth first in MuJoCo, breadth first in Isaac (PhysX).

If a file does not name its columns, both orders are tried. The right one puts the bodies where the
angles do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import list_names
from mocpack.errors import CorruptionError
from mocpack.io.robots.kinematics import robot_motion
from mocpack.io.robots.model import Robot
from mocpack.io.robots.motion import (
    build_clip,
    match_columns_by_count,
    match_columns_by_name,
    parse_quaternions,
    to_angles,
)
from mocpack.model import rotations
from mocpack.model.clip import Clip

MAX_BODY_OFFSET_M = 0.01  # of a body from where the angles put it
MAX_PROBE_FRAMES = 16


@dataclass(frozen=True)
class BodyMotion:
    """A motion with the poses of all bodies, and names if the file has them."""

    numbers: F64  # angles (T, N)
    positions: F64  # of the bodies in the world (T, B, 3), root first
    quaternions: F64  # of the bodies (T, B, 4)
    joint_names: list[str] | None
    body_names: list[str] | None
    order: str | None  # of quaternions, if the file states it
    default_order: str

    def frames(self, at: Sequence[int]) -> BodyMotion:
        kept = list(at)
        return replace(
            self,
            numbers=self.numbers[kept],
            positions=self.positions[kept],
            quaternions=self.quaternions[kept],
        )


def list_hinges_depth_first(robot: Robot) -> list[int]:
    """Return the hinge rows in MuJoCo's order."""
    return list(robot.hinges.by_joint)


def list_hinges_breadth_first(robot: Robot) -> list[int]:
    """Return the hinge rows in Isaac's order."""
    depth = _count_bodies_above(robot)
    return sorted(list_hinges_depth_first(robot), key=lambda h: depth[robot.hinges.joints[h]])


def list_bodies_depth_first(robot: Robot) -> list[int]:
    return list(range(len(robot.bodies)))


def list_bodies_breadth_first(robot: Robot) -> list[int]:
    """Return the bodies in Isaac's order, without fixed ones, which it merges."""
    depth, seen, kept = _count_bodies_above(robot), set[int](), []
    for b, body in enumerate(robot.bodies):
        if body.joint not in seen:
            seen.add(body.joint)
            kept.append(b)
    return sorted(kept, key=lambda b: depth[robot.bodies[b].joint])


ORDERS = {
    "MuJoCo's": (list_hinges_depth_first, list_bodies_depth_first),
    "Isaac's": (list_hinges_breadth_first, list_bodies_breadth_first),
}


def clip_from_bodies(robot: Robot, given: BodyMotion, fps: float | None, source: str) -> Clip:
    """Return the clip of a motion, and detect the order of its columns by kinematics."""
    check_shapes(given)
    few = given.frames(range(0, len(given.numbers), max(1, len(given.numbers) // MAX_PROBE_FRAMES)))
    tries = []
    for name, (rows, bodies) in ORDERS.items():
        for order in (given.order,) if given.order else ("wxyz", "xyzw"):
            columns = _match_columns(robot, given, rows(robot))
            match = _match_bodies(robot, given, bodies(robot))
            if match is None:
                continue
            distances = _measure_offsets(robot, few, columns, order, *match)
            worst = int(distances.argmax())
            worst_body = robot.bodies[match[0][worst]].name
            tries.append((float(distances[worst]), name, order, columns, worst_body))
    if not tries:
        raise CorruptionError(
            f"the file has {given.positions.shape[1]} bodies without names, but the robot "
            f"{robot.name!r} has {len(robot.bodies)}: "
            f"{list_names([body.name for body in robot.bodies])}"
        )
    near, name, order, columns, worst_body = min(tries, key=lambda one: one[0])
    if near > MAX_BODY_OFFSET_M:
        raise CorruptionError(
            f"the bodies do not match the angles in any order: {worst_body!r} is {near:.3g} m "
            f"off in {name} order, the best; the robot {robot.name!r} has "
            f"{list_names(robot.hinges.names)}"
        )
    return _build_clip(robot, given, columns, order, fps, source)


def check_shapes(given: BodyMotion) -> None:
    frames, positions, turns = len(given.numbers), given.positions.shape, given.quaternions.shape
    fits = len(positions) == 3 and positions[1] and positions == (frames, positions[1], 3)
    if not fits or turns != (frames, positions[1], 4):
        raise CorruptionError(
            f"body positions and quaternions must have shapes ({frames}, B, 3) and ({frames}, "
            f"B, 4), got {positions} and {turns}"
        )
    if given.body_names is not None and len(given.body_names) != positions[1]:
        raise CorruptionError(
            f"the file has {len(given.body_names)} body names for {positions[1]} bodies"
        )
    for part in (given.numbers, given.positions, given.quaternions):
        if not np.isfinite(part).all():
            raise CorruptionError("angles and body poses must be finite")


def _match_columns(robot: Robot, given: BodyMotion, rows: Sequence[int]) -> list[int]:
    if given.joint_names is not None:
        if len(given.joint_names) != given.numbers.shape[1]:
            raise CorruptionError(
                f"the file has {len(given.joint_names)} joint names for {given.numbers.shape[1]} "
                "angles"
            )
        return match_columns_by_name(robot, given.joint_names, "the file")
    return match_columns_by_order(robot, given.numbers.shape[1], rows, "the file")


def match_columns_by_order(robot: Robot, count: int, rows: Sequence[int], what: str) -> list[int]:
    """Return the column of each hinge row, for columns in the order of `rows`."""
    match_columns_by_count(robot, count, what)  # checks the count
    names = robot.hinges.names
    kept = list(rows) if count == len(rows) else [h for h in rows if names[h] not in robot.mimics]
    return [kept.index(h) if h in kept else -1 for h in range(len(names))]


def _match_bodies(
    robot: Robot, given: BodyMotion, order: Sequence[int]
) -> tuple[list[int], list[int]] | None:
    """Return the robot's bodies to compare, and the index of each in the file."""
    if given.body_names is not None:
        place = {name: at for at, name in enumerate(given.body_names)}
        known = [b for b, body in enumerate(robot.bodies) if body.name in place]
        missing = [body.name for body in robot.bodies if body.name not in place]
        if robot.bodies[0].name in missing or len(missing) > len(known):
            raise CorruptionError(
                f"the file lacks the bodies {list_names(missing)}; it has: "
                f"{list_names(given.body_names)}"
            )
        return known, [place[robot.bodies[b].name] for b in known]
    if given.positions.shape[1] != len(order):
        return None
    return list(order), list(range(len(order)))


def _measure_offsets(
    robot: Robot,
    given: BodyMotion,
    columns: Sequence[int],
    order: str,
    bodies: Sequence[int],
    at: Sequence[int],
) -> F64:
    """Return the distances (B,) of the file's bodies from where its angles put them."""
    motion = robot_motion(_build_clip(robot, given, columns, order, 30.0, ""))
    positions, turns = (part[:, list(bodies)] for part in motion.body_poses)
    distances = np.linalg.norm(positions - given.positions[:, list(at)], axis=2)
    quaternions = given.quaternions[:, list(at)]
    other = np.roll(quaternions, -1, axis=2) if order == "wxyz" else quaternions
    turned = rotations.angle_between(turns, rotations.normalize(other))
    # A link reaches about 0.1 m from its origin.
    return np.asarray((distances + 0.1 * turned).max(axis=0))


def _build_clip(
    robot: Robot,
    given: BodyMotion,
    columns: Sequence[int],
    order: str,
    fps: float | None,
    source: str,
) -> Clip:
    angles = to_angles(robot, given.numbers, columns)
    root = 0
    if given.body_names is not None:
        root = given.body_names.index(robot.bodies[0].name)
    turns = parse_quaternions(
        given.quaternions[:, root], order, given.default_order, "quaternions of bodies"
    )
    if robot.floating is False:
        return build_clip(robot, angles, None, None, fps=fps, source=source)
    positions = given.positions[:, root]
    return build_clip(robot, angles, positions, turns, fps=fps, source=source)


def _count_bodies_above(robot: Robot) -> list[int]:
    """Return the number of bodies above each joint; joints between bodies do not count."""
    bodies = {body.joint for body in robot.bodies}
    depths: list[int] = []
    for parent in robot.skeleton.parents:
        depths.append(0 if parent < 0 else depths[parent] + (parent in bodies))
    return depths
