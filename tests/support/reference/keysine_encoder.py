"""A readable encoder of `keysine`: one layer, in the manner of effort `fast`.

It explains the method and writes valid payloads. The product's encoder is in the core; it searches
further and writes smaller files. The steps:

1. **Plan**: which joints move, and about which mean, as a table of integers.
2. **Keys**: the poses at both ends of each block, quantized. Between two keys, a channel is a
   straight line plus a sine series, which is zero at the keys.
3. **Groups**: the blocks of one second. They decode independently, given the keys at their ends.
4. **Closed loop**: joints are coded from the root outward. Each aims at the source's *positions*
   from where its ancestors were *decoded*, so errors do not add up along a limb. Coefficients are
   rounded, then changed one by one until every point is within its allowance.
5. **Symbols**: the integers, written in the order in which the decoder reads them, by its tables.
6. **Head**: the plan and the sizes of all parts.

It encodes skeletons with one root and without hinges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from keysine_payload import PayloadHead
from keysine_tracks import (
    COLUMNS,
    MEAN,
    MEAN_GRID,
    ORIGIN,
    ROTATION_KEY_STEP,
    ROTATION_KIND,
    STEPS,
    TRANSLATION_KEY_STEP,
    TRANSLATION_KIND,
    UNIT_STEP,
    Rotation,
    Translation,
)
from mocpack.common.arrays import F64, I32, I64
from mocpack.model import rotations
from mocpack.model.clip import Clip
from reference.keysine import track_rotations
from reference.keysine_head_writer import write_payload
from reference.keysine_plan import (
    KEY_STEP,
    SHELL_RADIUS_M,
    SPREAD,
    Plan,
    Track,
    build_plan,
    descendants,
    step_size,
)
from reference.keysine_scribe import Integers, key_order, write_parts

ROUNDING_MARGIN = 5e-4  # share of the bound that is left for rounding
STILL_SHARE = 0.02  # share of the bound that rounding of constant poses may cost
MAX_VECTOR_TURN = 2.4  # radians from the mean, up to which a rotation is coded as a vector
GROUPS_PER_SEGMENT = 16
FIRST_STEP, FINER_STEPS = 7, 16  # index of the quantizer step; how many finer ones may follow
LEAP_FRAMES, LEAP_RATIO, MIN_LEAP_M = 40, 4.0, 0.02  # how a jump after the first frame stands out
ROUNDING = 0.33  # added to magnitudes before truncation, so that more of them become zero
TARGET_SHARE, TURNS_BACK = 0.8, 5  # share of allowances that a target may use; halvings of a turn
KEY_SHARE = 0.5  # share of its allowance that a key may use to come nearer to its prediction
MAX_REPAIRS, CANDIDATES = 40, 16  # changes of a block; changes of which each is the best
EXCESS_PENALTY = 120.0  # bits per squared allowance above the allowance
EVENNESS_PENALTY = 8.0  # bits for the fourth power of a displacement over its allowance, at 1 mm
ORIGIN_FALLOFF, MAX_ORIGIN_SHARE = 0.12, 0.95  # allowance of origins: less with more descendants
NO_STATED_ERROR = 255

Decode = Callable[[F64], F64]
"""Returns the points (F, P, 3) that channels (F, C) move."""
Quantize = Callable[[int, F64, Decode, F64, F64], F64]
"""Quantizes a track: its number, the channels that it aims at (F, C), how they move points, where
these should be (F, P, 3), how far they may be off (P,). Returns the decoded channels (F, C)."""


class Carried(NamedTuple):
    """The points that a rotation carries: (P, …) each.

    Attributes
    ----------
    points, local : array, shape (P, 3)
        In the frame of the rotation, and in that of their own joint.
    joints : array of int
    weights : array
        What the rotation aims at; all points keep the bound.
    allowed : array
        How far they may be off, meters.
    """

    points: F64
    local: F64
    joints: I64
    weights: F64
    allowed: F64


def encode(clip: Clip, max_error: float) -> bytes:
    """Return a payload that keeps every point of every frame within `max_error` meters."""
    if clip.skeleton.hinges or clip.skeleton.parents.count(-1) > 1:
        raise ValueError("the readable encoder needs one root and no hinges")
    head = make_head(clip, max_error)
    plan = build_plan(head.table, clip.header, head.unit, head.fine)
    found = ClosedLoop(clip, plan, head, (1 - ROUNDING_MARGIN) * max_error).run()
    return write_payload(head, clip.header, list(write_parts(head, plan, found)))


# ---- the plan


def make_head(clip: Clip, max_error: float) -> PayloadHead:
    """Return the head: how the clip is cut into groups of one second, and what moves."""
    frame_rate, leaps = clip.header.frame_rate, _leaps_from_first_frame(clip)
    intervals = clip.frame_count - 1 - leaps
    reach = max(1.0, float(np.linalg.norm(clip.skeleton.offsets, axis=1).sum()))
    grid = STILL_SHARE * max_error / reach / np.sqrt(len(clip.skeleton))
    fine_bits = int(np.ceil(-np.log2(grid)))
    groups = int(np.ceil(intervals / frame_rate))
    tempo = round(64 * 0.5 * frame_rate * max(groups, 1) / max(intervals, 1))
    return PayloadHead(
        fine_bits=fine_bits,
        coarse=NO_STATED_ERROR,
        tempo=min(max(tempo, 1), 255),
        unit=_stated_unit(max_error),
        group_count=groups + leaps,
        groups_per_segment=GROUPS_PER_SEGMENT,
        table=_plan_table(clip, 0.5**fine_bits),
        first_frame_alone=leaps,
    )


def _leaps_from_first_frame(clip: Clip) -> bool:
    """Return whether a clip jumps after its first frame, as from an added T-pose."""
    steps = np.diff(clip.frames(0, min(clip.frame_count, LEAP_FRAMES)).positions(), axis=0)
    sizes = np.linalg.norm(steps, axis=2).max(axis=1)
    return len(sizes) > 2 and bool(sizes[0] > max(MIN_LEAP_M, LEAP_RATIO * sizes[1:].max()))


def _stated_unit(size: float) -> float:
    """Return the nearest number of eight significant bits, which a head can state."""
    bits = int(np.float32(size).view(np.uint32)) + 0x8000 & 0xFFFF0000
    return float(np.uint32(bits).view(np.float32))


def _plan_table(clip: Clip, fine: float) -> I32:
    """Return the plan (J, 15): constant poses on the fine grid, means of what moves."""
    table = np.zeros((len(clip.skeleton), COLUMNS), np.int32)
    table[:, [ROTATION_KEY_STEP, TRANSLATION_KEY_STEP]] = UNIT_STEP
    for m, j in enumerate(clip.translated_joints):
        own = clip.translations[:, m]
        if np.ptp(own, axis=0).max() > 0.5 * fine:
            table[j, TRANSLATION_KIND] = Translation.MOVING
            table[j, ORIGIN] = np.rint(own.mean(axis=0))
        elif np.abs(own[0] - clip.skeleton.offsets[j]).max() > 0.5 * fine:
            table[j, TRANSLATION_KIND] = Translation.STILL
            table[j, ORIGIN] = np.rint(own[0] / fine)
    for j, row in enumerate(table):
        own = clip.rotations[:, j]
        slides = j > 0 and row[TRANSLATION_KIND] == Translation.MOVING
        if np.ptp(own, axis=0).max() > 0.25 * fine or slides:
            mean = np.rint(rotations.as_rotvec(rotations.normalize(own.mean(axis=0))) / MEAN_GRID)
            farthest = rotations.angle_between(rotations.from_rotvec(MEAN_GRID * mean), own).max()
            near = farthest <= MAX_VECTOR_TURN
            row[ROTATION_KIND] = Rotation.VECTOR if near else Rotation.QUATERNION
            row[MEAN] = mean if near else 0
        else:
            row[MEAN] = np.rint(rotations.as_rotvec(own[0]) / fine)
            row[ROTATION_KIND] = Rotation.STILL if row[MEAN].any() else Rotation.REST
    return table


# ---- the closed loop


@dataclass
class Poses:
    """World poses of joints in some frames: positions (F, J, 3) and rotations (F, J, 4)."""

    positions: F64
    rotations: F64

    def above(self, parents: Sequence[int], joint: int) -> tuple[F64, F64]:
        """Return position and rotation of a joint's parent, or of the world."""
        up = parents[joint]
        if up < 0:
            return np.zeros(3), rotations.IDENTITY
        return self.positions[:, up], self.rotations[:, up]


