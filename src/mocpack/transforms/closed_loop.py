"""A motion written joint by joint, each making good what those above it did wrong.

Every joint aims at where it and what hangs from it should be in the world, given where the joints
above it have ended up; what it is written with is up to the caller. Also says how large a step
each channel may have, from what a change of it does to the whole body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import rotations
from mocpack.clip import Clip
from mocpack.kinematics import SHELL, end_positions
from mocpack.skeleton import Skeleton
from mocpack.transforms.joint_axes import (
    Axes,
    Joint,
    joint_rotations,
    surface_slopes,
    surface_terms,
)

F64 = npt.NDArray[np.float64]
Rows = slice | npt.NDArray[np.intp]
Code = Callable[[F64, int], F64]
"""Exact channels and the number of the first: the channels as they will be decoded."""

SENSITIVITY_FRAMES = 60
MOST_POSES = 400_000  # of single joints, handled at once
NUDGE = 1e-3  # metres or radians by which a channel is moved to see what follows


class Scene:
    """A clip in the world, with what its quantisation looks at again and again."""

    def __init__(self, clip: Clip, axes: Axes) -> None:
        self.clip = clip
        self.axes = axes
        self.skeleton = clip.skeleton
        self.positions, self.world = clip.world()
        self.ends = end_positions(self.skeleton, self.positions, self.world)
        self.marks = [_marks(self.skeleton, axes, j) for j in range(len(self.skeleton))]
        counts = np.ones(len(self.skeleton))
        for j in range(len(self.skeleton) - 1, 0, -1):
            counts[self.skeleton.parents[j]] += counts[j]
        self.weights = np.sqrt(counts)

    def exact_channels(self) -> F64:
        """Return the channels (T, C) that give the clip itself."""
        channels = np.zeros((self.clip.frame_count, self.axes.channel_count))

        def code(exact: F64, first: int) -> F64:
            channels[:, first : first + exact.shape[1]] = exact
            return exact

        self.walk(code, slice(None))
        return channels

    def errors(self, points: F64, turns: F64, rows: npt.NDArray[np.intp]) -> F64:
        """Return how far (rows, J) joints, their shells and end sites are from their places."""
        far = _shell_distance(points, turns, self.positions[rows], self.world[rows])
        ends = end_positions(self.skeleton, points, turns) - self.ends[rows]
        away = np.linalg.norm(ends, axis=-1)
        for e, carrier in enumerate(self.skeleton.end_site_joints):
            far[:, carrier] = np.maximum(far[:, carrier], away[:, e])
        return far

    def unit_steps(self) -> F64:
        """Return steps whose independent roundings add up to one metre at the worst joint."""
        return _share_out(self._sensitivities())

    def _sensitivities(self) -> F64:
        """Return how far each joint's points move (C, J) for a unit of each channel, RMS.

        Many channels are nudged in one walk, each in its own copy of the frames.
        """
        count = min(SENSITIVITY_FRAMES, self.clip.frame_count)
        rows = np.linspace(0, self.clip.frame_count - 1, count).astype(np.intp)
        at_once = max(1, MOST_POSES // (count * len(self.skeleton)))
        channels = np.arange(self.axes.channel_count)
        parts = [
            self._moved(rows, channels[start : start + at_once])
            for start in range(0, len(channels), at_once)
        ]
        return np.concatenate([np.zeros((0, len(self.skeleton))), *parts])

    def _moved(self, rows: npt.NDArray[np.intp], channels: npt.NDArray[np.intp]) -> F64:
        every = np.tile(rows, len(channels))
        nudged = np.repeat(channels, len(rows))

        def code(exact: F64, first: int) -> F64:
            own = np.arange(first, first + exact.shape[1])
            return np.asarray(exact + NUDGE * (nudged[:, np.newaxis] == own))

        points, turns = self.walk(code, every)
        far = _shell_distance(points, turns, self.positions[every], self.world[every])
        squares = far.reshape(len(channels), len(rows), -1) ** 2
        return np.asarray(np.sqrt(squares.mean(axis=1)) / NUDGE)

    def walk(self, code: Code, rows: Rows) -> tuple[F64, F64]:
        """Go from the root outwards; `code` turns exact channels into decoded ones."""
        clip, axes = self.clip, self.axes
        at, turned = self.positions[rows], self.world[rows]
        points, turns = np.empty_like(at), np.empty_like(turned)
        for j, joint in enumerate(axes.joints):
            parent = self.skeleton.parents[j]
            place = np.broadcast_to(self.skeleton.offsets[j], (len(at), 3))
            if j in clip.translated_joints:
                m = clip.translated_joints.index(j)
                place = np.broadcast_to(axes.origins[m], (len(at), 3))
                if axes.places[m] >= 0:
                    wanted = self._wanted_place(rows, m, parent, points, turns)
                    place = place + code(wanted - axes.origins[m], axes.places[m])
            if parent >= 0:
                place = points[:, parent] + rotations.rotate(turns[:, parent], place)
            points[:, j] = place
            aim = self._aim(rows, j, points[:, j])
            local = (
                rotations.multiply(rotations.conjugate(turns[:, parent]), aim)
                if parent >= 0
                else aim
            )
            if joint.count:
                exact = self._channels(joint, local, clip.rotations[rows, j], j)
                local = joint_rotations(joint, code(exact, joint.first))
            else:
                local = joint_rotations(joint, np.zeros((len(at), 0)))
            turns[:, j] = rotations.multiply(turns[:, parent], local) if parent >= 0 else local
        return points, turns

    def _wanted_place(self, rows: Rows, m: int, parent: int, points: F64, turns: F64) -> F64:
        """Return the translation that puts a joint where it should be."""
        if parent < 0:
            return np.asarray(self.clip.translations[rows, m])
        joint = self.clip.translated_joints[m]
        away = self.positions[rows, joint] - points[:, parent]
        return rotations.rotate(rotations.conjugate(turns[:, parent]), away)

    def _aim(self, rows: Rows, j: int, point: F64) -> F64:
        """Return the world rotation that best puts what hangs from a joint where it should be."""
        exact = self.world[rows, j]
        marks = self.marks[j]
        if not marks.joints and not marks.ends:
            return exact
        astray = self.positions[rows, j] - point
        matrix = np.zeros((len(point), 3, 3))
        right = np.zeros((len(point), 3))
        for arm, weight in self._arms(rows, j):
            square = np.sum(arm * arm, axis=1)[:, np.newaxis, np.newaxis]
            matrix += weight * (square * np.eye(3) - arm[:, :, np.newaxis] * arm[:, np.newaxis])
            right += weight * np.cross(arm, astray)
        matrix += 2 * SHELL**2 * np.eye(3)
        turn = np.asarray(np.linalg.solve(matrix, right[..., np.newaxis])[..., 0], np.float64)
        return rotations.multiply(rotations.from_rotvec(turn), exact)

    def _arms(self, rows: Rows, j: int) -> list[tuple[F64, float]]:
        base = self.positions[rows, j]
        arms = [
            (self.positions[rows, k] - base, float(self.weights[k])) for k in self.marks[j].joints
        ]
        return arms + [(self.ends[rows, e] - base, 1.0) for e in self.marks[j].ends]

    def _channels(self, joint: Joint, local: F64, source: F64, j: int) -> F64:
        """Return the exact channels of local rotations, nearest to the source's own."""
        own = rotations.multiply(rotations.conjugate(joint.mean), local)
        if joint.count == 4:
            reference = rotations.multiply(rotations.conjugate(joint.mean), source)
            sign = np.where(np.sum(own * reference, axis=1, keepdims=True) < 0, -1.0, 1.0)
            return own * sign
        along = (rotations.as_rotvec(own) - joint.centre) @ joint.basis
        if joint.count == 3:
            return along
        return self._project(joint, along, j)

    def _project(self, joint: Joint, along: F64, j: int) -> F64:
        """Return the one or two channels that come nearest, as felt by what hangs from it."""
        metric = joint.basis.T @ self._metric(j) @ joint.basis
        if joint.count == 1:
            return np.asarray((along @ metric[:, :1]) / metric[0, 0])
        a, b = along[:, 0].copy(), along[:, 1].copy()
        for _ in range(2):
            by_a, by_b = (slopes @ joint.surface for slopes in surface_slopes(a, b))
            rest = along - np.stack([a, b, surface_terms(a, b) @ joint.surface], axis=1)
            one, zero = np.ones_like(a), np.zeros_like(a)
            u, v = np.stack([one, zero, by_a], 1), np.stack([zero, one, by_b], 1)
            mu, mv = u @ metric, v @ metric
            uu, uv, vv = np.sum(mu * u, 1), np.sum(mu * v, 1), np.sum(mv * v, 1)
            ru, rv = np.sum(mu * rest, 1), np.sum(mv * rest, 1)
            determinant = uu * vv - uv * uv
            a += (vv * ru - uv * rv) / determinant
            b += (uu * rv - uv * ru) / determinant
        return np.stack([a, b], axis=1)

    def _metric(self, j: int) -> F64:
        """Return how far a joint's turning moves what hangs from it: mean of squared arms."""
        rows = slice(0, None, max(1, self.clip.frame_count // SENSITIVITY_FRAMES))
        back = rotations.conjugate(self.world[rows, j])
        total = 2 / 3 * SHELL**2 * np.eye(3)
        for arm, weight in self._arms(rows, j):
            own = rotations.rotate(back, arm).mean(axis=0)
            total = total + weight * (own @ own * np.eye(3) - np.outer(own, own))
        return np.asarray(total)


@dataclass(frozen=True)
class _Marks:
    """What a joint aims with: joints and end sites that hang from it rigidly, or nearly."""

    joints: tuple[int, ...]
    ends: tuple[int, ...]


def _marks(skeleton: Skeleton, axes: Axes, j: int) -> _Marks:
    joints: list[int] = []
    stack = [j]
    while stack:
        for k in skeleton.children(stack.pop()):
            if np.linalg.norm(skeleton.offsets[k]) > 1e-6:
                joints.append(k)
            if axes.joints[k].count < 2:
                stack.append(k)
    ends = [e for e, carrier in enumerate(skeleton.end_site_joints) if carrier == j]
    return _Marks(tuple(joints), tuple(ends))


def _shell_distance(points_a: F64, turns_a: F64, points_b: F64, turns_b: F64) -> F64:
    """Return the largest distance (T, J) of a joint's own point and its shell points."""
    columns_a = SHELL * np.moveaxis(rotations.as_matrix(turns_a), -1, -2)
    columns_b = SHELL * np.moveaxis(rotations.as_matrix(turns_b), -1, -2)
    apart = (points_a - points_b)[..., np.newaxis, :]
    shell = np.linalg.norm(apart + columns_a - columns_b, axis=-1).max(axis=-1)
    return np.asarray(np.maximum(shell, np.linalg.norm(apart[..., 0, :], axis=-1)))


def _share_out(sensitivities: F64, rounds: int = 2000) -> F64:
    """Return the steps of largest product for which Σ (sensitivity · step)² ≤ 1 at every joint."""
    if not len(sensitivities):
        return np.zeros(0)
    squares = sensitivities**2
    price = np.ones(squares.shape[1])
    best, most = np.ones(len(squares)), -np.inf
    for _ in range(rounds):
        steps = 1 / np.maximum(squares @ price, 1e-30)
        spent = squares.T @ steps
        value = float(np.log(steps / spent.max()).sum())
        if value > most:
            best, most = np.sqrt(steps / spent.max()), value
        price *= np.maximum(spent / spent.mean(), 1e-3) ** 0.15
        price = np.maximum(price, 1e-9 * price.max())
    return best
