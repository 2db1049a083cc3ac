"""Layouts of rows, and the tables from which the native core computes states.

A row of a robot is its root's position and rotation in the world, then its angles in the order of
the robot's file, then the rotations of its ball joints. A row of another body has the rotations of
all joints below the root, then the translations of those that move. Contacts come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mocpack._core import RowLayout, WindowPlan
from mocpack.common.arrays import F64, I32, AnyArray
from mocpack.corpora.features import window_plan
from mocpack.errors import UsageError
from mocpack.io.robots.limits import (
    MAX_FRAME_SHARE,
    TOLERANCE_M,
    TOLERANCE_RAD,
    find_outside,
)
from mocpack.io.robots.model import Frame, find_ball_joints, robot_from_metadata
from mocpack.io.robots.orders import (
    list_bodies_breadth_first,
    list_bodies_depth_first,
    list_hinges_breadth_first,
    list_hinges_depth_first,
)
from mocpack.model import rotations
from mocpack.model.clip import ClipHeader
from mocpack.model.hinges import Hinges
from mocpack.model.space import conversion_matrix

UP = "z"  # of the world of all simulators
ORDERS = ("mujoco", "physx")
ROOT_WIDTH = 7
PLAIN, ANGLE, LENGTH, TURN = range(4)  # kinds of columns, as in motion_rows.h
JOINT = np.dtype(
    [
        ("parent", "i4"),
        ("slot", "i4"),
        ("turn_column", "i4"),
        ("place_column", "i4"),
        ("first_hinge", "i4"),
        ("hinge_count", "i4"),
        ("offset", "f4", 3),
        ("rest", "f4", 4),
    ],
    align=True,
)
HINGE = np.dtype([("column", "i4"), ("slides", "i4"), ("axis", "f4", 3)], align=True)
SKELETON = np.dtype(
    [
        (name, "i4")
        for name in (
            "first_joint",
            "joint_count",
            "first_level",
            "level_count",
            "first_angle",
            "angle_count",
            "body_count",
            "contact_column",
            "contact_count",
            "width",
        )
    ],
    align=True,
)


@dataclass(frozen=True)
class Layout:
    """The rows of clips with one skeleton."""

    header: ClipHeader
    hinges: Hinges | None  # of a robot
    plan: WindowPlan
    columns: I32  # of the plan's rows that a row begins with; contacts follow
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    contact_names: tuple[str, ...]
    turn_columns: dict[int, int]
    place_columns: dict[int, int]
    bodies: tuple[Frame, ...]
    angle_rows: tuple[int, ...]  # hinge of each angle of a state

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What distinguishes the layout from others."""
        tables = skeleton_tables([self])
        arrays = tables.joints, tables.hinges, tables.levels, tables.angle_columns, tables.skeletons
        names = self.body_names, self.joint_names, self.contact_names
        limits = b"" if self.hinges is None else self.hinges.limits.tobytes()
        return *names, limits, *(array.tobytes() for array in arrays)

    @property
    def motion_width(self) -> int:
        return len(self.columns)

    @property
    def width(self) -> int:
        """Numbers per row."""
        return self.motion_width + len(self.contact_names)

    @property
    def joint_axes(self) -> F64:
        """Axes (H, 3) of the joints of a robot, in the order of `joint_names`."""
        return np.zeros((0, 3)) if self.hinges is None else self.hinges.axes[list(self.angle_rows)]

    @cached_property
    def native(self) -> RowLayout:
        """The layout as the native core reads it."""
        kinds = np.full(self.width, PLAIN, np.int32)
        limits = np.tile([[-np.inf], [np.inf]], self.width)
        if self.hinges is not None:
            span = slice(ROOT_WIDTH, ROOT_WIDTH + len(self.hinges))
            kinds[span] = np.where(self.hinges.slides, LENGTH, ANGLE)
            room = np.where(self.hinges.slides, TOLERANCE_M, TOLERANCE_RAD)
            limits[:, span] = self.hinges.limits.T + np.stack([-room, room])
        for column in (3, *self.turn_columns.values()):
            kinds[column : column + 4] = TURN
        for column in self.place_columns.values():
            kinds[column : column + 3] = LENGTH
        low, high = limits.astype(np.float32)
        return RowLayout(columns=self.columns, kinds=kinds, low=low, high=high)

    def exceeds_limits(self, rows: AnyArray) -> bool:
        """Return whether joints of rows exceed their limits, as in a wrong order or unit."""
        assert self.hinges is not None
        stored = rows[:, ROOT_WIDTH : ROOT_WIDTH + len(self.hinges)]
        angles = stored.view(np.float16) if stored.dtype == np.uint16 else stored
        _, is_outside = find_outside(self.hinges, angles.astype(np.float64))
        return bool(is_outside.any(axis=1).mean() > MAX_FRAME_SHARE)


