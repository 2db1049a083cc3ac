"""Measure `mocpack.live`: speed, loss, damage, relays.

    python benchmarks/bench_live.py speed    [CLIP ...]   microseconds per frame
    python benchmarks/bench_live.py loss     [CLIP ...]   frames shown at 5 % loss, and bits
    python benchmarks/bench_live.py at-once  [CLIP ...]   with no delay at all, clip by clip
    python benchmarks/bench_live.py damage   [PACKETS]    false poses among damaged packets, 10^6
    python benchmarks/bench_live.py soak     [FRAMES]     both ends equal, memory flat, 10^6
    python benchmarks/bench_live.py vmc      [CLIP]       bytes against VMC over OSC (python-osc)
    python benchmarks/bench_live.py stage    [SECONDS]    8 senders, 20 receivers, one relay
    python benchmarks/bench_live.py join                  seconds from joining to the first pose
    python benchmarks/bench_live.py grid     [CLIP]       a table and a picture, in report/: error
                                                          over loss, rate and delay

CLIP is a name such as cmu/49_02.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from websockets.asyncio.client import connect

from mocpack import _core
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.bench.runner.timing import inflate_speed
from mocpack.errors import UsageError
from mocpack.live import Hello, Receiver, Sender, is_hello
from mocpack.live.bridges.vmc import pack_bundles, vmc_bone_names
from mocpack.live.client import Frame, send_frames, watch
from mocpack.live.relay import Relay
from mocpack.live.stage import subprotocols, unpack_items
from mocpack.model.clip import Clip

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from live_damage import damage
from live_grid import REPORTS, grid_size, live_grid, write_grid
from live_network import Network
from live_run import HEADERS, LiveRun, run_live

CLIPS = ["cmu/49_02", "cmu/17_08", "cmu/16_32"]
Case = tuple[float, int, int, tuple[int, ...]]
CASES: tuple[Case, ...] = (  # loss, burst length, delay in frames, initial repeats
    (0.0, 1, 0, ()),
    (0.05, 1, 0, (1, 2)),
    (0.05, 1, 2, (1, 2)),
    (0.05, 1, 12, ()),
    (0.05, 5, 0, (1, 2, 3, 4, 5)),
    (0.05, 5, 7, (3, 5)),
    (0.05, 5, 16, ()),
)
AT_ONCE = tuple(case for case in CASES if case[0] and not case[2])


@dataclass(frozen=True)
class LossRow:
    """One case of a clip over lossy networks, one per seed."""

    loss: float
    burst: int
    behind: int
    runs: Sequence[LiveRun]

    def mean(self, of: Callable[[LiveRun], float]) -> float:
        return float(np.mean([of(run) for run in self.runs]))

    @property
    def within(self) -> float:
        return self.mean(lambda run: run.within)

    @property
    def kbits(self) -> float:
        return self.mean(lambda run: run.kbits)

    def __str__(self) -> str:
        each = [100 * run.within for run in self.runs]
        lost, received = self.mean(lambda run: run.lost), self.mean(lambda run: run.received)
        return (
            f"{100 * self.loss:.0f} % lost in runs of {self.burst} "
            f"({100 * lost:.2f} %), shown {self.behind} frames late: {100 * self.within:.2f} % "
            f"within {1000 * self.runs[0].bound:g} mm ({min(each):.1f} to {max(each):.1f}), "
            f"{100 * received:.2f} % received, "
            f"{sum(run.false for run in self.runs)} false, {self.kbits:.1f} kbit/s"
        )


def loss_rows(
    clip: Clip, max_error: float = 0.005, seeds: int = 32, cases: Sequence[Case] = CASES
) -> Iterator[LossRow]:
    """Yield the displayed frames of a clip without loss and with 5 % packet loss."""
    for loss, burst, behind, repeat in cases:
        runs = [
            run_live(
                clip,
                Network(seed=seed, loss=loss, burst=burst),
                max_error=max_error,
                repeat=repeat,
                behind=behind,
                report_every=REPORTS,
            )
            for seed in range(2, 2 + (seeds if loss else 1))
        ]
        yield LossRow(loss, burst, behind, runs)


def speed(names: list[str]) -> None:
    print(f"zlib inflates {inflate_speed():.0f} MB/s here; best of bursts of 20 frames, in µs")
    for name in names or CLIPS:
        clip = load_clip(name, COMMITTED)
        sender = Sender(Hello(clip.header, 0.005, 1))
        receiver = Receiver(sender.hello)
        frames = list(zip(clip.rotations, clip.translations, strict=True))
        times, size = [], 0
        for start in range(0, len(frames) - 20, 20):
            began = time.process_time()
            packets = [sender.send(*frame) for frame in frames[start : start + 20]]
            middle = time.process_time()
            for packet in packets:
                receiver.receive(packet)
            times.append((middle - began, time.process_time() - middle))
            size += sum(map(len, packets))
        best, middle_of = 1e6 / 20 * np.min(times, axis=0), 1e6 / 20 * np.median(times, axis=0)
        print(
            f"{name:<12} {len(clip.skeleton)} joints   encode {best[0]:5.1f} (median "
            f"{middle_of[0]:5.1f})   decode {best[1]:5.1f} ({middle_of[1]:5.1f})   "
            f"{size / (20 * len(times)):.1f} bytes per packet at 5 mm"
        )


def loss(names: list[str]) -> None:
    for name in names or CLIPS:
        for row in loss_rows(load_clip(name, COMMITTED)):
            print(name, row)


def at_once(names: list[str]) -> None:
    """Measure the displayed frames of the clips of cmu without delay, up to 1,000 frames."""
    shares: list[list[float]] = []
    for name in names or [f"cmu/{path.stem}" for path in sorted((COMMITTED / "cmu").iterdir())]:
        clip = load_clip(name, COMMITTED)
        rows = [*loss_rows(clip.frames(0, min(1000, clip.frame_count)), cases=AT_ONCE)]
        shares.append([100 * row.within for row in rows] + [row.kbits for row in rows])
        lost = [f"{100 * row.mean(lambda run: run.lost):.2f}" for row in rows]
        print(f"{name:<12} {_format_figures(shares[-1])}; lost {' and '.join(lost)} %", flush=True)
    for what, of in (("least", np.min), ("mean", np.mean), ("most", np.max)):
        print(f"{what}: {_format_figures(of(shares, axis=0))}")


def _format_figures(figures: Sequence[float]) -> str:
    single, runs, rate, runs_rate = figures
    return (
        f"lost one by one {single:.2f} %, {rate:.1f} kbit/s; "
        f"in runs of five {runs:.2f} %, {runs_rate:.1f} kbit/s"
    )


def damaged(packets: int) -> None:
    clip = load_clip("cmu/49_02", COMMITTED).frames(0, 480)
    answers: Counter[str] = Counter()
    false = total = 0
    for seed in count():
        found = damage(clip, seed)
        false, total = false + found.false, total + found.packets
        answers += found.answers
        if total >= packets:
            break
    print(f"{total} packets, {false} false poses; {dict(answers)}")


def soak(frames: int) -> None:
    clip = load_clip("cmu/49_02", COMMITTED)
    order = [*range(clip.frame_count), *range(clip.frame_count - 2, 0, -1)]
    sender = Sender(Hello(clip.header, 0.005, 1))
    receiver = Receiver(sender.hello)
    for done in range(frames):
        t = order[done % len(order)]
        (pose,) = receiver.receive(sender.send(clip.rotations[t], clip.translations[t]))
        if sender.checksum() != receiver.checksum():
            raise SystemExit(f"frame {done}: the two ends differ")
        if done % (frames // 10 or 1) == 0:
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{done:>9} frames, {used} MB, off by {1000 * sender.error:.2f} mm", flush=True)
    assert np.array_equal(pose.rotations, sender.pose()[0])
    print(f"{frames} frames: both ends hold the same bits")


def vmc(name: str) -> None:
    print(vmc_bytes(load_clip(name, COMMITTED).frames(0, 1200)))


def vmc_bytes(clip: Clip) -> str:
    """Compare bytes with VMC over OSC for the same frames."""
    names = vmc_bone_names(clip.skeleton)
    sender = Sender(Hello(clip.header, 0.005, 1))
    ours: list[int] = []
    theirs: list[int] = []
    for t, frame in enumerate(zip(clip.rotations, clip.translations, strict=True)):
        packet = sender.send(*frame)
        ours += [] if packet is None else [len(packet)]
        moment = (t * clip.header.frame_time, *frame)
        theirs += map(len, pack_bundles(clip.skeleton, names, clip.header, moment))
    seconds = clip.frame_count * clip.header.frame_time
    a, b = _kbits(ours, seconds), _kbits(theirs, seconds)
    return (
        f"{len(names)} bones at {clip.header.frame_rate:.0f} fps: ours {sum(ours)} bytes, VMC "
        f"{sum(theirs)} in {len(theirs)} datagrams: 1/{sum(theirs) / sum(ours):.1f}; with IP and "
        f"UDP headers {a:.1f} and {b:.1f} kbit/s: 1/{b / a:.1f}"
    )


def _kbits(sizes: Sequence[int], seconds: float) -> float:
    """Return kilobits per second of packets of these sizes, with the network's headers."""
    return 8 * (sum(sizes) + HEADERS * len(sizes)) / seconds / 1000


