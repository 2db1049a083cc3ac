"""Constraint frames and joints: where a motion has to be kept more exactly than elsewhere."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from mocpack.codecs.kinematic.bodies import Bodies
from mocpack.errors import UsageError
from mocpack.skeleton import Skeleton

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

EFFECTOR = re.compile(r"hand|wrist|palm|foot|toe|ankle|heel|paw|hoof", re.IGNORECASE)


def effectors(skeleton: Skeleton) -> list[int]:
    """Return the joints that touch the world: hands and feet by name, else the tree's leaves."""
    named = [j for j, name in enumerate(skeleton.names) if EFFECTOR.search(name)]
    parents = set(skeleton.parents)
    return named or [j for j in range(len(skeleton)) if j not in parents]


def given_frames(text: str, frame_count: int) -> Mask:
    """Return which frames (T,) a text such as ``100:160;300:320`` names, half-open."""
    mask = np.zeros(frame_count, bool)
    for item in text.split(";"):
        start, colon, stop = item.partition(":")
        try:
            first, last = int(start or 0), int(stop or frame_count)
        except ValueError:
            colon = ""
        if not colon or not 0 <= first < last:
            raise UsageError(f"write frames as first:stop;first:stop, got {item!r}")
        mask[first:last] = True
    return mask


def on_the_way(joint_frames: Mask, joints: list[int], skeleton: Skeleton, bodies: Bodies) -> Mask:
    """Return the frames (T, B) in which each body carries a joint that has to be exact.

    `joint_frames` (T, len(joints)) says when each of `joints` has to be. All that lies between it
    and the root moves it.
    """
    mask = np.zeros((len(joint_frames), len(bodies)), bool)
    for column, joint in enumerate(joints):
        parent = skeleton.parents[joint]
        carriers = skeleton.with_ancestors([parent]) if parent >= 0 else [0]
        for b in set(bodies.owners[carriers].tolist()):
            mask[:, b] |= joint_frames[:, column]
    return mask
