"""Editing a packed motion by its handles: the control points and knots of a `latent-spline` file.

>>> import mocpack
>>> from mocpack.testing import walk
>>> data = mocpack.encode(walk(1.0), "latent-spline:control_points=12")
>>> spline = open_spline(data)
>>> higher = spline.moved(control=6, by=spline.towards(translation=(0, 0.1, 0)))
>>> len(higher.pack()) > 0
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mocpack import _api
from mocpack.clip import AnyClip, AnyHeader, ClipHeader
from mocpack.codecs.latent_spline import bspline
from mocpack.codecs.latent_spline.codec import LatentSpline, read_payload, write_payload
from mocpack.codecs.latent_spline.latent import Band, SplineModel
from mocpack.codecs.latent_spline.pose_rows import Form, SkeletonForm
from mocpack.container import Packed, pack, unpack
from mocpack.errors import UsageError
from mocpack.plain import plain_header
from mocpack.registry import non_default_params

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EditableSpline:
    """A packed motion as a curve with handles; every change gives a new one.

    Attributes
    ----------
    header : ClipHeader or VertexHeader
    codec : LatentSpline
    form : Form
        How poses are written as rows.
    model : SplineModel
    """

    header: AnyHeader
    codec: LatentSpline
    form: Form
    model: SplineModel

    @property
    def controls(self) -> F64:
        """Control points (K, L) in the space of components, of the first band."""
        return self.model.bands[0].controls

    @property
    def knots(self) -> F64:
        """Inner knots, as times in 0..1."""
        return bspline.inner_knots(self.model.bands[0].knots, self.model.degree)

    @property
    def control_times(self) -> F64:
        """Return when each control point matters most, in seconds."""
        knots, degree = self.model.bands[0].knots, self.model.degree
        means = np.array([knots[k + 1 : k + degree + 1].mean() for k in range(len(self.controls))])
        return means * max(self.header.frame_count - 1, 1) * self.header.frame_time

    def with_controls(self, controls: npt.ArrayLike) -> EditableSpline:
        """Return the motion with other control points (K, L)."""
        points = np.array(controls, np.float64)
        if points.shape != self.controls.shape or not np.isfinite(points).all():
            raise UsageError(
                f"expected finite control points of shape {self.controls.shape}, got {points.shape}"
            )
        return self._with_band(replace(self.model.bands[0], controls=points))

    def with_knots(self, knots: npt.ArrayLike) -> EditableSpline:
        """Return the motion with other inner knots, increasing within 0..1."""
        inner = np.array(knots, np.float64)
        if inner.shape != self.knots.shape or not ((inner >= 0) & (inner <= 1)).all():
            raise UsageError(f"expected {len(self.knots)} knots within 0..1, got {inner.shape}")
        if (np.diff(inner) < 0).any():
            raise UsageError("knots must not decrease")
        return self._with_band(
            replace(self.model.bands[0], knots=bspline.clamped(inner, self.model.degree))
        )

    def moved(self, *, control: int, by: npt.ArrayLike) -> EditableSpline:
        """Return the motion with one control point moved by a vector (L,)."""
        points = self.controls.copy()
        points[control] += np.asarray(by, np.float64)
        return self.with_controls(points)

    def towards(self, *, translation: Sequence[float]) -> F64:
        """Return the move (L,) of a control point that shifts the root by metres (x, y, z).

        It is the nearest that the components can express.
        """
        if not isinstance(self.form, SkeletonForm) or not any(self.form.moving):
            raise UsageError("this motion has no root that moves")
        wanted = np.zeros(self.form.width)
        first = self.form.width - 3 * sum(self.form.moving)
        wanted[first : first + 3] = translation
        basis = self.model.basis[: self.controls.shape[1]]
        return np.asarray(np.linalg.lstsq(basis.T, wanted, rcond=None)[0])

    def clip(self) -> AnyClip:
        """Return the motion at its frames."""
        return _api.decode(self.pack())

    def pack(self) -> bytes:
        """Return a .mocp file; it declares no error, since it is a motion of its own."""
        payload = write_payload(
            self.form, self.model, self.header.frame_count, self.codec.tolerance
        )
        version = self.codec.bitstream_version
        params = non_default_params(self.codec)
        return pack(Packed(self.header, self.codec.codec_id, version, params, payload))

    def _with_band(self, band: Band) -> EditableSpline:
        return replace(self, model=replace(self.model, bands=(band, *self.model.bands[1:])))


def open_spline(source: bytes | str | Path) -> EditableSpline:
    """Open the bytes or the path of a `latent-spline` file for editing."""
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    packed = unpack(data)
    with _api.Motion(data) as motion:
        codec = motion.codec
    if not isinstance(codec, LatentSpline):
        raise UsageError(f"only latent-spline files have handles; this one is {packed.codec_id}")
    header = packed.header
    several = isinstance(header, ClipHeader) and plain_header(header) is not header
    if packed.chunks or several:
        raise UsageError("this take holds more than poses (tracks, scales, …), which editing loses")
    form, model = read_payload(packed.payload, packed.header)
    if not model.bands:
        raise UsageError("this motion stands still; it has no handles")
    return EditableSpline(packed.header, codec, form, model)
