"""Engines, which run the jobs of a plan: in processes of this machine or on a cluster.

An engine is a function of work, jobs and `on_progress`. It calls `on_progress` with the index of a
job and the fraction done, if it knows. It yields the index of each job with the result of
``work(*job)`` in order of completion, or with `LostJob` if its process died. It does not retry.
Work and jobs can be pickled, and it is safe to run a job more than once.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Generator, Sequence
from functools import wraps
from itertools import islice
from types import ModuleType

from mocpack.common.optional_packages import require
from mocpack.cores import core_count, limit_cores
from mocpack.corpora.planning import Part
from mocpack.errors import UsageError
from mocpack.workers import LostJob, run_each

Job = tuple[Part, str]  # and the folder to pack it into
Work = Callable[[Part, str], str | None]
OnProgress = Callable[[int, float], None]
Results = Generator[tuple[int, str | LostJob | None], None, None]
Engine = Callable[[Work, Sequence[Job], OnProgress], Results]

ENGINES = ("local", "ray")
CONNECT_TIMEOUT_S = 10.0  # for a cluster's address to answer
QUEUED_TASKS_PER_CORE = 3  # so that no core waits for this process


def make_engine(name: str, *, workers: int = 1, address: str | None = None) -> Engine:
    """Return the engine of a name: ``local``, or ``ray`` at an address."""
    if name not in ENGINES:
        raise UsageError(f"engine must be one of {', '.join(ENGINES)}, got {name!r}")
    if name == "ray":
        return ray_engine(address)
    if address is not None:
        raise UsageError("--address needs --engine ray")
    return local_engine(workers)


def local_engine(workers: int = 1) -> Engine:
    """Return an engine that uses local processes; 0 means one per core."""
    if workers < 0:
        raise UsageError(f"workers must be at least 0, got {workers}")
    count = workers or core_count()
    return lambda work, jobs, on_progress: run_each(
        work, jobs, workers=min(count, len(jobs)), on_progress=on_progress
    )


def ray_engine(address: str | None = None) -> Engine:
    """Return an engine for a ray cluster: at `address`, else the current one, else a new one.

    Every node needs the same version of mocpack. A task uses one core. The engine connects at once,
    so that a missing cluster is reported before the planning.
    """
    ray = require("ray", extra="ray", purpose="--engine ray")
    _connect(ray, address)

    def each(work: Work, jobs: Sequence[Job], on_progress: OnProgress) -> Results:
        _connect(ray, address)

        @wraps(work)  # ray names its processes after it
        def on_one_core(part: Part, folder: str) -> str | None:
            with limit_cores(1):
                return work(part, folder)

        # ray's own retries would repeat a part with the file that crashes its process
        task = ray.remote(num_cpus=1, max_retries=0)(on_one_core)
        waiting = iter(enumerate(jobs))
        running: dict[object, int] = {}
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
                    raise  # a bug: work returns its errors and does not raise them
                except ray.exceptions.RayError as error:
                    yield index, LostJob(_describe_error(error))

    return each


def _connect(ray: ModuleType, address: str | None) -> None:
    """Connect to a cluster, unless already connected."""
    if ray.is_initialized():
        return
    try:
        if address is not None and (found := re.fullmatch(r"([^/]+):(\d+)", address)):
            # ray itself waits minutes for a missing cluster
            socket.create_connection((found[1], int(found[2])), CONNECT_TIMEOUT_S).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except OSError as error:
        where = "" if address is None else f" at {address}"
        first = str(error).strip().splitlines()[0]
        raise UsageError(f"cannot connect to a ray cluster{where}: {first}") from error


def _describe_error(error: Exception) -> str:
    first = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else ""
    return f"its process on the cluster died ({first or type(error).__name__})"
