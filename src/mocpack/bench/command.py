"""``mocpack bench``: measure codecs on the same clips, or reproduce the tables of a paper."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from mocpack.bench.datasets import collection
from mocpack.bench.papers import find_paper
from mocpack.bench.peers.table import parse_any_codec
from mocpack.bench.rows import Row
from mocpack.bench.runner.measure import Setting, parse_targets
from mocpack.bench.runner.run import (
    clip_names,
    describe_machine,
    find_clips,
    run_bench,
    write_tables,
)
from mocpack.cli import files, options
from mocpack.cli.progress import make_progress_bar
from mocpack.common.file_errors import add_path_to_errors
from mocpack.common.optional_packages import require
from mocpack.common.texts import count_of
from mocpack.common.units import parse_frame_range
from mocpack.errors import UsageError


def run(
    codec: Annotated[list[str] | None, typer.Option(help="Measure this codec; repeatable.")] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Measure on these clips or folders; repeatable. Default: cmu of the repository."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="Choose the targets: max_error=1mm,5mm, mean_error=2mm, ratio=20,40 or sweep."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Write the report to this folder.")] = Path("report"),
    anchor: Annotated[str | None, typer.Option(help="Compute BD-rates against this codec.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Plot this metric and compute its BD-rates; repeatable. Default: three metrics."
        ),
    ] = None,
    frames: options.Frames = None,
    workers: options.Workers = 1,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop a measurement after this many seconds and count it as failed."),
    ] = None,
    speed: Annotated[
        bool, typer.Option(help="Also measure speed and memory, which takes longer.")
    ] = True,
    paper: Annotated[
        str | None,
        typer.Option(help="Reproduce a paper: 000 to 004, or its first author, like beaudoin."),
    ] = None,
) -> int:
    """Measure codecs on clips and write a report, or reproduce a paper."""
    if paper:
        with add_path_to_errors(out, keep=True):
            return _reproduce_paper(paper, _paper_folder(data), out)
    if not codec:
        raise UsageError(
            "name at least one --codec (mocpack codecs lists them), or a paper with --paper"
        )
    for spec in codec:
        parse_any_codec(spec)
    if anchor is not None and anchor not in codec:
        raise UsageError(f"--anchor must be one of the codecs {', '.join(codec)}, got {anchor!r}")
    from mocpack.bench.report.page import DRAWN, metric_label  # slow to import: loads matplotlib

    if frames is not None:
        parse_frame_range(frames)
    metrics = metric or [*DRAWN]
    for name in metrics:
        metric_label(name)
    for package in ("matplotlib", "scipy"):  # fail now, not after hours of measuring
        require(package, extra="bench", purpose="the report")
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise UsageError(f"--time-limit must be a positive number of seconds, got {time_limit:g}")
    targets: list[tuple[str, str] | None] = [None] if target is None else [*parse_targets(target)]
    clips = find_clips(data) if data else collection("cmu")
    out.mkdir(parents=True, exist_ok=True)
    settings = [Setting(spec, t) for spec in codec for t in targets]
    with add_path_to_errors(out, keep=True), make_progress_bar() as bar:
        task = bar.add_task("measuring", total=len(clips) * len(settings))
        rows = run_bench(
            clips,
            settings,
            out,
            workers=workers,
            frames=frames,
            timed=speed,
            max_seconds=time_limit,
            on_done=lambda: bar.advance(task),
        )
    with add_path_to_errors(out, keep=True):
        return _write_results(rows, clips, out, anchor, metrics)


def _write_results(
    rows: list[Row], clips: list[Path], out: Path, anchor: str | None, metrics: list[str]
) -> int:
    """Write the tables and the report, and print the measurements that failed."""
    from mocpack.bench.report.page import write_report

    write_tables(rows, out)
    head = {**describe_machine(), "clips": ", ".join(clip_names(clips).values())}
    report = write_report(rows, out, head, anchor=anchor, metrics=metrics)
    failed = [r for r in rows if r["failure"]]
    console = files.stdout()
    console.print(
        f"{count_of(len(rows), 'measurement')}, {len(failed)} failed; "
        f"wrote {report} and {out}/bench.csv"
    )
    for row in failed[:20]:
        console.print(f"  {row['clip']} {row['codec']} {row['target'] or ''}: {row['failure']}")
    return 0


def _paper_folder(data: list[Path] | None) -> Path | None:
    """Return the folder with the clips of a paper, None for the default places."""
    if not data:
        return None
    if len(data) > 1 or not data[0].is_dir():
        raise UsageError(
            "--paper needs at most one folder as --data, with clips in cmu/, asfamc/ and so on, "
            f"got {', '.join(map(str, data))}"
        )
    return data[0]


def _reproduce_paper(name: str, data: Path | None, out: Path) -> int:
    from mocpack.bench.papers.page import SUMMARY, reproduce

    for package in ("scipy", "cma"):
        require(package, extra="papers", purpose="reproducing a paper")
    summary = reproduce(find_paper(name), data, out)
    files.stdout().print(summary, markup=False, soft_wrap=True)
    files.stdout().print(f"wrote {out / SUMMARY}")
    return 0
