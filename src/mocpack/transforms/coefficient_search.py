"""How many coefficients each signal deserves: the stochastic descent of Beaudoin et al. (2007).

Algorithm 1 of the paper moves coefficients from a random signal to the one that gains most from
them, in steps that shrink when nothing gains any more. Their number stays the same throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.clip import Clip
from mocpack.transforms import lifting
from mocpack.transforms.selection import Counts, Ranking
from mocpack.transforms.signals import Layout

F64 = npt.NDArray[np.float64]

PATIENCE = 10  # failures in a row before the step is halved, as in the paper


class Judge(Protocol):
    """Tells how bad it is to give a donor's coefficients to each signal in turn."""

    def errors(self, counts: Counts, donor: int, size: int) -> F64:
        """Return the error (S,) of `counts` when each signal alone gets `size` more.

        `donor` is where they came from; infinite for signals that are not worth trying.
        """
        ...


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where the search ended.

    Attributes
    ----------
    counts : array of int, shape (S,)
    iterations : int
        Donors tried.
    """

    counts: Counts
    iterations: int


def search(
    start: Counts,
    movable: npt.NDArray[np.bool_],
    length: int,
    judge: Judge,
    *,
    seed: int,
    patience: int = PATIENCE,
) -> Outcome:
    """Move coefficients between the `movable` signals until no step of any size helps.

    Parameters
    ----------
    start : array of int, shape (S,)
        Counts to begin with; the search keeps their sum.
    length : int
        Most that a signal can have.
    """
    counts = start.copy()
    random = np.random.Generator(np.random.PCG64(seed))
    step = int(counts[movable].max(initial=0)) // 2
    failures = iterations = 0
    while step > 0:
        donor = int(random.choice(np.flatnonzero(movable & (counts > 0))))
        size = min(step, int(counts[donor]))
        counts[donor] -= size
        errors = judge.errors(counts, donor, size)
        receiver = _best_receiver(errors, donor, movable & (counts + size <= length))
        counts[receiver] += size
        iterations += 1
        failures = failures + 1 if receiver == donor else 0
        if failures == patience:
            step, failures = step // 2, 0
    return Outcome(counts, iterations)


def _best_receiver(errors: F64, donor: int, allowed: npt.NDArray[np.bool_]) -> int:
    best = int(np.argmin(np.where(allowed, errors, np.inf)))
    return best if errors[best] < errors[donor] else donor


class PositionJudge:
    """Sum of weighted squared distances of joints and end sites from where they belong.

    Exact: turning a joint moves the rest of its limb as one rigid body, so the native core gets
    the error of every receiver from one pass over the frames.

    Parameters
    ----------
    clip : Clip
        The motion as it should be.
    points : array, shape (T, J + E, 3)
        World positions of its joints and end sites.
    weights : array, shape (J + E,)
        How much each counts.
    stride : int
        Look at every so many frames only.
    """

    def __init__(
        self,
        clip: Clip,
        plan: Layout,
        ranking: Ranking,
        points: F64,
        weights: F64,
        *,
        stride: int = 1,
    ) -> None:
        signals, length = ranking.shape
        frames = -(-length // stride)
        self._ranking = ranking
        self._stride = stride
        self._skeleton = clip.skeleton.native(clip.translated_joints)
        self._plan = plan
        self._targets = np.ascontiguousarray(points[::stride])
        self._weights = np.ascontiguousarray(weights)
        self._counts = np.full(signals, -1)
        self._values = np.zeros((frames, signals))
        self._phases = np.zeros((frames, signals, 2))
        self._step_keys = np.full((signals, 2), -1)
        self._steps = np.zeros((frames, signals))

    def errors(self, counts: Counts, donor: int, size: int) -> F64:
        self._pose(counts)
        self._prepare_steps(counts, size)
        error, changes = _core.pose_error_changes(
            self._skeleton,
            self._plan.native,
            self._values,
            self._phases,
            self._steps,
            self._targets,
            self._weights,
        )
        return np.asarray(error + changes)

    def _pose(self, counts: Counts) -> None:
        """Bring the signals up to date with `counts`."""
        stale = np.flatnonzero(self._counts != counts)
        found = self._ranking.between(stale, np.zeros_like(counts[stale]), counts[stale])
        values = found[:, :: self._stride].T
        self._values[:, stale] = values
        self._phases[:, stale, 0], self._phases[:, stale, 1] = np.cos(values), np.sin(values)
        self._counts = counts.copy()

    def _prepare_steps(self, counts: Counts, size: int) -> None:
        """Bring up to date what `size` more coefficients would add to each signal."""
        keys = np.stack([counts, np.full_like(counts, size)], axis=1)
        stale = np.flatnonzero((keys != self._step_keys).any(1))
        low = counts[stale]
        found = self._ranking.between(stale, low, low + size)
        self._steps[:, stale] = found[:, :: self._stride].T
        self._step_keys = keys


class MetricJudge:
    """The error by any metric: rebuilds the motion for each receiver worth trying.

    Parameters
    ----------
    measure : callable
        From signals (S, n) to the error.
    receivers : array of int
        Signals that may get more.
    screen : Judge, optional
        Cheap judge that says which receivers are most promising; without it all are tried.
    tried : int
        How many of them to try.
    """

    def __init__(
        self,
        ranking: Ranking,
        measure: Callable[[F64], float],
        receivers: npt.NDArray[np.intp],
        *,
        screen: Judge | None = None,
        tried: int = 3,
    ) -> None:
        self._ranking = ranking
        self._measure = measure
        self._receivers = receivers
        self._screen = screen
        self._tried = tried

    def errors(self, counts: Counts, donor: int, size: int) -> F64:
        base = lifting.inverse(self._ranking.kept(counts), update=self._ranking.update)
        out = np.full(len(counts), np.inf)
        for j in {donor, *self._promising(counts, donor, size)}:
            low = counts[[j]]
            changed = base.copy()
            changed[j] += self._ranking.between(np.array([j]), low, low + size)[0]
            out[j] = self._measure(changed)
        return out

    def _promising(self, counts: Counts, donor: int, size: int) -> list[int]:
        if self._screen is None:
            return list(map(int, self._receivers))
        guess = self._screen.errors(counts, donor, size)[self._receivers]
        best = np.argsort(guess, kind="stable")[: self._tried]
        return list(map(int, self._receivers[best]))
