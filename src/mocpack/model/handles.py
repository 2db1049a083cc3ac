"""Handles: targets for joints, and the smallest change of a pose that reaches them.

The change puts every joint exactly at its target. Weights hold other joints in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.units import format_length
from mocpack.errors import UsageError
from mocpack.model import rotations

TOLERANCE = 1e-5  # of a reached target, in meters or radians
MAX_ROUNDS = 80
DAMPING = (1e-5, 100.0)  # of rotations, in the first and the last round
MAX_APPROACH = 0.1  # to a goal per round, in meters or radians
MAX_TURN = 0.3  # of any joint per round, in meters or radians
DIFFERENCE = 1e-5  # step of numerical derivatives
CHANGE_WEIGHT = 0.05  # of the change itself, so that values that move no joint stay

World = Callable[[F64], tuple[F64, F64]]
"""Returns positions (N, J, 3) and world rotations (N, J, 4) of poses given as rows (N, M)."""


@dataclass(frozen=True)
class Handle:
    """A target for a joint at a time.

    Attributes
    ----------
    joint : str or int
        Name or index of a joint; index of a vertex in a vertex animation.
    time : float, seconds
    to : (3,), meters, optional
        Target position in the world.
    by : (3,), meters, optional
        Displacement from the current position.
    rotation : (4,), optional
        The joint's rotation in the world, a quaternion x, y, z, w.
    """

    joint: str | int
    time: float
    to: Sequence[float] | F64 | None = None
    by: Sequence[float] | F64 | None = None
    rotation: Sequence[float] | F64 | None = None

    def __post_init__(self) -> None:
        given = [n for n in ("to", "by", "rotation") if getattr(self, n) is not None]
        if not given or {"to", "by"} <= set(given):
            raise UsageError("a handle needs to, by or rotation; to and by exclude each other")
        for name in given:
            length = 4 if name == "rotation" else 3
            value = np.asarray(getattr(self, name), np.float64)
            if value.shape != (length,) or not np.isfinite(value).all():
                raise UsageError(f"{name} of a handle must be {length} finite numbers, got {value}")

    def target(self, position: F64) -> F64 | None:
        """Return the target position (3,) of a joint that is at `position`, if there is one."""
        if self.by is not None:
            return np.asarray(position + np.asarray(self.by, np.float64))
        return None if self.to is None else np.asarray(self.to, np.float64)

    def goals(self, joint: int, position: F64) -> list[Goal]:
        """Return what the pose must reach; `joint` is at `position`."""
        goals, target = [], self.target(position)
        if target is not None:
            goals.append(Goal(joint, position=target))
        if self.rotation is not None:
            turn = rotations.normalize(np.asarray(self.rotation, np.float64))
            goals.append(Goal(joint, rotation=turn))
        return goals

    def miss(self, old: F64, new: F64, turn: F64) -> float:
        """Return the distance from the target in meters, or in radians if that is larger.

        `old` and `new` are the positions of the joint, `turn` is its new world rotation.
        """
        target = self.target(old)
        error = 0.0 if target is None else float(np.linalg.norm(new - target))
        if self.rotation is not None:
            wanted = rotations.normalize(np.asarray(self.rotation, np.float64))
            error = max(error, float(rotations.angle_between(wanted, turn)))
        return error


@dataclass(frozen=True, eq=False)
class Goal:
    """Target of a joint: a position (3,) or a rotation (4,) in the world."""

    joint: int
    position: F64 | None = None
    rotation: F64 | None = None

    def error(self, positions: F64, turns: F64) -> F64:
        """Return the error of each pose, (N, 3): meters, or a rotation vector."""
        if self.position is not None:
            return np.asarray(positions[:, self.joint] - self.position)
        assert self.rotation is not None
        left = rotations.multiply(self.rotation, rotations.conjugate(turns[:, self.joint]))
        return -rotations.as_rotvec(left)


def solve_pose(
    world: World,
    row: F64,
    goals: Sequence[Goal],
    names: Sequence[str],
    *,
    weights: F64,
    cost: F64,
    scales: F64,
) -> F64:
    """Return the change (M,) of a pose's row that reaches every goal.

    Parameters
    ----------
    world : function
        See `World`.
    row : array, shape (M,)
    names : sequence of str, length J
        Names of the joints, for errors.
    weights : array, shape (J,)
        Cost of moving each joint.
    cost : array, shape (M, M)
        Quadratic cost of the change itself.
    scales : array, shape (M,)
        Meters per radian of each number of a row; 1 for meters.
    """
    before = world(row[np.newaxis])[0][0]
    change = np.zeros(len(row))
    miss = np.inf
    for damping in np.geomspace(*DAMPING, MAX_ROUNDS):
        slopes, positions, errors = _linearize(world, row + change, goals)
        miss = float(np.abs(errors).max())
        by_joint, by_goal = slopes
        weighted = weights[:, np.newaxis, np.newaxis] ** 2 * by_joint
        curvature = np.einsum("jcm,jcn->mn", weighted, by_joint) + cost
        gradient = np.einsum("jcm,jc->m", weighted, positions - before) + cost @ change
        # approach goals in steps for which the linearization is accurate
        ahead = -errors * min(1.0, MAX_APPROACH / max(miss, 1e-12))
        step = _short_step(curvature, -gradient, by_goal, ahead, scales, damping)
        if miss < TOLERANCE and np.abs(step / scales).max() < 10 * TOLERANCE:
            break
        change = change + step
    if miss > 10 * TOLERANCE:
        joints = ", ".join(names[goal.joint] for goal in goals)
        raise UsageError(
            f"{joints} cannot reach the target: {format_length(miss)} (or radians) remain; "
            "use a nearer target, or fewer handles at the same time"
        )
    return change


def solve_constrained(square: F64, right: F64, rows: F64, values: F64) -> F64:
    """Return x that minimizes x'·square·x/2 - right'·x while rows·x = values."""
    size, count = len(square), len(rows)
    whole = np.zeros((size + count, size + count))
    whole[:size, :size] = square
    whole[size:, :size], whole[:size, size:] = rows, rows.T
    return np.asarray(
        np.linalg.lstsq(whole, np.concatenate([right, values]), rcond=1e-13)[0][:size]
    )


def _short_step(
    square: F64, right: F64, rows: F64, values: F64, scales: F64, damping: float
) -> F64:
    """Return the constrained step; damp rotations more if a limb would rotate too far."""
    for _ in range(10):
        step = solve_constrained(square + damping * np.diag(scales**-2.0), right, rows, values)
        largest = float(np.abs(step / scales).max())
        if largest <= MAX_TURN:
            return step
        damping *= 4
    return np.asarray(step * (MAX_TURN / largest))


def _linearize(world: World, row: F64, goals: Sequence[Goal]) -> tuple[tuple[F64, F64], F64, F64]:
    """Return slopes of joints (J, 3, M) and goals (3 G, M), positions (J, 3), errors (3 G,)."""
    steps = DIFFERENCE * np.eye(len(row))
    positions, turns = world(row + np.concatenate([np.zeros((1, len(row))), steps, -steps]))
    errors = np.concatenate([goal.error(positions, turns) for goal in goals], axis=1)
    ahead, back = slice(1, len(row) + 1), slice(len(row) + 1, None)
    by_joint = np.moveaxis(positions[ahead] - positions[back], 0, -1) / (2 * DIFFERENCE)
    by_goal = (errors[ahead] - errors[back]).T / (2 * DIFFERENCE)
    return (by_joint, by_goal), positions[0], errors[0]
