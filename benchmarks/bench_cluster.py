"""Measure packing in parts: overhead of an engine, killed workers, resuming, memory.

    python benchmarks/bench_cluster.py [resume] [overhead] [memory]
    .venv-ray/bin/python benchmarks/bench_cluster.py [overhead] [memory] [nodes] [kills]

`make test-ray` makes the second environment; there, `overhead` and `memory` are ray's. Clips are
stretches of real ones that come with the repository, in a folder that is thrown away.

resume    10,000 clips of 1,000 frames are packed but for one part: seconds until the command has
          made that part, a worker's start included, and of the whole with the join of all
overhead  what a clip of 1,000 frames costs beside its packing: processor time of all processes, and
          the clock's with one worker, between two numbers of clips, so that starting is no part
memory    the largest resident size of a worker, by number of clips and by length of the largest
nodes     the clock of two nodes with one core each against one, whole command: a quiet machine's
kills     20 SIGKILLs of workers, nodes and the command itself, at random; the archive is compared
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import chdir, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mocpack
from mocpack.bench.datasets import COMMITTED, collection
from mocpack.corpora import PackOptions
from mocpack.corpora import parts as parts_module
from mocpack.corpora.engines import local_engine, ray_engine
from mocpack.corpora.packing import pack_file
from mocpack.corpora.parts import join, pack_parts
from mocpack.corpora.planning import PackPlan

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# ray gives its workers a lower priority than all other processes, our own command included
os.environ.setdefault("RAY_worker_niceness", "0")
HAS_RAY = find_spec("ray") is not None
PACKING = PackOptions(target={"max_error": "1mm", "effort": "fast"})
HOW = ["--max-error", "1mm", "--effort", "fast"]
KILLS, PARTS_BETWEEN = 20, 6
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = (
        ["overhead", "memory", "nodes", "kills"] if HAS_RAY else ["resume", "overhead", "memory"]
    )
    parse.add_argument("what", nargs="*", choices=[*WHAT, []], help=", ".join(WHAT))
    parse.add_argument("--seed", type=int, default=0, help="of the kills")
    parse.add_argument("--clips", type=int, help="of `nodes` (128) and `resume` (10000)")
    given = parse.parse_args()
    for name in given.what or names:
        with tempfile.TemporaryDirectory(prefix="mocpack-bench-") as folder:
            WHAT[name](Path(folder), given)


def stretches(folder: Path, count: int, frames: int, suffix: str) -> dict[str, Path]:
    """Write a number of segments of real clips; return them by clip name.

    Packed ones (.mocp) are copies of sixteen: an archive takes them as they are.
    """
    clips = [mocpack.read(path) for path in collection("cmu", COMMITTED)]
    long = [clip for clip in clips if clip.frame_count >= frames]
    made: dict[str, Path] = {}
    packed: list[bytes] = []
    for number in range(count):
        clip = long[number % len(long)]
        start = number * 31 % (clip.frame_count - frames + 1)
        path = folder / f"s{number // 100:03}" / f"t{number % 100:02}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if suffix == ".mocp":
            if len(packed) < 16:
                piece = clip.frames(start, start + frames)
                packed.append(mocpack.encode(piece, max_error="1mm", effort="fast"))
            path.write_bytes(packed[number % 16])
        else:
            mocpack.write(clip.frames(start, start + frames), path)
        made[f"{path.parent.name}/{path.stem}"] = path
    return made


def resume(folder: Path, given: argparse.Namespace) -> None:
    count = given.clips or 10_000
    files = stretches(folder / "in", count, 1000, ".mocp")
    parts = folder / "all.mocps.parts"
    with chdir(folder):  # paths are those of the command, and hashes are where it looks for them
        paths = {name: path.relative_to(folder) for name, path in files.items()}
        plan = PackPlan.make(paths, PACKING, known=f"{parts.name}/hashes.json")
        pack_parts(plan.parts, parts.name, local_engine(1))
    first = min(parts.glob("*.part"))
    first.unlink()
    words = [sys.executable, "-m", "mocpack", "corpus", "pack", "in", "-o", "all.mocps", *HOW]
    before, start = _children_cpu(), time.perf_counter()
    with subprocess.Popen([*words, "--resume"], cwd=folder, stdout=subprocess.DEVNULL) as command:
        while not first.exists():
            time.sleep(0.002)
        begun = time.perf_counter() - start
    clock, work = time.perf_counter() - start, _children_cpu() - before
    size = (folder / "all.mocps").stat().st_size / 1e6
    print(
        f"{count:,} clips of 1,000 frames done but for one part, archive of {size:.0f} MB: the "
        f"part is there after {begun:.2f} s by the clock; the whole command with the join takes "
        f"{clock:.2f} s by the clock, {work:.2f} s of processor (exit code {command.returncode})"
    )


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def overhead(folder: Path, given: argparse.Namespace) -> None:
    few, many = 640, 3200
    files = stretches(folder / "in", many, 1000, ".mocp")
    rows = []
    with _engine() as (name, engine):
        for count in (32, few, many):  # the first run includes startup
            plan_of = dict(list(files.items())[:count])
            spent: list[tuple[float, float]] = []
            start, before = time.perf_counter(), tree_cpu()
            plan = PackPlan.make(plan_of, PACKING)
            parts = str(folder / f"parts{count}")
            pack_parts(plan.parts, parts, partial(_reporting, engine, timed, spent))
            join(plan.parts, parts, str(folder / f"{count}.mocps"))
            whole = time.perf_counter() - start, tree_cpu() - before
            rows.append([whole[k] - sum(one[k] for one in spent) for k in range(2)])
    clock, work = (1000 * (rows[2][k] - rows[1][k]) / (many - few) for k in range(2))
    print(
        f"{name}: a clip of 1,000 frames costs {work:.2f} ms of processor beside its packing, plan "
        f"and join included; {clock:.2f} ms by the clock with one worker"
    )


def timed(work: Callable[..., Any], *job: Any) -> tuple[Any, tuple[float, float]]:
    """Do the work; return its result, and the wall and CPU seconds of packing.

    CPU seconds are those of this process.
    """
    spent = [0.0, 0.0]

    def timing(*words: Any, **options: Any) -> Any:
        start = time.perf_counter(), time.process_time()
        try:
            return pack_file(*words, **options)
        finally:
            spent[0] += time.perf_counter() - start[0]
            spent[1] += time.process_time() - start[1]

    parts_module.pack_file = timing  # type: ignore[assignment]
    try:
        return work(*job), (spent[0], spent[1])
    finally:
        parts_module.pack_file = pack_file


def _reporting(
    engine: Any, around: Any, told_to: list[Any], work: Any, jobs: Sequence[Any], told: Any
) -> Any:
    """An engine whose workers run inside `around`, which also reports."""
    for place, result in engine(around, [(work, *job) for job in jobs], told):
        done, said = result if isinstance(result, tuple) else (result, None)
        if said is not None:
            told_to.append(said)
        yield place, done


def tree_cpu() -> float:
    """Return the CPU seconds of this process and of all its children."""
    total, left = 0.0, [os.getpid()]
    while left:
        pid = left.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            left += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            for thread in Path(f"/proc/{pid}/task").iterdir():
                if thread.name != str(pid):
                    left += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / TICKS
    return total


@contextmanager
def _engine() -> Any:
    """Yield the engine of this environment, with one worker."""
    if not HAS_RAY:
        yield "local", local_engine(1)
        return
    with cluster_of(1) as cluster:
        yield "ray", ray_engine(cluster.address)
        import ray

        ray.shutdown()


@contextmanager
def cluster_of(nodes: int) -> Any:
    """Yield a cluster of nodes with one core each, and a head without cores."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        cluster.nodes = [cluster.add_node(num_cpus=1) for _ in range(nodes)]
        cluster.wait_for_nodes()
        yield cluster
    finally:
        cluster.shutdown()


