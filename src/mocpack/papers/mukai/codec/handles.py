"""Handles: move a joint or vertex to a position at a time, and change little else.

Solves two least-squares problems. In space: the smallest change of the pose that moves the joint
exactly to its target (`mocpack.model.handles`); changes within the motion's principal components
are preferred. In time: the change of control points whose curve is nearest to that
change under a falloff, and equal to it at the handle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.units import format_length
from mocpack.errors import UsageError
from mocpack.model.clip import ClipHeader
from mocpack.model.handles import CHANGE_WEIGHT, TOLERANCE, Goal, solve_constrained, solve_pose
from mocpack.model.kinematics import forward_kinematics
from mocpack.papers.mukai.codec import bspline
from mocpack.papers.mukai.codec.latent import SplineModel
from mocpack.papers.mukai.codec.latent_spline import knots_on_grid
from mocpack.papers.mukai.codec.pose_rows import SkeletonForm


def pose_change(
    form: SkeletonForm,
    header: ClipHeader,
    row: F64,
    goals: Sequence[Goal],
    *,
    keep: F64,
    basis: F64,
    likeness: float,
) -> F64:
    """Return the change (M,) of a pose's row that reaches every goal.

    Parameters
    ----------
    row : array, shape (M,)
    keep : array, shape (J,)
        Cost of moving each joint.
    basis : array, shape (L, M)
        The motion's components.
    likeness : float
        Cost of a change outside the components.
    """
    outside = np.eye(len(row)) - np.linalg.pinv(basis) @ basis if len(basis) else np.eye(len(row))
    return solve_pose(
        lambda rows: _world(form, header, rows),
        row,
        goals,
        header.skeleton.names,
        weights=keep,
        cost=CHANGE_WEIGHT**2 * np.eye(len(row)) + likeness**2 * outside,
        scales=form.scales,
    )


def vertex_change(basis: F64, vertices: Sequence[int], shifts: F64) -> F64:
    """Return the smallest change (M,) that components (L, M) can express and that moves vertices.

    `shifts` (H, 3) are the displacements in meters.
    """
    columns = (3 * np.array(vertices)[:, np.newaxis] + np.arange(3)).ravel()
    wanted = shifts.ravel()
    found = np.linalg.lstsq(basis[:, columns].T, wanted, rcond=None)[0]
    miss = float(np.abs(found @ basis[:, columns] - wanted).max())
    if miss > TOLERANCE:
        raise UsageError(
            f"{len(basis)} components cannot move these vertices there: {format_length(miss)} "
            "remain; encode with a smaller tolerance, or use fewer handles at the same time"
        )
    return np.asarray(found @ basis)


def bent(
    model: SplineModel, times: F64, changes: F64, *, falloff: float, frames: int
) -> SplineModel:
    """Return the model with its rows changed by `changes` (G, M) at times (G,) in [0, 1].

    `falloff`, in the same unit, is how far to either side of a time the change reaches. A change
    that the components cannot express adds one.
    """
    model = _with_room(model, changes)
    scores = np.asarray(np.linalg.lstsq(model.basis.T, changes.T, rcond=None)[0].T, np.float64)
    at = bspline.even_times(frames)
    away = np.abs(at[:, np.newaxis] - times) / max(falloff, 1e-12)
    fade = np.where(away < 1, 0.5 + 0.5 * np.cos(np.pi * np.minimum(away, 1)), 0.0)
    model = _denser(model, times, falloff, frames)
    moved = _control_change(model.knots, model.degree, at, times, fade, scores)
    return replace(model, controls=model.controls + moved)


def _control_change(knots: F64, degree: int, at: F64, times: F64, fade: F64, scores: F64) -> F64:
    """Return the change of control points (K, L): near the faded scores, exact at `times`."""
    over = bspline.basis(knots, degree, at)
    through = bspline.basis(knots, degree, times)
    square = over.T @ over
    square += 1e-9 * max(float(np.trace(square)), 1e-12) * np.eye(len(square))
    return solve_constrained(square, over.T @ (fade @ scores), through, scores)


def _denser(model: SplineModel, times: F64, falloff: float, frames: int) -> SplineModel:
    """Return the same curve with knots near each time, so that a change there can fade out."""
    degree, old = model.degree, bspline.inner_knots(model.knots, model.degree)
    new = (times[:, np.newaxis] + falloff * np.linspace(-1.75, 1.75, 15)).ravel()
    near = np.abs(new[:, np.newaxis] - np.concatenate([[0.0], old, [1.0]])).min(axis=1)
    new = np.unique(new[(new > 0) & (new < 1) & (near > falloff / 8)])
    inner = np.sort(np.concatenate([old, new]))
    if len(inner) + degree + 1 > frames:
        return model  # a file has no more control points than frames
    knots = knots_on_grid(bspline.clamped(inner, degree), degree, frames)
    # sampling the old curve at as many points as there are control points determines it
    at = np.array([knots[k + 1 : k + degree + 1].mean() for k in range(len(inner) + degree + 1)])
    curve = bspline.evaluate(model.knots, degree, at, model.controls)
    points = np.linalg.lstsq(bspline.basis(knots, degree, at), curve, rcond=None)[0]
    return replace(model, knots=knots, controls=np.asarray(points, np.float64))


def _with_room(model: SplineModel, changes: F64) -> SplineModel:
    """Return the model with an additional component for each change outside its components."""
    basis = model.basis
    for change in changes:
        inside = np.linalg.lstsq(basis.T, change, rcond=None)[0] @ basis if len(basis) else 0.0
        beyond = change - inside
        length = float(np.linalg.norm(beyond))
        if length > TOLERANCE:
            basis = np.concatenate([basis, beyond[np.newaxis] / length])
    added = len(basis) - len(model.basis)
    controls = np.concatenate([model.controls, np.zeros((len(model.controls), added))], axis=1)
    return replace(model, basis=basis, controls=controls)


def _world(form: SkeletonForm, header: ClipHeader, rows: F64) -> tuple[F64, F64]:
    turned, translations = form.pose(rows)
    return forward_kinematics(header.skeleton, turned, translations, header.translated_joints)