class ClosedLoop:
    """Finds the integers of a clip joint by joint, from the root outward."""

    def __init__(self, clip: Clip, plan: Plan, head: PayloadHead, bound: float) -> None:
        self._clip, self._plan, self._head, self._bound = clip, plan, head, bound
        self._evenness = EVENNESS_PENALTY * min(1.0, 1e-3 / bound) ** 0.75
        self._parents = clip.skeleton.parents
        self._counts = descendants(self._parents)
        self._turning = {track.joint for track in plan.tracks if track.rotation is not None}
        self._moving = {track.joint for track in plan.tracks if track.rotation is None}
        self._source = Poses(*clip.world())
        starts = [head.key_frame(g, clip.frame_count) for g in range(head.group_count + 1)]
        splits = _splits_of(head.unit, np.diff(starts)[head.lead :], clip.header.frame_rate)
        key_frames = np.array([*_block_starts(starts, splits), starts[-1]])
        self.found = Integers(
            splits,
            key_frames,
            np.zeros((len(key_frames), plan.channel_count), np.int64),
            np.full((len(plan.tracks), len(key_frames) - 1), -1),
            np.zeros((clip.frame_count, plan.channel_count), np.int64),
        )

    def run(self) -> Integers:
        """Quantize the keys of all tracks, then the series between them."""
        self._run(self.found.key_frames, self._quantize_keys)
        self._run(np.arange(self._clip.frame_count), self._quantize_series)
        return self.found

    def _run(self, frames: I64, quantize: Quantize) -> None:
        """Quantize all tracks in these frames, each from the decoded poses of its ancestors."""
        true = Poses(self._source.positions[frames], self._source.rotations[frames])
        poses = Poses(np.zeros_like(true.positions), np.zeros_like(true.rotations))
        tracks = {
            (track.joint, track.rotation is None): t for t, track in enumerate(self._plan.tracks)
        }
        for j in range(len(self._parents)):
            base, up = poses.above(self._parents, j)
            poses.positions[:, j] = base + rotations.rotate(up, self._plan.still_translations[j])
            poses.rotations[:, j] = rotations.multiply(up, self._plan.still_rotations[j])
            if j in self._moving:
                self._move(tracks[j, True], true, poses, quantize)
            if j in self._turning:
                local = self._clip.rotations[frames, j]
                self._turn(tracks[j, False], true, poses, local, quantize)

    def _move(self, t: int, true: Poses, poses: Poses, quantize: Quantize) -> None:
        """Quantize a translation. It aims at the true position of its joint."""
        track, joint = self._plan.tracks[t], self._plan.tracks[t].joint
        base, up = poses.above(self._parents, joint)

        def place(channels: F64) -> F64:
            way = rotations.rotate(up, track.base + channels @ track.axes.T)
            return np.asarray(base + way)[:, np.newaxis]

        local = rotations.rotate(rotations.conjugate(up), true.positions[:, joint] - base)
        target = (local - track.base) @ np.linalg.inv(track.axes).T
        wanted, allowed = true.positions[:, [joint]], self._origin_allowances(np.array([joint]))
        poses.positions[:, joint] = place(quantize(t, target, place, wanted, allowed))[:, 0]

    def _turn(self, t: int, true: Poses, poses: Poses, local: F64, quantize: Quantize) -> None:
        """Quantize a rotation. It brings what it carries nearest to the true positions."""
        track, joint = self._plan.tracks[t], self._plan.tracks[t].joint
        carried = self._carried(joint)
        base, up = poses.positions[:, [joint]], poses.above(self._parents, joint)[1]
        arms = rotations.rotate(true.rotations[:, carried.joints], carried.local)
        wanted = true.positions[:, carried.joints] + arms

        def turn(channels: F64) -> F64:
            world = rotations.multiply(up, track_rotations(track, channels))
            way = rotations.rotate(world[:, np.newaxis], carried.points)
            return np.asarray(base + way)

        # turning away from the source's own rotation is noise of the ancestors, which costs bits
        near = true.rotations[:, joint], rotations.multiply(up, local)
        best = _best_rotations(carried.points, carried.weights, wanted - base, near)
        for _ in range(TURNS_BACK):  # the source's rotation in the world always keeps the bound
            places = base + rotations.rotate(best[:, np.newaxis], carried.points)
            is_far = _excess(places, wanted, carried.allowed).max(axis=1) > TARGET_SHARE
            best[is_far] = rotations.slerp(best, near[0], 0.5)[is_far]
        target = _rotation_channels(track, rotations.multiply(rotations.conjugate(up), best), local)
        channels = quantize(t, target, turn, wanted, carried.allowed)
        poses.rotations[:, joint] = rotations.multiply(up, track_rotations(track, channels))

    def _origin_allowances(self, joints: I64) -> F64:
        """Return how far origins of joints may be off, as what hangs on them adds to the error."""
        shares = np.minimum(MAX_ORIGIN_SHARE, self._counts[joints] ** -ORIGIN_FALLOFF)
        return np.asarray(self._bound * shares)

    def _carried(self, joint: int) -> Carried:
        """Return the points that a rotation carries.

        They are its shell points and bone ends, the origins of its children, and all points of
        children that do not turn.
        """
        skeleton, plan = self._clip.skeleton, self._plan
        ends = list(zip(skeleton.end_site_joints, skeleton.end_sites, strict=True))
        found: list[tuple[F64, F64, int, float]] = []
        waiting = [(joint, rotations.IDENTITY, np.zeros(3))]
        for at, frame, origin in waiting:
            own = [(point, 0.0) for point in SHELL_RADIUS_M * np.eye(3)]
            own += [(end, 1.0) for owner, end in ends if owner == at]
            for point, weight in own:
                found.append((origin + rotations.rotate(frame, point), point, at, weight))
            for child, parent in enumerate(self._parents):
                if parent != at or child in self._moving:
                    continue
                place = origin + rotations.rotate(frame, plan.still_translations[child])
                is_aim = child in self._turning or self._counts[child] == 1
                weight = float(self._counts[child]) ** SPREAD if is_aim else 0.0
                found.append((place, np.zeros(3), child, weight))
                if child not in self._turning:
                    still = rotations.multiply(frame, plan.still_rotations[child])
                    waiting.append((child, still, place))
        points, local, joints, weights = (np.array(column) for column in zip(*found, strict=True))
        allowed = np.where(local.any(axis=1), self._bound, self._origin_allowances(joints))
        return Carried(points, local, joints, weights, allowed)

    def _quantize_keys(self, t: int, target: F64, decode: Decode, true: F64, allowed: F64) -> F64:
        """Round the keys of a track; take finer steps until all points are within bounds."""
        off, slopes = _linearize(decode, target, true, allowed)
        while True:
            track = self._plan.tracks[t]
            exact, moves = target / track.key_step, slopes * track.key_step
            keys = _round_keys(exact, off, moves, self.found.splits)
            own: F64 = keys.astype(np.float64) * track.key_step
            if _excess(decode(own), true, allowed).max() <= 1:
                break
            index = track.key_index + 1
            if index == STEPS:
                raise ValueError(f"the keys of joint {track.joint} cannot keep the bound")
            column = TRANSLATION_KEY_STEP if track.rotation is None else ROTATION_KEY_STEP
            self._head.table[track.joint, column] = index
            size = KEY_STEP * step_size(self._head.unit, index)
            self._plan.tracks[t] = replace(track, key_index=index, key_step=size)
        self.found.keys[:, track.channels] = keys
        return own

    def _quantize_series(self, t: int, target: F64, decode: Decode, true: F64, allowed: F64) -> F64:
        """Find the coefficients of a track, block by block; return its channels (T, C)."""
        track, out = self._plan.tracks[t], target.copy()
        keys = self.found.keys[:, track.channels] * track.key_step
        out[-1] = keys[-1]
        off, slopes = _linearize(decode, target, true, allowed)
        for b, (start, stop) in enumerate(pairwise(self.found.key_frames.tolist())):
            if stop == start:
                continue
            along = np.arange(stop - start)[:, np.newaxis] / (stop - start)
            line, own = keys[b] + along * (keys[b + 1] - keys[b]), slice(start, stop)
            for index in range(FIRST_STEP, FIRST_STEP + FINER_STEPS):
                step = step_size(self._head.unit, index)
                sines = step * _sines(stop - start)
                found = self._repair(line - target[own], sines, off[own], slopes[own], step)
                out[own] = line + sines.T @ found
                if _excess(decode(out)[own], true[own], allowed).max() <= 1:
                    break
            else:
                raise ValueError(f"joint {track.joint} cannot keep the bound in frame {start}")
            if found.any():
                self.found.steps[t, b] = index
                self.found.coefficients[own, track.channels] = found
        return out

    def _repair(self, line: F64, sines: F64, off: F64, slopes: F64, step: float) -> I64:
        """Round a series (N, C), then change the numbers that bring points back within bounds."""
        exact = sines @ -line / step**2
        found = (np.sign(exact) * np.floor(np.abs(exact) + ROUNDING)).astype(np.int64)
        found[0] = 0
        gaps = off + np.einsum("tpxc,tc->tpx", slopes, line + sines.T @ found)
        for _ in range(MAX_REPAIRS):
            squares = (gaps**2).sum(axis=2)
            if squares.max(initial=0.0) < 1:
                break
            pull = EXCESS_PENALTY * (squares > 1) + 2 * self._evenness * squares
            steepest = sines @ np.einsum("tp,tpx,tpxc->tc", pull, gaps, slopes)
            steepest[0] = 0
            order = np.argsort(-np.abs(steepest), axis=None)[:CANDIDATES]
            k, c = np.unravel_index(order, steepest.shape)
            change = -np.sign(steepest[k, c]).astype(np.int64)
            waves, ways = change[:, np.newaxis] * sines[k], slopes[..., c].transpose(3, 0, 1, 2)
            tried = gaps + waves[:, :, np.newaxis, np.newaxis] * ways
            squares = (tried**2).sum(axis=3)
            cost = EXCESS_PENALTY * np.maximum(squares - 1, 0) + self._evenness * squares**2
            bits = _bits(found[k, c] + change) - _bits(found[k, c])
            best = int((cost.sum(axis=(1, 2)) + bits).argmin())
            found[k[best], c[best]] += change[best]
            gaps = tried[best]
        return found