def row_layout(header: ClipHeader, order: str, contacts: Sequence[str] = ()) -> Layout:
    """Return the layout of the rows of a header's clips; `order` is that of bodies and angles."""
    if order not in ORDERS:
        raise UsageError(f"order must be one of {', '.join(ORDERS)}, got {order!r:.80}")
    skeleton = header.skeleton
    if len(skeleton.roots) != 1:
        raise UsageError(f"expected a skeleton with one root, got {len(skeleton.roots)}")
    if header.scaled_joints or (skeleton.scales != 1).any():
        raise UsageError("skeletons with scaled joints are not supported")
    joints = len(skeleton)
    robot = robot_from_metadata(skeleton, header.metadata)
    hinged = set(skeleton.hinges.joints) if skeleton.hinges else set()
    is_robot = skeleton.hinges is not None and (
        "robot" in header.metadata or hinged | {0} == set(range(joints))
    )
    by_mujoco = order == "mujoco"
    turns: list[int] = []
    places: list[int] = []
    if is_robot:
        assert skeleton.hinges is not None
        turns = sorted(find_ball_joints(skeleton))
        features = ["root", "angles", *(["quaternion"] if turns else [])]
        angles = len(skeleton.hinges)
        listed = (list_hinges_depth_first if by_mujoco else list_hinges_breadth_first)(robot)
        names = tuple(skeleton.hinges.names[h] for h in listed)
    else:
        turns = list(range(1, joints))
        places = [j for j in header.translated_joints if j]
        features, angles, listed, names = ["root", "quaternion", "translations"], 0, [], ()
    parts = [slice(0, ROOT_WIDTH + angles)]
    start = ROOT_WIDTH + angles
    parts += [slice(start + 4 * j, start + 4 * j + 4) for j in turns]
    start += 4 * joints
    moving = list(header.translated_joints)
    parts += [slice(start + 3 * moving.index(j), start + 3 * moving.index(j) + 3) for j in places]
    first = ROOT_WIDTH + angles
    order_bodies = list_bodies_depth_first if by_mujoco else list_bodies_breadth_first
    bodies = tuple(robot.bodies[b] for b in order_bodies(robot))
    return Layout(
        header=header,
        hinges=skeleton.hinges if is_robot else None,
        plan=window_plan(replace(header, up=UP, handedness="right"), features),
        columns=np.concatenate([np.arange(one.start, one.stop, dtype=np.int32) for one in parts]),
        body_names=tuple(body.name for body in bodies),
        joint_names=names,
        contact_names=tuple(contacts),
        turn_columns={j: first + 4 * at for at, j in enumerate(turns)},
        place_columns={j: first + 4 * len(turns) + 3 * at for at, j in enumerate(places)},
        bodies=bodies,
        angle_rows=tuple(listed),
    )


@dataclass(frozen=True)
class _Node:
    """A joint, or a body that is fixed to one."""

    joint: int
    parent: int  # node
    body: int | None
    is_fixed: bool


@dataclass(frozen=True)
class Tables:
    """The tables of all skeletons of a library, as the native core reads them."""

    joints: npt.NDArray[np.void]
    hinges: npt.NDArray[np.void]
    levels: I32
    angle_columns: I32
    skeletons: npt.NDArray[np.void]


