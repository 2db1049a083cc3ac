"""Principal components, then a B-spline with free knots in their space (Mukai 2012).

Payload: how each joint is described, the mean, the quantized basis, the knots and the control
points; `docs/codecs/latent-spline.md` has every field.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from mocpack import progress
from mocpack.codec import Codec, Decoder, Payload, Quality
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import decode_plane, encode_plane
from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, InvalidClipError, UnsupportedClipError, convert_errors
from mocpack.model.clip import AnyClip, AnyHeader, Clip, ClipHeader, VertexClip
from mocpack.model.rotations import IDENTITY
from mocpack.papers.mukai.codec import bspline, geodesic, latent
from mocpack.papers.mukai.codec.knots import Start, find_knots
from mocpack.papers.mukai.codec.latent import SplineModel
from mocpack.papers.mukai.codec.pose_rows import Form, SkeletonForm, VertexForm, form_of

KNOT_GRID = 32  # knots lie on multiples of 1/32 of a frame
MAX_COMPONENTS = 65_535
# squared shares of the tolerance, with sum 1: dropped components, spline, rounding
DROPPED, CURVE, ROUNDED_CONTROLS, ROUNDED_BASIS = 0.35, 0.45, 0.12, 0.08


@dataclass(frozen=True)
class LatentSpline(Codec[AnyClip, AnyHeader]):
    """Principal components and a B-spline with free knots (Mukai 2012).

    Parameters
    ----------
    tolerance : float, default 0.005
        Root-mean-square error in meters that components, spline and rounding may make together.
    control_points : int, default 0
        Number of control points, or 0 for the fewest within the tolerance.
    components : int, default 0
        Number of components, or 0 to choose it by `select`.
    select : {"tolerance", "floor", "share"}
        Drop components within the tolerance; below the eigenvalue `amount`; beyond the share
        `amount` of variance.
    amount : float, default 0.99
        For `select` "floor" or "share".
    degree : {2, 3}
        Degree of the spline.
    knots : {"fast", "cma", "uniform"}
        Greedy insertion with gradient refinement; the paper's CMA-ES; evenly spaced.
    start : {"best", "even"}
        Where CMA-ES starts: from the better of greedy insertion and even knots, or from even knots,
        as in the paper.
    candidates : int, default 100
        Candidates per generation of CMA-ES (the paper's S).
    weights : {"kinematic", "none"}
        Scale rotations by how far they move the body, or leave radians as they are.
    seed : int, default 0
        Seed of CMA-ES.
    """

    codec_id = "latent-spline"
    bitstream_version = 1
    decoder_params = ()
    kinds = ("skeleton", "vertices")
    quality: ClassVar[Quality] = Quality("tolerance", 1e-6, 1.0)
    paper_settings = MappingProxyType({"knots": "cma", "start": "even", "weights": "none"})

    tolerance: float = 0.005
    control_points: int = 0
    components: int = 0
    select: Literal["tolerance", "floor", "share"] = "tolerance"
    amount: float = 0.99
    degree: int = 3
    knots: Literal["fast", "cma", "uniform"] = "fast"
    candidates: int = 100
    weights: Literal["kinematic", "none"] = "kinematic"
    seed: int = 0
    start: Start = "best"

    def __post_init__(self) -> None:
        self.check_range("tolerance", 1e-9, 1e3)
        if self.degree not in (2, 3):
            raise ValueError(f"degree must be 2 or 3, got {self.degree}")
        if self.control_points and self.control_points <= self.degree:
            raise ValueError(
                f"control_points must be more than the degree {self.degree}, "
                f"got {self.control_points}"
            )
        self.check_choice("select", ("tolerance", "floor", "share"))
        self.check_choice("knots", ("fast", "cma", "uniform"))
        self.check_choice("weights", ("kinematic", "none"))
        self.check_choice("start", get_args(Start))
        self.check_range("candidates", 4, 10_000)
        self.check_range("components", 0, MAX_COMPONENTS)
        self.check_range("control_points", 0, 2**24)
        if self.select == "share" and not 0 < self.amount <= 1:
            raise ValueError(f"amount must be in 0..1 with select=share, got {self.amount}")

    def encode(self, clip: AnyClip) -> bytes:
        form = form_of(clip, self.weights)
        return write_payload(form, self.fit(form.rows(clip)), clip.frame_count, self.tolerance)

    def decode(self, payload: bytes, header: AnyHeader) -> AnyClip:
        form, model = read_payload(payload, header)
        return _clip(form, model, bspline.even_times(header.frame_count), header)

    def open(self, payload: Payload | bytes, header: AnyHeader) -> LatentSplineDecoder:
        return LatentSplineDecoder(self, payload, header)

    def fit(self, rows: F64) -> SplineModel:
        """Return the model of rows (N, M). It rounds only the knots, as the file does."""
        found = latent.principal_components(rows)
        budget = self.tolerance
        count = self.components
        if not count:
            amount = np.sqrt(DROPPED) * budget if self.select == "tolerance" else self.amount
            count = latent.component_count(found.energies, select=self.select, amount=amount)
        count = min(count, len(found.basis))
        points = np.ascontiguousarray(found.scores[:, :count])
        degree = max(1, min(self.degree, len(rows) - 1))
        if not count:
            return _still(degree, found.mean)
        progress.expect(1)
        with progress.stage():
            searched = self._knots(points, degree, float(np.sqrt(CURVE)) * budget)
        # rounded before the fit, because control points of close knots fit only these knots
        knots = knots_on_grid(searched, degree, len(rows))
        controls = bspline.fit(knots, degree, points)[0]
        return SplineModel(degree, found.mean, found.basis[:count], knots, controls)

    def _knots(self, points: F64, degree: int, target: float) -> F64:
        most = max(len(points), degree + 1)
        count = self.control_points
        if count > most:
            raise UnsupportedClipError(
                f"control_points must be at most the number of frames, {len(points)}, got {count}"
            )
        if not count:
            count = latent.control_count(points, degree, target=target, most=most)
        count = max(count, degree + 1)
        return find_knots(
            points,
            count,
            degree,
            method=self.knots,
            candidates=self.candidates,
            seed=self.seed,
            start=self.start,
        )


class LatentSplineDecoder(Decoder[AnyClip, AnyHeader]):
    """Evaluates the spline at any time."""

    @cached_property
    def _spline(self) -> tuple[Form, SplineModel]:
        return read_payload(self.payload.read_all(), self.header)

    def sample(self, at: float) -> AnyClip:
        last = max(self.header.frame_count - 1, 1)
        share = np.array([min(max(at / last, 0.0), 1.0)])
        return _clip(*self._spline, share, replace(self.header, frame_count=1))


def knots_on_grid(knots: F64, degree: int, frames: int) -> F64:
    """Return the knots as a file of `frames` frames holds them."""
    return _clamped_from_grid(_grid(knots, degree, frames), degree, frames)


def write_payload(form: Form, model: SplineModel, frames: int, tolerance: float) -> bytes:
    """Round the model within `tolerance` and write it."""
    out = FieldWriter()
    _write_form(out, form)
    count = len(model.basis)
    out.u8(model.degree)
    out.varint(count)
    out.raw(model.mean.astype("<f8" if isinstance(form, SkeletonForm) else "<f4").tobytes())
    # the weight of an error in each basis vector is the RMS of its component
    sizes = np.sqrt(np.mean(model.latent(bspline.even_times(frames)) ** 2, axis=0))
    step = float(np.float32(tolerance * np.sqrt(ROUNDED_BASIS * 12 / max(count * form.width, 1))))
    exponents = np.rint(np.log2(step / np.maximum(sizes, step))).astype(int).clip(-60, 0)
    out.f32(step)
    for exponent in exponents:
        out.u8(-int(exponent))
    steps = 2.0**exponents
    numbers = np.rint(model.basis / steps[:, np.newaxis]).astype(np.int64)
    out.sized(encode_plane(numbers.T, np.minimum(np.arange(count), 31)))
    rounding = float(np.float32(tolerance * np.sqrt(ROUNDED_CONTROLS * 12 / max(count, 1))))
    out.f32(rounding)
    out.varint(int(count > 0))
    if count:
        _write_spline(out, model, frames, rounding)
    return out.bytes()


def read_payload(payload: bytes, header: AnyHeader) -> tuple[Form, SplineModel]:
    """Read what `write_payload` wrote."""
    read = FieldReader(payload, "latent-spline payload")
    form = _read_form(read, header)
    degree = read.u8()
    if not 1 <= degree <= 3:
        raise CorruptionError(
            f"latent-spline payload: degree must be 2 or 3, got {degree} (file is corrupt)"
        )
    count = read.varint(min(MAX_COMPONENTS, max(header.frame_count, 1)))
    wide = isinstance(form, SkeletonForm)
    mean = np.frombuffer(read.raw((8 if wide else 4) * form.width), "<f8" if wide else "<f4")
    read.f32()
    exponents = np.frombuffer(read.raw(count), np.uint8)
    if (exponents > 60).any():
        raise CorruptionError(
            "latent-spline payload: quantizer step is out of range (file is corrupt)"
        )
    classes = np.minimum(np.arange(count), 31)
    numbers = decode_plane(read.sized(), form.width, count, classes)
    basis = numbers.T * 2.0 ** -exponents.astype(np.float64)[:, np.newaxis]
    rounding = read.f32()
    if not (np.isfinite(mean).all() and np.isfinite(rounding) and rounding > 0):
        raise CorruptionError("latent-spline payload: numbers must be finite (file is corrupt)")
    if read.varint(1) != (count > 0):
        raise CorruptionError(
            "latent-spline payload: components and spline have different sizes (file is corrupt)"
        )
    model = _still(degree, mean.astype(np.float64))
    if count:
        knots, controls = _read_spline(read, degree, header, rounding, count)
        model = replace(model, basis=np.ascontiguousarray(basis), knots=knots, controls=controls)
    read.end()
    return form, model


def _still(degree: int, mean: F64) -> SplineModel:
    """Return the model of rows that do not change."""
    knots = bspline.uniform_knots(degree + 1, degree)
    return SplineModel(degree, mean, np.zeros((0, len(mean))), knots, np.zeros((degree + 1, 0)))


def _write_spline(out: FieldWriter, model: SplineModel, frames: int, rounding: float) -> None:
    grid = _grid(model.knots, model.degree, frames)
    out.varint(model.controls.shape[0])
    out.varint(model.controls.shape[1])
    out.sized(encode_plane(np.diff(grid, prepend=0)[:, np.newaxis]))
    numbers = np.rint(model.controls / rounding).astype(np.int64)
    differences = np.diff(numbers, axis=0, prepend=np.zeros((1, numbers.shape[1]), np.int64))
    out.sized(encode_plane(differences, np.minimum(np.arange(numbers.shape[1]), 31)))


def _read_spline(
    read: FieldReader, degree: int, header: AnyHeader, rounding: float, components: int
) -> tuple[F64, F64]:
    """Return knots and control points."""
    controls = read.varint(max(header.frame_count, degree + 1))
    columns = read.varint(MAX_COMPONENTS)
    if controls <= degree or columns != components:
        raise CorruptionError(
            f"latent-spline payload: {controls} control points of {columns} components do not fit "
            f"degree {degree} and {components} components"
        )
    steps = decode_plane(read.sized(), controls - degree - 1, 1)[:, 0].astype(np.int64)
    knots = _clamped_from_grid(np.cumsum(steps), degree, header.frame_count)
    if (steps < 0).any() or (knots > 1).any():
        raise CorruptionError("latent-spline payload: knots must not decrease (file is corrupt)")
    classes = np.minimum(np.arange(columns), 31)
    numbers = decode_plane(read.sized(), controls, columns, classes).astype(np.int64)
    return knots, np.asarray(np.cumsum(numbers, axis=0) * rounding, np.float64)


def _grid(knots: F64, degree: int, frames: int) -> npt.NDArray[np.int64]:
    inner = bspline.inner_knots(knots, degree)
    return np.rint(inner * max(frames - 1, 1) * KNOT_GRID).astype(np.int64)


def _clamped_from_grid(grid: npt.NDArray[np.int64], degree: int, frames: int) -> F64:
    return bspline.clamped(grid / (max(frames - 1, 1) * KNOT_GRID), degree)


def _write_form(out: FieldWriter, form: Form) -> None:
    if isinstance(form, VertexForm):
        return
    for kind, mean, lever in zip(form.kinds, form.means, form.levers, strict=True):
        out.u8(kind)
        if kind == geodesic.CONSTANT:
            out.raw(mean.astype("<f8").tobytes())
        if kind == geodesic.TANGENT:
            out.raw(mean.astype("<f4").tobytes())
        if kind != geodesic.CONSTANT:
            out.f32(float(lever))
    for moves, place in zip(form.moving, form.places, strict=True):
        out.u8(int(moves))
        if not moves:
            out.raw(place.astype("<f8").tobytes())


def _read_form(read: FieldReader, header: AnyHeader) -> Form:
    if not isinstance(header, ClipHeader):
        return VertexForm(header.vertex_count)
    joints, moved = len(header.skeleton), len(header.translated_joints)
    kinds, means, arms = [], np.tile(IDENTITY, (joints, 1)), np.ones(joints)
    for j in range(joints):
        kind = read.u8()
        if kind > geodesic.QUATERNION:
            raise CorruptionError(f"latent-spline payload: unknown kind of joint {kind}")
        kinds.append(kind)
        if kind != geodesic.QUATERNION:
            wide = kind == geodesic.CONSTANT
            means[j] = np.frombuffer(read.raw(32 if wide else 16), "<f8" if wide else "<f4")
        if kind != geodesic.CONSTANT:
            arms[j] = read.f32()
    lengths = np.linalg.norm(means, axis=1)
    if not (np.abs(lengths - 1) < 1e-3).all() or not (np.isfinite(arms) & (arms > 0)).all():
        raise CorruptionError(
            "latent-spline payload: means must be unit quaternions and levers positive (file "
            "is corrupt)"
        )
    # written as float32; normalized here exactly as the encoder does
    means = means / lengths[:, np.newaxis]
    moving, places = [], np.zeros((moved, 3))
    for m in range(moved):
        moving.append(bool(read.u8()))
        if not moving[-1]:
            places[m] = np.frombuffer(read.raw(24), "<f8")
    return SkeletonForm(tuple(kinds), means, arms, tuple(moving), places)


def _clip(form: Form, model: SplineModel, times: F64, header: AnyHeader) -> AnyClip:
    rejected = convert_errors(InvalidClipError, "latent-spline payload")
    # numbers of a corrupt file may overflow; the clip then rejects the result
    with rejected, np.errstate(all="ignore"):
        rows = model.evaluate(times)
        if isinstance(header, ClipHeader):
            assert isinstance(form, SkeletonForm)
            return Clip.from_owned_arrays(header, *form.pose(rows))
        return VertexClip(header, rows.reshape(len(rows), -1, 3))