def serve(pipe: Connection) -> None:
    """Run a relay in its own process; send its port, then its CPU time."""

    async def run() -> None:
        relay = Relay()
        await relay.start()
        pipe.send(relay.url)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, pipe.recv)  # the receivers have joined
        began, cpu = time.perf_counter(), time.process_time()
        await loop.run_in_executor(None, pipe.recv)
        pipe.send((time.process_time() - cpu) / (time.perf_counter() - began))
        await relay.stop()

    asyncio.run(run())


def watching(url: str, seconds: float, pipe: Connection) -> None:
    """Run ten receivers in a process; send the delays of packets, from their time stamps."""

    async def one(late: list[float], ready: asyncio.Event) -> None:
        checks: dict[int, int] = {}
        newest: dict[int, tuple[int, int]] = {}
        words = subprotocols("watch", None)
        async with connect(f"{url}/stage", subprotocols=words, compression=None) as connection:
            async for message in connection:
                now = time.time() % 1000
                for who, data in unpack_items(message) if isinstance(message, bytes) else ():
                    if is_hello(data):
                        checks[who] = Hello.from_bytes(data).checksum
                        continue
                    _, number, micros, _, _ = _core.live_unpack(checks[who], data, newest.get(who))
                    newest[who] = (number, micros)
                    late.append(now - micros / 1e6)
                if len(checks) == 8:
                    ready.set()

    async def run() -> None:
        late: list[float] = []
        ready = asyncio.Event()
        tasks = [asyncio.ensure_future(one(late, ready)) for _ in range(10)]
        await ready.wait()
        await asyncio.sleep(1)
        late.clear()  # drop the packets that a new receiver gets at once
        pipe.send("ready")
        await asyncio.sleep(seconds)
        pipe.send(list(late))
        for task in tasks:
            task.cancel()

    asyncio.run(run())


