"""The HEAD chunk: frame count, frame time, codec, parameters and errors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject, pack_object

KINDS = ("skeleton", "vertices")
NOT_STATED = -1.0  # an error, for the core
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
    own = {k: v for k, v in params.items() if k in needed}
    others = {k: v for k, v in params.items() if k not in needed}

    def stated(error: float | None) -> float:
        return NOT_STATED if error is None else error

    return _core.pack_head(
        KINDS.index(kind) > 0,
        frame_count,
        frame_time,
        codec_id.encode("ascii"),
        bitstream_version,
        _pack_params(others),
        _pack_params(own),
        (
            stated(errors.declared),
            stated(errors.max),
            stated(errors.mean),
            stated(errors.rms),
            stated(errors.p99),
            stated(errors.declared_angle),
            errors.max_angle or 0.0,
        ),
    )


def _pack_params(params: JsonObject) -> bytes:
    return pack_object(params, "parameters", MAX_PARAMS) if params else b""


def pack_joint_bounds(joints: JointErrors) -> bytes:
    """Return the `bnds` chunk."""
    return _core.pack_joint_bounds(
        joints.declared, joints.max, joints.declared_angle, joints.max_angle
    )
