"""The plan of a clip as a row of integers per joint: its tracks and their channels.

The native core builds the tracks from it (`keysine/format/plan.cpp`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64, I32
from mocpack.model.skeleton import Skeleton

MEAN_GRID = 0.125  # radians
AXES_BITS = 12
AXES_GRID = 0.5**AXES_BITS  # radians, of the turns of axes
ORIGIN_GRID = 1.0  # meters
STEPS = 64
UNIT_STEP = 8  # index of the step that is the unit itself


class Rotation(IntEnum):
    """How a joint's rotation is stored."""

    REST = 0  # the identity
    STILL = 1  # the same in all frames
    VECTOR = 2  # three channels: a rotation vector about the mean
    QUATERNION = 3  # four channels
    HINGE = 4  # a channel for each axis that the joint turns about


CHANNELS = {Rotation.VECTOR: 3, Rotation.QUATERNION: 4}


class Translation(IntEnum):
    """How a joint's translation is stored."""

    REST = 0  # the skeleton's offset
    STILL = 1
    MOVING = 2  # three channels
    SLIDING = 3  # a channel for each axis that the joint slides along


# columns of the plan, a row for each joint
ROTATION_KIND, TRANSLATION_KIND = 0, 1
MEAN, BASIS, ORIGIN = slice(2, 5), slice(5, 8), slice(9, 12)
ROTATION_KEY_STEP, TRANSLATION_KEY_STEP = 8, 12
HELD = 13  # bit i: the joint's hinge i, slides before turns, is held within its limits
SHARES_REFERENCE = 14  # 1: the rotation has the reference of the rotation above
COLUMNS = 15


@dataclass(frozen=True)
class JointHinges:
    """The axes (S, 3) that a joint slides along and those (N, 3) it turns about; their limits."""

    slides: F64
    turns: F64
    slide_limits: F64
    turn_limits: F64


NO_HINGES = JointHinges(*(np.zeros((0, n)) for n in (3, 3, 2, 2)))


def hinges_of(skeleton: Skeleton) -> list[JointHinges]:
    """Return the hinges of every joint."""
    found = [NO_HINGES] * len(skeleton)
    if skeleton.hinges is not None:
        axes, slides = skeleton.hinges.axes, skeleton.hinges.slides
        limits = skeleton.hinges.limits
        for joint, rows in skeleton.hinges.rows_by_joint():
            sliding, turning = ([h for h in rows if slides[h] == s] for s in (True, False))
            found[joint] = JointHinges(
                axes[sliding], axes[turning], limits[sliding], limits[turning]
            )
    return found


def track_widths(table: I32, skeleton: Skeleton) -> list[int]:
    """Return how many channels each track has, in their order."""
    widths: list[int] = []
    for row, hinges in zip(table, hinges_of(skeleton), strict=True):
        if row[TRANSLATION_KIND] >= Translation.MOVING:
            sliding = row[TRANSLATION_KIND] == Translation.SLIDING
            widths.append(len(hinges.slides) if sliding else 3)
        if row[ROTATION_KIND] >= Rotation.VECTOR:
            kind = Rotation(row[ROTATION_KIND])
            widths.append(len(hinges.turns) if kind == Rotation.HINGE else CHANNELS[kind])
    return widths


def first_channels(table: I32, skeleton: Skeleton) -> npt.NDArray[np.intp]:
    """Return for each channel the first one of its track, from the plan (J, 15)."""
    widths = track_widths(table, skeleton)
    return np.repeat(np.cumsum([0, *widths])[:-1], widths).astype(np.intp)