def _splits_of(unit: float, lengths: I64, frame_rate: float) -> int:
    """Return how often groups are halved: the tighter the bound, the shorter their blocks."""
    seconds = 1.0 if unit > 8e-3 else 0.5 if unit > 2.5e-3 else 0.25
    shortest, longest = lengths.min(initial=512), lengths.max(initial=1)
    most, least = int(np.log2(max(shortest / 4, 1))), int(np.ceil(np.log2(max(longest / 512, 1))))
    blocks = max(shortest / (seconds * frame_rate), 1.0)
    return max(min(round(float(np.log2(blocks))), most), least)


def _block_starts(groups: list[int], splits: int) -> Iterator[int]:
    for start, stop in pairwise(groups):
        for b in range(1 << splits):
            yield start + ((2 * b * (stop - start) + (1 << splits)) >> splits + 1)


def _linearize(decode: Decode, target: F64, true: F64, allowed: F64) -> tuple[F64, F64]:
    """Return displacements (F, P, 3) over allowances at the target, and slopes (F, P, 3, C)."""
    off, small = decode(target), 1e-6
    ways = small * np.eye(target.shape[1])
    slopes = np.stack([(decode(target + way) - off) / small for way in ways], axis=3)
    return (off - true) / allowed[:, np.newaxis], slopes / allowed[:, np.newaxis, np.newaxis]


