"""Lagrangian equalization: scales each degree of freedom by how much the error feels it.

After L. Váša and G. Brunnett, "Rate-distortion optimized compression of motion capture data"
(2014), section 3.1. Any codec that quantizes a matrix of degrees of freedom can put it in front:
multiply column i by ``w_i = s_i / λ`` before, divide after, and one step of 1 suits all columns.
The sensitivity ``s_i = ∂D/∂σ_i`` of the error D to noise in column i comes either from noise, as in
the paper and for any metric, or from the kinematics, without noise and for errors of position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.dofs import from_dofs, to_dofs
from mocpack.papers.vasa.codec.jacobian import (
    Points,
    displacement_gram,
    point_count,
    position_jacobian,
)

Metric = Callable[[Clip, Clip], float]
"""Takes the original and the distorted clip; must grow in proportion to small errors."""
Norm = Literal["mean", "rms", "max"]

NOISE_SHARE = 0.01  # the paper's: a hundredth of the standard deviation of the column
STILL = 1e-10  # meters or radians of noise: a column that moves so little only rounds
MAX_FRAMES = 48  # the body's proportions change little; more poses than this tell nothing new
BLOCK = 1 << 22  # numbers of a Jacobian held at once


def noise_sensitivities(
    clip: Clip,
    metric: Metric,
    *,
    share: float = NOISE_SHARE,
    seeds: Sequence[int] = (0,),
    literal: bool = False,
) -> F64:
    """Measure how much `metric` feels noise in each column, one column at a time, shape (C,).

    Parameters
    ----------
    clip : Clip
    metric : callable
        Any error of two clips; one that squares its distances must take the root.
    share : float
        Standard deviation of the uniform noise, as a share of the column's own.
    seeds : sequence of int
        Draws of noise to average over.
    literal : bool
        Return the error itself, as equation 5 of the paper has it, in place of the error by unit
        of noise. Its noise differs from column to column, so this weighs a column by its own
        spread too, which equation 4 does not call for.

    Returns
    -------
    array
        Of the metric's unit by meter or radian (literal: of the metric's unit). 0 where a column
        does not move.
    """
    matrix = to_dofs(clip)
    spread = share * matrix.std(axis=0)
    out = np.zeros(matrix.shape[1])
    original = from_dofs(matrix, clip.header)
    for i in map(int, np.flatnonzero(spread > STILL)):
        errors = [_noisy_error(original, matrix, i, spread[i], metric, seed) for seed in seeds]
        out[i] = np.mean(errors) / (1.0 if literal else spread[i])
    return out


def kinematic_sensitivities(
    clip: Clip,
    *,
    norm: Norm = "mean",
    points: Points = "joints",
    frames: int | None = MAX_FRAMES,
) -> F64:
    """Return what `noise_sensitivities` would find for an error of position, without noise.

    Parameters
    ----------
    norm : {"mean", "rms", "max"}
        Of the distances over frames and points: the paper's ME, its square, the largest.
    points : {"joints", "ends", "shell"}
    frames : int, optional
        Poses to look at, evenly spread over the clip; None for all.

    Returns
    -------
    array, shape (C,)
        Meters by meter or radian.
    """
    means, largest, count = 0.0, [], 0
    for jacobian in _jacobian_blocks(clip, points, frames):
        lengths = np.sqrt(np.sum(jacobian**2, axis=2))
        means = means + (lengths**2 if norm == "rms" else lengths).sum(axis=(0, 1))
        largest.append(lengths.max(axis=1))
        count += lengths.shape[0] * lengths.shape[1]
    if norm == "max":
        return _expected_largest(np.concatenate(largest), clip.frame_count)
    if norm == "rms":
        return np.asarray(np.sqrt(means / count))
    return np.asarray(np.sqrt(3.0) / 2 * means / count)  # the mean magnitude of uniform noise


def _expected_largest(reach: F64, frame_count: int) -> F64:
    """Return the expected largest of ``|noise_t| · reach_t`` over a clip's frames, shape (C,).

    Parameters
    ----------
    reach : array, shape (t, C)
        Largest displacement by unit of noise in the poses looked at, which stand for all frames.
        The noise is uniform with deviation 1.
    """
    steps = np.linspace(0.0, 1.0, 513)[1:]
    top = np.sqrt(3.0) * reach.max(axis=0)
    relative = np.sqrt(3.0) * reach / np.maximum(top, 1e-300)
    # P(all below x) is the product over frames of x / reach where that is below 1
    below = [
        np.exp(
            frame_count * np.mean(np.log(np.minimum(1, x / np.maximum(relative, 1e-12))), axis=0)
        )
        for x in steps
    ]
    return np.asarray(top * np.mean(1 - np.array([np.zeros_like(top), *below[:-1]]), axis=0))


def kinematic_gram(
    clip: Clip,
    *,
    points: Points = "joints",
    skin: float = 0.0,
    emphasis: F64 | None = None,
    frames: int | None = MAX_FRAMES,
) -> F64:
    """Return the mean of JᵀJ over poses and points, shape (C, C).

    Its quadratic form is the mean square displacement of the points that a small change of all
    columns together makes; the roots of its diagonal are the "rms" sensitivities.

    Parameters
    ----------
    points : {"joints", "ends", "shell"}
    skin : float
        Add the mean over the shell points, times the square of this, so that turning a last joint
        or twisting a bone is felt a little too.
    emphasis : array, shape (T, J), optional
        How much each joint counts at each frame, for errors that feel some more than others.
    frames : int, optional
        Poses to look at, evenly spread over the clip; None for all.
    """
    chosen = _spread(clip, frames)
    poses = _poses(clip, chosen)
    felt = None if emphasis is None else emphasis[chosen]
    return displacement_gram(poses, to_dofs(poses), points=points, skin=skin, emphasis=felt)


def weights(sensitivities: F64, lam: float) -> F64:
    """Return the weight of each column: its sensitivity over the Lagrange multiplier λ.

    >>> weights(np.array([0.2, 0.01]), 0.005)
    array([40.,  2.])
    """
    return sensitivities / lam


def equalize(matrix: F64, column_weights: F64) -> F64:
    """Scale columns so that an equal error in each is felt equally; shape (T, C)."""
    return matrix * column_weights


def restore(matrix: F64, column_weights: F64) -> F64:
    """Undo `equalize`; columns of weight 0 come back as 0."""
    return np.divide(matrix, column_weights, out=np.zeros_like(matrix), where=column_weights > 0)


def _noisy_error(
    original: Clip, matrix: F64, column: int, spread: float, metric: Metric, seed: int
) -> float:
    rng = np.random.default_rng([seed, column])
    noisy = matrix.copy()
    noisy[:, column] += rng.uniform(-1.0, 1.0, len(matrix)) * np.sqrt(3.0) * spread
    return metric(original, from_dofs(noisy, original.header))


def _jacobian_blocks(clip: Clip, points: Points, frames: int | None) -> Iterator[F64]:
    """Yield Jacobians (t, P, 3, C) of evenly spread poses, in blocks that fit in memory."""
    chosen = _spread(clip, frames)
    block = max(1, BLOCK // (3 * point_count(clip.skeleton, points) * clip.skeleton.channel_count))
    for a in range(0, len(chosen), block):
        poses = _poses(clip, chosen[a : a + block])
        yield position_jacobian(poses, to_dofs(poses), points=points)


def _spread(clip: Clip, frames: int | None) -> npt.NDArray[np.intp]:
    """Return `frames` frame numbers, or all, evenly spread over the clip."""
    count = clip.frame_count if frames is None else min(frames, clip.frame_count)
    return np.unique(np.linspace(0, clip.frame_count - 1, count).round().astype(np.intp))


def _poses(clip: Clip, chosen: npt.NDArray[np.intp]) -> Clip:
    channels = None if clip.channels is None else clip.channels[chosen]
    header = clip.with_header(frame_count=len(chosen))
    return Clip(header, clip.rotations[chosen], clip.translations[chosen], channels)
