"""The HEAD chunk: frame count, frame time, codec, parameters and errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from mocpack.coding.fields import FieldWriter
from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject, pack_object
from mocpack.container.numbers import pack_short

KINDS = ("skeleton", "vertices")
HAS_DECLARED, HAS_MEASURED, HAS_NEEDED, HAS_ANGLE = 1, 2, 4, 8
MAX_PARAMS = 65_536


@dataclass(frozen=True, eq=False)
class JointErrors:
    """The bounds and measured errors of each joint, shape (J,) each, in meters and radians.

    Attributes
    ----------
    declared, max : array
        The error bound of each joint and its largest error. In a file, joints with the same bounds
        share the largest error of all of them.
    declared_angle, max_angle : array
        The same of angles; a bound of 0 for joints without one.
    """

    declared: F64
    max: F64
    declared_angle: F64
    max_angle: F64

    @property
    def worst(self) -> int:
        """The joint that uses most of its bound on errors."""
        return int((self.max / self.declared).argmax())

    def groups(self) -> list[tuple[float, float, float, float, list[int]]]:
        """Return bound, error, angle bound, angle error and joints of all that share bounds."""
        bounds = np.stack([self.declared, self.declared_angle], axis=1)
        distinct, group_of = np.unique(bounds, axis=0, return_inverse=True)
        found = []
        for group, (bound, angle) in enumerate(distinct):
            joints = np.flatnonzero(group_of.ravel() == group)
            errors = float(self.max[joints].max()), float(self.max_angle[joints].max())
            found.append((float(bound), errors[0], float(angle), errors[1], joints.tolist()))
        return sorted(found, key=lambda one: -len(one[-1]))


@dataclass(frozen=True)
class Errors:
    """The error bounds and measured errors of a file, in meters and radians.

    Attributes
    ----------
    declared : float or None
        The bound on the promised error.
    max, mean, rms, p99 : float or None
        Measured by the encoder with the real decoder: the promised error, then mean, root mean
        square and 99th percentile over joint centers. Stored to 0.07 %, rounded up.
    declared_angle, max_angle : float or None
        The bound on joint angle errors and the measured maximum; both or none.
    joints : JointErrors or None
        The bounds of each joint if they differ; `declared` is then the largest of them.
    """

    declared: float | None = None
    max: float | None = None
    mean: float | None = None
    rms: float | None = None
    p99: float | None = None
    declared_angle: float | None = None
    max_angle: float | None = None
    joints: JointErrors | None = field(default=None, kw_only=True)


def pack_head(
    kind: str,
    frame_count: int,
    frame_time: float,
    codec_id: str,
    bitstream_version: int,
    params: JsonObject,
    errors: Errors,
    needed: frozenset[str] = frozenset(),
) -> bytes:
    """Return the HEAD chunk; `needed` are the parameters that decoding needs."""
    out = FieldWriter()
    out.u8(KINDS.index(kind))
    out.varint(frame_count)
    pack_short(out, frame_time)
    out.sized(codec_id.encode("ascii"))
    out.varint(bitstream_version)
    own = {k: v for k, v in params.items() if k in needed}
    out.sized(_pack_params({k: v for k, v in params.items() if k not in needed}))
    _pack_errors(out, errors, HAS_NEEDED * bool(own))
    if own:
        out.sized(_pack_params(own))
    return out.bytes()


def _pack_params(params: JsonObject) -> bytes:
    return pack_object(params, "parameters", MAX_PARAMS) if params else b""


def _pack_errors(out: FieldWriter, errors: Errors, flags: int) -> None:
    measured = (errors.max, errors.mean, errors.rms, errors.p99)
    out.u8(
        flags
        + HAS_DECLARED * (errors.declared is not None)
        + HAS_MEASURED * all(e is not None for e in measured)
        + HAS_ANGLE * (errors.declared_angle is not None)
    )
    if errors.declared is not None:
        out.f32(errors.declared)
    if all(e is not None for e in measured):
        for error in measured:
            out.u16(_to_log(error or 0.0))
    if errors.declared_angle is not None:
        out.f32(errors.declared_angle)
        out.u16(_to_log(errors.max_angle or 0.0))


def pack_joint_bounds(joints: JointErrors) -> bytes:
    """Return the `bnds` chunk, with bounds ordered by the number of joints that have them."""
    out = FieldWriter()
    has_angles = bool(joints.declared_angle.any())
    groups = joints.groups()
    out.u8(has_angles)
    out.varint(len(groups))
    for i, (bound, error, angle, angle_error, members) in enumerate(groups):
        out.f32(bound)
        out.u16(_to_log(error))
        if has_angles:
            out.f32(angle)
            out.u16(_to_log(angle_error))
        if i:
            out.indices(members)
    return out.bytes()


def _to_log(size: float) -> int:
    """Return ceil(1024·log2(size / 1e-12)) of a length or angle; 0 for sizes below 1e-12."""
    if size < 1e-12:
        return 0
    return min(max(math.ceil(1024 * math.log2(size / 1e-12) - 1e-9), 1), 65_535)