def _excess(points: F64, true: F64, allowed: F64) -> F64:
    """Return how far points (F, P, 3) are off, over their allowances: (F, P)."""
    return np.asarray(np.linalg.norm(points - true, axis=2) / allowed)


def _best_rotations(points: F64, weights: F64, arms: F64, near: tuple[F64, F64]) -> F64:
    """Return the rotations (F, 4) that bring points (P, 3) nearest to arms (F, P, 3), by Kabsch.

    The shells of two rotations (F, 4) keep them near these.
    """
    moments = np.einsum("p,fpi,pj->fij", weights, arms, points)
    for other in near:
        moments = moments + SHELL_RADIUS_M**2 * rotations.as_matrix(other)
    u, _, v = np.linalg.svd(moments)
    u[:, :, 2] *= np.linalg.det(u @ v)[:, np.newaxis]
    return rotations.from_matrix(u @ v)


def _rotation_channels(track: Track, local: F64, source: F64) -> F64:
    if track.rotation == Rotation.QUATERNION:
        opposite = (local * source).sum(axis=1, keepdims=True) < 0
        return np.asarray(np.where(opposite, -local, local) / track.axes[0, 0])
    about = rotations.multiply(rotations.conjugate(track.base), local)
    return np.asarray(rotations.as_rotvec(about) @ np.linalg.inv(track.axes).T)


