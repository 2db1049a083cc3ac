"""Choose the knots of a spline: uniform, by CMA-ES as in the paper, or by our fast search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from mocpack import _core, progress
from mocpack.common.arrays import F64
from mocpack.common.optional_packages import require
from mocpack.errors import UnsupportedClipError
from mocpack.papers.mukai.codec.bspline import (
    clamped,
    evaluate,
    even_times,
    fit,
    inner_knots,
    knots_from_increments,
    uniform_knots,
)
from mocpack.papers.mukai.codec.descent import descend

Start = Literal["best", "even"]
MAX_CMA_KNOTS = 400  # its covariance grows with the square, its patience with more
FIRST_SPREAD = 0.3  # initial standard deviation of CMA-ES, as a fraction of an even span
GENERATIONS = 300
JUMPS = 12  # maximum number of knots that are moved out of a local minimum
# numbers of inner knots for which jumps pay off: fewer need none, more take too long
JUMPING = range(8, 101)
JUMP_ROUNDS = 40
JUMP_GAIN = 1e-3  # minimum relative gain of a jump
NARROWEST = 1e-3  # minimum span as a fraction of an even span, so that the gradient stays finite


def find_knots(
    points: F64,
    control_points: int,
    degree: int,
    *,
    method: str,
    candidates: int,
    seed: int,
    start: Start = "best",
) -> F64:
    """Return the knots of a spline with that many control points through `points` (N, L).

    `method` is "uniform", "cma" (from `start`) or "fast"; the uniform spline is among the
    candidates of both others, so neither is ever worse.
    """
    even = uniform_knots(control_points, degree)
    if method == "uniform" or control_points <= degree + 1:
        return even
    if method == "cma":
        found = evolve(
            points,
            control_points,
            degree,
            candidates=candidates,
            seed=seed,
            start=even if start == "even" else None,
        )
    else:
        found = search(points, control_points, degree)
    return min((even, found), key=lambda knots: fit(knots, degree, points)[1])


def search(points: F64, control_points: int, degree: int) -> F64:
    """Descend from greedy insertion and from even knots; then let knots jump while that helps."""
    points = _strongest(points)
    starts = insert(points, control_points, degree), uniform_knots(control_points, degree)
    progress.expect(len(starts))
    ends = []
    for knots in starts:
        with progress.stage():
            ends.append(refine(points, knots, degree))
    best = min(ends, key=lambda knots: fit(knots, degree, points)[1])
    least = fit(best, degree, points)[1]
    for _ in range(JUMPS if control_points - degree - 1 in JUMPING else 0):
        found = refine(points, _jump(points, best, degree), degree, rounds=JUMP_ROUNDS)
        error = fit(found, degree, points)[1]
        if error >= (1 - JUMP_GAIN) * least:
            break
        best, least = found, error
    return best


def evolve(
    points: F64,
    control_points: int,
    degree: int,
    *,
    candidates: int,
    seed: int,
    start: F64 | None = None,
    generations: int = GENERATIONS,
) -> F64:
    """Search the span widths by CMA-ES (Hansen 2006); the best candidate ever seen is returned.

    Steps (1) to (4) of section 3.2, with E_RMS of equation (4) as the objective.

    The paper starts from even spans, and the search often stays near there; unless `start` says
    from which knots, we start from greedy insertion where that is better.
    """
    spans = control_points - degree
    if spans > MAX_CMA_KNOTS:
        raise UnsupportedClipError(
            f"CMA-ES over {spans} spans is out of reach; take knots=fast or at most "
            f"{MAX_CMA_KNOTS + degree} control points"
        )
    points = _strongest(points)
    rng = np.random.default_rng(seed)
    options = {
        "popsize": candidates,
        "maxiter": generations,
        "tolx": 1e-4 / spans,
        "tolfunrel": 1e-7,
        "verbose": -9,
        "seed": np.nan,  # do not seed numpy's global generator; samples are drawn below
        "randn": lambda *shape: rng.standard_normal(shape),
    }
    if start is None:
        starts = uniform_knots(control_points, degree), insert(points, control_points, degree)
        start = min(starts, key=lambda knots: fit(knots, degree, points)[1])
    best, least = start, np.inf
    cma = require("cma", extra="papers", purpose="a search of knots by CMA-ES")
    search = cma.CMAEvolutionStrategy(_widths(best, degree), FIRST_SPREAD / spans, options)
    times, report = even_times(len(points)), progress.reporter()
    while not search.stop():
        if report is not None:
            report(search.countiter, generations)
        widths = np.array(search.ask())
        knots = knots_from_increments(widths, degree)
        errors = np.asarray(_core.bspline_errors(knots, degree, times, points, 0))
        search.tell(list(widths), errors.tolist())
        if errors.min() < least:
            best, least = knots[errors.argmin()], float(errors.min())
    return best


def insert(points: F64, control_points: int, degree: int) -> F64:
    """Place knots greedily: again and again into the span with the largest error.

    The new knot halves the error of its span. Several are placed between two fits, fewer as the
    number of knots grows.
    """
    wanted = control_points - degree - 1
    inner = np.zeros(0)
    times = even_times(len(points))
    while len(inner) < wanted:
        knots = clamped(inner, degree)
        controls, _ = fit(knots, degree, points)
        error = np.sum((points - evaluate(knots, degree, times, controls)) ** 2, axis=1)
        count = min(wanted - len(inner), max(1, (len(inner) + 1) // 4))
        inner = _split_worst(inner, times, error, count)
    return clamped(inner, degree)


def refine(points: F64, knots: F64, degree: int, *, rounds: int = 80) -> F64:
    """Descend along the gradient of the error by the knots (variable projection), by L-BFGS.

    The spans are softmax weights, so knots cannot cross.
    """
    spans = len(inner_knots(knots, degree)) + 1
    floor = NARROWEST / spans
    widths = np.maximum(_widths(knots, degree), floor)
    start = np.log(widths / widths.sum())
    # relative to the initial error, because the search stops by relative gains
    scale = max(fit(knots, degree, points)[1] ** 2 * len(points), 1e-300)
    cost = knot_cost(points, degree, scale)
    found = descend(cost, start, rounds=rounds, gain=1e-6)
    weights = np.exp(found - found.max())
    return clamped(np.minimum(np.cumsum(weights / weights.sum())[:-1], 1.0), degree)


def knot_cost(points: F64, degree: int, scale: float) -> Callable[[F64], tuple[float, F64]]:
    """Return a function from logarithms of span widths to the squared error over `scale`, and its
    gradient; a common factor of the widths means nothing."""
    times = even_times(len(points))

    def cost(logs: F64) -> tuple[float, F64]:
        weights = np.exp(logs - logs.max())
        share = weights / weights.sum()
        at = clamped(np.minimum(np.cumsum(share)[:-1], 1.0), degree)
        controls, squares = _core.bspline_fit(at, degree, times, points)
        by_knot = np.asarray(_core.bspline_gradient(at, degree, times, points, controls))
        # moving one width moves every later knot
        by_width = np.append(np.cumsum(by_knot[::-1])[::-1], 0.0)
        slope = share * (by_width - np.dot(share, by_width))
        return squares / scale, slope / scale

    return cost


def _jump(points: F64, knots: F64, degree: int) -> F64:
    """Remove the least important knot; insert one where the error is then largest."""
    inner = inner_knots(knots, degree)
    without = np.array([clamped(np.delete(inner, k), degree) for k in range(len(inner))])
    times = even_times(len(points))
    errors = np.asarray(_core.bspline_errors(without, degree, times, points, 0))
    rest = without[errors.argmin()]
    controls, _ = fit(rest, degree, points)
    error = np.sum((points - evaluate(rest, degree, times, controls)) ** 2, axis=1)
    return clamped(_split_worst(inner_knots(rest, degree), times, error, 1), degree)


def _widths(knots: F64, degree: int) -> F64:
    """Return the widths of the spans between knots."""
    return np.diff(np.concatenate([[0.0], inner_knots(knots, degree), [1.0]]))


def _strongest(points: F64) -> F64:
    """Return the columns that contain all but 1e-5 of the energy."""
    energy = np.sum((points - points.mean(axis=0)) ** 2, axis=0)
    order = np.argsort(-energy, kind="stable")
    kept = int(np.searchsorted(np.cumsum(energy[order]), (1 - 1e-5) * energy.sum())) + 1
    return np.ascontiguousarray(points[:, np.sort(order[:kept])])


def _split_worst(inner: F64, times: F64, error: F64, count: int) -> F64:
    edges = np.concatenate([[0.0], inner, [1.0]])
    span = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, len(edges) - 2)
    total = np.bincount(span, weights=error, minlength=len(edges) - 1)
    # a span with a single sample cannot be split usefully
    total[np.bincount(span, minlength=len(edges) - 1) < 2] = -1.0
    new = []
    for worst in np.argsort(-total, kind="stable")[:count]:
        inside = span == worst
        if total[worst] <= 0 or inside.sum() < 2:
            new.append(float(edges[worst] + edges[worst + 1]) / 2)
            continue
        share = np.cumsum(error[inside]) / error[inside].sum()
        middle = float(np.interp(0.5, share, times[inside]))
        low, high = edges[worst], edges[worst + 1]
        margin = 0.05 * (high - low)
        new.append(float(np.clip(middle, low + margin, high - margin)))
    return np.sort(np.concatenate([inner, new]))
