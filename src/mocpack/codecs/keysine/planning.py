"""Choices for a whole clip: what moves, about which mean, in which axes, in which blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mocpack import _core, rotations
from mocpack.arrays import F64, I32
from mocpack.clip import Clip
from mocpack.codecs.keysine.payload import LONGEST_BLOCK, MOST_SPLITS, stated_unit
from mocpack.codecs.keysine.tracks import (
    AXES_BITS,
    AXES_GRID,
    BASIS,
    COLUMNS,
    HELD,
    MEAN,
    MEAN_GRID,
    ORIGIN,
    ORIGIN_GRID,
    ROTATION_KEY_STEP,
    ROTATION_KIND,
    TRANSLATION_KEY_STEP,
    TRANSLATION_KIND,
    UNIT_STEP,
    Rotation,
    Translation,
    track_widths,
)
from mocpack.kinematics import forward_kinematics
from mocpack.skeleton import Skeleton

Turn = tuple[Rotation, F64]
"""How a rotation is written, and its mean or itself, in grid units."""

FARTHEST_TURN = 2.4  # radians from the mean up to which a rotation vector behaves
STILL_SHARE = 0.02  # of the bound, that rounding of what is still may cost at the end of a limb
LARGEST_STILL = 2**29
MOST_FINE_BITS = 40
MAX_EXCESS = 1e-6  # radians, metres by which sources that round their numbers pass their limits
LEAVING_SHARE = 0.02  # of the bound, by which a joint may leave its hinges a metre away
LEAP, LEAP_FRAMES, LEAST_LEAP = 4.0, 40, 0.02  # times the next steps; frames; metres
BASIS_FRAMES, FEW_FRAMES = 250, 120  # looked at to choose axes, and where that must be quick
# bits below a radian of turns of axes, at most: of a grid, channels that hardly move are to be
# nothing but zeros; and how much coarser they may be
AXES_PRECISION, GRID_AXES_PRECISION, COARSER_AXES = 6, AXES_BITS, 5
# bits that a turn of axes takes, by octave of its numbers and besides
NUMBER_BITS, PRECISION_BITS = 1.6, 4.0
ENTROPY_FACTOR = 4.0  # of an energy in squared steps, by which its bits grow
TEMPO = 64
SEGMENT_GROUPS = 16
SHORTEST_BLOCK, LEAST_FRAMES = 0.12, 4.0  # seconds; frames of a block


@dataclass(frozen=True)
class Outline:
    """What is decided for a whole clip before anything is searched.

    Attributes
    ----------
    unit : float
        Metres; what steps are multiples of.
    fine_bits : int
        Bits below 1 of what is still, radians and metres.
    table : array of int, shape (J, 14)
        The plan: what moves, about which mean, in which axes.
    """

    unit: float
    fine_bits: int
    table: I32


@dataclass(frozen=True)
class Groups:
    """How a clip is cut: groups of blocks; every `SEGMENT_GROUPS` groups are a segment.

    Attributes
    ----------
    count : int
        Groups of the clip.
    tempo : int
        64 times half a second over the length of a group.
    splits : int
        A group has at most 2^splits blocks.
    first_frame_alone : bool
        Whether the first frame is a group by itself.
    seconds : float
        Length of a group.
    """

    count: int
    tempo: int
    splits: int = 0
    first_frame_alone: bool = False
    seconds: float = 1.0

    def splits_for(self, seconds: float) -> int:
        """Return how often a group is halved so that its blocks come nearest to so long."""
        wanted = round(math.log2(max(self.seconds / seconds, 1.0)))
        return min(max(wanted, 0), self.splits)


def cut(clip: Clip, *, group_seconds: float, longest: int) -> Groups:
    """Cut a clip into even groups of at most `group_seconds` and `longest` frames."""
    alone = leaps_from_first_frame(clip)
    intervals = clip.frame_count - 1 - alone
    if not intervals:
        return Groups(0, TEMPO)
    rate = clip.frame_rate
    count = -(-intervals // int(min(max(group_seconds * rate, 1.0), longest)))
    length = intervals / count
    shortest = max(SHORTEST_BLOCK * rate, LEAST_FRAMES)
    needed = math.ceil(math.log2(length / LONGEST_BLOCK))  # for blocks not to be too long
    splits = max(int(math.log2(max(length / shortest, 1.0) * (1 + 1e-9))), needed)
    return Groups(
        alone + count,
        min(max(round(TEMPO * 0.5 * rate / length), 1), 255),
        min(splits, MOST_SPLITS),
        alone,
        length / rate,
    )


def grid_steps(table: I32) -> tuple[int, ...]:
    """Return the index of each track's step on a grid in time, from the plan (J, 14).

    Channels are scaled by what they move, so one step fits all; the length of a quaternion moves
    nothing, so that its channels may be coarser.
    """
    steps: list[int] = []
    for row in table:
        if row[TRANSLATION_KIND] >= Translation.MOVING:
            steps.append(UNIT_STEP)
        if row[ROTATION_KIND] >= Rotation.VECTOR:
            steps.append(UNIT_STEP - 2 * int(row[ROTATION_KIND] == Rotation.QUATERNION))
    return tuple(steps)


def first_channels(table: I32, skeleton: Skeleton) -> npt.NDArray[np.intp]:
    """Return for each channel the first one of its track, from the plan (J, 14)."""
    widths = track_widths(table, skeleton)
    return np.repeat(np.cumsum([0, *widths])[:-1], widths).astype(np.intp)


def leaps_from_first_frame(clip: Clip) -> bool:
    """Return whether a clip leaps right after its first frame, as from an added T-pose.

    No series of sines is small across such a leap.
    """
    if clip.frame_count < 4:
        return False
    first = clip.rotations[:LEAP_FRAMES], clip.translations[:LEAP_FRAMES]
    points, _ = forward_kinematics(clip.skeleton, *first, clip.translated_joints)
    moved = np.linalg.norm(np.diff(points, axis=0), axis=-1).max(axis=1)
    return bool(moved[0] > LEAP * moved[1:].max() and moved[0] > LEAST_LEAP)


def fine_bits(clip: Clip, bound: float) -> int:
    """Return the bits of the grid of what is still, fine enough not to matter at any limb's end."""
    skeleton = clip.skeleton
    bones = np.linalg.norm(skeleton.offsets, axis=1)
    for m, j in enumerate(clip.translated_joints):
        bones[j] = np.linalg.norm(clip.translations[:, m], axis=1).max() if j else 0.0
    reach = bones.sum()
    reach += np.linalg.norm(skeleton.end_sites, axis=1).max(initial=0.03)
    grid = STILL_SHARE * bound / max(reach, 1.0) / np.sqrt(len(skeleton))
    return int(min(max(np.ceil(-np.log2(grid)), 0), MOST_FINE_BITS))


