"""What was received, as a clip: the very poses, with what was missing marked as such.

Packets are kept as they came, a few bytes a frame, and decoded when the recording ends.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mocpack import rotations
from mocpack.clip import Clip
from mocpack.errors import UsageError
from mocpack.live.hello import Hello
from mocpack.live.receiver import Pose, Receiver
from mocpack.take import Extras

MOST_FRAMES = 120 * 3600 * 12  # of one recording
MOST_BYTES = 1 << 29


class Recording:
    """Keeps one stream.

    Parameters
    ----------
    hello : Hello
    most : int
        Frames; what comes later is left out.
    """

    def __init__(self, hello: Hello, most: int = MOST_FRAMES) -> None:
        self.hello = hello
        self._packets: list[bytes] = []
        self._bytes = 0
        self._most = most

    def __len__(self) -> int:
        return len(self._packets)

    def take(self, packet: bytes) -> None:
        """Keep a packet."""
        if len(self._packets) < self._most and self._bytes + len(packet) <= MOST_BYTES:
            self._packets.append(packet)
            self._bytes += len(packet)

    def clip(self) -> Clip:
        """Return the poses that were received, on the stream's even clock.

        Frames that were not received are slerped, and `clip.extras.valid` is False there.
        """
        receiver = Receiver(self.hello, patience=60)
        poses: list[Pose] = []
        frames: list[int] = []
        for packet in self._packets:
            for pose in receiver.receive(packet):
                apart = pose.number - poses[-1].number if poses else 0
                frames.append(frames[-1] + apart * receiver.every if poses else 0)
                poses.append(pose)
        if not poses:
            raise UsageError("nothing was received that could be recorded")
        return clip_of(self.hello, poses, frames)


def clip_of(hello: Hello, poses: list[Pose], frames: list[int]) -> Clip:
    """Return a clip of poses that stand at these frames, increasing from 0."""
    count = frames[-1] + 1
    at = np.arange(count)
    after = np.minimum(np.searchsorted(frames, at), len(frames) - 1)
    before = np.maximum(np.searchsorted(frames, at, side="right") - 1, 0)
    known = np.array(frames)
    turns = np.array([pose.rotations for pose in poses])
    places = np.array([pose.translations for pose in poses])
    seen = np.zeros(count, np.bool_)
    seen[known] = True
    if seen.all():
        return Clip(replace(hello.header, frame_count=count), turns, places)
    share = (at - known[before]) / np.maximum(known[after] - known[before], 1)
    # what was received stays as it is, bit for bit
    mixed = rotations.slerp(turns[before], turns[after], share[:, np.newaxis])
    slid = places[before] + share[:, np.newaxis, np.newaxis] * (places[after] - places[before])
    mixed[known], slid[known] = turns, places
    valid = np.repeat(seen[:, np.newaxis], len(hello.header.skeleton), axis=1)
    header = replace(hello.header, frame_count=count)
    return Clip(header, mixed, slid, extras=Extras(valid=valid))
