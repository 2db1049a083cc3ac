"""What live streams come to: shown frames and bits under loss, false poses under damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mocpack.clip import Clip
from mocpack.live import Hello, Receiver, Sender
from mocpack.testing.live_run import HEADERS, LiveRun, run_live
from mocpack.testing.network import Network

REPORTS = 6  # frames between two reports of a receiver
CASES = (  # share lost, in runs of, frames shown late, repeated to begin with
    (0.0, 1, 0, ()),
    (0.05, 1, 0, (1, 2)),
    (0.05, 1, 2, (1, 2)),
    (0.05, 5, 0, (3, 6)),
    (0.05, 5, 7, (3, 6)),
)


@dataclass(frozen=True)
class LossRow:
    """One case of a clip over a network that loses packets."""

    loss: float
    burst: int
    behind: int
    run: LiveRun

    def __str__(self) -> str:
        return (
            f"{100 * self.loss:.0f} % lost in runs of {self.burst}, shown {self.behind} frames "
            f"late: {100 * self.run.within:.2f} % within {1000 * self.run.bound:g} mm, "
            f"{100 * self.run.received:.2f} % received, {self.run.false} false, "
            f"{self.run.kbits:.1f} kbit/s"
        )


@dataclass(frozen=True)
class Damage:
    """What receivers made of damaged packets."""

    packets: int
    false: int
    answers: Counter[str]


def loss_rows(clip: Clip, max_error: float = 0.005) -> Iterator[LossRow]:
    """Yield what is shown of a clip where nothing, and where 5 % of all packets is lost."""
    for loss, burst, behind, repeat in CASES:
        network = Network(seed=2, loss=loss, burst=burst)
        run = run_live(
            clip, network, max_error=max_error, repeat=repeat, behind=behind, report_every=REPORTS
        )
        yield LossRow(loss, burst, behind, run)


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