def outline(
    clip: Clip, size: float, *, key_step: int, precision: int = AXES_PRECISION, quick: bool = False
) -> Outline:
    """Return what is decided for a whole clip.

    Parameters
    ----------
    size : float
        Unit of the steps, in metres: the bound, or a plain step.
    key_step : int
        Index of the keys' step to begin with.
    precision : int
        Bits below a radian of turns of axes, at most.
    quick : bool
        Whether axes are chosen by few frames.
    """
    bits, unit = fine_bits(clip, size), stated_unit(size)
    table = np.zeros((len(clip.skeleton), COLUMNS), np.int32)
    table[:, [ROTATION_KEY_STEP, TRANSLATION_KEY_STEP]] = UNIT_STEP
    fine = 0.5**bits
    for m, j in enumerate(clip.translated_joints):
        kind, origin = _translation(clip.translations[:, m], clip.skeleton.offsets[j], fine)
        table[j, TRANSLATION_KIND], table[j, ORIGIN] = kind, origin
    still, turning = _still(clip.rotations, fine), _turning(clip.rotations)
    hinged = _hinged(clip, fine, max(fine, LEAVING_SHARE * unit), turning, table)
    turned = np.zeros(len(clip.skeleton), bool)  # by itself or by an ancestor
    for j, parent in enumerate(clip.skeleton.parents):
        above = parent >= 0 and bool(turned[parent])
        # what slides along a joint that turns hangs on none: it takes back the turn's error itself
        slides = above and table[j, TRANSLATION_KIND] == Translation.MOVING
        turn, mean = hinged.get(j) or (turning[j] if slides else still[j] or turning[j])
        table[j, ROTATION_KIND], table[j, MEAN] = turn, mean
        turned[j] = above or turn >= Rotation.VECTOR
    table[table[:, ROTATION_KIND] >= Rotation.VECTOR, ROTATION_KEY_STEP] = key_step
    table[table[:, TRANSLATION_KIND] >= Translation.MOVING, TRANSLATION_KEY_STEP] = key_step
    frames = FEW_FRAMES if quick else BASIS_FRAMES
    vectors = table[:, ROTATION_KIND] == Rotation.VECTOR
    table[vectors, BASIS] = _bases(clip, table, unit, fine, precision, frames)[vectors]
    return Outline(unit, bits, table)


