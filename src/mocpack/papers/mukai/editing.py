"""Edit a compressed motion with handles on joints, or by its control points and knots.

>>> import mocpack
>>> from mocpack.testing import walk
>>> spline = open_spline(mocpack.encode(walk(1.0), "latent-spline"))
>>> hand = spline.place("LeftHand", 0.5)
>>> edit = spline.apply_handles([Handle("LeftHand", 0.5, to=hand + (0, 0.1, 0))])
>>> bool(edit.misses[0] < 0.001)
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mocpack import _api
from mocpack.codecs.registry import non_default_params
from mocpack.common.arrays import F64
from mocpack.container import FileContents, pack, unpack
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.model.clip import AnyClip, AnyHeader, Clip, ClipHeader
from mocpack.model.codec_clip import codec_header
from mocpack.model.editing import FALLOFF_S, Edit, costs_of_moving, measure_changes
from mocpack.model.handles import Goal
from mocpack.model.handles import Handle as Handle
from mocpack.papers.mukai.codec import bspline, handles
from mocpack.papers.mukai.codec.latent import SplineModel
from mocpack.papers.mukai.codec.latent_spline import LatentSpline, read_payload, write_payload
from mocpack.papers.mukai.codec.pose_rows import Form, SkeletonForm

LIKENESS = 0.3
ROUNDING = 2.5e-4  # meters; rounding of edited files, fine enough to keep handles in place


@dataclass(frozen=True, eq=False)
class SplineEdit(Edit):
    """An edited motion and its changes, measured on the decoded file."""

    spline: EditableSpline


@dataclass(frozen=True, eq=False)
class EditableSpline:
    """A compressed motion as an editable curve. It is immutable: methods return a new one.

    Attributes
    ----------
    header : ClipHeader or VertexHeader
    codec : LatentSpline
    form : Form
        Representation of poses as rows.
    model : SplineModel
    rounding : float, meters
        Rounding of `pack`.
    """

    header: AnyHeader
    codec: LatentSpline
    form: Form
    model: SplineModel
    rounding: float

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (self.header.frame_count - 1) * self.header.frame_time

    def controls(self) -> F64:
        """Return the control points (K, L), in the space of components."""
        return self.model.controls

    def knots(self) -> F64:
        """Return the inner knots, as times in 0..1."""
        return bspline.inner_knots(self.model.knots, self.model.degree)

    def with_controls(self, controls: npt.ArrayLike) -> EditableSpline:
        """Return the motion with other control points (K, L)."""
        points, shape = np.array(controls, np.float64), self.model.controls.shape
        if points.shape != shape or not np.isfinite(points).all():
            raise UsageError(f"expected finite control points of shape {shape}, got {points.shape}")
        return replace(self, model=replace(self.model, controls=points))

    def with_knots(self, knots: npt.ArrayLike) -> EditableSpline:
        """Return the motion with other inner knots, increasing within 0..1."""
        inner, old = np.array(knots, np.float64), self.knots()
        if inner.shape != old.shape or not ((inner >= 0) & (inner <= 1)).all():
            raise UsageError(f"expected {len(old)} knots within 0..1, got {inner.shape}")
        if (np.diff(inner) < 0).any():
            raise UsageError("knots must not decrease")
        clamped = bspline.clamped(inner, self.model.degree)
        return replace(self, model=replace(self.model, knots=clamped))

    def place(self, joint: str | int, time: float) -> F64:
        """Return the position (3,) of a joint or vertex at a time in seconds, in meters."""
        places, _ = self._world(self.model.evaluate(np.array([self._tau(time)])))
        return np.asarray(places[0, self._index(joint)])

    def apply_handles(
        self,
        pulls: Sequence[Handle],
        *,
        falloff: float = FALLOFF_S,
        keep: Mapping[str | int, float] | None = None,
        contacts: bool = True,
        likeness: float = LIKENESS,
    ) -> SplineEdit:
        """Move joints to their handle targets, and report how far other joints moved.

        Parameters
        ----------
        falloff : float, seconds
            Seconds before and after a handle that change.
        keep : mapping from joints to weights, optional
            Cost of moving some joints; that of others is 1. Not used for vertices.
        contacts : bool
            Whether moving joints that are on the ground at a handle's time costs much more.
        likeness : float
            Cost of a change that the motion's own components cannot express. 0: only the
            limb moves; 10: the body moves as it does elsewhere in the motion.
        """
        if not pulls:
            raise UsageError("expected at least one handle, got none")
        if not (np.isfinite(falloff) and falloff > 0):
            raise UsageError(f"falloff must be positive seconds, got {falloff}")
        if not (np.isfinite(likeness) and likeness >= 0):
            raise UsageError(f"likeness must not be negative, got {likeness}")
        times = sorted({self._tau(pull.time) for pull in pulls})
        groups = [[p for p in pulls if self._tau(p.time) == tau] for tau in times]
        weights = self._weights(times, keep or {}, contacts=contacts)
        changes = [
            self._change(tau, group, weight, likeness)
            for tau, group, weight in zip(times, groups, weights, strict=True)
        ]
        length = max(self.duration, self.header.frame_time)
        model = handles.bent(
            self.model,
            np.array(times),
            np.array(changes),
            falloff=falloff / length,
            frames=self.header.frame_count,
        )
        fine = replace(self, model=model, rounding=min(self.rounding, ROUNDING))
        return self._measure(open_spline(fine.pack()), pulls)

    def clip(self) -> AnyClip:
        """Return the motion at its frames."""
        return _api.decode(self.pack())

    def pack(self) -> bytes:
        """Return a .mocp file; it declares no error, because it has no original."""
        payload = write_payload(self.form, self.model, self.header.frame_count, self.rounding)
        version = self.codec.bitstream_version
        params = non_default_params(replace(self.codec, tolerance=self.rounding))
        return pack(FileContents(self.header, self.codec.codec_id, version, params, payload))

    def _change(self, tau: float, pulls: Sequence[Handle], keep: F64, likeness: float) -> F64:
        """Return the change (M,) of the pose at a time that reaches the handles."""
        row = self.model.evaluate(np.array([tau]))
        places, _ = self._world(row)
        joints = [self._index(pull.joint) for pull in pulls]
        wanted = [p.target(places[0, j]) for p, j in zip(pulls, joints, strict=True)]
        if not isinstance(self.form, SkeletonForm):
            if any(
                place is None or p.rotation is not None
                for p, place in zip(pulls, wanted, strict=True)
            ):
                raise UsageError("a vertex has a position but no rotation; use to or by")
            shifts = np.array([w - places[0, j] for w, j in zip(wanted, joints, strict=True)])
            return handles.vertex_change(self.model.basis, joints, shifts)
        goals = list[Goal]()
        for pull, joint in zip(pulls, joints, strict=True):
            keep[joint] = 0.0
            goals += pull.goals(joint, places[0, joint])
        assert isinstance(self.header, ClipHeader)
        return handles.pose_change(
            self.form,
            self.header,
            row[0],
            goals,
            keep=keep,
            basis=self.model.basis,
            likeness=likeness,
        )

    def _weights(
        self, times: Sequence[float], keep: Mapping[str | int, float], *, contacts: bool
    ) -> list[F64]:
        """Return the cost of moving each joint at each of the times."""
        if not isinstance(self.form, SkeletonForm):
            return [np.zeros(0) for _ in times]
        clip = _api.decode(self.pack())
        frames = np.array(times) * (clip.frame_count - 1)
        return costs_of_moving(clip, frames, keep, contacts=contacts)

    def _measure(self, edited: EditableSpline, pulls: Sequence[Handle]) -> SplineEdit:
        """Compare the decoded edited file with this motion, at frames and at handles."""
        frames = bspline.even_times(self.header.frame_count)
        at = np.array([self._tau(pull.time) for pull in pulls])
        before, after = (s._world(s.model.evaluate(frames))[0] for s in (self, edited))
        (old, _), (new, turns) = (s._world(s.model.evaluate(at)) for s in (self, edited))
        points = [self._index(pull.joint) for pull in pulls]
        found = measure_changes((before, after), (old, new), turns, pulls, points)
        return SplineEdit(**vars(found), spline=edited)

    def _tau(self, time: float) -> float:
        if not 0 <= time <= self.duration + 1e-9:
            raise UsageError(f"time must be in 0..{self.duration:.6g} s, got {time}")
        return float(min(time / max(self.duration, self.header.frame_time), 1.0))

    def _index(self, joint: str | int) -> int:
        if isinstance(self.form, SkeletonForm):
            return self.header.indices([joint])[0]
        count = self.header.point_count
        number = int(joint) if str(joint).isdecimal() else -1
        if not 0 <= number < count:
            raise UsageError(f"a vertex must be an index in 0..{count - 1}, got {joint!r}")
        return number

    def _world(self, rows: F64) -> tuple[F64, F64]:
        """Return places (N, P, 3) and world rotations (N, P, 4) of rows; vertices do not turn."""
        if not isinstance(self.header, ClipHeader) or not isinstance(self.form, SkeletonForm):
            places = rows.reshape(len(rows), -1, 3)
            return places, np.broadcast_to(rotations.IDENTITY, (*places.shape[:2], 4))
        turned, places = self.form.pose(rows)
        return Clip.from_owned_arrays(
            replace(self.header, frame_count=len(rows)), turned, places
        ).world()


def open_spline(source: bytes | str | Path) -> EditableSpline:
    """Open the bytes or the path of a `latent-spline` file for editing."""
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    packed = unpack(data)
    with _api.Motion(data) as motion:
        codec = motion.codec
    if not isinstance(codec, LatentSpline):
        raise UsageError(f"only latent-spline files have handles; this one is {packed.codec_id}")
    if packed.chunks or codec_header(packed.header) is not packed.header:
        raise UsageError(
            "editing supports poses only; this take also holds tracks, scales or other data"
        )
    form, model = read_payload(packed.payload, packed.header)
    if not len(model.basis):
        raise UsageError("this motion is constant, so it has no handles")
    return EditableSpline(packed.header, codec, form, model, codec.tolerance)
