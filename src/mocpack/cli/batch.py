"""Process many files, so that a failure of one file does not affect the others.

Worker processes handle one file at a time each. An error, a crash or Ctrl-C costs only the files
that are being processed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from mocpack.cli.files import PIPE, check_output, describe_error, exit_code
from mocpack.cli.journal import Entry, Journal, hash_files, is_done
from mocpack.cli.progress import make_progress_bar, run_with_progress
from mocpack.cli.terminal import EXIT_INTERRUPTED, print_error, print_json, stderr, stdout
from mocpack.cores import core_count
from mocpack.errors import UsageError, describe_bug
from mocpack.io import files_to_read, list_robot_files
from mocpack.io.atomic import remove_temporaries
from mocpack.workers import LostJob, run_each


@dataclass(frozen=True)
class Job:
    """One input file and the files to write from it.

    Attributes
    ----------
    source : str
        The input file, which tables and errors name.
    outputs : tuple of str
        All files to write, the main one last.
    settings : dict
        All other arguments that affect the output; they must be JSON values.
    force : bool or None
        Whether existing outputs may be overwritten; None: never, not even by ``--resume``.
    """

    source: str
    outputs: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    force: bool | None = False

    @property
    def output(self) -> str:
        return self.outputs[-1]


@dataclass(frozen=True)
class Outcome:
    """The result of one job.

    Attributes
    ----------
    status : str
        ``done``, ``kept`` from an earlier run, ``failed``, ``not done``, or ``not begun``.
    result : dict, optional
        What the work returned: the numbers of ``--json``.
    error : str, optional
        The error message.
    code : int
        The exit code.
    entry : Entry, optional
        The journal entry of a finished job.
    """

    status: str
    result: Any = None
    error: str | None = None
    code: int = 0
    entry: Entry | None = None


NOT_DONE = Outcome("not done", error="not done: interrupted", code=EXIT_INTERRUPTED)


def run_command(
    work: Callable[..., Any],
    jobs: Sequence[Job],
    *,
    as_json: bool,
    dry_run: bool,
    make_table: Callable[[list[dict[str, Any]]], Table | None],
    **options: Any,
) -> int:
    """Run a batch, print its results and errors, and return the highest exit code.

    `make_table` turns the rows of the jobs into the table to print, if any. `options` are those of
    `run_batch`.
    """
    outcomes = run_batch(work, jobs, dry_run=dry_run, **options)
    rows = [
        {
            "ok": outcome.error is None,
            "error": outcome.error,
            "input": job.source,
            "output": job.output,
            "status": outcome.status,
            **(outcome.result or {}),
        }
        for job, outcome in zip(jobs, outcomes, strict=True)
    ]
    # With -o -, standard output carries the file, so messages go to standard error.
    piped = jobs[0].output == PIPE
    if as_json:
        print_json(rows, to_stderr=piped)
    elif (table := _dry_run_table(rows) if dry_run else make_table(rows)) is not None:
        (stderr() if piped else stdout()).print(table)
    return _report_outcomes(jobs, outcomes)


def run_batch(
    work: Callable[..., Any],
    jobs: Sequence[Job],
    *,
    workers: int,
    title: str,
    folder: str | None = None,
    resume: bool = False,
    dry_run: bool = False,
) -> list[Outcome]:
    """Call ``work(source, output, force=…, **settings)`` for each job and return all outcomes.

    A job that fails does not stop the others. The output `folder` is created with its subfolders.
    With `resume`, outputs that an earlier run finished are kept. With `dry_run`, nothing is
    written: the outcomes say which jobs could start. After Ctrl-C, the outcomes of the finished
    jobs are still returned.
    """
    if dry_run:
        return [_check_job(job) for job in jobs]
    for output in {job.output for job in jobs} - {PIPE, folder} if folder is not None else ():
        Path(output).parent.mkdir(parents=True, exist_ok=True)
    if workers < 0:
        raise UsageError(f"--workers must be at least 0, got {workers}")
    if len(jobs) > 1 and any(job.source == PIPE for job in jobs):
        raise UsageError("- (standard input) must be the only input, got other files too")
    if len(jobs) == 1 and not resume:
        try:
            return [run_with_progress(f"{title} {jobs[0].source}", partial(attempt, work, jobs[0]))]
        except KeyboardInterrupt:
            return [NOT_DONE]
    journal = Journal([job.output for job in jobs if job.output != PIPE])
    outcomes = [NOT_DONE] * len(jobs)
    fractions = [0.0] * len(jobs)
    with make_progress_bar() as bar:
        task = bar.add_task(title, total=len(jobs))

        def on_progress(index: int, fraction: float) -> None:
            fractions[index] = fraction
            bar.update(task, completed=sum(fractions))

        try:
            with closing(_run_jobs(work, jobs, journal, workers, resume, on_progress)) as found:
                for index, outcome in found:
                    outcomes[index] = outcome
                    on_progress(index, 1.0)
        except KeyboardInterrupt:
            pass  # unfinished jobs stay `NOT_DONE`
    if not resume and all(outcome.status == "done" for outcome in outcomes):
        journal.remove()
    return outcomes


def collect_rows(
    read_facts: Callable[[str], dict[str, Any]], paths: Sequence[str]
) -> tuple[list[dict[str, Any]], int]:
    """Call `read_facts` for each file; return the rows of ``--json`` and the highest exit code.

    Errors are printed. A file that fails does not stop the others.
    """
    rows, code = [], 0
    for path in paths:
        try:
            rows.append({"ok": True, "error": None, "input": path, **read_facts(path)})
        except Exception as error:
            message = describe_error(error)
            if message is None:
                raise
            print_error(message)
            rows.append({"ok": False, "error": message, "input": path})
            code = max(code, exit_code(error))
    return rows, code


def _check_job(job: Job) -> Outcome:
    """Check whether a job could start, without running it."""
    try:
        if job.source != PIPE:
            with Path(job.source).open("rb"):
                pass
        for output in job.outputs:
            check_output(output, force=job.force, in_new_folder=True, sources=[job.source])
    except Exception as error:
        message = describe_error(error)
        if message is None:
            raise
        return Outcome("failed", error=message, code=exit_code(error))
    return Outcome("not begun")


def _dry_run_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of ``--dry-run``: each input with the output it would write."""
    table = Table("input", "output", "", box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(row["input"], row["output"], "" if row["ok"] else row["error"])
    return table


def _report_outcomes(jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> int:
    """Print the error of each file that failed and return the highest exit code."""
    for outcome in outcomes:
        if outcome.status == "failed":
            print_error(str(outcome.error))
    left = outcomes.count(NOT_DONE)
    if left and len(jobs) > 1:
        print_error(f"interrupted: {left} of {len(jobs)} files are left; continue with --resume")
    elif left:
        print_error(f"{jobs[0].source}: interrupted")
    return max((outcome.code for outcome in outcomes), default=0)


def attempt(work: Callable[..., Any], job: Job) -> Outcome:
    """Run one job and turn any exception into an error message.

    A reader of standard output that stops early is not an error, so its exception is raised.
    """
    try:
        return Outcome("done", work(job.source, job.output, force=job.force, **job.settings))
    except Exception as error:
        if job.output == PIPE and isinstance(error, BrokenPipeError):
            raise
        message = describe_error(error) or describe_bug(error)
        is_named = job.source in message or str(Path(job.source)) in message
        is_named = is_named or job.source == PIPE
        named = message if is_named else f"{job.source}: {message}"
        return Outcome("failed", error=named, code=exit_code(error))


def _run_jobs(
    work: Callable[..., Any],
    jobs: Sequence[Job],
    journal: Journal,
    workers: int,
    resume: bool,
    on_progress: Callable[[int, float], None],
) -> Generator[tuple[int, Outcome], None, None]:
    """Yield (index, outcome) of each job as it finishes, and write the journal."""
    left: list[int] = []
    for index, job in enumerate(jobs):
        entry = journal.entry(job.output) if resume else None
        if is_done(entry, job.settings, _input_files(job), _output_files(job)):
            assert entry is not None
            yield index, Outcome("kept", entry.get("result"))
            continue
        left.append(index)
    chosen = [_resume_job(jobs[index], journal) if resume else jobs[index] for index in left]
    workers = min(workers or core_count(), len(chosen))

    def begin(number: int) -> None:
        job = chosen[number]
        # A file of another program must not enter the journal: --resume would replace it.
        if job.output != PIPE and (job.force or not Path(job.output).exists()):
            journal.append(job.output, {})

    arguments = [(work, job) for job in chosen]
    for number, outcome in run_each(
        _attempt_in_worker,
        arguments,
        workers=workers,
        on_start=begin,
        on_progress=lambda number, fraction: on_progress(left[number], fraction),
    ):
        job = chosen[number]
        if isinstance(outcome, LostJob):
            outcome = Outcome("failed", error=f"{job.source}: {outcome.reason}", code=2)
        elif outcome.entry is not None:
            journal.append(job.output, outcome.entry)
        yield left[number], outcome


def _resume_job(job: Job, journal: Journal) -> Job:
    """Let a job overwrite its output if an earlier run wrote it, or started to."""
    entry = journal.entry(job.output)
    if entry is None:
        return job
    if "made" not in entry:
        for output in job.outputs:
            remove_temporaries(output)
    return job if job.force is None else replace(job, force=True)


def _attempt_in_worker(work: Callable[..., Any], job: Job) -> Outcome:
    """Run one job in a worker process; the outcome includes its journal entry."""
    # Hash before reading, so that a source that changes meanwhile counts as changed.
    sources = hash_files(_input_files(job))
    outcome = attempt(work, job)
    if outcome.status != "done" or job.output == PIPE:
        return outcome
    entry = {"settings": job.settings, "sources": sources, "result": outcome.result}
    return replace(outcome, entry=entry | {"made": hash_files(_output_files(job))})


def _input_files(job: Job) -> list[Path]:
    extra = [Path(job.settings["body_model"])] if "body_model" in job.settings else []
    allow_outside = bool(job.settings.get("allow_outside"))
    if "robot" in job.settings:
        extra += list_robot_files(job.settings["robot"], allow_outside=allow_outside)
    skeleton = job.settings.get("skeleton")
    try:
        return [*files_to_read(job.source, skeleton=skeleton, allow_outside=allow_outside), *extra]
    except (OSError, ValueError):
        return [Path(job.source)]  # the work itself will report the error


def _output_files(job: Job) -> list[Path]:
    return [Path(path) for path in job.outputs]
