"""Build a skeleton with hinges from a robot's bodies, for URDF and MJCF.

Moving links become joints with the link's name; links fixed to them become bone ends. A link with
more degrees of freedom than one joint can have (three axes, a slide after a hinge) becomes several
joints at one position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.json_object import Json, JsonObject
from mocpack.errors import CorruptionError, InvalidClipError, convert_errors
from mocpack.model import rotations
from mocpack.model.hinges import (
    MAX_SLIDE_AXES,
    MAX_TURN_AXES,
    MIN_AXIS_SINE,
    Hinges,
    rotation_about,
)
from mocpack.model.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, MAX_JOINTS, Skeleton
from mocpack.model.space import conversion_matrix

UP = "z"
SAME_POSITION_M = 1e-9
UNLIMITED = (-np.inf, np.inf)


@dataclass(frozen=True)
class RobotJoint:
    """One degree of freedom of a body relative to its parent."""

    name: str
    kind: str  # hinge, slide, ball or free
    axis: F64 = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))  # in the body's frame
    anchor: F64 = field(default_factory=lambda: np.zeros(3))  # a point on the axis, in meters
    limits: tuple[float, float] = UNLIMITED
    reference: float = 0.0  # angle at which the body has its stated position and rotation
    mimics: tuple[str, float, float] | None = None  # joint that this one follows, factor, offset


@dataclass(frozen=True)
class RobotBody:
    """A link: its pose relative to its parent (an index before this one), and its joints."""

    name: str
    parent: int
    position: F64
    rotation: F64
    joints: tuple[RobotJoint, ...] = ()


@dataclass(frozen=True)
class Frame:
    """A body of the robot: its pose relative to the joint of the skeleton that carries it."""

    name: str
    joint: int
    position: F64
    rotation: F64


@dataclass(frozen=True)
class Robot:
    """A robot's kinematics."""

    name: str
    skeleton: Skeleton  # its hinges are in the order of the robot's file
    bodies: tuple[Frame, ...]  # in MuJoCo's order, depth first
    floating: bool | None = None  # whether the root moves freely; None if the file (URDF) is silent
    # Joints that follow another: its name, a factor and an offset.
    mimics: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)

    @property
    def hinges(self) -> Hinges:
        assert self.skeleton.hinges is not None
        return self.skeleton.hinges

    @property
    def ball_joints(self) -> set[int]:
        """Joints of the skeleton that rotate freely."""
        return find_ball_joints(self.skeleton)

    def metadata(self) -> JsonObject:
        """Return the metadata that `robot_from_metadata` needs besides the skeleton."""
        robot: JsonObject = {"name": self.name}
        if self.floating is False:
            robot["floating"] = False
        between = sorted(set(range(len(self.skeleton))) - {body.joint for body in self.bodies})
        if between:
            robot["between"] = between
        own = set(enumerate(self.skeleton.names))
        fixed: list[list[Json]] = [
            [at, body.name, body.joint, *map(float, (*body.position, *body.rotation))]
            for at, body in enumerate(self.bodies)
            if (body.joint, body.name) not in own or not _is_at_origin(body)
        ]
        if fixed:
            robot["fixed"] = fixed
        if self.mimics:
            robot["mimics"] = {name: list(rule) for name, rule in self.mimics.items()}
        return {"robot": robot}


def robot_from_metadata(skeleton: Skeleton, metadata: Mapping[str, Json]) -> Robot:
    """Return the robot of a clip, from its skeleton and the metadata of a robot's file, if any."""
    robot = metadata.get("robot")
    stated = robot if isinstance(robot, Mapping) else {}
    rules = stated.get("mimics", {})
    home = np.zeros(3), rotations.IDENTITY
    with convert_errors(ValueError, "robot metadata"):
        fixed = {}
        for at, name, joint, *numbers in map(_check_list, _check_list(stated.get("fixed", []))):
            pose = np.array([*map(_check_number, numbers)])
            index = _check_joint_index(joint, skeleton)
            fixed[int(_check_number(at))] = Frame(str(name), index, pose[:3], pose[3:])
        between = {_check_joint_index(j, skeleton) for j in _check_list(stated.get("between", []))}
        mimics = {}
        for follower, rule in rules.items() if isinstance(rules, Mapping) else ():
            leader, factor, added = _check_list(rule)
            mimics[follower] = (str(leader), _check_number(factor), _check_number(added))
    replaced = {body.name for body in fixed.values()}
    bodies = [
        Frame(name, j, *home)
        for j, name in enumerate(skeleton.names)
        if j not in between and name not in replaced
    ]
    for at in sorted(fixed):
        if fixed[at].position.shape != (3,) or fixed[at].rotation.shape != (4,):
            raise CorruptionError(
                f"robot metadata: body {fixed[at].name!r} must have a position and a rotation"
            )
        bodies.insert(at, fixed[at])
    title = str(stated.get("name", ""))
    return Robot(title, skeleton, tuple(bodies), has_floating_base(metadata), mimics)