def measured(work: Callable[..., Any], *job: Any) -> tuple[Any, int]:
    """Do the work; return its result and the peak memory of this process in bytes."""
    result = work(*job)
    # getrusage's would begin with that of the process that started this one
    said = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    return result, 1024 * int(said)


def memory(folder: Path, given: argparse.Namespace) -> None:
    many = stretches(folder / "in", 1600, 200, ".bvh")
    long = mocpack.read(next(iter(many.values())))
    while long.frame_count < 60_000:
        long = long.concat(long)
    mocpack.write(long, folder / "long.bvh")
    some = dict(list(many.items())[:32])
    with _engine() as (name, engine):
        for files in (some, many, some | {"long": folder / "long.bvh"}):
            peaks: list[int] = []
            place = str(folder / f"parts{len(files)}")
            plan = PackPlan.make(files, PACKING)
            pack_parts(plan.parts, place, partial(_reporting, engine, measured, peaks))
            largest = long if "long" in files else mocpack.read(files["s000/t00"])
            # a clip in memory: its quaternions, and the channels of its source
            channels = sum(map(len, largest.skeleton.channels))
            held = 8 * largest.frame_count * (channels + 4 * len(largest.skeleton))
            print(
                f"{name}: {len(files)} clips, the largest of {held / 1e6:.1f} MB in memory: a "
                f"worker held {max(peaks) / 1e6:.0f} MB ({(500e6 + 3 * held) / 1e6:.0f} allowed)"
            )


