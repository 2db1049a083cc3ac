"""The SKEL chunk: joint names, hierarchy, offsets and channels, stored exactly.

Offsets are decimal fractions in nearly every source, so they are stored as integer multiples of
10^-digits source units, which restores them bit for bit.
"""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.coding.fields import FieldWriter, deflate
from mocpack.common.arrays import F64
from mocpack.model.rotations import IDENTITY, as_euler
from mocpack.model.skeleton import POSITION_CHANNELS, ROTATION_CHANNELS, Skeleton

# common units by index; 255 means that the unit's length follows
UNITS = (1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45)
OTHER_UNIT = 255
CHANNELS = POSITION_CHANNELS + ROTATION_CHANNELS
MAX_DIGITS = 9
AS_FLOATS = 255  # instead of the number of digits
NO_AXES, AXES_AS_FLOATS, AXES_AS_ANGLES = 0, 1, 2
# the dictionary is part of the format, so it can never change
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
    out.indices(translated_joints)
    out.indices(skeleton.end_site_joints)
    if unit in UNITS:
        out.u8(UNITS.index(unit))
    else:
        out.u8(OTHER_UNIT)
        out.f64(unit)
    _pack_points(out, np.concatenate([skeleton.offsets, skeleton.end_sites]), unit)
    _pack_axes(out, skeleton.axes)
    return deflate(out.bytes(), dictionary=DICTIONARY)


def _pack_layouts(out: FieldWriter, skeleton: Skeleton) -> None:
    """Append each distinct channel layout, then the index of each joint's layout."""
    layouts = list(dict.fromkeys(skeleton.channels))
    out.varint(len(layouts))
    for layout in layouts:
        out.sized(bytes(CHANNELS.index(c) for c in layout))
    for channels in skeleton.channels:
        out.varint(layouts.index(channels))


def _pack_points(out: FieldWriter, points: F64, unit: float) -> None:
    digits = _decimal_digits(points, unit)
    if digits is None:
        out.u8(AS_FLOATS)
        out.raw(points.astype("<f8").tobytes())
        return
    out.u8(digits)
    for value in np.rint(points / unit * 10.0**digits).astype(np.int64).ravel():
        out.signed(int(value))


def _pack_axes(out: FieldWriter, axes: F64) -> None:
    """Append no axes, Euler angles as decimal fractions of a degree, or quaternions."""
    if (axes == IDENTITY).all():
        out.u8(NO_AXES)
        return
    degrees = np.degrees(as_euler(axes, "ZYX"))
    for digits in range(MAX_DIGITS + 1):
        steps = np.rint(degrees * 10.0**digits)
        if np.array_equal(_core.axis_frames(steps / 10.0**digits), axes):
            out.u8(AXES_AS_ANGLES)
            out.u8(digits)
            for value in steps.astype(np.int64).ravel():
                out.signed(int(value))
            return
    out.u8(AXES_AS_FLOATS)
    out.raw(axes.astype("<f8").tobytes())


def _decimal_digits(points: F64, unit: float) -> int | None:
    """Return the fewest decimal digits that restore `points` bit for bit, or None."""
    for digits in range(MAX_DIGITS + 1):
        values = np.rint(points / unit * 10.0**digits)
        if (np.abs(values) < 2**53).all() and np.array_equal(values / 10.0**digits * unit, points):
            return digits
    return None
