"""Lagrangian equalization: scale each degree of freedom by its influence on the error.

After L. Váša and G. Brunnett, "Rate-distortion optimized compression of motion capture data"
(2014), section 3.1. The codec multiplies column i by ``w_i = s_i / λ`` before quantization and
divides by it after, so that one step of 1 suits all columns. The sensitivity ``s_i = ∂D/∂σ_i`` of
the error D to noise in column i comes from noise, as in the paper and for any metric, or from the
kinematics, without noise and for errors of position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.model.clip import Clip
from mocpack.model.dofs import from_dofs, to_dofs
from mocpack.papers.vasa.codec.jacobian import Points, displacement_gram

Metric = Callable[[Clip, Clip], float]
"""Takes the original and the distorted clip; must grow in proportion to small errors."""

NOISE_SHARE = 0.01  # of uniform noise: its deviation over that of the column, as in the paper
STILL = 1e-10  # meters or radians of noise; smaller motion is rounding
MAX_FRAMES = 48  # poses to evaluate; more change the result little


def noise_sensitivities(
    clip: Clip,
    metric: Metric,
    *,
    matrix: F64 | None = None,
    seeds: Sequence[int] = (0,),
    literal: bool = False,
) -> F64:
    """Measure the sensitivity (C,) of `metric` to noise in each column: ∂D/∂σ_i of equation (4).

    Parameters
    ----------
    clip : Clip
    metric : callable
        Any error of two clips; one that squares its distances must take the root.
    matrix : array, shape (T, C), optional
        Degrees of freedom of the clip; by default those of `to_dofs`.
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
    matrix = to_dofs(clip) if matrix is None else matrix
    spread = NOISE_SHARE * matrix.std(axis=0)
    out = np.zeros(matrix.shape[1])
    original = from_dofs(matrix, clip.header)
    for i in map(int, np.flatnonzero(spread > STILL)):
        errors = [_noisy_error(original, matrix, i, spread[i], metric, seed) for seed in seeds]
        out[i] = np.mean(errors) / (1.0 if literal else spread[i])
    return out


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
        or twisting a bone has a small weight too.
    emphasis : array, shape (T, J), optional
        Weight of each joint at each frame.
    frames : int, optional
        Number of poses to evaluate, evenly spread over the clip; None for all.
    """
    chosen = _spread(clip, frames)
    poses = _poses(clip, chosen)
    felt = None if emphasis is None else emphasis[chosen]
    return displacement_gram(poses, to_dofs(poses), points=points, skin=skin, emphasis=felt)


def _noisy_error(
    original: Clip, matrix: F64, column: int, spread: float, metric: Metric, seed: int
) -> float:
    rng = np.random.default_rng([seed, column])
    noisy = matrix.copy()
    noisy[:, column] += rng.uniform(-1.0, 1.0, len(matrix)) * np.sqrt(3.0) * spread
    return metric(original, from_dofs(noisy, original.header))


def _spread(clip: Clip, frames: int | None) -> npt.NDArray[np.intp]:
    """Return `frames` frame numbers, or all, evenly spread over the clip."""
    count = clip.frame_count if frames is None else min(frames, clip.frame_count)
    return np.unique(np.linspace(0, clip.frame_count - 1, count).round().astype(np.intp))


def _poses(clip: Clip, chosen: npt.NDArray[np.intp]) -> Clip:
    channels = None if clip.channels is None else clip.channels[chosen]
    header = replace(clip.header, frame_count=len(chosen))
    return Clip(header, clip.rotations[chosen], clip.translations[chosen], channels)