def nodes(folder: Path, given: argparse.Namespace) -> None:
    count = given.clips or 128
    stretches(folder / "few", 4, 1000, ".bvh")
    stretches(folder / "in", count, 1000, ".bvh")
    how = ["--max-error", "1mm", "--codec", "keysine:threads=1"]
    clock, digests = {}, set()
    for number in (1, 2):
        with cluster_of(number) as cluster:
            # the first run includes the startup of nodes
            for source in ("few", "in"):
                output = folder / f"{source}{number}.mocps"
                start = time.perf_counter()
                _drive(folder, cluster, output.name, *how, source=source).wait()
                clock[number] = time.perf_counter() - start
        digests.add(hashlib.sha256(output.read_bytes()).hexdigest())
    print(
        f"{count} clips of 1,000 frames: one node {clock[1]:.1f} s, two {clock[2]:.1f} s, "
        f"{clock[1] / clock[2]:.2f} ×; archives are {'the same' if len(digests) == 1 else 'OTHERS'}"
    )


def _drive(
    folder: Path, cluster: Any, output: str, *how: str, source: str = "in"
) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "mocpack", "corpus", "pack", source, "-o", output, *how]
    words += ["--engine", "ray", "--address", cluster.address]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)


def kills(folder: Path, given: argparse.Namespace) -> None:
    chance = random.Random(given.seed)
    # enough clips that the run does not end before the last kill
    stretches(folder / "in", 2 * KILLS * PARTS_BETWEEN, 400, ".bvh")
    words = [sys.executable, "-m", "mocpack", "corpus", "pack", "in", "-o", "calm.mocps", *HOW]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    killed = {"worker": 0, "node": 0, "command": 0}
    parts = folder / "wild.mocps.parts"
    with cluster_of(2) as cluster:
        command = _drive(folder, cluster, "wild.mocps", *HOW)
        for number in range(1, KILLS + 1):
            while (
                command.poll() is None and len(list(parts.glob("*.part"))) < number * PARTS_BETWEEN
            ):
                time.sleep(0.01)
            whom = chance.choices(list(killed), [3, 1, 1])[0]
            killed[whom] += _kill(whom, cluster, command, chance)
            if command.poll() is not None:
                command = _drive(folder, cluster, "wild.mocps", *HOW)
        code = command.wait()
    same = (folder / "wild.mocps").read_bytes() == (folder / "calm.mocps").read_bytes()
    said = ", ".join(f"{count} of {name}s" for name, count in killed.items())
    print(f"{sum(killed.values())} kills ({said}; seed {given.seed}), then exit code {code}: the")
    print(f"  archive is {'byte-identical to' if same else 'NOT'} that of an undisturbed run")


def _kill(whom: str, cluster: Any, command: subprocess.Popen[bytes], chance: random.Random) -> int:
    """Kill one process that this script has started; return how many were killed."""
    if whom == "command":
        command.kill()
        command.wait()
        return 1
    node = chance.choice(cluster.nodes)
    if whom == "node":
        cluster.nodes.remove(node)
        cluster.remove_node(node, allow_graceful=False)
        cluster.nodes.append(cluster.add_node(num_cpus=1))
        return 1
    for _ in range(1000):
        found = [pid for one in cluster.nodes for pid in _workers(one)]
        if found:
            os.kill(chance.choice(found), signal.SIGKILL)
            return 1
        time.sleep(0.01)  # all are between two tasks
    return 0


def _workers(node: Any) -> list[int]:
    (raylet,) = [info.process for info in node.all_processes["raylet"]]
    found = []
    for thread in Path(f"/proc/{raylet.pid}/task").iterdir():
        for pid in (thread / "children").read_text().split():
            try:
                if b"ray::pack" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
            except OSError:
                continue
    return found


WHAT = {
    "resume": resume,
    "overhead": overhead,
    "memory": memory,
    "nodes": nodes,
    "kills": kills,
}

if __name__ == "__main__":
    main()
