"""Many files at once: each has its own fate, whatever becomes of the others.

Several files are worked on in processes of their own, one file at a time each, so that neither an
error nor a death nor Ctrl-C costs more than the file it came in.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from mocpack.cli.files import PIPE, check_free, describe_error, exit_code
from mocpack.cli.journal import Entry, Journal, digests, finished_entry, is_done
from mocpack.cli.progress import counted, watched
from mocpack.cli.terminal import INTERRUPTED, complain
from mocpack.cores import core_count
from mocpack.errors import UsageError, describe_bug
from mocpack.io import files_to_read, list_robot_files
from mocpack.io.atomic import remove_temporaries
from mocpack.workers import LostJob, run_each


@dataclass(frozen=True)
class Job:
    """One file to be made into another.

    Attributes
    ----------
    source : str
        The file it is named after in tables and complaints.
    outputs : tuple of str
        Every file that is written, the main one last.
    settings : dict
        What else the work is given by name; all that shapes the output, and fit for JSON.
    force : bool
        Whether outputs that exist may be overwritten.
    """

    source: str
    outputs: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    force: bool = False

    @property
    def output(self) -> str:
        return self.outputs[-1]


@dataclass(frozen=True)
class Outcome:
    """What became of one file: ``done``, ``kept`` from before, ``failed``, or ``not done``."""

    fate: str
    result: Any = None
    complaint: str | None = None
    code: int = 0
    entry: Entry | None = None


NOT_DONE = Outcome("not done", complaint="not done: stopped by Ctrl-C", code=INTERRUPTED)


def run_batch(
    work: Callable[..., Any], jobs: Sequence[Job], *, workers: int, title: str, resume: bool = False
) -> list[Outcome]:
    """Do ``work(source, output, force=…, **settings)`` for each job; one that fails stops no other.

    With `resume`, what an earlier run has finished is kept; after Ctrl-C, what was done is told.
    """
    if workers < 0:
        raise UsageError(f"-j takes a number of processes, or 0 for all cores, got {workers}")
    if len(jobs) > 1 and any(job.source == PIPE for job in jobs):
        raise UsageError("- is standard input and stands alone, not among other files")
    if len(jobs) == 1 and not resume:
        try:
            return [watched(f"{title} {jobs[0].source}", partial(attempt, work, jobs[0]))]
        except KeyboardInterrupt:
            return [NOT_DONE]
    journal = Journal([job.output for job in jobs if job.output != PIPE])
    outcomes = [NOT_DONE] * len(jobs)
    shares = [0.0] * len(jobs)
    with counted() as bar:
        task = bar.add_task(title, total=len(jobs))

        def on_progress(place: int, share: float) -> None:
            shares[place] = share
            bar.update(task, completed=sum(shares))

        try:
            with closing(_outcomes(work, jobs, journal, workers, resume, on_progress)) as found:
                for place, outcome in found:
                    outcomes[place] = outcome
                    on_progress(place, 1.0)
        except KeyboardInterrupt:
            pass  # what was done is told; the rest is `NOT_DONE`
    if not resume and all(outcome.fate == "done" for outcome in outcomes):
        journal.remove()
    return outcomes


def ask_each(
    ask: Callable[[str], dict[str, Any]], paths: Sequence[str]
) -> tuple[list[dict[str, Any]], int]:
    """Ask the same of each file; return the rows of ``--json`` and the highest exit code.

    One that fails is complained about, and stops no other.
    """
    rows, code = [], 0
    for path in paths:
        try:
            rows.append({"ok": True, "error": None, "input": path, **ask(path)})
        except Exception as error:
            sentence = describe_error(error)
            if sentence is None:
                raise
            complain(sentence)
            rows.append({"ok": False, "error": sentence, "input": path})
            code = max(code, exit_code(error))
    return rows, code


def rehearse(jobs: Sequence[Job]) -> list[Outcome]:
    """Say of each job whether it could begin, and do nothing: ``--dry-run``."""
    return [_rehearsed(job) for job in jobs]


def _rehearsed(job: Job) -> Outcome:
    try:
        if job.source != PIPE:
            with Path(job.source).open("rb"):
                pass
        for output in job.outputs:
            check_free(output, force=job.force, in_new_folder=True, sources=[job.source])
    except Exception as error:
        sentence = describe_error(error)
        if sentence is None:
            raise
        return Outcome("failed", complaint=sentence, code=exit_code(error))
    return Outcome("not begun")


def job_row(job: Job, outcome: Outcome) -> dict[str, Any]:
    """Return a file's fate as ``--json`` has it, with its figures if it has any."""
    return {
        "ok": outcome.complaint is None,
        "error": outcome.complaint,
        "input": job.source,
        "output": job.output,
        "fate": outcome.fate,
        **(outcome.result or {}),
    }


