"""The matrix of degrees of freedom: frames × channels, a view of a clip with an exact way back.

Columns follow the skeleton's channels: positions in metres, Euler angles in radians, unwrapped,
each on the branch nearest to the frame before. Joints with one or two axes keep just those.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mocpack import _core, rotations
from mocpack.arrays import F64, I32
from mocpack.clip import Clip, ClipHeader
from mocpack.errors import UnsupportedClipError
from mocpack.skeleton import Skeleton, position_axes

MAX_LOST_ANGLE_RAD = (
    1e-6  # radians of rotation that a joint's channels cannot express before we refuse
)
MAX_LOST_LENGTH_M = 1e-6  # metres, likewise


def dof_names(skeleton: Skeleton) -> list[str]:
    """Return the name of each column: ``Hips.Xposition``, ``Hips.Zrotation``, …"""
    pairs = zip(skeleton.names, skeleton.channels, strict=True)
    return [f"{name}.{channel}" for name, channels in pairs for channel in channels]


def to_dofs(clip: Clip) -> F64:
    """Return the matrix of degrees of freedom, shape (T, C).

    A clip that still has its source's numbers gives those; any other gives the Euler angles of
    its rotations.

    Raises
    ------
    UnsupportedClipError
        If a joint moves in a way that its channels cannot say.
    """
    if clip.channels is None:
        matrix = np.empty((clip.frame_count, clip.skeleton.channel_count))
        moving, start = {j: m for m, j in enumerate(clip.translated_joints)}, 0
        for j, channels in enumerate(clip.skeleton.channels):
            given = [start + k for _, k in position_axes(channels)]
            matrix[:, given] = _position_channels(clip, j, moving.get(j))
            start += len(channels)
    else:
        matrix = clip.channels * _unit_scales(clip.header)
    for order, joints, columns in _by_order(clip.skeleton):
        own = clip.channels is not None
        angles = matrix[:, columns] if own else _angles(clip, order, joints)
        matrix[:, columns] = rotations.unwrap_euler(angles)
    return matrix


def from_dofs(matrix: F64, header: ClipHeader, *, channels: F64 | None = None) -> Clip:
    """Return the clip of a matrix of degrees of freedom; `to_dofs` inverts it."""
    matrix = np.ascontiguousarray(matrix, np.float64)
    skeleton = header.skeleton
    local = _core.channels_to_rotations(*skeleton.euler_columns, skeleton.axes, matrix)
    return Clip(header, local, _translations(matrix, header), channels)


def from_channels(numbers: F64, header: ClipHeader) -> Clip:
    """Return the clip of a source's own numbers (its units, degrees), kept along with it."""
    return from_dofs(numbers * _unit_scales(header), header, channels=numbers)


def to_channels(clip: Clip) -> F64:
    """Return the numbers to write to a file of the source's kind: its units, degrees."""
    if clip.channels is not None:
        return clip.channels
    return to_dofs(clip) / _unit_scales(clip.header)


def moving_dofs(matrix: F64) -> npt.NDArray[np.bool_]:
    """Return which columns move at all."""
    return np.asarray(np.ptp(matrix, axis=0) > 0)


def select_coded_dofs(matrix: F64) -> npt.NDArray[np.bool_]:
    """Return which columns to code: those that move, and the first whether it moves or not.

    So the payload grows with the frames even of a still clip, and decoders can hold what is
    announced against what is there.
    """
    moving = moving_dofs(matrix)
    moving[:1] = True
    return moving


def _unit_scales(header: ClipHeader) -> F64:
    return np.where(header.skeleton.columns.is_angle, np.pi / 180, header.unit)


def _translations(matrix: F64, header: ClipHeader) -> F64:
    """Return the translations (T, M, 3) that the position channels of the columns give."""
    skeleton, translated = header.skeleton, list(header.translated_joints)
    joints, axes, is_angle, is_asf = skeleton.columns
    rows = np.full(len(skeleton), -1)
    rows[translated] = np.arange(len(translated))
    rows = rows[joints]
    used = ~is_angle & (rows >= 0)
    places = np.tile(skeleton.offsets[translated], (len(matrix), 1, 1))
    put, added = used & ~is_asf, used & is_asf
    places[:, rows[put], axes[put]] = matrix[:, put]
    if added.any():
        shifts = np.zeros_like(places)
        shifts[:, rows[added], axes[added]] = matrix[:, added]
        places += rotations.rotate(skeleton.axes[translated], shifts)
    return places


def _by_order(skeleton: Skeleton) -> Iterator[tuple[str, npt.NDArray[np.intp], I32]]:
    """Yield each order of rotation channels with the joints that have it and their columns."""
    axes, columns = skeleton.euler_columns
    for order in np.unique(axes, axis=0):
        joints = np.flatnonzero((axes == order).all(axis=1))
        letters = "".join(map("XYZ".__getitem__, order[order >= 0]))
        yield letters, joints, columns[joints, : len(letters)]


def _angles(clip: Clip, order: str, joints: npt.NDArray[np.intp]) -> F64:
    """Return the Euler angles (T, n, len(order)) of n joints about the axes that they have."""
    axes = clip.skeleton.axes[joints]
    local = clip.rotations[:, joints]
    if not (axes == rotations.IDENTITY).all():
        local = rotations.multiply(rotations.multiply(rotations.conjugate(axes), local), axes)
    angles = rotations.as_euler(local, order) if order else np.empty((*local.shape[:-1], 0))
    lost = rotations.angle_between(rotations.from_euler(angles, order), local).max(axis=0)
    worst = int(np.argmax(lost))
    if lost[worst] > MAX_LOST_ANGLE_RAD:
        name = clip.skeleton.names[joints[worst]]
        raise UnsupportedClipError(
            f"joint {name!r} turns {np.degrees(lost[worst]):.3g} degrees about axes "
            f"that it has no channel for; it has {order or 'none'}"
        )
    return angles


def _position_channels(clip: Clip, j: int, translated: int | None) -> F64:
    """Return the positions (T, n) of a joint as its position channels give them.

    `translated` is where the joint stands among the translated ones, None for one at rest.
    """
    skeleton = clip.skeleton
    if translated is None:
        place = np.tile(skeleton.offsets[j], (clip.frame_count, 1))
    else:
        place = clip.translations[:, translated]
    shift = place - skeleton.offsets[j]
    if adds_to_offset(skeleton.channels[j]):
        place = shift = rotations.rotate(rotations.conjugate(skeleton.axes[j]), shift)
    given = [axis for axis, _ in position_axes(skeleton.channels[j])]
    lost = np.abs(np.delete(shift, given, axis=1)).max(initial=0.0)
    if lost > MAX_LOST_LENGTH_M:
        raise UnsupportedClipError(
            f"joint {skeleton.names[j]!r} moves {lost:.3g} m where it has no position channel"
        )
    return place[:, given]


def adds_to_offset(channels: tuple[str, ...]) -> bool:
    """ASF's tx ty tz move a joint from its rest place, in its axis frame; BVH's replace it."""
    return any(name.startswith("t") for name in channels)
