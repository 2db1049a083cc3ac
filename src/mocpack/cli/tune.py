"""``mocpack tune``: search the parameters of a codec on a clip."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mocpack import rate
from mocpack.cli import files, options
from mocpack.cli.energy import energy_model
from mocpack.cli.progress import make_progress_bar
from mocpack.cli.reading import SourceOptions
from mocpack.cli.tables import make_table
from mocpack.cli.terminal import print_json
from mocpack.codec import Codec, Goal, Trial, check_effort
from mocpack.codecs.registry import describe_wrong_kind, non_default_params, parse_codec
from mocpack.common.units import format_size, parse_bandwidth, parse_energy, parse_size
from mocpack.errors import UsageError
from mocpack.model.clip import AnyClip
from mocpack.rate import tuning

MAX_TABLE_ROWS = 12


def run(
    codec: Annotated[str, typer.Argument(help="Codec to tune, like rd-pca or rd-pca:s=6.")],
    source: Annotated[str, typer.Argument(help="Motion file; - reads standard input.")],
    size: Annotated[str | None, typer.Option(help="Limit the file size, like 17kB.")] = None,
    size_fraction: Annotated[
        float | None,
        typer.Option(
            help="Limit the file size to this fraction of the moving channels as float32."
        ),
    ] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(
            help="Limit the file size to what this bandwidth transfers in real time, like 128kbps."
        ),
    ] = None,
    energy: Annotated[
        str | None,
        typer.Option(help="Also limit the energy to receive the file, like 2J; needs --bandwidth."),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(help="Limit the error instead of the size, in the unit of the metric."),
    ] = None,
    product: Annotated[
        bool,
        typer.Option(
            "--product", help="Minimize size times error, within the limit if there is one."
        ),
    ] = False,
    metric: Annotated[
        str, typer.Option(help="Minimize this metric: me, skted, max, def, or any key of compare.")
    ] = "me",
    effort: options.Effort = "default",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Also write the best result to this .mocp file."),
    ] = None,
    *,
    reading: SourceOptions,
    frames: options.Frames = None,
    workers: options.Workers = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Search a codec's parameters for the lowest error or the smallest file."""
    check_effort(effort)
    if output is not None:
        files.check_packed_name(output, [source])
        files.check_output(output, force=force)
    start = parse_codec(codec)
    motion = files.read_motion(files.open_input(source, **reading.to_arguments()), frames=frames)
    if motion.header.kind not in start.kinds:
        raise describe_wrong_kind(start, motion.header.kind)
    card = _parse_card(motion, bandwidth, energy)
    goal = Goal(metric, _size_limit(motion, size, size_fraction, card), error, product)
    found = _search(motion, start, goal, effort, workers)
    if output is not None:
        files.write_output(rate.attempt(motion, found.best.codec).data, output, force=force)
    # With -o -, standard output carries the file, so messages go to standard error.
    _report(files.stderr() if output == files.PIPE else files.stdout(), found, goal, card, as_json)
    return 0


@dataclass(frozen=True)
class NetworkCard:
    """The network card of a client, which limits the size of a file that it receives.

    Attributes
    ----------
    duration : float
        Duration of the motion in seconds.
    bandwidth : float
        Bits per second.
    joules : float, optional
        Maximum energy from the start to the end of the motion.
    """

    duration: float
    bandwidth: float
    joules: float | None

    @property
    def largest_size(self) -> int:
        in_time = int(self.bandwidth * self.duration / 8)
        if self.joules is None:
            return in_time
        affordable = energy_model().largest_size(self.joules, self.duration, self.bandwidth)
        return min(in_time, int(affordable))

    def reception(self, size: int) -> Any:
        """Return what it costs to receive `size` bytes, a `Reception` of the energy model."""
        return energy_model().reception(size, self.duration, self.bandwidth)


def _parse_card(clip: AnyClip, bandwidth: str | None, energy: str | None) -> NetworkCard | None:
    if bandwidth is None:
        if energy is not None:
            raise UsageError("--energy needs --bandwidth")
        return None
    energy_model()  # before the search, because the report needs it
    joules = None if energy is None else parse_energy(energy)
    return NetworkCard(clip.frame_count / clip.frame_rate, parse_bandwidth(bandwidth), joules)


