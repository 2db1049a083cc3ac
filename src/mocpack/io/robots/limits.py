"""Check a motion against the joint limits of its robot.

Columns in a wrong order and degrees in place of radians give plausible motion. Most of them put
joints far outside their limits, which real motion does not.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64, Mask
from mocpack.common.choice import list_names
from mocpack.errors import CorruptionError
from mocpack.io.robots.model import Robot
from mocpack.model.clip import Clip
from mocpack.model.hinges import Hinges

# Recorded and retargeted motion exceeds limits by less, or in fewer frames.
TOLERANCE_RAD, TOLERANCE_M = 0.1, 0.01
MAX_FRAME_SHARE = 0.1


def find_outside(hinges: Hinges, angles: F64) -> tuple[F64, Mask]:
    """Return by how much angles (T, H) exceed the limits, and which of them are outside.

    Full turns do not count. Joints without limits are never outside.
    """
    turns = np.round((angles - np.clip(angles, *hinges.limits.T)) / (2 * np.pi))
    angles = np.where(hinges.slides, angles, angles - 2 * np.pi * turns)
    excess = np.abs(angles - np.clip(angles, *hinges.limits.T))
    return excess, excess > np.where(hinges.slides, TOLERANCE_M, TOLERANCE_RAD)


def check_limits(clip: Clip, robot: Robot) -> None:
    """Raise if joints are outside their limits in more than `MAX_FRAME_SHARE` of the frames."""
    hinges = robot.hinges
    excess, is_outside = find_outside(hinges, clip.hinge_angles(measure_off_axis=False).angles)
    share = float(is_outside.any(axis=1).mean())
    if share <= MAX_FRAME_SHARE:
        return
    worst = int(excess.max(axis=0).argmax())
    named = [hinges.names[h] for h in np.flatnonzero(is_outside.any(axis=0))]
    unit = "m" if hinges.slides[worst] else "rad"
    raise CorruptionError(
        f"{len(named)} of {len(hinges)} joints are outside the limits of the robot {robot.name!r} "
        f"in {share:.1%} of the frames: {list_names(named)}; the farthest is "
        f"{hinges.names[worst]!r} by {excess[:, worst].max():.3g} {unit}. Check the order and the "
        "unit of the angles; --ignore-limits (ignore_limits=True in Python) reads them anyway"
    )