def native_angles(clip: Clip) -> F64:
    """Return the angles (T, H) of a clip's hinges without jumps, in the core's order: by joint."""
    hinges = clip.skeleton.hinges
    if hinges is None:
        return np.zeros((clip.frame_count, 0))
    angles = clip.hinge_angles().angles.copy()
    turning = ~hinges.slides
    angles[:, turning] = np.unwrap(angles[:, turning], axis=0)
    return np.ascontiguousarray(angles[:, list(hinges.by_joint)])


def _hinged(
    clip: Clip, fine: float, leaving: float, turning: list[Turn], table: I32
) -> dict[int, Turn]:
    """Return how joints are written that turn about hinges.

    The translations of sliders go into the table, and so does which hinges of what moves are held
    within their limits. A joint that leaves its hinges by more than `leaving` (radians, metres)
    moves freely: what is still is written as angles and ways, which cannot say where it is.
    """
    hinges = clip.skeleton.hinges
    if hinges is None:
        return {}
    found, seen = {}, clip.hinge_angles()
    angles = seen.angles.copy()
    angles[:, ~hinges.slides] = np.unwrap(angles[:, ~hinges.slides], axis=0)
    leaves = np.asarray((seen.off_axis > np.where(hinges.slides, fine, leaving)).any(axis=0))
    # of a joint that moves freely, a pose alone must say whether it is past a limit
    wide = ~hinges.slides & ~(np.ptp(hinges.limits, axis=1) < 2 * np.pi)
    # to clamp a source that rounds may not cost more of the bound than to write what is still
    excess = min(MAX_EXCESS, fine * math.sqrt(len(clip.skeleton)))
    held = _kept(seen.angles, hinges.limits, excess) & ~(leaves & wide)
    for joint, rows in hinges.rows_by_joint():
        table[joint, HELD] = sum(1 << i for i, h in enumerate(rows) if held[h])
        for slides in (True, False):
            own = [h for h in rows if hinges.slides[h] == slides]
            if not own:
                continue
            is_free = bool(leaves[own].any())
            still = _still_hinges(angles[:, own], hinges.limits[own], held[own], fine)
            if slides:
                places = clip.translations[:, clip.translated_joints.index(joint)]
                kind, origin = _slider(places, still, is_free=is_free)
                table[joint, TRANSLATION_KIND], table[joint, ORIGIN] = kind, origin
            else:
                found[joint] = turning[joint] if is_free else _hinge(angles[:, own], still)
    return found


def _slider(places: F64, still: F64 | None, *, is_free: bool) -> tuple[Translation, F64]:
    """Return how a joint that slides is written, from its places (T, 3) or its still ways (3,)."""
    if is_free:
        return Translation.MOVING, np.round(places.mean(axis=0) / ORIGIN_GRID)
    if still is None:
        return Translation.SLIDING, np.zeros(3)
    return Translation.STILL if still.any() else Translation.REST, still