def plan_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return what ``--dry-run`` shows: what would be made of what."""
    table = Table("input", "output", "", box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(row["input"], row["output"], "" if row["ok"] else row["error"])
    return table


def report(jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> int:
    """Print a sentence for each file that failed and return the highest exit code."""
    for outcome in outcomes:
        if outcome.fate == "failed":
            complain(str(outcome.complaint))
    left = sum(outcome.fate == "not done" for outcome in outcomes)
    if left and len(jobs) > 1:
        complain(f"stopped by Ctrl-C; {left} of {len(jobs)} files are not done, --resume does them")
    elif left:
        complain(f"{jobs[0].source}: stopped by Ctrl-C")
    return max((outcome.code for outcome in outcomes), default=0)


def table_of_fates(jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> Table:
    """Return what became of each file, for commands that have no figures to tell."""
    table = Table("file", "fate", box=None, pad_edge=False, header_style="bold")
    for job, outcome in zip(jobs, outcomes, strict=True):
        table.add_row(job.output, outcome.fate)
    return table


def attempt(work: Callable[..., Any], job: Job) -> Outcome:
    """Do one job; whatever it raises becomes a sentence."""
    try:
        return Outcome("done", work(job.source, job.output, force=job.force, **job.settings))
    except Exception as error:
        sentence = describe_error(error) or describe_bug(error)
        named = sentence if job.source in sentence else f"{job.source}: {sentence}"
        return Outcome("failed", complaint=named, code=exit_code(error))


def _outcomes(
    work: Callable[..., Any],
    jobs: Sequence[Job],
    journal: Journal,
    workers: int,
    resume: bool,
    on_progress: Callable[[int, float], None],
) -> Generator[tuple[int, Outcome], None, None]:
    """Yield (place, outcome) of each job as they come, and keep the journal."""
    left: list[int] = []
    for place, job in enumerate(jobs):
        entry = journal.entry(job.output) if resume else None
        if is_done(entry, job.settings, _sources(job), _outputs(job)):
            assert entry is not None
            yield place, Outcome("kept", entry.get("result"))
            continue
        left.append(place)
    chosen = [_taken_up(jobs[place], journal) if resume else jobs[place] for place in left]
    workers = min(workers or core_count(), len(chosen))

    def begin(number: int) -> None:
        job = chosen[number]
        # another program's file that stands there is not ours to make, now or later
        if job.output != PIPE and (job.force or not Path(job.output).exists()):
            journal.begin(job.output)

    given = [(work, job) for job in chosen]
    for number, outcome in run_each(
        _attempt_apart,
        given,
        workers=workers,
        on_start=begin,
        on_progress=lambda number, share: on_progress(left[number], share),
    ):
        job = chosen[number]
        if isinstance(outcome, LostJob):
            outcome = Outcome("failed", complaint=f"{job.source}: {outcome.reason}", code=2)
        elif outcome.entry is not None:
            journal.finish(job.output, outcome.entry)
        yield left[number], outcome


def _taken_up(job: Job, journal: Journal) -> Job:
    """Return a job that an earlier run made, or began to make, as one that may do so again."""
    entry = journal.entry(job.output)
    if entry is None:
        return job
    if "made" not in entry:
        for output in job.outputs:
            remove_temporaries(output)
    return replace(job, force=True)


def _attempt_apart(work: Callable[..., Any], job: Job) -> Outcome:
    """Do one job in a process of its own; return with it what the journal is to keep."""
    # before it is read: a source that changes meanwhile is then seen as changed
    sources = digests(_sources(job))
    outcome = attempt(work, job)
    if outcome.fate != "done" or job.output == PIPE:
        return outcome
    entry = finished_entry(job.settings, sources, _outputs(job), outcome.result)
    return replace(outcome, entry=entry)


def _sources(job: Job) -> list[Path]:
    given = [Path(job.settings["body_model"])] if "body_model" in job.settings else []
    allow_outside = bool(job.settings.get("allow_outside"))
    if "robot" in job.settings:
        given += list_robot_files(job.settings["robot"], allow_outside=allow_outside)
    skeleton = job.settings.get("skeleton")
    try:
        return [*files_to_read(job.source, skeleton=skeleton, allow_outside=allow_outside), *given]
    except (OSError, ValueError):
        return [Path(job.source)]  # the work itself will say what is wrong with it


def _outputs(job: Job) -> list[Path]:
    return [Path(path) for path in job.outputs]