def _round_keys(exact: F64, off: F64, slopes: F64, splits: int) -> I64:
    """Round keys (K, C), then move them towards their predictions as far as points allow."""
    keys = np.rint(exact).astype(np.int64)
    for at, left, right in key_order(len(keys), splits):
        predicted = keys[left] + keys[right] >> 1
        for _ in range(MAX_REPAIRS):
            ways = np.sign(predicted - keys[at])
            tried = keys[at] + np.diag(ways)
            gaps = off[at] + np.einsum("pxc,nc->npx", slopes[at], tried - exact[at])
            worst = (gaps**2).sum(axis=2).max(axis=1)
            worst[(ways == 0) | (worst > KEY_SHARE**2)] = np.inf
            score = worst * (1 + np.abs(predicted - keys[at]))  # small differences save most
            if not np.isfinite(score).any():
                break
            keys[at] = tried[score.argmin()]
    return keys


def _sines(length: int) -> F64:
    """Return the sine series (N, N) of a block: row k is frequency k."""
    k = np.arange(length)
    turns = k[:, np.newaxis] * k % (2 * length)
    return np.asarray(np.sqrt(2 / length) * np.sin(np.pi * turns / length))


def _bits(numbers: I64) -> F64:
    """Return about how many bits coefficients take."""
    return np.where(numbers == 0, 0.0, 2.5 + 1.6 * np.log2(np.maximum(np.abs(numbers), 1)))
