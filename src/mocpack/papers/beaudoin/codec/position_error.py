"""The squared position error of a motion, given as signals or as coefficient counts.

Exact, not linearized: rotating a joint moves the rest of its limb as one rigid body, so the native
core finds the error after each of S changes in one pass over the frames.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.model.clip import Clip
from mocpack.model.kinematics import end_positions
from mocpack.papers.beaudoin.codec.selection import Counts, Ranking
from mocpack.papers.beaudoin.codec.signals import SignalPlan


class PositionError:
    """Sum over frames of weighted squared distances of joints and end sites from the original.

    Parameters
    ----------
    clip : Clip
        The original motion.
    plan : SignalPlan
        The meaning of each signal.
    weights : array, shape (J + E,)
        Weight of each joint and end site.
    stride : int
        Evaluate only every `stride`-th frame.
    """

    def __init__(self, clip: Clip, plan: SignalPlan, weights: F64, *, stride: int = 1) -> None:
        positions, world = clip.world()
        points = np.concatenate([positions, end_positions(clip.skeleton, positions, world)], axis=1)
        self.stride = stride
        self._targets = np.ascontiguousarray(points[::stride])
        self._weights = np.ascontiguousarray(weights)
        self._skeleton = clip.skeleton.to_core(clip.translated_joints)
        self._plan = plan

    def of(self, signals: F64) -> float:
        """Return the error of signals (S, T) in square meters."""
        values = np.ascontiguousarray(signals[:, :: self.stride].T)
        return self.changes(values, phases_of(values), np.zeros_like(values))[0]

    def changes(self, values: F64, phases: F64, steps: F64) -> tuple[float, F64]:
        """Return the error of `values` (T, S), and its change by each signal's `steps` (T, S).

        `phases` (T, S, 2) holds cosine and sine of the values.
        """
        return _core.pose_error_changes(
            self._skeleton, self._plan.native, values, phases, steps, self._targets, self._weights
        )


class CountedError:
    """The same error as a function of the number of coefficients that each signal keeps.

    Caches the signals of the last counts, because a search changes few of
    them at a time.
    """

    def __init__(self, error: PositionError, ranking: Ranking) -> None:
        signals, length = ranking.shape
        frames = -(-length // error.stride)
        self._error = error
        self._ranking = ranking
        self._counts = np.full(signals, -1)
        self._values = np.zeros((frames, signals))
        self._phases = np.zeros((frames, signals, 2))
        self._more = _Steps(frames, signals)
        self._fewer = _Steps(frames, signals)

    def with_more(self, counts: Counts, size: int) -> tuple[float, F64]:
        """Return the error of `counts`, and its change if each signal alone gets `size` more."""
        return self._changes(counts, self._more, counts, counts + size, 1.0)

    def with_fewer(self, counts: Counts, size: int) -> tuple[float, F64]:
        """Return the error of `counts`, and its change if each signal alone loses `size`."""
        return self._changes(counts, self._fewer, np.maximum(counts - size, 0), counts, -1.0)

    def _changes(
        self, counts: Counts, steps: _Steps, low: Counts, high: Counts, sign: float
    ) -> tuple[float, F64]:
        self._pose(counts)
        stale = steps.stale(low, high)
        found = self._ranking.between(stale, low[stale], high[stale])
        steps.values[:, stale] = sign * found[:, :: self._error.stride].T
        return self._error.changes(self._values, self._phases, steps.values)

    def _pose(self, counts: Counts) -> None:
        stale = np.flatnonzero(self._counts != counts)
        found = self._ranking.between(stale, np.zeros_like(stale), counts[stale])
        values = found[:, :: self._error.stride].T
        self._values[:, stale] = values
        self._phases[:, stale] = phases_of(values)
        self._counts = counts.copy()


class _Steps:
    """Contributions (T, S) of a range of each signal's ranked coefficients."""

    def __init__(self, frames: int, signals: int) -> None:
        self.values = np.zeros((frames, signals))
        self._ranges = np.full((signals, 2), -1)

    def stale(self, low: Counts, high: Counts) -> npt.NDArray[np.intp]:
        """Return the signals whose range has changed, and store the new ranges."""
        ranges = np.stack([low, high], axis=1)
        changed = np.flatnonzero((ranges != self._ranges).any(1))
        self._ranges = ranges
        return changed


def phases_of(values: F64) -> F64:
    """Return cosine and sine (..., 2) of angles."""
    return np.stack([np.cos(values), np.sin(values)], axis=-1)