def _hinge(angles: F64, still: F64 | None) -> Turn:
    """Return how a joint that turns about hinges is written, from its angles (T, N)."""
    if still is not None:
        return Rotation.STILL if still.any() else Rotation.REST, still
    means = np.round(angles.mean(axis=0) / MEAN_GRID)
    return Rotation.HINGE, np.concatenate([means, np.zeros(3 - len(means))])


def _still_hinges(angles: F64, limits: F64, held: npt.NDArray[np.bool_], fine: float) -> F64 | None:
    """Return the angles or ways (3,) of hinges that stay the same, in units of the fine grid.

    None where they move (T, N), where the grid has no room for them, and where it has no number
    within limits (N, 2) that hold them.
    """
    low, high = np.ceil(limits[:, 0] / fine), np.floor(limits[:, 1] / fine)
    numbers = np.round(angles[0] / fine)
    if np.ptp(angles, axis=0).max() > 0.25 * fine or (held & (low > high)).any():
        return None
    numbers = np.where(held, np.clip(numbers, low, np.maximum(low, high)), numbers)
    if np.abs(numbers).max() >= LARGEST_STILL:
        return None
    return np.concatenate([numbers, np.zeros(3 - len(numbers))])


def _kept(angles: F64, limits: F64, excess: float) -> npt.NDArray[np.bool_]:
    """Return which of some angles (T, N) pass their limits (N, 2) by at most `excess`."""
    low, high = limits.T + np.array([[-excess], [excess]])
    return np.asarray(((angles >= low) & (angles <= high)).all(axis=0))


def _translation(places: F64, offset: F64, fine: float) -> tuple[Translation, F64]:
    spread = np.abs(places - places[0]).max()
    if spread <= 0.5 * fine and np.abs(places[0] - offset).max() <= 0.5 * fine:
        return Translation.REST, np.zeros(3)
    origin = np.round(places[0] / fine)
    if spread <= 0.5 * fine and np.abs(origin).max() < LARGEST_STILL:
        return Translation.STILL, origin
    return Translation.MOVING, np.round(places.mean(axis=0) / ORIGIN_GRID)


def _still(turns: F64, fine: float) -> list[Turn | None]:
    """Return the rotations that stay the same, None where they do not or the grid has no room."""
    spread = np.maximum(turns.max(axis=0) - turns[0], turns[0] - turns.min(axis=0)).max(axis=-1)
    numbers = np.round(rotations.as_rotvec(turns[0]) / fine)
    found: list[Turn | None] = []
    for moved, still in zip(spread, numbers, strict=True):
        if moved > 0.25 * fine or np.abs(still).max() >= LARGEST_STILL:
            found.append(None)
        else:
            found.append((Rotation.STILL if still.any() else Rotation.REST, still))
    return found


def _turning(turns: F64) -> list[Turn]:
    """Return how rotations are written that turn: about their mean, if never too far from it."""
    means = rotations.normalize(turns.sum(axis=0))
    vectors = np.round(rotations.as_rotvec(means) / MEAN_GRID)
    # the angle between two rotations is twice that between their quaternions
    nearness = np.einsum("tjc,jc->tj", turns, rotations.from_rotvec(MEAN_GRID * vectors))
    farthest = np.minimum(np.abs(nearness).min(axis=0), 1.0)
    return [
        (Rotation.QUATERNION, np.zeros(3)) if angle > FARTHEST_TURN else (Rotation.VECTOR, vector)
        for angle, vector in zip(2 * np.arccos(farthest), vectors, strict=True)
    ]


