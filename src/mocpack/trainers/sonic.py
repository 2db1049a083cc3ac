"""The motion library of SONIC (GR00T-WholeBodyControl), which also reads archives.

In `gear_sonic/envs/manager_env/mdp/commands.py`, import this module in place of `motion_lib_robot`:
``from mocpack.trainers import sonic as motion_lib_robot``. Then `motion_file` may be an archive.
SONIC still samples, resamples and differentiates the clips itself; they come from memory, in 144
bytes per frame of a G1, and not from a pickle per clip. Importing this module imports SONIC.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from gear_sonic.utils.motion_lib import motion_lib_base, motion_lib_robot

from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.trainers.library import MotionLibrary, MotionState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mocpack.common.arrays import F64, AnyArray

__all__ = ["MotionLibRobot"]
SUFFIX = ".mocps"
NOTHING = MotionState(*[None] * 7)


class MotionLibRobot(motion_lib_robot.MotionLibRobot):
    """SONIC's library; clips of an archive are decoded once, on all cores."""

    def load_data(self, motion_file: str) -> None:
        if not str(motion_file).endswith(SUFFIX):
            super().load_data(motion_file)
            return
        with _read_instead(archive_clips(motion_file)):
            super().load_data(motion_file)


def archive_clips(path: str) -> dict[str, dict[str, AnyArray | float]]:
    """Return the clips of an archive by name, as SONIC's pickles hold them."""
    library = MotionLibrary(path, "cpu")
    if len(library.joint_names) != 1:
        raise UsageError(f"SONIC needs clips of one robot, got {len(library.joint_names)} robots")
    axes = library.joint_axes[0]
    return {name: _Clip(library, clip, axes) for clip, name in enumerate(library.names)}


class _Clip(dict[str, "AnyArray | float"]):
    """The arrays of a clip, computed when they are read: SONIC reads each in every reload."""

    def __init__(self, library: MotionLibrary, clip: int, axes: F64) -> None:
        super().__init__(fps=float(library.frame_rates[clip]))
        self._library, self._clip, self._axes = library, clip, axes

    def __missing__(self, name: str) -> AnyArray:
        frames, bodies = int(self._library.frame_counts[self._clip]), self._library.body_count
        positions = np.empty((frames, bodies, 3), np.float32)
        turns = np.empty((frames, bodies, 4), np.float32)
        angles = np.empty((frames, len(self._axes)), np.float32)
        out = NOTHING._replace(positions=positions, rotations=turns, angles=angles)
        self._library.frames(np.full(frames, self._clip), np.arange(frames), out=out)
        root = rotations.as_rotvec(turns[:, :1].astype(np.float64))
        vectors = np.concatenate([root, angles[..., np.newaxis] * self._axes], axis=1)
        return {
            "root_trans_offset": positions[:, 0],
            "root_rot": turns[:, 0],
            "dof": angles,
            "pose_aa": vectors.astype(np.float32),
        }[name]


@contextmanager
def _read_instead(clips: dict[str, dict[str, AnyArray | float]]) -> Iterator[None]:
    """Give these clips to SONIC where it reads a pickle of all clips; it filters them by name."""
    joblib = motion_lib_base.joblib
    read = joblib.load
    joblib.load = lambda path: clips
    try:
        yield
    finally:
        joblib.load = read
