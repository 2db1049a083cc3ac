"""HumanML3D features of windows.

They depend on the whole clip: its lowest point is the floor, its first frame faces +z, and the
heading is smoothed over eight seconds. A window is therefore a part of the clip's features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mocpack.common.arrays import F32
from mocpack.errors import UsageError
from mocpack.io import humanml3d
from mocpack.model.clip import ClipHeader

NAME = "humanml3d"
FRAME_TOLERANCE = 1e-6  # fraction of a frame, for rounding of times


class ClipFeatures:
    """The features of whole clips; keeps those of the last clip for its next window."""

    width = humanml3d.WIDTH

    def __init__(self, header: ClipHeader) -> None:
        names = list(header.skeleton.names)
        missing = [name for name in humanml3d.JOINT_NAMES if name not in names]
        if missing:
            raise UsageError(
                f"feature {NAME!r} needs the joints of SMPL; the clips do not have "
                f"{', '.join(missing)}"
            )
        self._joints = [names.index(name) for name in humanml3d.JOINT_NAMES]
        self._joint_count = len(names)
        self._last: tuple[tuple[tuple[int, bool], int] | None, F32] = (
            None,
            np.empty((0, self.width), np.float32),
        )

    def write(
        self,
        clip: tuple[int, bool],
        start: int,
        step: float,
        frames: int,
        write_positions: Callable[[int, F32], None],
        out: F32,
    ) -> None:
        """Write the features of the window that starts at a frame of a clip to `out` (rows, 263).

        `write_positions` writes joint positions, `step` frames apart, from a first frame on.
        """
        first, before = _first_frame(start, step)
        last, features = self._last
        if last != (clip, first):
            count = int((frames - 1 - first) / step + FRAME_TOLERANCE) + 1
            positions = np.empty((count, 3 * self._joint_count), np.float32)
            write_positions(first, positions)
            joints = positions.reshape(count, self._joint_count, 3)[:, self._joints]
            features = humanml3d.compute_features(joints.astype(np.float64)).astype(np.float32)
            self._last = (clip, first), features
        out[:] = features[before : before + len(out)]


def check_features(features: Sequence[str], *, root_relative: bool) -> None:
    """Raise if HumanML3D features are combined with what they do not support."""
    if len(features) > 1:
        raise UsageError(f"feature {NAME!r} must be the only one, got {', '.join(features)}")
    if root_relative:
        raise UsageError(f"feature {NAME!r} is relative to the root already; omit root_relative")


def _first_frame(start: int, step: float) -> tuple[int, int]:
    """Return the first frame that is a whole number of steps before `start`, and that number."""
    for before in range(int(start / step + FRAME_TOLERANCE), 0, -1):
        first = start - before * step
        if abs(first - round(first)) < FRAME_TOLERANCE:
            return round(first), before
    return start, 0
