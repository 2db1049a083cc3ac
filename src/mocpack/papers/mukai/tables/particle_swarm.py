"""Free knots by particle swarm optimization, the rival that Mukai (2012) compares with.

After A. Gálvez and A. Iglesias, "Efficient particle swarm optimization approach for data fitting
with free knot B-splines" (2011): particles are sorted knot positions, the inertia falls linearly.
"""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.papers.mukai.codec.bspline import clamped, even_times

PARTICLES = 100
ROUNDS = 300
INERTIA = (0.9, 0.4)  # at the start and at the end
ATTRACTION = 2.0  # to a particle's own best and to the best of all


def swarm_knots(points: F64, inner_count: int, degree: int, *, seed: int) -> F64:
    """Return the knots of the best particle for a spline through `points` (N, L)."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.random((PARTICLES, inner_count)), axis=1)
    speeds = np.zeros_like(places)
    own, own_errors = places.copy(), np.full(PARTICLES, np.inf)
    times = even_times(len(points))
    for inertia in np.linspace(*INERTIA, ROUNDS):
        knots = np.array([clamped(inner, degree) for inner in places])
        errors = np.asarray(_core.bspline_errors(knots, degree, times, points, 0))
        better = errors < own_errors
        own[better], own_errors[better] = places[better], errors[better]
        best = own[own_errors.argmin()]
        toward_own, toward_best = rng.random((2, *places.shape))
        speeds = inertia * speeds + ATTRACTION * (
            toward_own * (own - places) + toward_best * (best - places)
        )
        places = np.sort(np.clip(places + speeds, 0.0, 1.0), axis=1)
    return clamped(own[own_errors.argmin()], degree)
