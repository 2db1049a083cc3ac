"""The decoder of `ik-predict` in plain numpy: slow and readable.

`core/src/papers/li/ik_predict.cpp` implements encoder and decoder; a test compares both. The terms
are those of docs/codecs/ik-predict.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.papers.li.codec.bodies import Bodies
from mocpack.papers.li.codec.direction_twist import shortest_turn

LENGTH_GRID = 2.0**26
TURN_GRID = 2.0**30


@dataclass(frozen=True, eq=False)
class LoopSettings:
    """The shared model; `segments` are bodies, single or in chains, parents first."""

    segments: Sequence[Sequence[int]]
    end_step: float
    direction_steps: F64
    twist_steps: F64
    k: float
    memory: float
    damping: float
    extrapolate: bool


class IkLoop:
    """The decoder after an intra frame: world rotations (B, 4), sliding translations (K, 3)."""

    def __init__(self, bodies: Bodies, settings: LoopSettings, world: F64, slides: F64) -> None:
        self._bodies, self._settings = bodies, settings
        self.world = rotations.normalize(_on_grid(world, TURN_GRID))
        self.slides = _on_grid(slides)
        ways = _on_grid(rotations.rotate(self.world, bodies.axes))
        self._ways = ways / np.linalg.norm(ways, axis=1, keepdims=True)
        self._before = self._ways
        self._places = np.zeros((len(bodies), 3))
        self._slide_rates = np.zeros_like(slides)
        self._end_rates = np.zeros((len(bodies), 3))
        self._way_rates = np.zeros((len(bodies), 3))
        self._twist_rates = np.zeros(len(bodies))

    def decode(self, places: npt.NDArray[np.int32], twists: npt.NDArray[np.int32]) -> None:
        """Decode one frame from the integers of joints (A,) and of the other twists (N,)."""
        placing, twisting = iter(places.tolist()), iter(twists.tolist())
        self._before = self._ways.copy()
        for segment in self._settings.segments:
            if len(segment) > 1:
                self._chain(segment, placing, twisting)
            else:
                self._single(segment[0], placing, twisting)

    def _single(self, b: int, placing: Iterator[int], twisting: Iterator[int]) -> None:
        self._place(b, placing)
        u = self._before[b]
        predicted = _unit(u + _across(u, self._expected(self._way_rates[b])))
        self._settle(b, self._moved(b, predicted, placing), placing, twisting)

    def _chain(
        self, bodies: Sequence[int], placing: Iterator[int], twisting: Iterator[int]
    ) -> None:
        chain, first = list(bodies), bodies[0]
        lengths, u = self._bodies.lengths[chain], self._before[chain]
        self._place(first, placing)
        integers = _take(placing, 3) * self._settings.end_step
        change = self._expected(self._end_rates[first]) + integers
        predicted = self._predicted(lengths, u, self._way_rates[chain], change)
        end = self._places[first] + lengths @ u + change
        for b, v in zip(chain, predicted, strict=True):
            if b != first:
                self._place(b, placing)
            aim = end - self._places[b]
            found = _unit(aim) if b == chain[-1] else self._moved(b, v, placing)
            self._settle(b, found, placing, twisting)
        self._end_rates[first] = self._followed(self._end_rates[first], change)

    def _predicted(self, lengths: F64, u: F64, rates: F64, change: F64) -> F64:
        """Return the directions (N, 3) of a chain whose end moves by `change`: equation (15)."""
        settings = self._settings
        tangents = np.eye(3) - u[:, :, np.newaxis] * u[:, np.newaxis]
        w = settings.k * np.einsum("nij,nj->ni", tangents, rates)
        square = np.einsum("n,nij->ij", lengths**2, tangents)
        damped = square + settings.damping * np.trace(square) * np.eye(3)
        y = np.linalg.solve(damped, change - lengths @ w)
        moved: F64 = u + w + lengths[:, np.newaxis] * (tangents @ y)
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))

    def _place(self, b: int, placing: Iterator[int]) -> None:
        bodies, parent, slide = self._bodies, self._bodies.parents[b], self._bodies.slides[b]
        at = bodies.attachments[b]
        if slide >= 0:
            before = self.slides[slide].copy()
            expected = self._expected(self._slide_rates[slide])
            integers = _take(placing, 3) * self._settings.end_step
            self.slides[slide] = _on_grid(before + expected + integers)
            change = self.slides[slide] - before
            self._slide_rates[slide] = self._followed(self._slide_rates[slide], change)
            at = at + rotations.rotate(bodies.frames[b], self.slides[slide])
        if parent >= 0 and bodies.twist_places[parent]:
            at = self._places[parent] + rotations.rotate(self.world[parent], at)
        elif parent >= 0:
            at = self._places[parent] + (bodies.axes[parent] @ at) * self._ways[parent]
        self._places[b] = at

    def _moved(self, b: int, v: F64, placing: Iterator[int]) -> F64:
        x, y = _take(placing, 2) * self._settings.direction_steps[b]
        e1 = _unit(np.cross(v, np.eye(3)[np.argmin(np.abs(v))]))
        arc = np.hypot(x, y)
        turned: F64 = np.cos(arc) * v + np.sinc(arc / np.pi) * (x * e1 + y * np.cross(v, e1))
        return turned

    def _settle(self, b: int, found: F64, placing: Iterator[int], twisting: Iterator[int]) -> None:
        axis = self._bodies.axes[b]
        found = _unit(_on_grid(found))
        self._ways[b] = found
        self._way_rates[b] = self._followed(self._way_rates[b], found - self._before[b])
        start = _unit(rotations.rotate(self.world[b], axis))
        turn = rotations.multiply(shortest_turn(start, found), self.world[b])
        integer = next(placing if self._bodies.twist_places[b] else twisting)
        rate = self._twist_rates[b]
        angle = (rate if self._settings.extrapolate else 0.0) + (
            integer * self._settings.twist_steps[b]
        )
        self._twist_rates[b] = self._followed(rate, angle)
        turn = rotations.multiply(turn, rotations.from_rotvec(angle * axis))
        self.world[b] = rotations.normalize(_on_grid(turn, TURN_GRID))

    def _expected(self, rate: F64) -> F64:
        return rate if self._settings.extrapolate else np.zeros_like(rate)

    def _followed(self, rate: F64, change: F64) -> F64:
        m = self._settings.memory
        return _on_grid(m * rate + (1 - m) * change)


def _on_grid(x: F64, grid: float = LENGTH_GRID) -> F64:
    return np.floor(np.asarray(x) * grid + 0.5) / grid


def _unit(v: F64) -> F64:
    return np.asarray(v / np.linalg.norm(v))


def _across(u: F64, v: F64) -> F64:
    return np.asarray(v - (u @ v) * u)


def _take(integers: Iterator[int], count: int) -> F64:
    return np.array([next(integers) for _ in range(count)], np.float64)
