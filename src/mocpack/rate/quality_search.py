"""Search the parameter that trades size for error until a target is just met."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from mocpack import progress
from mocpack.codec import Codec
from mocpack.errors import BoundError
from mocpack.rate.attempts import Attempt, attempt
from mocpack.rate.preparing import PreparedClip
from mocpack.rate.root_search import (
    MAX_EVALUATIONS,
    TARGET_TOLERANCE,
    ParameterScale,
    search_root,
)
from mocpack.rate.target import Bounds

EXPECTED_TRIES = 8  # of a parameter search, for the progress display
MAX_SEARCH_ENCODES = MAX_EVALUATIONS + 1  # of a search for a quality; 1: the safe end
# work of all encodes of a search, in budgets of one encode: an encode takes effort fast if one more
# like the dearest so far would pass the first number; after the second, the search ends
FAST_WORK, MAX_SEARCH_WORK = 0.5, 1.0
HOPELESS_EXCESS = math.log(
    1.1
)  # of the file at the safe end: sizes hardly depend on coarse settings
UNREACHABLE_EXCESS = 2.0  # logarithm of the excess for settings that cannot encode the clip


class _WorkSpentError(Exception):
    """A search has spent its budget of work."""


def search_quality(
    prepared: PreparedClip,
    codec: Codec,
    excess: Callable[[Attempt], float],
    *,
    finest: bool,
    bounds_of: Callable[[Codec], tuple[Codec, Bounds]],
) -> Attempt:
    """Return the best file whose `excess` over the target is at most 0.

    With `finest`, the finest setting (for a size target), else the smallest file (for an error
    target). If no setting meets the target, the nearest one. A setting that cannot encode the clip
    misses the target; if all are such, a `BoundError` is raised. `bounds_of` returns the codec and
    the bounds of a setting.
    """
    parameter = codec.quality
    assert parameter is not None
    progress.expect(EXPECTED_TRIES)
    scale = ParameterScale(parameter, finest=finest)
    tried: dict[float, Attempt | BoundError] = {}

    def made(place: float) -> Attempt | BoundError:
        value = scale.value(place)
        if value not in tried:
            setting = int(value) if parameter.integer else value
            changed = replace(codec, **{parameter.field: setting})
            shares = [one.work_share for one in tried.values()]
            if sum(shares) + max(shares, default=0.0) >= FAST_WORK:
                changed = changed.with_effort("fast")
            try:
                tried[value] = attempt(prepared, *bounds_of(changed))
            except BoundError as error:
                tried[value] = error
        return tried[value]

    def excess_at(place: float) -> float:
        if sum(one.work_share for one in tried.values()) >= MAX_SEARCH_WORK:
            raise _WorkSpentError
        found = made(place)
        return UNREACHABLE_EXCESS if isinstance(found, BoundError) else excess(found)

    def is_far_from_target(place: float) -> bool:
        found = made(place)
        return not isinstance(found, BoundError) and excess(found) > HOPELESS_EXCESS

    def is_worthwhile(kept: float, missed: float) -> bool:
        one, other = made(kept), made(missed)
        if isinstance(one, BoundError) or isinstance(other, BoundError):
            return scale.apart(kept, missed)
        bytes_apart = abs(len(one.data) - len(other.data))
        return bytes_apart > TARGET_TOLERANCE * len(one.data) and scale.apart(kept, missed)

    start = scale.place(getattr(codec, parameter.field))
    # a size that even the safe end misses is refused after two encodes
    is_hopeless = finest and excess_at(start) > 0 and is_far_from_target(0.0)
    if not is_hopeless:
        with suppress(_WorkSpentError):
            search_root(excess_at, start, is_worthwhile=is_worthwhile)
    reached = {v: one for v, one in tried.items() if not isinstance(one, BoundError)}
    if not reached:
        raise next(error for error in tried.values() if isinstance(error, BoundError))
    good = {v: one for v, one in reached.items() if excess(one) <= 0}
    if not good:
        return min(reached.values(), key=excess)
    return (
        good[max(good, key=scale.place)]
        if finest
        else min(good.values(), key=lambda made: len(made.data))
    )


def log_excess(found: float, limit: float) -> float:
    """Return log(found / limit); 0 is exactly at the limit."""
    return math.log(max(found, 1e-300) / limit) if limit < math.inf else -math.inf
