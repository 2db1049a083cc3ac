"""Run a codec's parameter search: try settings in parallel and return the best.

The codec proposes settings (`Codec.tuning_rounds`). This module encodes with each, decodes the
result and measures it with a metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from mocpack import rate
from mocpack.codec import Codec, Goal, Trial
from mocpack.common.units import format_sizes
from mocpack.container import Errors
from mocpack.cores import core_count
from mocpack.errors import BoundError, MocpackError, UsageError
from mocpack.metrics import METRICS, Metric
from mocpack.metrics.pair import pair_clips
from mocpack.model.clip import AnyClip
from mocpack.workers import LostJob, WorkerGroup

ALIASES = {"me": "me_cm", "skted": "sk_ted", "max": "max_error_mm", "def": "def_cm"}
MAX_CRASHES = 2  # of one setting, before the search fails
NO_ERRORS = Errors(None, 0.0, 0.0, 0.0, 0.0)  # placeholder: takes as many bytes as measured errors

Try = Callable[[Sequence[Codec]], list[Trial]]


@dataclass(frozen=True)
class TuningResult:
    """Result of a search: the best trial, and all trials in order."""

    best: Trial
    trials: tuple[Trial, ...]


def tune(
    clip: AnyClip,
    codec: Codec,
    goal: Goal,
    *,
    effort: str = "default",
    workers: int = 1,
    on_trial: Callable[[Trial], None] | None = None,
) -> TuningResult:
    """Search the setting of `codec` that meets `goal` best on `clip`.

    Parameters
    ----------
    clip : Clip or VertexClip
    codec : Codec
        Start of the search.
    goal : Goal
    effort : {"fast", "default", "best"}
    workers : int
        Settings to try at the same time; 0 for the number of cores.
    on_trial : callable, optional
        Called with each finished trial.

    Raises
    ------
    BoundError
        If no setting is within the limit of the goal.
    """
    on_trial = on_trial or (lambda trial: None)
    find_metric(goal.metric)
    search = codec.tuning_rounds(clip, goal, effort=effort)
    if search is None:
        trial = _report(on_trial, _finest_within_size(clip, codec, goal, effort))
        return TuningResult(trial, (trial,))
    trials: list[Trial] = []
    with _open_trial_runner(clip, goal.metric, workers, on_trial) as attempt:
        wanted = next(search, None)
        while wanted is not None:
            found = attempt(wanted)
            trials += found
            try:
                wanted = search.send(found)
            except StopIteration:
                break
    return TuningResult(_best(goal, trials), tuple(trials))


def _finest_within_size(clip: AnyClip, codec: Codec, goal: Goal, effort: str) -> Trial:
    """Return the finest setting within a size, by the search of `compress --size`."""
    if codec.quality is None:
        raise UsageError(f"{codec.codec_id} has no parameter search")
    if goal.size is None or goal.product:
        raise UsageError(
            f"{codec.codec_id} has no parameter search of its own: limit the size, bandwidth or "
            "energy, or use compress --max-error"
        )
    codec = codec if effort == "default" else codec.with_effort(effort)
    made = rate.encode_to_target(clip, codec, rate.Target(size=goal.size))
    error = try_setting(clip, made.codec, goal.metric).error
    return Trial(made.codec, len(made.data), made.payload_size, error)


def find_metric(name: str) -> Metric:
    """Return a metric by its key or its alias."""
    known = {metric.key: metric for metric in METRICS}
    key = ALIASES.get(name, name)
    if key not in known:
        raise UsageError(f"unknown metric {name!r}; metrics: {', '.join([*ALIASES, *known])}")
    return known[key]


def try_setting(clip: AnyClip, codec: Codec, metric: str) -> Trial:
    """Encode a clip, decode the result and measure its error."""
    prepared = rate.prepare_clip(clip)
    made = rate.round_trip(prepared, codec)
    error = find_metric(metric).measure(pair_clips(clip, made.decoded))
    if error is None:
        raise UsageError(f"the metric {metric} does not apply to this clip")
    file = rate.pack_file(prepared, codec, made.payload, NO_ERRORS)
    return Trial(codec, len(file), len(made.payload), float(error))


def pareto_front(trials: Iterable[Trial]) -> list[Trial]:
    """Return the Pareto front: trials that no other beats in both size and error, by size."""
    kept: list[Trial] = []
    for trial in sorted(trials, key=lambda t: (t.size, t.error)):
        if not kept or trial.error < kept[-1].error:
            kept.append(trial)
    return kept


def _best(goal: Goal, trials: Sequence[Trial]) -> Trial:
    best = goal.best(trials)
    if best is not None:
        return best
    if not trials:
        raise BoundError("the search tried no setting")
    if goal.size is not None:
        nearest = min(trials, key=lambda t: t.size)
        wanted, found = format_sizes(goal.size, nearest.size)
        raise BoundError(
            f"no setting reaches a file size of {wanted}; the smallest file is {found}"
        )
    nearest = min(trials, key=lambda t: t.error)
    raise BoundError(
        f"no setting keeps {goal.metric} within {goal.error:g}; "
        f"the smallest error is {nearest.error:.4g}"
    )


@contextmanager
def _open_trial_runner(
    clip: AnyClip, metric: str, workers: int, on_trial: Callable[[Trial], None]
) -> Iterator[Try]:
    """Yield a function that tries a round of settings, in worker processes."""
    workers = workers or core_count()
    if workers == 1:
        yield lambda codecs: [_report(on_trial, try_setting(clip, c, metric)) for c in codecs]
        return
    # the clip is sent to each process once
    attempt = partial(_try_in_worker, clip, metric)
    with WorkerGroup(attempt, workers, max_crashes=MAX_CRASHES) as group:
        yield lambda codecs: _try_in_parallel(group, codecs, on_trial)


def _try_in_parallel(
    group: WorkerGroup[Codec, Trial | MocpackError],
    codecs: Sequence[Codec],
    on_trial: Callable[[Trial], None],
) -> list[Trial]:
    found: dict[int, Trial] = {}
    for place, outcome in group.run([(codec,) for codec in codecs]):
        if isinstance(outcome, LostJob):
            raise MocpackError(f"{codecs[place]} could not be tried: {outcome.reason}")
        if isinstance(outcome, MocpackError):
            raise outcome
        found[place] = _report(on_trial, outcome)
    return [found[place] for place in range(len(codecs))]


def _try_in_worker(clip: AnyClip, metric: str, codec: Codec) -> Trial | MocpackError:
    """Try a setting in a worker; an error is returned, since raising would end the worker."""
    try:
        return try_setting(clip, codec, metric)
    except MocpackError as error:
        return error


def _report(on_trial: Callable[[Trial], None], trial: Trial) -> Trial:
    on_trial(trial)
    return trial
