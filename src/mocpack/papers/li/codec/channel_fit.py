"""Convert world rotations of bodies to a clip whose joints keep to the axes of their channels."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.skeleton import Skeleton, rotation_order
from mocpack.papers.li.codec.bodies import Bodies, Still


def clip_of_bodies(
    header: ClipHeader, still: Still, bodies: Bodies, world: F64, slides: F64
) -> Clip:
    """Return the clip whose bodies have these world rotations (T, B, 4).

    A joint with fewer than three rotation channels turns as near to its world rotation as they
    let it; what hangs on it keeps its own.
    """
    local = np.tile(still.rotations, (len(world), 1, 1))
    reached = world.copy()
    for b, j in enumerate(bodies.joints):
        base = np.broadcast_to(rotations.IDENTITY, (len(world), 4))
        if b:
            base = rotations.multiply(reached[:, bodies.parents[b]], bodies.frames[b])
        turn = rotations.multiply(rotations.conjugate(base), world[:, b])
        local[:, j] = fit_channels(turn, header.skeleton, int(j))
        # normalize, because rounding errors would double from joint to joint
        reached[:, b] = rotations.normalize(rotations.multiply(base, local[:, j]))
    places = np.tile(still.places, (len(world), 1, 1))
    places[:, ~still.translations] = slides
    return Clip(header, local, places)


def fit_channels(local: F64, skeleton: Skeleton, joint: int) -> F64:
    """Return the rotations nearest to `local` (T, 4) that the joint's channels can express."""
    order, _ = rotation_order(skeleton.channels[joint])
    if len(order) == 3:
        return local
    if not order:
        return np.tile(rotations.IDENTITY, (len(local), 1))
    axis = skeleton.axes[joint]
    turned = rotations.multiply(rotations.multiply(rotations.conjugate(axis), local), axis)
    fitted = rotations.from_euler(rotations.as_euler(turned, order), order)
    return rotations.multiply(rotations.multiply(axis, fitted), rotations.conjugate(axis))