def has_floating_base(metadata: Mapping[str, Json]) -> bool:
    """Return whether the root of a clip's robot moves freely."""
    stated = metadata.get("robot")
    return not isinstance(stated, Mapping) or stated.get("floating") is not False


def find_ball_joints(skeleton: Skeleton) -> set[int]:
    """Return the joints below the root that rotate freely."""
    hinged = set(skeleton.hinges.joints) if skeleton.hinges else set()
    return set(range(1, len(skeleton))) - hinged


def build_robot(
    name: str,
    bodies: Sequence[RobotBody],
    *,
    order: Sequence[str] = (),
    fixed_bodies: bool,
    floating: bool | None = None,
) -> Robot:
    """Build the robot of these bodies, which are sorted parents first, root at index 0.

    `order` names the joints in the order of their angles, if it is not that of the bodies. With
    `fixed_bodies`, fixed bodies are listed as bodies; otherwise they only become bone ends.
    """
    build = _Builder()
    for body in bodies:
        build.add(body)
    if not build.rows:
        raise CorruptionError("the robot has no joint that rotates or slides")
    place = {joint: at for at, joint in enumerate(order)}
    rows = sorted(build.rows, key=lambda row: place.get(row[1].name, len(place)))
    with convert_errors(InvalidClipError, "robot"):
        skeleton = build.skeleton(rows)
    mimics = {joint.name: joint.mimics for _, joint in rows if joint.mimics is not None}
    leaders = {joint.name for _, joint in rows} - set(mimics)
    for follower, (leader, _, _) in mimics.items():
        if leader not in leaders:
            raise CorruptionError(
                f"joint {follower!r} mimics {leader[:60]!r}, which must be a joint that moves by "
                "itself"
            )
    kept = [
        frame
        for frame, body in zip(build.frames, bodies, strict=True)
        if fixed_bodies or body.joints or body.parent < 0
    ]
    return Robot(name, skeleton, tuple(kept), floating, mimics)


