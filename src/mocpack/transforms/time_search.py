"""Puts a motion on a grid within a bound: steps from sensitivities, later joints mend earlier ones.

What joints above did wrong is made good by those below (`closed_loop.py`). Frames that miss the
bound are rounded otherwise, at random, and if that does not help put on a finer grid, so that the
bound always holds. `time_grid.py` decodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.clip import Clip, promised_error
from mocpack.errors import BoundError
from mocpack.skeleton import Skeleton
from mocpack.transforms.closed_loop import Scene
from mocpack.transforms.joint_axes import Axes, find_axes
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

MOST_LEVEL = 16  # a frame's grid is at most 2^16 times as fine as its group's
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
    Setting(2, 0.4, (3, 4)),
    Setting(2, 0.4, (1, 2)),
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
    scene = Scene(clip, find_axes(clip))
    steps = np.asarray(max_error * scene.unit_steps(), np.float32).astype(np.float64)
    channels = scene.exact_channels()
    for setting in settings:
        filters = _choose_filters(channels, steps, group_length, setting)
        search = _Search(scene, steps, filters, group_length, max_error)
        yield _best_groups(search, setting, tries, seed)


def quantise_in_time(
    clip: Clip, max_error: float, setting: Setting = SETTINGS[1], *, tries: int = 24
) -> Grid:
    """Put a clip on one grid within `max_error` metres."""
    return next(grids_in_time(clip, max_error, settings=(setting,), tries=tries))


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
        self, scene: Scene, steps: F64, filters: I64, group_length: int, max_error: float
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
