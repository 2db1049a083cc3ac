"""Convert clips to a matrix of degrees of freedom (frames × channels) and back exactly.

Columns follow the channels of the skeleton: positions in meters, Euler angles in radians, unwrapped
over time. Joints with one or two rotation axes have just those columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import F64, I32
from mocpack.errors import UnsupportedClipError
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.skeleton import Skeleton, position_axes

MAX_LOST_ANGLE_RAD = 1e-6  # rotation that the channels of a joint cannot express
MAX_LOST_LENGTH_M = 1e-6  # translation that the channels of a joint cannot express


def to_dofs(clip: Clip, *, unwrap: bool = True) -> F64:
    """Return the matrix of degrees of freedom, shape (T, C).

    The numbers of the source are used if the clip has them, otherwise the Euler angles of its
    rotations. Without `unwrap`, angles of the source stay as they are.

    Raises
    ------
    UnsupportedClipError
        If the channels of a joint cannot express its motion.
    """
    if clip.channels is None:
        matrix = np.empty((clip.frame_count, clip.skeleton.channel_count))
        moving, start = {j: m for m, j in enumerate(clip.translated_joints)}, 0
        for j, channels in enumerate(clip.skeleton.channels):
            given = [start + k for _, k in position_axes(channels)]
            if given or j in moving:
                matrix[:, given] = _position_channels(clip, j, moving.get(j))
            start += len(channels)
    else:
        matrix = clip.channels * _unit_scales(clip.header)
    for order, joints, columns in _by_order(clip.skeleton):
        own = clip.channels is not None
        if own and not unwrap:
            continue
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
    """Return the clip of the numbers of a source (its units, degrees), and keep them in it."""
    return from_dofs(numbers * _unit_scales(header), header, channels=numbers)


def to_channels(clip: Clip) -> F64:
    """Return the numbers for a file of the source's format: its units, degrees."""
    if clip.channels is not None:
        return clip.channels
    return to_dofs(clip) / _unit_scales(clip.header)


def moving_dofs(matrix: F64) -> npt.NDArray[np.bool_]:
    """Return which columns are not constant."""
    return np.asarray(np.ptp(matrix, axis=0) > 0)


def select_coded_dofs(matrix: F64) -> npt.NDArray[np.bool_]:
    """Return which columns to code: those that move, and always the first.

    The payload of a motionless clip then grows with its frames, so decoders can check the frame
    count against the size of the payload.
    """
    moving = moving_dofs(matrix)
    moving[:1] = True
    return moving


def _unit_scales(header: ClipHeader) -> F64:
    return np.where(header.skeleton.columns.is_angle, np.pi / 180, header.unit)


def _translations(matrix: F64, header: ClipHeader) -> F64:
    """Return the translations (T, M, 3) from the position columns."""
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
    """Yield each Euler order with its joints and their columns."""
    axes, columns = skeleton.euler_columns
    for order in np.unique(axes, axis=0):
        joints = np.flatnonzero((axes == order).all(axis=1))
        letters = "".join(map("XYZ".__getitem__, order[order >= 0]))
        yield letters, joints, columns[joints, : len(letters)]


def _angles(clip: Clip, order: str, joints: npt.NDArray[np.intp]) -> F64:
    """Return the Euler angles (T, n, len(order)) of n joints with the same order."""
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
            f"joint {name!r} rotates {np.degrees(lost[worst]):.3g} degrees about axes "
            f"without a channel; its rotation channels are {order or 'none'}"
        )
    return angles


def _position_channels(clip: Clip, j: int, translated: int | None) -> F64:
    """Return the values (T, n) of the position channels of a joint.

    `translated` is its index among the translated joints, None if it is not translated.
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
            f"joint {skeleton.names[j]!r} moves {lost:.3g} m along axes without a position channel"
        )
    return place[:, given]


def adds_to_offset(channels: tuple[str, ...]) -> bool:
    """Return whether position channels are relative to the rest position (ASF), not absolute."""
    return any(name.startswith("t") for name in channels)