class _Builder:
    """Builds the skeleton of a robot body by body."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parents: list[int] = []
        self.offsets: list[F64] = []
        self.rest: list[F64] = []
        self.rows: list[tuple[int, RobotJoint]] = []
        self.frames: list[Frame] = []
        self.ends: list[tuple[int, F64]] = []
        self._taken: set[tuple[int, ...]] = set()

    def add(self, body: RobotBody) -> None:
        if body.parent < 0:
            # The world is rotated to y up, and the root with it.
            turn = rotations.from_matrix(conversion_matrix(UP, "right"))
            above, place, turned = -1, rotations.rotate(turn, body.position), turn
            turned = rotations.multiply(turn, body.rotation)
        else:
            base = self.frames[body.parent]
            above = base.joint
            place = base.position + rotations.rotate(base.rotation, body.position)
            turned = rotations.multiply(base.rotation, body.rotation)
        if above >= 0 and not body.joints:
            self.frames.append(Frame(body.name, above, place, turned))
            self._end(above, place)
            return
        groups = _group_joints(body.joints) or [[]]
        anchor = np.zeros(3)
        for k, group in enumerate(groups):
            moved = _find_anchor(group)
            if k:
                place, turned = moved - anchor, rotations.IDENTITY
            else:
                place = place + rotations.rotate(turned, moved)
            name = body.name if k == len(groups) - 1 else f"{body.name}.{group[-1].name}"
            above = self._joint(name, above, place, turned, group)
            anchor = moved
        self.frames.append(Frame(body.name, above, -anchor + 0.0, rotations.IDENTITY))
        self._end(above, -anchor + 0.0)

    def _joint(
        self, name: str, parent: int, place: F64, turned: F64, group: list[RobotJoint]
    ) -> int:
        index = len(self.names)
        if index >= MAX_JOINTS:
            raise CorruptionError(f"a robot must have at most {MAX_JOINTS} joints")
        for joint in group:
            if joint.kind == "slide":
                place = place - rotations.rotate(turned, joint.reference * joint.axis)
            elif joint.kind == "hinge" and joint.reference:
                turned = rotations.multiply(
                    turned, rotation_about(joint.axis, np.array(-joint.reference))
                )
            if joint.kind in ("hinge", "slide"):
                self.rows.append((index, joint))
        self.names.append(name)
        self.parents.append(parent)
        self.offsets.append(place)
        self.rest.append(turned)
        return index

    def _end(self, joint: int, place: F64) -> None:
        """Add a bone end at a body, unless a joint or another bone end is there."""
        cell = (joint, *map(int, np.rint(place / SAME_POSITION_M)))
        if any(cell[1:]) and cell not in self._taken:
            self._taken.add(cell)
            self.ends.append((joint, place))

    def skeleton(self, rows: list[tuple[int, RobotJoint]]) -> Skeleton:
        slides = np.array([joint.kind == "slide" for _, joint in rows])
        moving = {0, *(j for j, joint in rows if joint.kind == "slide")}
        ends = sorted(self.ends, key=lambda end: end[0])
        return Skeleton(
            tuple(self.names),
            tuple(self.parents),
            np.array(self.offsets),
            np.array([place for _, place in ends]).reshape(-1, 3),
            tuple(joint for joint, _ in ends),
            tuple(DEFAULT_ROOT if j in moving else DEFAULT_JOINT for j in range(len(self.names))),
            rest=np.array(self.rest),
            hinges=Hinges(
                tuple(j for j, _ in rows),
                np.array([joint.axis for _, joint in rows]),
                np.array([joint.limits for _, joint in rows]),
                slides,
                tuple(joint.name for _, joint in rows),
            ),
        )


def _group_joints(joints: Sequence[RobotJoint]) -> list[list[RobotJoint]]:
    """Split the degrees of freedom of a body into groups that one joint of a skeleton can have."""
    groups: list[list[RobotJoint]] = []
    for joint in joints:
        if groups and _can_share_joint(groups[-1], joint):
            groups[-1].append(joint)
        else:
            groups.append([joint])
    return groups


def _can_share_joint(group: list[RobotJoint], joint: RobotJoint) -> bool:
    if joint.kind in ("ball", "free") or any(other.kind in ("ball", "free") for other in group):
        return False
    turns = [other for other in group if other.kind == "hinge"]
    if joint.kind == "slide":
        axes = [other.axis for other in group]
        return not turns and len(group) < MAX_SLIDE_AXES and _is_independent([*axes, joint.axis])
    if not turns:  # a hinge with a reference angle would rotate the frame of the slides
        return not (group and joint.reference)
    return (
        len(turns) < MAX_TURN_AXES
        and not joint.reference
        and bool(np.abs(turns[0].anchor - joint.anchor).max() <= SAME_POSITION_M)
        and _is_independent([turns[0].axis, joint.axis])
    )


def _is_independent(axes: list[F64]) -> bool:
    return bool(np.linalg.svd(np.array(axes), compute_uv=False)[-1] >= 2 * MIN_AXIS_SINE)


def _find_anchor(group: Sequence[RobotJoint]) -> F64:
    """Return the point about which a group rotates; slides have none."""
    return next((joint.anchor for joint in group if joint.kind in ("hinge", "ball")), np.zeros(3))


def _is_at_origin(body: Frame) -> bool:
    return not body.position.any() and bool((body.rotation == rotations.IDENTITY).all())


def _check_list(value: Json) -> list[Json]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"expected a list, got {value!r:.40}")
    return list(value)


def _check_number(value: Json) -> float:
    if not isinstance(value, int | float):
        raise ValueError(f"expected a number, got {value!r:.40}")
    return float(value)


def _check_joint_index(value: Json, skeleton: Skeleton) -> int:
    index = int(_check_number(value))
    if not 0 <= index < len(skeleton):
        raise ValueError(f"joint {index} of {len(skeleton)}")
    return index
