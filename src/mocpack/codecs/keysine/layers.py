"""Layers: a payload of one layer coded again as several, each with the error it leaves stated.

A layer has the coefficients of each track coarser than the next one, by a shift. What hangs on a
joint takes back its parents' errors only in the last layer, so a shift costs most in the trunk:
shifts are such that every track by itself leaves about the same error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64, U8
from mocpack.clip import Clip, measure_error
from mocpack.codecs.keysine.payload import MOST_SHIFT, head_of, open_payload, write_payload

MEASURED_FRAMES = 600  # from the middle, by which the error of each track is measured
KEYS_SHARE = 0.5  # of the keys' error, that a base layer may leave
HALVINGS = 7  # of the share of the goal that each track may take
DEAREST = 1.08  # times the bytes of one layer, that several may take
EVENNESS = (1.0, 0.5, 0.25)  # quantile of the shifts, above which none goes: few bytes tell them
CLOSE = 2.0  # times the error of the next: layers so close are cheapest
SHORTEST_GROUP = 3  # bytes of a layer of a group: its checksum, and the end of its coder
LEAST_STEP = 1.5  # times the error of the next layer, that a layer leaves at least


def layered(payload: bytes, clip: Clip, *, count: int, ratio: float, threads: int) -> bytes:
    """Return `payload` in `count` layers, each of at most `ratio` times the error of the next.

    Every part has its checksum and its end, so that a file of a few hundred bytes has room for
    fewer: no more layers are made than take 8 % more bytes.
    """
    work = _Layering(payload, clip, threads)
    if not work.head.group_count or not work.head.track_count:
        return payload
    error = work.error(np.zeros(work.head.track_count, np.uint8))
    for layers, step in _steps(work, count, ratio, error):
        for made in _in_layers(work, layers, step, error):
            if len(made) <= DEAREST * len(payload):
                return made
    return payload


def _steps(work: _Layering, count: int, ratio: float, error: float) -> Iterator[tuple[int, float]]:
    """Yield how many layers, and how many times the error of the next each leaves, are tried.

    What cannot be is not tried: layers whose checksums alone are too dear, or whose errors could
    not lie `LEAST_STEP` apart below that of the keys, since a layer that leaves what the keys
    alone leave would be empty.
    """
    spare = (DEAREST - 1) * work.size
    dearest = 1 + int(spare // (SHORTEST_GROUP * work.head.group_count))
    widest = max(KEYS_SHARE * work.head.coarse_error / max(error, 1e-12), 1.0)
    for layers in range(min(count, dearest), 1, -1):
        even = widest ** (1 / (layers - 1))
        steps = {min(ratio, even): None, min(ratio, CLOSE, even): None}
        yield from ((layers, step) for step in steps if step >= LEAST_STEP)


def _in_layers(work: _Layering, count: int, step: float, error: float) -> Iterator[bytes]:
    """Make payloads of so many layers that differ enough; with all of them, `error` is left."""
    goals = [error * step**layer for layer in range(count - 1, 0, -1)]
    alone = work.errors_alone(goals[0])
    for evenness in EVENNESS:
        shifts = np.full((count - 1, work.head.track_count), MOST_SHIFT, np.uint8)
        errors = [math.inf]
        for row, goal in enumerate(goals):
            own = work.shifts(alone, goal, evenness)
            shifts[row] = np.minimum(own, shifts[row - 1]) if row else own
            errors.append(work.error(shifts[row]))
            least = error * LEAST_STEP ** (count - 1 - row)
            if not least <= errors[-1] <= errors[-2] / LEAST_STEP:
                break
        else:
            yield work.written(shifts, errors[1:])


class _Layering:
    """A payload of one layer, and what becomes of its motion in coarser ones."""

    def __init__(self, payload: bytes, clip: Clip, threads: int) -> None:
        self._payload = open_payload(payload, clip.header)
        self.head = head_of(self._payload)
        self._clip, self._threads = clip, threads
        self.size = len(payload)
        self._known: dict[tuple[int, bytes], float] = {}

    def error(self, shifts: U8) -> float:
        """Return the largest error of the clip, so coarse."""
        return self._error(0, self._clip, shifts)

    def _error(self, start: int, part: Clip, shifts: U8) -> float:
        key = part.frame_count, shifts.tobytes()
        if key not in self._known:
            self._known[key] = self._measured(start, part, shifts)
        return self._known[key]

    def _measured(self, start: int, part: Clip, shifts: U8) -> float:
        stop = start + part.frame_count
        turns, places = self._payload.decode(
            start, stop, threads=self._threads, shifts=shifts.tolist()
        )
        return measure_error(part, Clip.from_decoded(part.header, turns, places)).max

    def errors_alone(self, goal: float) -> F64:
        """Return the error (tracks, shifts) of a stretch in which one track is coarse.

        Infinite beyond the first above `goal`.
        """
        start, part = self._middle()
        tracks = self.head.track_count
        found = np.full((tracks, MOST_SHIFT + 1), np.inf)
        found[:, 0] = 0
        for t in range(tracks):
            for shift in range(1, MOST_SHIFT + 1):
                shifts = np.zeros(tracks, np.uint8)
                shifts[t] = shift
                found[t, shift] = self._error(start, part, shifts)
                if found[t, shift] == found[t, shift - 1]:
                    found[t, shift:] = found[t, shift]  # nothing is left of it
                if found[t, shift] > goal or found[t, shift] == found[t, shift - 1]:
                    break
        return found

    def _middle(self) -> tuple[int, Clip]:
        """Return where some groups from the middle begin, and their frames."""
        payload = self._payload
        count = min(max(1, MEASURED_FRAMES // payload.longest_group), payload.group_count)
        first = (payload.group_count - count) // 2
        start, stop = payload.key_frame(first), payload.key_frame(first + count)
        return start, self._clip.frames(start, stop + 1)

    def shifts(self, alone: F64, goal: float, evenness: float) -> U8:
        """Return the largest shifts (tracks,) found that together leave an error within `goal`."""
        low, high, best = 0.0, 1.0, np.zeros(len(alone), np.uint8)
        for _ in range(HALVINGS):
            share = 0.5 * (low + high)
            shifts = _alike(alone, np.sum(alone <= share * goal, axis=1) - 1)
            shifts = np.minimum(shifts, np.quantile(shifts, evenness).astype(np.uint8))
            if self.error(shifts) <= goal:
                low, best = share, shifts
            else:
                high = share
        return best

    def written(self, shifts: U8, errors: Sequence[float]) -> bytes:
        """Return the payload of these shifts (layers - 1, tracks), which leave these errors."""
        head, header = self.head, self._clip.header
        native = header.skeleton.native(header.translated_joints)
        segments, parts = self._payload.segments(), self._payload.split(shifts)
        stated = tuple(map(head.statement, errors))
        return write_payload(replace(head, shifts=shifts, refined=stated), native, segments, parts)


def _alike(alone: F64, most: npt.NDArray[np.intp]) -> U8:
    """Return shifts of which each is as the one before, where that changes next to nothing.

    A track of which nothing is left at some shift has the same error at every larger one; but the
    less a shift leaves open, the fewer bits the next layer takes.
    """
    found = np.zeros(len(most), np.uint8)
    for t, shift in enumerate(most):
        least = int(np.argmax(alone[t] == alone[t, shift]))
        before = int(found[t - 1]) if t else 0
        found[t] = min(max(before, least), least + 1, int(shift))
    return found