def _bases(clip: Clip, table: I32, unit: float, fine: float, precision: int, frames: int) -> F64:
    """Return the turn of each joint's axes after which its channels are likely to be smallest."""
    bases = np.zeros((len(table), 3))
    joints = np.flatnonzero(table[:, ROTATION_KIND] == Rotation.VECTOR)
    if not len(joints):
        return bases
    native = clip.skeleton.native(clip.translated_joints)
    means, axes = map(np.asarray, _core.keysine_axes(native, table, unit, fine))
    every = max(1, clip.frame_count // frames)
    back = rotations.multiply(rotations.conjugate(means[joints]), clip.rotations[::every, joints])
    vectors = rotations.as_rotvec(back).swapaxes(0, 1)
    channels = vectors @ np.linalg.inv(axes[joints])  # the core has axes as rows
    bands, counts = _spectra(np.sqrt(every) / unit * channels)
    bases[joints] = _cheapest_turns(bands, counts, precision)
    return bases


def _spectra(channels: F64) -> tuple[F64, F64]:
    """Return covariances (J, B, 3, 3) by bands of frequencies, and how many of these are in each.

    Parameters
    ----------
    channels : array, shape (J, T, 3)
    """
    frames = channels.shape[1]
    mirrored = np.concatenate([channels, channels[:, ::-1]], axis=1)
    phase = np.exp(-0.5j * np.pi * np.arange(frames) / frames)[:, np.newaxis]
    series = np.fft.fft(mirrored, axis=1)[:, :frames] * phase
    cosines = series.real / np.sqrt(2 * frames)
    edges = np.unique([min(frames, round(1.6**i)) for i in range(20)])  # the mean is left out
    counts = np.diff(edges)
    bands = [cosines[:, i:j].swapaxes(1, 2) @ cosines[:, i:j] for i, j in pairwise(edges)]
    if not bands:
        return np.zeros((len(channels), 1, 3, 3)), np.ones(1)
    return np.stack(bands, axis=1) / counts[:, np.newaxis, np.newaxis], counts.astype(float)


def _cheapest_turns(bands: F64, counts: F64, precision: int) -> F64:
    """Return turns (J, 3) in units of the grid, of which the sum of bits is least.

    Those to the principal axes are tried with so many bits below a radian and with fewer, and none
    at all.
    """
    weights = counts[:, np.newaxis, np.newaxis]
    sizes = np.trace(bands, axis1=-2, axis2=-1)[..., np.newaxis, np.newaxis]
    found = [(weights * bands).sum(axis=1), (weights * bands / (1 + sizes)).sum(axis=1)]
    turns = np.stack([*map(_principal_turns, found)])
    bits = precision - np.arange(COARSER_AXES + 1)[:, np.newaxis, np.newaxis, np.newaxis]
    numbers = np.round(turns * 2.0**bits)  # (precisions, 2, J, 3)
    listed = NUMBER_BITS * np.log2(1 + np.abs(numbers)).sum(axis=-1) + PRECISION_BITS
    tried = (numbers * 2 ** (AXES_BITS - bits)).reshape(-1, *turns.shape[1:])
    tried = np.concatenate([np.zeros_like(tried[:1]), tried])
    cost = _series_bits(bands, counts, np.asarray(AXES_GRID * tried, np.float64))
    cost[1:] += listed.reshape(len(tried) - 1, -1)
    return np.asarray(tried[np.argmin(cost, axis=0), np.arange(len(bands))])


def _series_bits(bands: F64, counts: F64, turns: F64) -> F64:
    """Return about how many bits (N, J) each joint's channels take in turned axes (N, J, 3)."""
    axes = rotations.as_matrix(rotations.from_rotvec(turns))[:, :, np.newaxis]
    # rounding can leave a large energy's neighbor slightly below 0
    energies = np.maximum(np.sum(axes * (bands @ axes), axis=-2), 0.0)
    return np.asarray(0.5 * np.log2(1 + ENTROPY_FACTOR * energies).sum(axis=-1) @ counts)


def _principal_turns(covariances: F64) -> F64:
    """Return the smallest turns to the principal axes, widest first, as rotation vectors (N, 3)."""
    _, vectors = np.linalg.eigh(covariances)
    vectors = vectors[:, np.newaxis, :, ::-1]
    vectors = vectors * np.where(np.linalg.det(vectors) < 0, -1.0, 1.0)[..., np.newaxis, np.newaxis]
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    turns = rotations.as_rotvec(rotations.from_matrix(vectors * signs[:, np.newaxis]))
    nearest = np.argmin(np.linalg.norm(turns, axis=-1), axis=1)
    return np.asarray(turns[np.arange(len(turns)), nearest])
