"""STED: the perceived error of a moving surface, from its edges in space and time.

Váša and Skala, "A perception correlated comparison method for dynamic meshes", 2011. The form
follows the summary in Váša and Brunnett 2014; the spatial part and all constants are our
interpretation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.metrics.papers import temporal_edges, windowed_mean

Faces = npt.NDArray[np.int32]
Edges = npt.NDArray[np.intp]

TED_DISTANCE_RATIO = 3e-4  # of the diagonal of the bounding box: 0.5 mm for 1.75 m, as in SkTED
TED_WINDOW_FRAMES = 5  # to each side, for the average speed of a vertex
TED_WEIGHT = 1.0  # of the temporal part in the hypotenuse


class Sted(NamedTuple):
    """STED and its two parts; None for parts that do not apply."""

    total: float | None
    spatial: float | None
    temporal: float | None


def sted(original: F64, decoded: F64, faces: Faces) -> Sted:
    """Return STED of two animations (T, V, 3) of a mesh with `faces` (F, 3).

    The spatial part needs edges, the temporal part two frames; the total needs both.
    """
    spatial, temporal = sted_spatial(original, decoded, faces), sted_temporal(original, decoded)
    if spatial is None or temporal is None:
        return Sted(None, spatial, temporal)
    return Sted(float(np.hypot(spatial, TED_WEIGHT * temporal)), spatial, temporal)


def sted_spatial(original: F64, decoded: F64, faces: Faces) -> float | None:
    """Return the mean unevenness of edge changes around vertices, over vertices and frames.

    The error of a vertex is the standard deviation of the relative length changes of its edges,
    weighted by length. Uniform scaling therefore has no error.
    """
    edges = mesh_edges(faces)
    if not len(edges):
        return None
    per_frame = [_unevenness(a, b, edges) for a, b in zip(original, decoded, strict=True)]
    return float(np.mean(per_frame))


def sted_temporal(original: F64, decoded: F64) -> float | None:
    """Return the mean over vertices and frames of the change of speed, relative to speed."""
    size = np.linalg.norm(np.ptp(original[0], axis=0))
    if len(original) < 2 or size == 0:
        return None
    a, b = (temporal_edges(v, TED_DISTANCE_RATIO * float(size)) for v in (original, decoded))
    return float(np.mean(np.abs(a - b) / windowed_mean(a, TED_WINDOW_FRAMES)))


def mesh_edges(faces: Faces) -> Edges:
    """Return the unique edges (E, 2) of triangles."""
    pairs = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).astype(np.intp), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def _unevenness(a: F64, b: F64, edges: Edges) -> float:
    """Return the mean deviation of relative edge changes around vertices (V, 3), in one frame."""
    lengths, found = (np.linalg.norm(np.subtract(*v[edges.T]), axis=1) for v in (a, b))
    kept = lengths > 0  # an edge without length has no relative change
    ends, weights = edges[kept].T, lengths[kept]
    change = found[kept] / weights - 1

    def around(values: F64) -> F64:
        both = [np.bincount(end, values, minlength=len(a)) for end in ends]
        return np.asarray(both[0] + both[1])

    total = around(weights)
    inside = total > 0
    mean, square = (around(weights * v)[inside] / total[inside] for v in (change, change**2))
    return float(np.sqrt(np.maximum(square - mean**2, 0)).mean()) if inside.any() else 0.0