async def performing(url: str, seconds: float) -> None:
    clip = load_clip("cmu/49_02", COMMITTED)

    async def act(name: str, start: float) -> None:
        async def frames() -> AsyncIterator[Frame]:
            loop = asyncio.get_running_loop()
            first = loop.time() + start
            for n in range(int(120 * seconds)):
                await asyncio.sleep(max(0.0, first + n / 120 - loop.time()))
                t = n % clip.frame_count
                yield time.time() % 1000, clip.rotations[t], clip.translations[t]

        with suppress(UsageError):  # the relay has stopped
            await send_frames(f"{url}/stage/{name}", Sender(clip.header, 0.005), frames(), tries=1)

    await asyncio.gather(*(act(f"p{k}", k / 960) for k in range(8)))


def stage(seconds: float) -> None:
    """Measure a relay with 8 performers at 120 fps and 20 receivers: CPU time and delays."""
    start = multiprocessing.get_context("spawn")
    ours, theirs = start.Pipe()
    relay = start.Process(target=serve, args=(theirs,))
    relay.start()
    url = ours.recv()
    audience = [start.Pipe() for _ in range(2)]
    rows = [start.Process(target=watching, args=(url, seconds, far)) for _, far in audience]
    for row in rows:
        row.start()
    act = threading.Thread(target=lambda: asyncio.run(performing(url, seconds + 8)))
    act.start()
    for near, _ in audience:
        near.recv()
    ours.send("go")
    late = np.concatenate([near.recv() for near, _ in audience])
    ours.send("end")
    share = ours.recv()
    act.join()
    for process in (relay, *rows):
        process.join()
    p50, p99 = 1000 * np.quantile(late, [0.5, 0.99])
    print(
        f"8 × 120 fps × 20 receivers, {len(late)} packets: relay {100 * share:.1f} % of a core, "
        f"late by {p50:.2f} ms (p50), {p99:.2f} ms (p99)"
    )


def join() -> None:
    """Join a stage with a performer twenty times; measure the time until the newest pose."""

    async def run() -> None:
        relay = Relay()
        await relay.start()
        act = asyncio.ensure_future(performing(relay.url, 60))
        await asyncio.sleep(2)
        times = []
        for _ in range(20):
            began = time.perf_counter()
            async for event in watch(f"{relay.url}/stage"):
                if event.pose is not None:
                    times.append(1000 * (time.perf_counter() - began))
                    break
        act.cancel()
        await asyncio.gather(act, return_exceptions=True)
        await relay.stop()
        median, longest = np.median(times), max(times)
        print(f"first pose {median:.1f} ms (median), {longest:.1f} ms (longest) after connecting")

    asyncio.run(run())


def grid(name: str) -> None:
    """Send a clip through networks of different loss, rate and delay; write table and plot."""
    out = Path("report")
    out.mkdir(exist_ok=True)
    rows = live_grid(load_clip(name, COMMITTED), lambda: print(".", end="", flush=True))
    print(f"\n{grid_size()} runs; wrote {' and '.join(map(str, write_grid(rows, out)))}")


def main() -> None:
    what, rest = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if what == "speed":
        speed(rest)
    elif what == "loss":
        loss(rest)
    elif what == "at-once":
        at_once(rest)
    elif what == "damage":
        damaged(int(rest[0]) if rest else 1_000_000)
    elif what == "soak":
        soak(int(rest[0]) if rest else 1_000_000)
    elif what == "vmc":
        vmc(rest[0] if rest else "cmu/49_02")
    elif what == "join":
        join()
    elif what == "grid":
        grid(rest[0] if rest else "cmu/49_02")
    elif what == "stage":
        stage(float(rest[0]) if rest else 5.0)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