def skeleton_tables(layouts: Sequence[Layout]) -> Tables:
    """Return the tables of the skeletons of these layouts."""
    joints: list[npt.NDArray[np.void]] = []
    hinges: list[npt.NDArray[np.void]] = []
    levels: list[int] = []
    columns: list[int] = []
    skeletons = np.zeros(len(layouts), SKELETON)
    for own, layout in zip(skeletons, layouts, strict=True):
        nodes, ends = _nodes(layout)
        own["first_joint"], own["joint_count"] = sum(map(len, joints)), len(nodes)
        own["first_level"], own["level_count"] = len(levels), len(ends)
        own["first_angle"], own["angle_count"] = len(columns), len(layout.angle_rows)
        own["body_count"], own["width"] = len(layout.bodies), layout.width
        own["contact_column"] = layout.motion_width
        own["contact_count"] = len(layout.contact_names)
        table, axes = _joint_table(layout, nodes, sum(map(len, hinges)))
        joints.append(table)
        hinges.append(axes)
        levels += ends
        columns += [ROOT_WIDTH + h for h in layout.angle_rows]
    return Tables(
        np.concatenate(joints),
        np.concatenate(hinges),
        np.array(levels, np.int32),
        np.array(columns, np.int32),
        skeletons,
    )


def _nodes(layout: Layout) -> tuple[list[_Node], list[int]]:
    """Return the joints and fixed bodies by depth, parents first, and the end of each depth."""
    parents = layout.header.skeleton.parents
    home = np.zeros(3), rotations.IDENTITY
    own: dict[int, int] = {}  # the body at the origin of each joint
    for b, body in enumerate(layout.bodies):
        if (body.position == home[0]).all() and (body.rotation == home[1]).all():
            own.setdefault(body.joint, b)
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent < 0 else depth[parent] + 1)
    fixed = [b for b, body in enumerate(layout.bodies) if own.get(body.joint) != b]
    rows = [(depth[j], j, own.get(j), False) for j in range(len(parents))]
    rows += [(depth[layout.bodies[b].joint] + 1, layout.bodies[b].joint, b, True) for b in fixed]
    rows.sort(key=lambda row: row[0])
    place = {row[1]: at for at, row in enumerate(rows) if not row[3]}
    nodes = [
        _Node(j, place[j] if is_fixed else -1 if parents[j] < 0 else place[parents[j]], b, is_fixed)
        for _, j, b, is_fixed in rows
    ]
    depths = np.array([row[0] for row in rows])
    return nodes, [int((depths <= level).sum()) for level in range(int(depths.max()) + 1)]


def _joint_table(
    layout: Layout, nodes: Sequence[_Node], first_hinge: int
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    skeleton, hinges = layout.header.skeleton, layout.hinges
    rows = {} if hinges is None else dict(hinges.rows_by_joint())
    table = np.zeros(len(nodes), JOINT)
    axes: list[tuple[int, bool, F64]] = []
    spare = len(layout.bodies)
    for own, node in zip(table, nodes, strict=True):
        own["parent"] = node.parent
        own["slot"], spare = (spare, spare + 1) if node.body is None else (node.body, spare)
        own["turn_column"] = own["place_column"] = -1
        own["first_hinge"] = first_hinge + len(axes)
        if node.is_fixed:
            assert node.body is not None
            body = layout.bodies[node.body]
            own["offset"], own["rest"] = body.position, body.rotation
            continue
        own["offset"], own["rest"] = skeleton.offsets[node.joint], skeleton.rest[node.joint]
        own["turn_column"] = layout.turn_columns.get(node.joint, -1)
        own["place_column"] = layout.place_columns.get(node.joint, -1)
        if node.parent < 0:  # of a base that moves on hinges only; else rows have its pose
            upright = conversion_matrix(UP, "right")
            turn = rotations.conjugate(rotations.from_matrix(upright))
            own["offset"] = skeleton.offsets[node.joint] @ upright
            own["rest"] = rotations.multiply(turn, skeleton.rest[node.joint])
        if hinges is not None:
            kept = rows.get(node.joint, [])
            axes += [(ROOT_WIDTH + h, bool(hinges.slides[h]), hinges.axes[h]) for h in kept]
        own["hinge_count"] = first_hinge + len(axes) - own["first_hinge"]
    return table, np.array(axes, HINGE)