def _size_limit(
    clip: AnyClip, size: str | None, fraction: float | None, card: NetworkCard | None
) -> int | None:
    limits = {"--size": size, "--size-fraction": fraction, "--bandwidth": card}
    names = [name for name, value in limits.items() if value is not None]
    if len(names) > 1:
        raise UsageError(f"give at most one size limit, got {' and '.join(names)}")
    if card is not None:
        return card.largest_size
    if fraction is not None:
        if not 0 < fraction < math.inf:
            raise UsageError(f"--size-fraction must be positive and finite, got {fraction:g}")
        return int(fraction * rate.raw_size(clip))
    return None if size is None else parse_size(size)


def _search(
    clip: AnyClip, start: Codec, goal: Goal, effort: str, workers: int
) -> tuning.TuningResult:
    """Run the search with a bar that shows the best trial so far and the time left."""
    if workers < 0:
        raise UsageError(f"--workers must be at least 0, got {workers}")
    expected = start.expected_trials(clip, effort=effort) or 0
    seen: list[Trial] = []
    with make_progress_bar() as bar:
        task = bar.add_task(f"tuning {start.codec_id}", total=expected)

        def on_trial(trial: Trial) -> None:
            seen.append(trial)
            best = goal.best(seen)
            so_far = (
                "" if best is None else f", best {_format_error(best)} in {format_size(best.size)}"
            )
            total = max(expected, len(seen) + 1)  # the expected count is only an estimate
            bar.update(task, description=f"{start.codec_id}{so_far}", advance=1, total=total)

        return tuning.tune(clip, start, goal, effort=effort, workers=workers, on_trial=on_trial)


def _report(
    console: Console,
    found: tuning.TuningResult,
    goal: Goal,
    card: NetworkCard | None,
    as_json: bool,
) -> None:
    best, unit = found.best, tuning.find_metric(goal.metric).unit
    if as_json:
        rows = [_row(trial) for trial in found.trials]
        result = {"metric": goal.metric, "unit": unit, "best": _row(best), "trials": rows}
        if card is not None:
            result["reception"] = asdict(card.reception(best.size))
        print_json([result], to_stderr=console.stderr)
        return
    of = f" of {len(found.trials)} trials" if len(found.trials) > 1 else ""
    console.print(_table(tuning.pareto_front(found.trials), best, goal.metric, unit))
    console.print(
        f"best{of}: {codec_spec(best.codec)}\n"
        f"{goal.metric} {_format_error(best)} {unit}, {format_size(best.size)}",
    )
    if card is not None:
        cost = card.reception(best.size)
        console.print(
            f"received in {cost.seconds:.3g} s of {card.duration:.3g} s; the network card uses "
            f"{1000 * cost.joules:.4g} mJ"
        )


def codec_spec(codec: Codec) -> str:
    """Return the codec_spec string that builds this codec."""
    params = non_default_params(codec)
    for name in set(codec.lengths) & set(params):
        params[name] = f"{1000 * getattr(codec, name)!r}mm"
    words = [f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in params.items()]
    return codec.codec_id + (":" if words else "") + ",".join(words)


def _table(front: list[Trial], best: Trial, metric: str, unit: str) -> Table:
    table = make_table("size", "payload", f"{metric} {unit}".strip(), "codec", left=("codec",))
    near = sorted(front, key=lambda t: abs(t.size - best.size))[:MAX_TABLE_ROWS]
    for trial in sorted(near, key=lambda t: t.size):
        style = "bold" if trial == best else None
        sizes = format_size(trial.size), format_size(trial.payload)
        table.add_row(*sizes, _format_error(trial), codec_spec(trial.codec), style=style)
    return table


def _row(trial: Trial) -> dict[str, Any]:
    return {
        "codec": codec_spec(trial.codec),
        "bytes": trial.size,
        "payload": trial.payload,
        "error": trial.error,
    }


def _format_error(trial: Trial) -> str:
    return f"{trial.error:.4g}"
