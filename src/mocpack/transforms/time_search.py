"""Puts a motion on a grid within a bound: steps from sensitivities, later joints mend earlier ones.

What joints above did wrong is made good by those below (closed loop). Frames that miss the bound
are put on a finer grid until none does, so that the bound always holds. `time_grid.py` decodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import rotations
from mocpack.clip import Clip, promised_error
from mocpack.errors import BoundError
from mocpack.kinematics import SHELL, end_positions
from mocpack.skeleton import Skeleton
from mocpack.transforms.joint_axes import (
    Axes,
    Joint,
    find_axes,
    joint_rotations,
    surface_slopes,
    surface_terms,
)
from mocpack.transforms.time_grid import (
    STEPS_AN_OCTAVE,
    Grid,
    decode_grid,
    frame_scales,
    group_slices,
    smooth,
)

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Code = Callable[[F64, int], F64]
"""Exact channels and the number of the first: the channels as they will be decoded."""

MOST_LEVEL = 16  # a frame's grid is at most 2^16 times as fine as its group's
SENSITIVITY_FRAMES = 60
NUDGE = 1e-3  # metres or radians by which a channel is moved to see what follows
USUAL = 0.98  # of the frames; the others are put on a finer grid if need be
TRUNKS = 3  # rounds of new trunks
DITHERED = (0.15, 0.3, 0.5)  # of the channels that a try rounds otherwise
EARNED = 0.65  # of a bit a channel that a step twice as large saves


@dataclass(frozen=True)
class Setting:
    """How much a grid leaves to smoothing.

    Attributes
    ----------
    strongest : int
        Low-pass that a channel may have; 0 is no smoothing.
    filter_share : float
        Of its step by which a low-pass may change a channel.
    coarseness : tuple of int
        Quarters of an octave by which each group's steps may be larger (or smaller).
    """

    strongest: int
    filter_share: float
    coarseness: tuple[int, ...]


# from coarse steps to calm motion
SETTINGS = (
    Setting(2, 0.4, (4, 5)),
    Setting(2, 0.4, (2, 3)),
    Setting(6, 0.6, (1, 2)),
    Setting(6, 0.6, (0,)),
    Setting(6, 0.8, (-1,)),
    Setting(6, 1.0, (-2,)),
    Setting(6, 1.5, (-4,)),
)


def grids_in_time(
    clip: Clip,
    max_error: float,
    *,
    settings: Sequence[Setting] = SETTINGS,
    group_length: int = 120,
    tries: int = 24,
    seed: int = 0,
) -> Iterator[Grid]:
    """Put a clip on grids that keep every joint, bone end and shell point within `max_error`.

    The caller takes the one that is smallest once coded among those that do not tremble; later
    settings are calmer.

    Parameters
    ----------
    clip : Clip
    max_error : float
        Metres.
    settings : sequence of Setting
        One grid is made for each.
    group_length : int
        Frames that are decoded together.
    tries : int
        How many other roundings are tried of frames that miss the bound.
    seed : int
        Of those tries.

    Raises
    ------
    BoundError
        If no grid keeps the bound: it asks for more than stored axes can tell.
    """
    scene = _Scene(clip, find_axes(clip))
    steps = np.asarray(max_error * scene.unit_steps(), np.float32).astype(np.float64)
    channels = scene.exact_channels()
    for setting in settings:
        filters = _choose_filters(channels, steps, group_length, setting)
        search = _Search(scene, steps, filters, group_length, max_error)
        yield _best_groups(search, setting, tries, seed)


def quantise_in_time(clip: Clip, max_error: float, setting: Setting = SETTINGS[1]) -> Grid:
    """Put a clip on one grid within `max_error` metres."""
    return next(grids_in_time(clip, max_error, settings=(setting,)))


def _best_groups(search: _Search, setting: Setting, tries: int, seed: int) -> Grid:
    """Return the grid whose groups have the coarseness that costs each least."""
    scene = search.scene
    groups = group_slices(scene.clip.frame_count, search.group_length)
    tried = [
        search.run(np.full(len(groups), coarseness), tries, seed)
        for coarseness in setting.coarseness
    ]
    pairs = zip(tried, setting.coarseness, strict=True)
    costs = np.array([_costs(grid.levels, coarseness, groups) for grid, coarseness in pairs])
    best = costs.argmin(axis=0)
    # groups stand alone, so each may come from another grid
    return Grid(
        scene.axes,
        search.steps,
        search.group_length,
        np.array(setting.coarseness)[best],
        search.filters,
        np.concatenate([tried[b].numbers[g] for b, g in zip(best, groups, strict=True)]),
        np.concatenate([tried[b].levels[g] for b, g in zip(best, groups, strict=True)]),
    )


class _Search:
    """Rounds frames, tries other roundings where they miss the bound, refines where none helps."""

    def __init__(
        self, scene: _Scene, steps: F64, filters: I64, group_length: int, max_error: float
    ) -> None:
        self.scene = scene
        self.steps = steps
        self.filters = filters
        self.group_length = group_length
        self.max_error = max_error
        self.limbs = _limbs(scene.skeleton, scene.axes)

    def run(self, coarseness: I64, tries: int, seed: int) -> Grid:
        """Return a grid within the bound."""
        frames = self.scene.clip.frame_count
        self.coarseness = coarseness
        self.levels = np.zeros(frames, np.int64)
        self.numbers = np.zeros((frames, len(self.steps)), np.int64)
        self._round(np.arange(frames))
        rng = np.random.default_rng(seed)
        for _ in range(TRUNKS if tries else 0):
            over = self._over()
            if not len(over):
                break
            self._try_limbs(over, tries, rng)
            over = self._over()
            if len(over):
                self._try_trunk(over, tries // 4, rng)
        while len(over := self._over()):
            self.levels[over] += 1
            if self.levels.max() > MOST_LEVEL:
                raise BoundError(f"no grid keeps this clip within {self.max_error:g} metres")
            self._round(over)
        return self._grid()

    def _grid(self) -> Grid:
        return Grid(
            self.scene.axes,
            self.steps,
            self.group_length,
            self.coarseness,
            self.filters,
            self.numbers.copy(),
            self.levels.copy(),
        )

    def _over(self) -> npt.NDArray[np.intp]:
        """Return the frames that miss the bound, as a decoder will see them."""
        clip = self.scene.clip
        errors = promised_error(clip, decode_grid(self._grid(), clip.header)).frames
        return np.flatnonzero(errors > self.max_error)

    def _round(
        self,
        rows: npt.NDArray[np.intp],
        dither: F64 | None = None,
        kept: npt.NDArray[np.bool_] | None = None,
    ) -> F64:
        """Round frames anew, but for the channels kept; return the error (rows, J) at each joint.

        Other frames stay as they are; where a channel is smoothed they take part.
        """
        scales = frame_scales(self.coarseness, self.levels, self.group_length)[:, np.newaxis]

        def code(exact: F64, first: int) -> F64:
            own = slice(first, first + exact.shape[1])
            fine = self.steps[own] * scales
            if kept is None or not kept[first]:
                by = 0.0 if dither is None else dither[:, own]
                self.numbers[rows, own] = np.rint(exact / fine[rows] + by)
            if not self.filters[own].any():
                return np.asarray(self.numbers[rows, own] * fine[rows])
            raw = self.numbers[:, own] * fine
            return smooth(raw, self.filters[own], self.levels, self.group_length)[rows]

        points, turns = self.scene.walk(code, rows)
        return self.scene.errors(points, turns, rows)

    def _try_limbs(self, rows: npt.NDArray[np.intp], tries: int, rng: np.random.Generator) -> None:
        """Keep of each limb, frame by frame, the rounding that strays least; trunks stay."""
        trunk = self.limbs.channels < 0
        least = self._limb_errors(self._round(rows, None, trunk))
        best = self.numbers[rows]
        for k in range(tries):
            share = DITHERED[k % len(DITHERED)]
            dither = rng.uniform(-0.6, 0.6, best.shape) * (rng.random(best.shape) < share)
            errors = self._limb_errors(self._round(rows, dither, trunk))
            better = errors < least
            least = np.where(better, errors, least)
            taken = better[:, self.limbs.channels] & ~trunk
            best = np.where(taken, self.numbers[rows], best)
        self.numbers[rows] = best

    def _try_trunk(self, rows: npt.NDArray[np.intp], tries: int, rng: np.random.Generator) -> None:
        """Keep, frame by frame, the trunk from which everything strays least."""
        trunk = self.limbs.channels < 0
        best = self.numbers[rows]
        least = np.full(len(rows), np.inf)
        for _ in range(tries):
            dither = rng.uniform(-0.5, 0.5, best.shape) * (rng.random(best.shape) < 0.3) * trunk
            errors = self._round(rows, dither).max(axis=1)
            better = errors < least
            least = np.where(better, errors, least)
            best = np.where(better[:, np.newaxis], self.numbers[rows], best)
        self.numbers[rows] = best

    def _limb_errors(self, errors: F64) -> F64:
        """Return the largest error (rows, limbs) of each limb's joints."""
        limbs = self.limbs
        return np.stack(
            [errors[:, limbs.joints == k].max(axis=1) for k in range(limbs.count)], axis=1
        )


