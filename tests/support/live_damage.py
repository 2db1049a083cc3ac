"""Send live packets through a network that damages them, and list wrong poses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from live_network import Network
from mocpack.live import Hello, Receiver, Sender
from mocpack.model.clip import Clip


@dataclass(frozen=True)
class Damage:
    """Results of receivers for damaged packets."""

    packets: int
    false: int
    answers: Counter[str]


def damage(clip: Clip, seed: int, rounds: int = 20) -> Damage:
    """Send a clip repeatedly through a network with all kinds of damage.

    Bits are flipped, ends cut, packets doubled, reordered, lost, and mixed with those of a sender
    of the same skeleton that was restarted. A pose is false if it differs, in any bit, from what
    an undisturbed receiver has of that frame.
    """
    sender = Sender(Hello(clip.header, 0.005, 5), repeat=(1, 2), keyframe_interval=40)
    frames = list(zip(clip.rotations, clip.translations, strict=True))
    packets = [p for frame in frames if (p := sender.send(*frame)) is not None]
    whole = Receiver(sender.hello)
    true = {pose.frame_number: pose for packet in packets for pose in whole.receive(packet)}
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
                known = true[pose.frame_number]
                same = np.array_equal(pose.rotations, known.rotations)
                false += not (same and np.array_equal(pose.translations, known.translations))
        answers.update({answer.name.lower(): n for answer, n in receiver.counts.items()})
    return Damage(total, false, answers)
