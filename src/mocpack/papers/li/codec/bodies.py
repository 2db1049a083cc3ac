"""The moving parts of a skeleton: rotating joints with the joints rigidly attached to them.

Many skeletons have joints that never turn (hip and shoulder helpers, finger tips). A body is a
joint that turns and the still joints below it: one bone with a direction, a length and points
attached to it. Codecs that work on bones in the world work on bodies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64, I32, Mask
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.kinematics import SHELL_RADIUS_M
from mocpack.model.skeleton import Skeleton, rotation_order

NO_LENGTH = 1e-4  # meters; a shorter bone gives no direction
ALONG = 1e-9  # meters from the bone's axis; twist does not move nearer points
STILL_TURN = 1e-9  # radians
STILL_PLACE = 1e-12  # meters


@dataclass(frozen=True, eq=False)
class Still:
    """The constant rotations and translations of a clip.

    Parameters
    ----------
    joints : array of bool, shape (J,)
        Joints whose local rotation is the same in every frame; never the root.
    rotations : array, shape (J, 4)
        That rotation; the identity for rotating joints.
    translations : array of bool, shape (M,)
        Translated joints whose translation is the same in every frame.
    places : array, shape (M, 3)
        That translation; the rest offset for moving joints.
    """

    joints: Mask
    rotations: F64
    translations: Mask
    places: F64


def find_still(clip: Clip) -> Still:
    """Find the constant rotations and translations of a clip."""
    sliding = np.ptp(clip.translations, axis=0).max(axis=-1, initial=0.0) > STILL_PLACE
    joints = rotations.angle_between(clip.rotations, clip.rotations[:1]).max(axis=0) <= STILL_TURN
    joints[0] = False
    joints[[j for j, moves in zip(clip.translated_joints, sliding, strict=True) if moves]] = False
    sliding[[j == 0 for j in clip.translated_joints]] = True  # the root always moves
    return Still(
        joints,
        np.where(joints[:, np.newaxis], clip.rotations[0], rotations.IDENTITY),
        ~sliding,
        np.where(sliding[:, np.newaxis], rest_places(clip.header), clip.translations[0]),
    )


@dataclass(frozen=True, eq=False)
class Bodies:
    """The moving parts, parents before children; the root's body is the first.

    Attributes
    ----------
    joints : array, shape (B,)
        The joint that rotates each body.
    parents : array, shape (B,)
        The parent body; -1 for the first.
    frames : array, shape (B, 4)
        From the parent body's frame to the one in which the joint's local rotation is given.
    attachments : array, shape (B, 3)
        Where the joint sits in its parent body's frame; of one that slides, from where its
        translation is counted.
    slides : array, shape (B,)
        Which of the sliding translations moves it, in the order of the joints; else -1.
    axes, lengths : arrays, shapes (B, 3) and (B,)
        The bone: unit direction and length; a body without one has length 0.
    tips : array, shape (B,)
        The body that the bone ends at; -1 if it ends in a still joint or an end site.
    levers, twist_levers : arrays, shape (B,)
        Maximum distance of points from the joint and from the bone's axis, at least 3 cm.
    twist_places : array of bool, shape (B,)
        Whether twist moves any point; otherwise the body's direction determines all positions.
    owners : array, shape (J,)
        The body each joint belongs to.
    """

    joints: I32
    parents: I32
    frames: F64
    attachments: F64
    slides: I32
    axes: F64
    lengths: F64
    tips: I32
    levers: F64
    twist_levers: F64
    twist_places: Mask
    owners: I32

    def __len__(self) -> int:
        return len(self.joints)

    def world(self, clip: Clip) -> tuple[F64, F64]:
        """Return world positions (T, B, 3) and rotations (T, B, 4) of the bodies of a clip."""
        positions, world = clip.world()
        return positions[:, self.joints], world[:, self.joints]

    def place(self, b: int, positions: F64, world: F64, slides: F64) -> F64:
        """Return the position (T, 3) of body `b`, from those of its parent.

        `slides` (T, K, 3) are the translations of the sliding joints.
        """
        where = np.broadcast_to(self.attachments[b], (len(world), 3))
        if self.slides[b] >= 0:
            where = where + rotations.rotate(self.frames[b], slides[:, self.slides[b]])
        parent = self.parents[b]
        if parent < 0:
            return where
        return positions[:, parent] + rotations.rotate(world[:, parent], where)


def find_bodies(header: ClipHeader, still: Still) -> Bodies:
    """Group the joints of a skeleton into bodies."""
    skeleton = header.skeleton
    heads = np.flatnonzero(~still.joints).astype(np.int32)
    places, frames, owners, origins = _in_bodies(header, still)
    parents = np.array([owners[skeleton.parents[j]] if j else -1 for j in heads], np.int32)
    moving = [j for j, s in zip(header.translated_joints, still.translations, strict=True) if not s]
    slides = np.array([moving.index(j) if j in moving else -1 for j in heads.tolist()], np.int32)
    base = [frames[skeleton.parents[j]] if j else rotations.IDENTITY for j in heads]
    hanging = np.where(slides < 0, parents, -2)  # sliding joints define no bone
    axes, lengths, tips = _bones(skeleton, heads, hanging, places, frames, owners)
    levers, twist_levers, twisted = _levers(skeleton, heads, axes, places, frames, owners)
    carriers = np.array([max(skeleton.parents[j], 0) for j in heads])
    attachments = np.where(slides[:, np.newaxis] < 0, places[heads], origins[carriers])
    few = np.array([len(rotation_order(skeleton.channels[j])[0]) < 3 for j in heads])
    # coarse or missing twist would affect joints that slide or have few rotation axes
    twisted |= few
    twisted[parents[(few | (slides >= 0)) & (parents >= 0)]] = True
    for b in np.flatnonzero(few & (parents >= 0)):
        twist_levers[parents[b]] = max(twist_levers[parents[b]], levers[b])
    return Bodies(
        heads,
        parents,
        np.array(base),
        attachments,
        slides,
        axes,
        lengths,
        tips,
        levers,
        twist_levers,
        twisted,
        owners,
    )


def rest_places(header: ClipHeader) -> F64:
    """Return the rest offsets (M, 3) of the translated joints."""
    return header.skeleton.offsets[list(header.translated_joints)].reshape(-1, 3)


def _in_bodies(header: ClipHeader, still: Still) -> tuple[F64, F64, I32, F64]:
    """Return of each joint: its place in its parent's body; its frame in its body, its body, and
    its place in that."""
    skeleton = header.skeleton
    count = len(skeleton)
    offsets = skeleton.offsets.copy()
    offsets[list(header.translated_joints)] = still.places
    places, frames = offsets, np.tile(rotations.IDENTITY, (count, 1))
    owners = np.zeros(count, np.int32)
    owners[~still.joints] = np.arange(count - int(still.joints.sum()))
    origin = np.zeros((count, 3))  # of each joint, in its own body
    for j in range(1, count):
        parent = skeleton.parents[j]
        places[j] = origin[parent] + rotations.rotate(frames[parent], offsets[j])
        if still.joints[j]:
            owners[j], origin[j] = owners[parent], places[j]
            frames[j] = rotations.multiply(frames[parent], still.rotations[j])
    return places, frames, owners, origin


def _bones(
    skeleton: Skeleton, heads: I32, parents: I32, places: F64, frames: F64, owners: I32
) -> tuple[F64, F64, I32]:
    """Return axis, length and tip of each body: towards its longest limb, or its farthest point."""
    axes, lengths = np.tile([0.0, 1.0, 0.0], (len(heads), 1)), np.zeros(len(heads))
    tips = np.full(len(heads), -1, np.int32)
    reach = np.zeros(len(heads))
    points = _points(skeleton, heads, places, frames, owners)
    for b in range(len(heads) - 1, -1, -1):
        children = np.flatnonzero(parents == b)
        distances = np.linalg.norm(places[heads[children]], axis=1)
        ends = points[b]
        reach[b] = max([0.0, *(distances + reach[children]), *np.linalg.norm(ends, axis=1)])
        far = children[distances > NO_LENGTH]
        if len(far):
            tips[b] = far[np.argmax(reach[far] + distances[distances > NO_LENGTH])]
            bone = places[heads[tips[b]]]
        elif len(ends):
            bone = ends[np.argmax(np.linalg.norm(ends, axis=1))]
        else:
            continue
        if np.linalg.norm(bone) > NO_LENGTH:
            lengths[b] = np.linalg.norm(bone)
            axes[b] = bone / lengths[b]
    return axes, lengths, tips


def _levers(
    skeleton: Skeleton, heads: I32, axes: F64, places: F64, frames: F64, owners: I32
) -> tuple[F64, F64, Mask]:
    """Return levers, twist levers and whether any point is off the axis, for each body."""
    levers, twist_levers = np.full((2, len(heads)), SHELL_RADIUS_M)
    twisted = np.zeros(len(heads), bool)
    points = _points(skeleton, heads, places, frames, owners)
    for j in heads[1:]:
        b = owners[skeleton.parents[j]]
        points[b] = np.concatenate([points[b], places[j][np.newaxis]])
    for b, ends in enumerate(points):
        across = np.linalg.norm(np.cross(ends, axes[b]), axis=1)
        levers[b] = max(SHELL_RADIUS_M, np.linalg.norm(ends, axis=1).max(initial=0.0))
        twist_levers[b] = max(SHELL_RADIUS_M, across.max(initial=0.0))
        twisted[b] = across.max(initial=0.0) > ALONG
    return levers, twist_levers, twisted


def _points(skeleton: Skeleton, heads: I32, places: F64, frames: F64, owners: I32) -> list[F64]:
    """Return the still joints and end sites of each body, in its frame."""
    points: list[list[F64]] = [[] for _ in heads]
    origin = places.copy()
    origin[heads] = 0.0
    for j in sorted(set(range(len(skeleton))) - set(heads.tolist())):
        points[owners[j]].append(places[j])
    for site, j in zip(skeleton.end_sites, skeleton.end_site_joints, strict=True):
        points[owners[j]].append(origin[j] + rotations.rotate(frames[j], site))
    return [np.array(some).reshape(-1, 3) for some in points]