@dataclass(frozen=True, eq=False)
class _Limbs:
    """Parts of the body that do not feel each other's rounding; -1 is the trunk.

    A body without a trunk of its own (a chain) is one limb.
    """

    joints: I64
    channels: I64
    count: int


def _limbs(skeleton: Skeleton, axes: Axes) -> _Limbs:
    below = np.ones(len(skeleton))
    for j in range(len(skeleton) - 1, 0, -1):
        below[skeleton.parents[j]] += below[j]
    joints = np.full(len(skeleton), -1)
    count = 0
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0 and joints[parent] >= 0:
            joints[j] = joints[parent]
        elif below[j] <= len(skeleton) / 3:
            joints[j], count = count, count + 1
    channels = np.full(axes.channel_count, -1)
    for joint, limb in zip(axes.joints, joints, strict=True):
        channels[joint.first : joint.first + joint.count] = limb
    if not count:
        return _Limbs(np.zeros(len(skeleton), np.int64), np.zeros(len(channels), np.int64), 1)
    return _Limbs(joints, channels, count)


def _choose_filters(channels: F64, steps: F64, group_length: int, setting: Setting) -> I64:
    """Return for each channel the strongest low-pass that changes it by less than rounding does."""
    chosen = np.zeros(len(steps), np.int64)
    none = np.zeros(len(channels), np.int64)
    for strength in range(1, setting.strongest + 1):
        smoothed = smooth(channels, np.full(len(steps), strength), none, group_length)
        change = np.quantile(np.abs(smoothed - channels), USUAL, axis=0)
        chosen[change < setting.filter_share * steps] = strength
    return chosen


