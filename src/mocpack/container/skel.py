"""The SKEL chunk: names, tree, offsets and channels, small and exact.

Offsets are decimal fractions in nearly every source, so they are stored as whole numbers of
10^-digits source units and come back bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container.indices import pack_indices, unpack_indices
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.rotations import IDENTITY, as_euler, from_euler
from mocpack.skeleton import (
    MAX_END_SITES,
    MAX_JOINTS,
    MAX_NAME,
    POSITION_CHANNELS,
    ROTATION_CHANNELS,
    Skeleton,
)

# the most common units, by number; 255 says that the length itself follows
UNITS = (1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45)
OTHER_UNIT = 255
CHANNELS = POSITION_CHANNELS + ROTATION_CHANNELS
MAX_DIGITS = 9
AS_FLOATS = 255  # in place of the number of digits
# what `Skeleton` and `ClipHeader` take, checked field by field: where a chunk is wrong in two ways,
# every reader reports the first
FARTHEST = 1e6  # metres
MIN_UNIT, MAX_UNIT = 1e-9, 1e9  # metres
UNIT_TOLERANCE = 1.1e-5  # of a quaternion's length
NO_AXES, AXES_AS_FLOATS, AXES_AS_ANGLES = 0, 1, 2
MAX_SKELETON = 1 << 24  # bytes, inflated
SKELETONS_KEPT = 256
MOST_KEPT = 1 << 13  # bytes, inflated, of a skeleton that is kept: a hostile one does not stay
Skeletal = tuple[Skeleton, tuple[int, ...], float]
# note: the dictionary is part of the format, so it can never change
DICTIONARY = (
    b"Thumb1Thumb2Thumb3Index1Index2Index3Middle1Middle2Middle3Ring1Ring2Ring3Pinky1Pinky2Pinky3"
    b"lclavicle\x08lhumerus\x07lradius\x06lwrist\x05lhand\x08lfingers\x06lthumb"
    b"rclavicle\x08rhumerus\x07rradius\x06rwrist\x05rhand\x08rfingers\x06rthumb"
    b"\x04root\x09lhipjoint\x06lfemur\x06ltibia\x05lfoot\x05ltoes\x09rhipjoint\x06rfemur\x06rtibia"
    b"\x05rfoot\x05rtoes\x09lowerback\x09upperback\x06thorax\x09lowerneck\x09upperneck\x04head"
    b"\x08UpperLeg\x08LowerLeg\x08UpperArm\x08LowerArm\x05Chest\x08Shoulder\x04Hand\x04Foot\x04Toes_L_R"
    b"\x04Hips\x09LHipJoint\x09LeftUpLeg\x07LeftLeg\x08LeftFoot\x0bLeftToeBase"
    b"\x09RHipJoint\x0aRightUpLeg\x08RightLeg\x09RightFoot\x0cRightToeBase"
    b"\x09LowerBack\x05Spine\x06Spine1\x06Spine2\x04Neck\x05Neck1\x04Head"
    b"\x0cLeftShoulder\x07LeftArm\x0bLeftForeArm\x08LeftHand\x0eLeftFingerBase\x10LeftHandIndex1"
    b"\x06LThumb\x0dRightShoulder\x08RightArm\x0cRightForeArm\x09RightHand\x0fRightFingerBase"
    b"\x11RightHandIndex1\x06RThumb"
)


def pack_skeleton(skeleton: Skeleton, translated_joints: tuple[int, ...], unit: float) -> bytes:
    out = FieldWriter()
    out.varint(len(skeleton))
    for name in skeleton.names:
        out.sized(name.encode())
    for j, parent in enumerate(skeleton.parents[1:], 1):
        out.varint(j - 1 - parent)
    _pack_layouts(out, skeleton)
    pack_indices(out, translated_joints)
    pack_indices(out, skeleton.end_site_joints)
    if unit in UNITS:
        out.u8(UNITS.index(unit))
    else:
        out.u8(OTHER_UNIT)
        out.f64(unit)
    _pack_points(out, np.concatenate([skeleton.offsets, skeleton.end_sites]), unit)
    _pack_axes(out, skeleton.axes)
    return deflate(out.bytes(), dictionary=DICTIONARY)


def unpack_skeleton(body: bytes) -> Skeletal:
    """Return the skeleton, the joints that are translated, and the unit in metres.

    Those used last are kept: the clips of an archive share them, and making one takes longer than
    decoding a window.
    """
    text = inflate(body, MAX_SKELETON, dictionary=DICTIONARY, what="SKEL chunk")
    return _kept(text) if len(text) <= MOST_KEPT else _unpacked(text)


def _unpacked(text: bytes) -> Skeletal:
    read = FieldReader(text, "SKEL chunk")
    joints = read.varint(MAX_JOINTS)
    if joints < 1:
        raise CorruptionError("SKEL chunk: a skeleton has at least one joint")
    try:
        names = [read.sized(MAX_NAME).decode() for _ in range(joints)]
    except UnicodeDecodeError as error:
        raise CorruptionError("SKEL chunk: a name is not UTF-8") from error
    # one more than all joints before is a root
    parents = [-1, *(j - 1 - read.varint(j) for j in range(1, joints))]
    channels = _unpack_layouts(read, joints)
    translated = unpack_indices(read, "SKEL chunk", joints)
    end_joints = unpack_indices(read, "SKEL chunk", joints, MAX_END_SITES, repeats=True)
    unit = _unpack_unit(read)
    points = _unpack_points(read, joints + len(end_joints), unit)
    axes = _unpack_axes(read, joints)
    read.end()
    try:
        skeleton = Skeleton(
            tuple(names),
            tuple(parents),
            points[:joints],
            points[joints:],
            end_joints,
            channels,
            axes,
        )
    except InvalidClipError as error:
        raise CorruptionError(f"SKEL chunk: {error}") from error
    return skeleton, translated, unit


_kept = lru_cache(SKELETONS_KEPT)(_unpacked)


def _pack_layouts(out: FieldWriter, skeleton: Skeleton) -> None:
    """Each different channel layout once, then its number for each joint."""
    layouts = list(dict.fromkeys(skeleton.channels))
    out.varint(len(layouts))
    for layout in layouts:
        out.sized(bytes(CHANNELS.index(c) for c in layout))
    for channels in skeleton.channels:
        out.varint(layouts.index(channels))


def _unpack_layouts(read: FieldReader, joints: int) -> tuple[tuple[str, ...], ...]:
    layouts = []
    for _ in range(read.varint(joints)):
        codes = read.sized(len(CHANNELS))
        if any(c >= len(CHANNELS) for c in codes) or len(set(codes)) < len(codes):
            raise CorruptionError("SKEL chunk: a channel is unknown or stands twice")
        layouts.append(tuple(CHANNELS[c] for c in codes))
    if not layouts:
        raise CorruptionError("SKEL chunk: no layout of channels")
    mixed = [len({channel[0] in "rt" for channel in layout}) > 1 for layout in layouts]
    found = []
    for _ in range(joints):
        number = read.varint(len(layouts) - 1)
        if mixed[number]:
            raise CorruptionError("SKEL chunk: a layout mixes the channels of two formats")
        found.append(layouts[number])
    return tuple(found)


def _unpack_unit(read: FieldReader) -> float:
    code = read.u8()
    if code == OTHER_UNIT:
        unit = read.f64()
        if not MIN_UNIT <= unit <= MAX_UNIT:
            raise CorruptionError(f"SKEL chunk: a unit of {unit} m")
        return unit
    if code >= len(UNITS):
        raise CorruptionError(f"SKEL chunk: unknown unit {code}")
    return UNITS[code]


def _pack_points(out: FieldWriter, points: F64, unit: float) -> None:
    digits = _decimal_digits(points, unit)
    if digits is None:
        out.u8(AS_FLOATS)
        out.raw(points.astype("<f8").tobytes())
        return
    out.u8(digits)
    for value in np.rint(points / unit * 10.0**digits).astype(np.int64).ravel():
        out.signed(int(value))


def _unpack_points(read: FieldReader, count: int, unit: float) -> F64:
    digits = read.u8()
    if digits == AS_FLOATS:
        return _unpack_floats(read, 3 * count, 1, _are_near).reshape(count, 3)
    if digits > MAX_DIGITS:
        raise CorruptionError(f"SKEL chunk: {digits} digits where at most {MAX_DIGITS} can stand")
    values = np.array([_near(read.signed() / 10.0**digits * unit) for _ in range(3 * count)])
    return values.reshape(count, 3)


def _unpack_floats(
    read: FieldReader, rows: int, columns: int, are_good: Callable[[F64], Any]
) -> F64:
    """Return floats (rows, columns); those before an early end are checked, too."""
    whole = min(rows, read.left // (8 * columns))
    found = np.frombuffer(read.raw(8 * columns * whole), "<f8").reshape(whole, columns)
    if not np.all(are_good(found)):
        raise CorruptionError("SKEL chunk: points that are not near, or axes that are no rotations")
    read.raw(8 * columns * (rows - whole))
    return found


def _are_near(points: F64) -> Any:
    return np.abs(points) <= FARTHEST


def _are_unit(axes: F64) -> Any:
    return np.abs(np.linalg.norm(axes, axis=1) - 1) <= UNIT_TOLERANCE


def _near(value: float) -> float:
    if not abs(value) <= FARTHEST:
        raise CorruptionError(f"SKEL chunk: a point at {value} m")
    return value


def _pack_axes(out: FieldWriter, axes: F64) -> None:
    """Write nothing, angles in decimal fractions of a degree, or the quaternions themselves."""
    if (axes == IDENTITY).all():
        out.u8(NO_AXES)
        return
    degrees = np.degrees(as_euler(axes, "ZYX"))
    for digits in range(MAX_DIGITS + 1):
        steps = np.rint(degrees * 10.0**digits)
        if np.array_equal(_axes_of(steps, digits), axes):
            out.u8(AXES_AS_ANGLES)
            out.u8(digits)
            for value in steps.astype(np.int64).ravel():
                out.signed(int(value))
            return
    out.u8(AXES_AS_FLOATS)
    out.raw(axes.astype("<f8").tobytes())


def _unpack_axes(read: FieldReader, joints: int) -> F64:
    kind = read.u8()
    if kind == NO_AXES:
        return np.tile(IDENTITY, (joints, 1))
    if kind == AXES_AS_FLOATS:
        return _unpack_floats(read, joints, 4, _are_unit)
    if kind != AXES_AS_ANGLES:
        raise CorruptionError(f"SKEL chunk: unknown kind of axes {kind}")
    digits = read.u8()
    if digits > MAX_DIGITS:
        raise CorruptionError(f"SKEL chunk: {digits} digits where at most {MAX_DIGITS} can stand")
    values = np.array([read.signed() for _ in range(3 * joints)], np.float64)
    return _axes_of(values.reshape(joints, 3), digits)


def _axes_of(steps: F64, digits: int) -> F64:
    """Return the quaternions of angles about z, y and x in steps of 10^-digits degrees."""
    return from_euler(np.radians(steps / 10.0**digits), "ZYX")


def _decimal_digits(points: F64, unit: float) -> int | None:
    """Return the fewest digits that give `points` back bit for bit, if there are any."""
    for digits in range(MAX_DIGITS + 1):
        values = np.rint(points / unit * 10.0**digits)
        if (np.abs(values) < 2**53).all() and np.array_equal(values / 10.0**digits * unit, points):
            return digits
    return None
