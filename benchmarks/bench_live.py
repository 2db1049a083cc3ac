"""Figures of `mocpack.live`, each by its command.

    python benchmarks/bench_live.py speed    [CLIP ...]   microseconds a frame, 31 joints
    python benchmarks/bench_live.py loss     [CLIP ...]   frames shown at 5 % loss, and bits
    python benchmarks/bench_live.py damage   [PACKETS]    false poses among damaged packets, 10^6
    python benchmarks/bench_live.py soak     [FRAMES]     both ends equal, memory flat, 10^6

CLIP is a name such as cmu/49_02. `mocpack bench --live` draws error over loss, rate and delay.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from itertools import count

import numpy as np

from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.bench.live import damage, loss_rows
from mocpack.bench.runner.timing import inflate_speed
from mocpack.live import Hello, Receiver, Sender

CLIPS = ["cmu/49_02", "cmu/17_08", "cmu/16_32"]


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
            f"{size / (20 * len(times)):.1f} bytes a packet at 5 mm"
        )


def loss(names: list[str]) -> None:
    for name in names or CLIPS:
        for row in loss_rows(load_clip(name, COMMITTED)):
            print(name, row)


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
        if sender.print() != receiver.print():
            raise SystemExit(f"frame {done}: the two ends differ")
        if done % (frames // 10 or 1) == 0:
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{done:>9} frames, {used} MB, off by {1000 * sender.error:.2f} mm", flush=True)
    assert np.array_equal(pose.rotations, sender.pose()[0])
    print(f"{frames} frames: both ends hold the same bits")


def main() -> None:
    what, rest = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if what == "speed":
        speed(rest)
    elif what == "loss":
        loss(rest)
    elif what == "damage":
        damaged(int(rest[0]) if rest else 1_000_000)
    elif what == "soak":
        soak(int(rest[0]) if rest else 1_000_000)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
