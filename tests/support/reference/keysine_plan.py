"""The tracks of a plan: the channels of each joint and their units."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from keysine_tracks import (
    AXES_GRID,
    BASIS,
    CHANNELS,
    HELD,
    MEAN,
    MEAN_GRID,
    ORIGIN,
    ORIGIN_GRID,
    ROTATION_KEY_STEP,
    ROTATION_KIND,
    SHARES_REFERENCE,
    STEPS,
    TRANSLATION_KEY_STEP,
    TRANSLATION_KIND,
    JointHinges,
    Rotation,
    Translation,
    hinges_of,
)
from mocpack.common.arrays import F64, I32
from mocpack.errors import CorruptionError
from mocpack.model import rotations
from mocpack.model.clip import ClipHeader

SHELL_RADIUS_M = 0.03  # meters
SPREAD = 0.3  # exponent of descendants in the weights
KEY_STEP = 0.8  # of a coefficient's step of the same index
# weights in what errors above hinges cost, and how much of that may be left
ORIGIN_WEIGHT, SHELL_WEIGHT, END_WEIGHT, USUAL_REST = 0.25, 0.25, 1.0, 1.5


@dataclass(frozen=True)
class Track:
    """A translation or rotation that moves.

    Attributes
    ----------
    joint : int
    rotation : Rotation or None
        None for a translation.
    first_channel, channel_count : int
    parent : int
        Index of the nearest ancestor's rotation track, -1 if there is none.
    shares : bool
        Whether its rotation is relative to the same joint as that of `parent`, and not to the
        joint's own parent.
    family : int
        What it is, for the models: 0 to 9.
    base : array, shape (4,) or (3,)
        Mean rotation, or origin in meters.
    axes : array, shape (3, 3)
        Column c is the rotation vector (or translation) of a unit of channel c.
    key_step : float
        Of the key poses, in units of the channels.
    key_index : int
        Its index.
    angles : array, shape (C,)
        Of a hinge, where its channels are zero.
    limits : array, shape (C, 2)
        Of a hinge's channels, infinite where nothing is held.
    turns : array, shape (C,)
        How much of a hinge's channel is a full turn; 0 where full turns are not the same.
    free_limits : array, shape (N, 2)
        Of a joint that has hinges but moves freely: of its N slides or turns, in meters or radians,
        infinite where nothing is held.
    """

    joint: int
    rotation: Rotation | None
    first_channel: int
    channel_count: int
    parent: int
    family: int
    base: F64
    axes: F64
    key_step: float
    key_index: int
    angles: F64 = field(default_factory=lambda: np.zeros(0))
    limits: F64 = field(default_factory=lambda: np.zeros((0, 2)))
    turns: F64 = field(default_factory=lambda: np.zeros(0))
    free_limits: F64 = field(default_factory=lambda: np.zeros((0, 2)))
    shares: bool = False

    @property
    def channels(self) -> slice:
        return slice(self.first_channel, self.first_channel + self.channel_count)


@dataclass(frozen=True)
class Plan:
    """The tracks, and the constant rotations and translations."""

    tracks: list[Track]
    channel_count: int
    still_rotations: F64
    still_translations: F64


def step_size(unit: float, index: int) -> float:
    """Return unit · 2^((8 - index) / 2)."""
    size = unit * 16.0 * 0.5 ** (index // 2)
    return size * 0.70710678118654752440 if index % 2 else size


def build_plan(table: I32, header: ClipHeader, unit: float, fine: float) -> Plan:
    """Return the tracks that the plan (J, 15) describes.

    Parameters
    ----------
    unit : float
        Meters; what steps are multiples of.
    fine : float
        Grid of still rotations (radians) and translations (meters).
    """
    hinges = hinges_of(header.skeleton)
    _check(table, header, hinges)
    still = _still_rotations(table, header, hinges, fine)
    places = _still_translations(table, header, hinges, fine)
    counts = descendants(header.skeleton.parents)
    if header.skeleton.hinges is None:
        inertia = _inertia(table, header, still, places, counts)
        shifts = counts.astype(np.float64) ** (-0.5 * SPREAD)
    else:
        inertia, shifts = _costs(table, header, hinges, still, places)
    tracks: list[Track] = []
    above = {-1: -1}
    channels = 0
    for j, parent in enumerate(header.skeleton.parents):
        row = table[j]
        above[j] = above[parent]
        if row[TRANSLATION_KIND] >= Translation.MOVING:
            axes, limits = np.eye(3), np.zeros((0, 2))
            free_limits = _limit_values(row[HELD], hinges[j].slide_limits)
            if row[TRANSLATION_KIND] == Translation.SLIDING:
                axes = rotations.rotate(header.skeleton.rest[j], hinges[j].slides).T
                limits, free_limits = free_limits / shifts[j], limits
            axes = axes * shifts[j]
            index = int(row[TRANSLATION_KEY_STEP])
            size = KEY_STEP * step_size(unit, index)
            width, family = axes.shape[1], int(j > 0)
            tracks.append(
                Track(
                    j,
                    None,
                    channels,
                    width,
                    -1,
                    family,
                    places[j],
                    axes,
                    size,
                    index,
                    limits=limits,
                    turns=np.zeros(len(limits)),
                    free_limits=free_limits,
                )
            )
            channels += width
        if row[ROTATION_KIND] >= Rotation.VECTOR:
            kind = Rotation(row[ROTATION_KIND])
            index = int(row[ROTATION_KEY_STEP])
            size = KEY_STEP * step_size(unit, index)
            base, angles, full_turns = still[j], np.zeros(0), np.zeros(0)
            limits = np.zeros((0, 2))
            free_limits = _limit_values(row[HELD] >> len(hinges[j].slides), hinges[j].turn_limits)
            if kind == Rotation.HINGE:
                turns = hinges[j].turns
                axes = (
                    turns / np.sqrt(np.einsum("na,ab,nb->n", turns, inertia[j], turns))[:, None]
                ).T
                base, angles = header.skeleton.rest[j], MEAN_GRID * row[MEAN][: len(turns)]
                units = np.linalg.norm(axes, axis=0)
                narrow = np.ptp(free_limits, axis=1) < 2 * np.pi
                full_turns = np.where(narrow, 2 * np.pi / units, 0.0)
                limits = (free_limits - angles[:, np.newaxis]) / units[:, np.newaxis]
                free_limits = np.zeros((0, 2))
            else:
                axes = _axes(kind, AXES_GRID * row[BASIS], inertia[j])
            width = CHANNELS.get(kind, axes.shape[1])
            family = _family(kind, j, int(counts[j]))
            tracks.append(
                Track(
                    *(j, kind, channels, width, above[parent], family, base, axes, size, index),
                    *(angles, limits, full_turns, free_limits),
                    shares=bool(row[SHARES_REFERENCE]) and above[parent] >= 0,
                )
            )
            above[j] = len(tracks) - 1
            channels += width
    return Plan(tracks, channels, still, places)


def _limit_values(rows: int, limits: F64) -> F64:
    """Return the limits (N, 2) of those hinges whose bit is set; others have none."""
    within = (rows >> np.arange(len(limits)) & 1)[:, np.newaxis] != 0
    return np.where(within, limits, np.array([-np.inf, np.inf]))


def descendants(parents: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """Return how many joints hang on each, itself included."""
    counts = np.ones(len(parents), np.intp)
    for j in range(len(parents) - 1, 0, -1):
        counts[parents[j]] += counts[j]
    return counts


def _check(table: I32, header: ClipHeader, hinges: list[JointHinges]) -> None:
    translated = set(header.translated_joints)
    for joint, (row, own) in enumerate(zip(table.tolist(), hinges, strict=True)):
        free, moving = Rotation.QUATERNION, Translation.MOVING
        farthest = Translation.SLIDING if len(own.slides) else moving
        for value, what, high in (
            (row[ROTATION_KIND], "rotation kind", Rotation.HINGE if len(own.turns) else free),
            (row[TRANSLATION_KIND], "translation kind", farthest if joint in translated else 0),
            (row[ROTATION_KEY_STEP], "rotation key step", STEPS - 1),
            (row[TRANSLATION_KEY_STEP], "translation key step", STEPS - 1),
        ):
            if not 0 <= value <= high:
                raise CorruptionError(
                    f"keysine head: plan of joint {joint}: {what} {value} is outside 0..{int(high)}"
                )


def _still_rotations(table: I32, header: ClipHeader, hinges: list[JointHinges], fine: float) -> F64:
    grid = np.where(table[:, ROTATION_KIND] == Rotation.STILL, fine, MEAN_GRID)
    still = rotations.from_rotvec(grid[:, np.newaxis] * table[:, MEAN])
    still[table[:, ROTATION_KIND] == Rotation.REST] = rotations.IDENTITY
    for j, own in enumerate(hinges):
        kind = table[j, ROTATION_KIND]
        if not len(own.turns) or kind in (Rotation.VECTOR, Rotation.QUATERNION):
            continue
        still[j] = header.skeleton.rest[j]
        step = {Rotation.STILL: fine, Rotation.HINGE: MEAN_GRID}.get(kind, 0.0)
        for axis, angle in zip(own.turns, step * table[j, MEAN], strict=False):
            still[j] = rotations.multiply(still[j], rotations.from_rotvec(angle * axis))
    return still


def _still_translations(
    table: I32, header: ClipHeader, hinges: list[JointHinges], fine: float
) -> F64:
    kind = table[:, TRANSLATION_KIND, np.newaxis]
    grid = np.where(kind == Translation.STILL, fine, ORIGIN_GRID)
    rest = (kind == Translation.REST) | (kind == Translation.SLIDING)
    places = np.where(rest, header.skeleton.offsets, grid * table[:, ORIGIN])
    for j, own in enumerate(hinges):
        if len(own.slides) and table[j, TRANSLATION_KIND] == Translation.STILL:
            way = fine * table[j, ORIGIN][: len(own.slides)] @ own.slides
            turned = rotations.rotate(header.skeleton.rest[j], way)
            places[j] = header.skeleton.offsets[j] + turned
    return places


def _inertia(
    table: I32, header: ClipHeader, still: F64, places: F64, counts: npt.NDArray[np.intp]
) -> F64:
    """Return how far a small turn of each joint moves what it carries: (J, 3, 3), m².

    A joint carries its end sites and those joints that hang on it through joints that do not
    turn; of these, the ones that turn themselves or end a limb count.
    """
    skeleton = header.skeleton
    turning = table[:, ROTATION_KIND] >= Rotation.VECTOR
    inertia = np.tile(2 / 3 * SHELL_RADIUS_M**2 * np.eye(3), (len(table), 1, 1))
    carrier = np.full(len(table), -1)
    offsets, turns = np.zeros((len(table), 3)), still.copy()
    for k, parent in enumerate(skeleton.parents):
        if parent < 0 or table[k, TRANSLATION_KIND] >= Translation.MOVING:
            continue
        if turning[parent]:
            carrier[k], offsets[k] = parent, places[k]
        else:
            carrier[k] = carrier[parent]
            offsets[k] = offsets[parent] + rotations.rotate(turns[parent], places[k])
            turns[k] = rotations.multiply(turns[parent], still[k])
        if carrier[k] >= 0 and (turning[k] or counts[k] == 1):
            inertia[carrier[k]] += float(counts[k]) ** SPREAD * _point_inertia(offsets[k])
    for k, end in zip(skeleton.end_site_joints, skeleton.end_sites, strict=True):
        if turning[k]:
            inertia[k] += _point_inertia(end)
        elif carrier[k] >= 0:
            inertia[carrier[k]] += _point_inertia(offsets[k] + rotations.rotate(turns[k], end))
    return inertia


def _costs(
    table: I32, header: ClipHeader, hinges: list[JointHinges], still: F64, places: F64
) -> tuple[F64, F64]:
    """Return what turns of joints cost (J, 3, 3), m², where there are hinges, and units of shifts.

    Displacement and turn of a joint's frame, ξ, cost ξᵀQξ in squared displacements below it, once
    the joints there have taken back what they can, at the mean pose.
    """
    skeleton, joints = header.skeleton, len(table)
    where, turned = places.copy(), still.copy()
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0:
            where[j] = where[parent] + rotations.rotate(turned[parent], places[j])
            turned[j] = rotations.multiply(turned[parent], still[j])
    ends = zip(skeleton.end_site_joints, skeleton.end_sites, strict=True)
    carried = [[(ORIGIN_WEIGHT, np.zeros(3))] for _ in range(joints)]
    for j in range(joints):
        shell = rotations.rotate(turned[j], SHELL_RADIUS_M * np.eye(3))
        carried[j] += [(SHELL_WEIGHT, point) for point in shell]
    for j, end in ends:
        carried[j].append((END_WEIGHT, rotations.rotate(turned[j], end)))
    costs, inertia, units = np.zeros((joints, 6, 6)), np.zeros((joints, 3, 3)), np.zeros(joints)
    for j in range(joints - 1, -1, -1):
        cost, parent, row = costs[j], skeleton.parents[j], table[j]
        for weight, arm in carried[j]:
            follow = np.concatenate([np.eye(3), _crossed(arm)], axis=1)
            cost += weight * follow.T @ follow
        world = rotations.as_matrix(turned[j])
        inertia[j] = world.T @ cost[3:, 3:] @ world / USUAL_REST
        frame = rotations.multiply(
            turned[parent] if parent >= 0 else rotations.IDENTITY, skeleton.rest[j]
        )
        if row[ROTATION_KIND] == Rotation.HINGE:
            turn = frame
            for axis, angle in zip(hinges[j].turns, MEAN_GRID * row[MEAN], strict=False):
                _take_out(cost, 3, rotations.rotate(turn, axis))
                turn = rotations.multiply(turn, rotations.from_rotvec(angle * axis))
        elif row[ROTATION_KIND] >= Rotation.VECTOR:
            for axis in np.eye(3):
                _take_out(cost, 3, axis)
            cost[3:] = cost[:, 3:] = 0
        units[j] = (np.trace(cost[:3, :3]) / (3 * USUAL_REST)) ** -0.5
        if row[TRANSLATION_KIND] == Translation.SLIDING:
            for axis in hinges[j].slides:
                _take_out(cost, 0, rotations.rotate(frame, axis))
        elif row[TRANSLATION_KIND] == Translation.MOVING:
            for axis in np.eye(3):
                _take_out(cost, 0, axis)
            cost[:3] = cost[:, :3] = 0
        if parent >= 0:
            follow = np.eye(6)
            follow[:3, 3:] = _crossed(where[j] - where[parent])
            costs[parent] += follow.T @ cost @ follow
    return inertia, units


def _crossed(arm: F64) -> F64:
    """Return the matrix of turn → turn × arm."""
    x, y, z = arm
    return np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])


def _take_out(cost: F64, half: int, way: F64) -> None:
    """Let the best move along a way, of the displacement (half 0) or the turn (3), be made."""
    along = cost[:, half : half + 3] @ way
    whole = along[half : half + 3] @ way
    if whole > 0:
        cost -= np.outer(along, along) / whole


def _point_inertia(at: F64) -> F64:
    return np.asarray(at @ at * np.eye(3) - np.outer(at, at))


def _axes(kind: Rotation, basis: F64, inertia: F64) -> F64:
    if kind == Rotation.QUATERNION:
        return np.asarray(0.5 / np.sqrt(np.trace(inertia) / 3) * np.eye(3))
    values, vectors = np.linalg.eigh(inertia)
    turn = rotations.as_matrix(rotations.from_rotvec(basis))
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T @ turn)


def _family(kind: Rotation, joint: int, count: int) -> int:
    if kind == Rotation.QUATERNION:
        return 3 if joint else 2
    return 4 + min(5, (count - 1).bit_length())
