"""``mocpack tune``: lets a codec search its own parameters on a clip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from mocpack import _api, rate, tuning
from mocpack.bench.report.trial_picture import draw_trials, sketch_trials
from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.clip import AnyClip
from mocpack.codec import Codec, Goal, SupportsTuning, Trial
from mocpack.errors import UsageError
from mocpack.registry import non_default_params, parse_codec
from mocpack.units import format_size, parse_size

SHOWN = 12  # lines of the table


def run(
    codec: Annotated[str, typer.Argument(help="Codec to start from, like rd-pca or rd-pca:s=6.")],
    clip: Annotated[str, typer.Argument(help="Motion file; - reads standard input.")],
    size: Annotated[str | None, typer.Option(help="Largest file, like 17kB.")] = None,
    size_fraction: Annotated[
        float | None, typer.Option(help="Largest file, as a share of float32 of what moves.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="Largest error instead, in the metric's unit.")
    ] = None,
    product: Annotated[
        bool, typer.Option("--product", help="Least size times error, within the limit if any.")
    ] = False,
    metric: Annotated[str, typer.Option(help="me, skted, max, def, or any key of compare.")] = "me",
    effort: options.Effort = "default",
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Also write the best file here.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw all trials, to .png, .svg or .pdf.")
    ] = None,
    unit: options.Unit = None,
    frames: options.Frames = None,
    skeleton: options.SkeletonFile = None,
    jobs: options.Workers = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Search a codec's parameters: least error within a size, or least size within an error."""
    if effort not in _api.EFFORTS:
        raise UsageError(f"effort must be one of {', '.join(_api.EFFORTS)}, got {effort!r}")
    if output is not None:
        files.check_free(output, force=force)
    start = parse_codec(codec)
    motion = files.read_clip(clip, unit=unit, frames=frames, skeleton=skeleton)
    _api.check_kind(start, motion.header.kind)
    goal = Goal(metric, _size(motion, size, size_fraction), error, product)
    found = _search(motion, start, goal, effort, jobs)
    if output is not None:
        files.write_output(rate.attempt(motion, found.best.codec).data, output, force=force)
    if picture is not None:
        draw_trials(found.trials, found.best, _axes(start), goal, picture)
    # a pipe carries the file; what is for people goes to the other one
    _report(files.stderr() if output == files.PIPE else files.stdout(), found, goal, as_json)
    return 0


def _size(clip: AnyClip, size: str | None, fraction: float | None) -> int | None:
    if size is not None and fraction is not None:
        raise UsageError("give --size or --size-fraction, not both")
    if fraction is not None:
        if not fraction > 0:
            raise UsageError(f"--size-fraction must be positive, got {fraction:g}")
        return int(fraction * rate.raw_size(clip))
    return None if size is None else parse_size(size)


def _search(clip: AnyClip, start: Codec, goal: Goal, effort: str, jobs: int) -> tuning.Tuned:
    """Run the search under a bar that shows how many settings were tried and the best so far."""
    if jobs < 0:
        raise UsageError(f"-j takes a number of processes, or 0 for all cores, got {jobs}")
    console = files.stderr()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    seen: list[Trial] = []
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(f"tuning {start.codec_id}", total=None)

        def tell(trial: Trial) -> None:
            seen.append(trial)
            best = goal.best(seen)
            so_far = "" if best is None else f", best {_error(best)} in {format_size(best.size)}"
            progress.update(task, description=f"{len(seen)} settings tried{so_far}", advance=1)

        return tuning.tune(clip, start, goal, effort=effort, jobs=jobs, progress=tell)


def _report(console: Console, found: tuning.Tuned, goal: Goal, as_json: bool) -> None:
    best, unit = found.best, tuning.find_metric(goal.metric).unit
    if as_json:
        rows = [_row(trial) for trial in found.trials]
        result = {"metric": goal.metric, "unit": unit, "best": _row(best), "trials": rows}
        print_json([result], to_stderr=console.stderr)
        return
    console.print(_table(tuning.front(found.trials), best, goal.metric, unit))
    console.print(sketch_trials(found.trials, best, _axes(best.codec)))
    console.print(
        f"best of {len(found.trials)}: {spec(best.codec)}\n"
        f"{goal.metric} {_error(best)} {unit}, {format_size(best.size)}",
    )


def spec(codec: Codec) -> str:
    """Return the spec string that builds this codec."""
    params = non_default_params(codec)
    words = [f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in params.items()]
    return codec.codec_id + (":" if words else "") + ",".join(words)


def _table(front: list[Trial], best: Trial, metric: str, unit: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("size", "payload", f"{metric} {unit}".strip()):
        table.add_column(title, justify="right")
    table.add_column("setting", overflow="fold")
    near = sorted(front, key=lambda t: abs(t.size - best.size))[:SHOWN]
    for trial in sorted(near, key=lambda t: t.size):
        style = "bold" if trial == best else None
        sizes = format_size(trial.size), format_size(trial.payload)
        table.add_row(*sizes, _error(trial), spec(trial.codec), style=style)
    return table


def _row(trial: Trial) -> dict[str, Any]:
    return {
        "codec": spec(trial.codec),
        "bytes": trial.size,
        "payload": trial.payload,
        "error": trial.error,
    }


def _axes(codec: Codec) -> tuple[str, str]:
    return codec.tuning_axes if isinstance(codec, SupportsTuning) else ("size", "error")


def _error(trial: Trial) -> str:
    return f"{trial.error:.4g}"
