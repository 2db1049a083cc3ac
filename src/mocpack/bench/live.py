"""What live streams come to: shown frames and bits under loss, false poses under damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mocpack.bench.report.figures import new_figure
from mocpack.bench.report.markdown import markdown_table
from mocpack.clip import Clip
from mocpack.live import Hello, Receiver, Sender
from mocpack.live.bridges.vmc import bone_names, bundles
from mocpack.testing.live_run import HEADERS, LiveRun, run_live
from mocpack.testing.network import Network

REPORTS = 6  # frames between two reports of a receiver
Case = tuple[float, int, int, tuple[int, ...]]
CASES: tuple[Case, ...] = (  # share lost, in runs of, frames shown late, repeated to begin with
    (0.0, 1, 0, ()),
    (0.05, 1, 0, (1,)),
    (0.05, 1, 2, (1, 2)),
    (0.05, 1, 12, ()),
    (0.05, 5, 0, (1, 2, 3, 4, 5)),
    (0.05, 5, 7, (3, 6)),
    (0.05, 5, 16, ()),
)


AT_ONCE = tuple(case for case in CASES if case[0] and not case[2])
LOSSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02)  # metres: what makes the rate
DELAYS = (0, 1, 2, 4, 8, 12)  # frames


@dataclass(frozen=True)
class LossRow:
    """One case of a clip over networks that lose packets, each by a seed of its own."""

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


@dataclass(frozen=True)
class Damage:
    """What receivers made of damaged packets."""

    packets: int
    false: int
    answers: Counter[str]


def loss_rows(
    clip: Clip, max_error: float = 0.005, seeds: int = 32, cases: Sequence[Case] = CASES
) -> Iterator[LossRow]:
    """Yield what is shown of a clip where nothing, and where 5 % of all packets is lost."""
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


def damage(clip: Clip, seed: int, rounds: int = 20) -> Damage:
    """Send a clip again and again through a network that does everything but keep quiet.

    Bits are flipped, ends cut, packets doubled, reordered, lost, and mixed with those of a sender
    of the same skeleton that was restarted. A pose is false if it differs, in any bit, from what
    an undisturbed receiver has of that frame.
    """
    sender = Sender(Hello(clip.header, 0.005, 5), repeat=(1, 2), intra=40)
    frames = list(zip(clip.rotations, clip.translations, strict=True))
    packets = [p for frame in frames if (p := sender.send(*frame)) is not None]
    whole = Receiver(sender.hello)
    true = {pose.number: pose for packet in packets for pose in whole.receive(packet)}
    other = Sender(Hello(clip.header, 0.005, 6), repeat=(1, 2))
    strange = [p for frame in frames[:50] if (p := other.send(*frame)) is not None]
    rng = np.random.default_rng(seed)
    network = Network(
        seed, loss=0.02, jitter=0.02, reordered=0.05, doubled=0.05, flipped=0.6, cut=0.2
    )
    answers: Counter[str] = Counter()
    false = total = 0
    for _ in range(rounds):
        receiver = Receiver(sender.hello, patience=3)
        for t, packet in enumerate(packets):
            network.send(packet, t / 120)
            if t % 16 == 7:
                network.send(strange[int(rng.integers(len(strange)))], t / 120)
        for _, packet in network.arrivals(1e9):
            total += 1
            for pose in receiver.receive(packet):
                known = true[pose.number]
                same = np.array_equal(pose.rotations, known.rotations)
                false += not (same and np.array_equal(pose.translations, known.translations))
        answers.update({answer.name.lower(): n for answer, n in receiver.counts.items()})
    return Damage(total, false, answers)


def kbits_of(sizes: list[int], seconds: float, headers: int = HEADERS) -> float:
    """Return kilobits a second of packets of these sizes, with the network's headers."""
    return 8 * (sum(sizes) + headers * len(sizes)) / seconds / 1000


@dataclass(frozen=True)
class GridRow:
    """One point of error over loss, rate and delay."""

    loss: float
    burst: int
    bound: float
    behind: int
    within: float
    received: float
    median: float
    kbits: float