def _costs(levels: I64, coarseness: int, groups: list[slice]) -> list[float]:
    """Return about how many bits a channel each group costs, but for a constant."""
    gain = EARNED * coarseness / STEPS_AN_OCTAVE
    return [float(levels[g].sum() - gain * len(levels[g])) for g in groups]


def _nudge(channel: int) -> Code:
    def code(exact: F64, first: int) -> F64:
        out = exact.copy()
        if first <= channel < first + exact.shape[1]:
            out[:, channel - first] += NUDGE
        return out

    return code


class _Scene:
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
        """Return how far each joint's points move (C, J) for a unit of each channel, RMS."""
        count = min(SENSITIVITY_FRAMES, self.clip.frame_count)
        rows = np.unique(np.linspace(0, self.clip.frame_count - 1, count).astype(np.intp))
        moved = np.empty((self.axes.channel_count, len(self.skeleton)))
        for channel in range(self.axes.channel_count):
            points, turns = self.walk(_nudge(channel), rows)
            far = _shell_distance(points, turns, self.positions[rows], self.world[rows])
            moved[channel] = np.sqrt(np.mean(far**2, axis=0)) / NUDGE
        return moved

    def walk(self, code: Code, rows: slice | npt.NDArray[np.intp]) -> tuple[F64, F64]:
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

    def _wanted_place(
        self, rows: slice | npt.NDArray[np.intp], m: int, parent: int, points: F64, turns: F64
    ) -> F64:
        """Return the translation that puts a joint where it should be."""
        if parent < 0:
            return np.asarray(self.clip.translations[rows, m])
        joint = self.clip.translated_joints[m]
        away = self.positions[rows, joint] - points[:, parent]
        return rotations.rotate(rotations.conjugate(turns[:, parent]), away)

    def _aim(self, rows: slice | npt.NDArray[np.intp], j: int, point: F64) -> F64:
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

    def _arms(self, rows: slice | npt.NDArray[np.intp], j: int) -> list[tuple[F64, float]]:
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
