"""Who does the work of a plan: processes of this machine, or a cluster's.

An engine is a function of three things: work, the jobs that it is done for, and what to call with
the place of a job and the share of it that is done, if that is known. It yields the place of each
job and what ``work(*job)`` returned, as they come, or `Lost` where the process died of it; it tries
nothing twice. Work and jobs can be pickled, and any job may be done more than once.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Generator, Sequence
from functools import wraps
from itertools import islice
from typing import Any

from mocpack.cores import core_count, limit_cores
from mocpack.errors import UsageError
from mocpack.optional_packages import require
from mocpack.workers import LostJob, run_each

Job = tuple[Any, ...]
OnProgress = Callable[[int, float], None]
Results = Generator[tuple[int, Any], None, None]
Engine = Callable[[Callable[..., Any], Sequence[Job], OnProgress], Results]

ENGINES = ("local", "ray")
CONNECT_TIMEOUT_S = 10.0  # seconds in which a cluster's address answers
QUEUED_TASKS_PER_CORE = 3  # tasks that wait for each that runs, so that no core waits for us


def make_engine(name: str, *, workers: int = 1, address: str | None = None) -> Engine:
    """Return an engine by its name: ``local``, or ``ray`` at an address."""
    if name not in ENGINES:
        raise UsageError(f"an engine is one of {', '.join(ENGINES)}, got {name!r}")
    if name == "ray":
        return ray_engine(address)
    if address is not None:
        raise UsageError("--address is for --engine ray")
    return local_engine(workers)


def local_engine(workers: int = 1) -> Engine:
    """Return the engine of processes here; 0 for as many as there are cores."""
    if workers < 0:
        raise UsageError(f"workers must be 0 or above, got {workers}")
    count = workers or core_count()
    return lambda work, jobs, on_progress: run_each(
        work, jobs, workers=min(count, len(jobs)), on_progress=on_progress
    )


def ray_engine(address: str | None = None) -> Engine:
    """Return the engine of a ray cluster: the one at `address`, the one we are in, or a new one.

    Every node needs mocpack, of one version. A task has one core. We connect at once: processes of
    the cluster start while we plan, and one that is not there is said before.
    """
    ray = require("ray", extra="ray", purpose="--engine ray")
    _connect(ray, address)

    def each(work: Callable[..., Any], jobs: Sequence[Job], on_progress: OnProgress) -> Results:
        _connect(ray, address)

        @wraps(work)  # its name is that of ray's processes
        def on_one_core(*job: Any) -> Any:
            with limit_cores(1):
                return work(*job)

        # ray's own retries would run a part again with the file that ended its process, and again
        task = ray.remote(num_cpus=1, max_retries=0)(on_one_core)
        waiting = iter(enumerate(jobs))
        running: dict[Any, int] = {}
        while True:
            room = QUEUED_TASKS_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1))) - len(
                running
            )
            for index, job in islice(waiting, max(0, room)):
                running[task.remote(*job)] = index
            if not running:
                return
            done, _ = ray.wait(list(running), num_returns=1)
            for one in done:
                index = running.pop(one)
                try:
                    yield index, ray.get(one)
                except ray.exceptions.RayTaskError:
                    raise  # a defect: work tells what is wrong by what it returns
                except ray.exceptions.RayError as error:
                    yield index, LostJob(_describe_error(error))

    return each


def _connect(ray: Any, address: str | None) -> None:
    """Connect to a cluster, unless we are."""
    if ray.is_initialized():
        return
    try:
        if address is not None and (found := re.fullmatch(r"([^/]+):(\d+)", address)):
            # ray itself waits minutes for one that is not there
            socket.create_connection((found[1], int(found[2])), CONNECT_TIMEOUT_S).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except OSError as error:
        where = "" if address is None else f" at {address}"
        first = str(error).strip().splitlines()[0]
        raise UsageError(f"no ray cluster answers{where}: {first}") from error


def _describe_error(error: Exception) -> str:
    first = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else ""
    return f"its process on the cluster ended ({first or type(error).__name__})"