def live_grid(
    clip: Clip, done: Callable[[], None] = lambda: None, frames: int = 600
) -> list[GridRow]:
    """Return what is shown of a clip over loss × delay, and over loss × rate; both in runs too."""
    part = clip.frames(0, min(frames, clip.frame_count))
    points = [(0.005, behind) for behind in DELAYS]
    points += [(bound, 4) for bound in BOUNDS if (bound, 4) not in points]
    rows = []
    for burst in (1, 5):
        for loss in LOSSES:
            for bound, behind in points:
                run = run_live(
                    part,
                    Network(seed=3, loss=loss, burst=burst),
                    max_error=bound,
                    behind=behind,
                    report_every=REPORTS,
                )
                seen = run.errors[np.isfinite(run.errors)]
                median = float(np.median(seen)) if len(seen) else np.inf
                rows.append(
                    GridRow(loss, burst, bound, behind, run.within, run.received, median, run.kbits)
                )
                done()
    return rows


def grid_size() -> int:
    """Return how many runs `live_grid` makes."""
    extra = sum((bound, 4) != (0.005, 4) for bound in BOUNDS)
    return 2 * len(LOSSES) * (len(DELAYS) + extra)


def write_grid(rows: Sequence[GridRow], out: Path) -> list[Path]:
    """Write the table, and the picture: frames within the bound over loss, by delay and by rate."""
    made = [out / "live.md", out / "live.png"]
    heading = ["lost", "in runs of", "max_error", "frames late", "within", "received", "kbit/s"]
    cells = [
        [
            f"{100 * r.loss:g} %",
            str(r.burst),
            f"{1000 * r.bound:g} mm",
            str(r.behind),
            f"{100 * r.within:.1f} %",
            f"{100 * r.received:.1f} %",
            f"{r.kbits:.1f}",
        ]
        for r in rows
    ]
    made[0].write_text(markdown_table(heading, cells) + "\n", encoding="utf-8")
    figure = new_figure(10.0, 6.5)
    axes = figure.subplots(2, 2)
    for row, burst in enumerate((1, 5)):
        _by_delay(axes[row][0], [r for r in rows if r.burst == burst], burst)
        _by_rate(axes[row][1], [r for r in rows if r.burst == burst], burst)
    figure.savefig(made[1], dpi=110)
    return made


def _by_delay(axes: Any, rows: Sequence[GridRow], burst: int) -> None:
    for behind in DELAYS:
        line = [r for r in rows if (r.bound, r.behind) == (0.005, behind)]
        axes.plot(
            [100 * r.loss for r in line], [100 * r.within for r in line], label=f"{behind} frames"
        )
    axes.set(xlabel="packets lost, %", ylabel="frames within 5 mm, %")
    axes.set_title(f"shown late by, lost in runs of {burst}", fontsize=10)
    axes.legend(fontsize=8)


def _by_rate(axes: Any, rows: Sequence[GridRow], burst: int) -> None:
    for loss in LOSSES:
        line = [r for r in rows if (r.loss, r.behind) == (loss, 4)]
        line.sort(key=lambda r: r.kbits)
        axes.plot(
            [r.kbits for r in line],
            [1000 * r.median for r in line],
            ".-",
            label=f"{100 * loss:g} %",
        )
    axes.set(xlabel="kbit/s with headers", ylabel="error of the median frame, mm", yscale="log")
    axes.set_title(f"lost, in runs of {burst}; shown 4 frames late", fontsize=10)
    axes.legend(fontsize=8)


def vmc_bytes(clip: Clip) -> str:
    """Compare bytes with VMC's for the same frames: bone by bone over OSC."""
    names = bone_names(clip.skeleton)
    sender = Sender(Hello(clip.header, 0.005, 1))
    ours: list[int] = []
    theirs: list[int] = []
    for t, frame in enumerate(zip(clip.rotations, clip.translations, strict=True)):
        packet = sender.send(*frame)
        ours += [] if packet is None else [len(packet)]
        moment = (t * clip.header.frame_time, *frame)
        theirs += map(len, bundles(clip.skeleton, names, clip.header, moment))
    seconds = clip.frame_count * clip.header.frame_time
    a, b = kbits_of(ours, seconds), kbits_of(theirs, seconds)
    return (
        f"{len(names)} bones at {clip.header.frame_rate:.0f} fps: ours {sum(ours)} bytes, VMC "
        f"{sum(theirs)} in {len(theirs)} datagrams: 1/{sum(theirs) / sum(ours):.1f}; with IP and "
        f"UDP headers {a:.1f} and {b:.1f} kbit/s: 1/{b / a:.1f}"
    )
