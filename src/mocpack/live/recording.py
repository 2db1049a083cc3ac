"""Turn recorded packets into clips with the exact received poses; missing frames are marked.

Packets are decoded one after another, so a recording of any length needs the memory of one clip.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from mocpack.live.hello import Hello
from mocpack.live.receiver import Pose, Receiver
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.take_data import TakeData

MAX_GAP_S = 10.0  # shorter gaps are interpolated; a longer gap ends the clip
MAX_JOINT_FRAMES = 1 << 20  # joints times frames per clip: 4.7 minutes of 31 joints at 120 fps
MAX_FILLED_FRAMES = 120 * 3600 * 12  # interpolated per recording; then every gap ends a clip
PATIENCE = 60  # frames to wait for a missing one


def decode_clips(
    hello: Hello, packets: Iterable[bytes], max_joint_frames: int = MAX_JOINT_FRAMES
) -> Iterator[Clip]:
    """Yield the poses of a stream as clips with a constant frame rate.

    Missing frames are interpolated, and `clip.take_data.valid` is False there. A new clip starts
    after a gap longer than `MAX_GAP_S`, and when a clip reaches `max_joint_frames` joints times
    frames. No received frame is dropped.
    """
    max_frames = max(1, max_joint_frames // len(hello.header.skeleton))
    filled = 0
    poses: list[Pose] = []
    frames: list[int] = []
    for pose, frame_step in _decode_poses(hello, packets):
        apart = (pose.frame_number - poses[-1].frame_number) * frame_step if poses else 1
        too_far = apart > 1 and (
            (apart - 1) * hello.header.frame_time > MAX_GAP_S
            or filled + apart - 1 > MAX_FILLED_FRAMES
        )
        if poses and (too_far or frames[-1] + apart >= max_frames):
            yield build_clip(hello, poses, frames)
            poses, frames, apart = [], [], 1
        filled += apart - 1
        frames.append(frames[-1] + apart if poses else 0)
        poses.append(pose)
    if poses:
        yield build_clip(hello, poses, frames)


def _decode_poses(hello: Hello, packets: Iterable[bytes]) -> Iterator[tuple[Pose, int]]:
    """Yield the poses of a stream, each with the source frames per sent frame."""
    receiver = Receiver(hello, patience=PATIENCE)
    newest_packets: deque[bytes] = deque(maxlen=2 * PATIENCE)
    for packet in packets:
        newest_packets.append(packet)
        for pose in receiver.receive(packet):
            yield pose, receiver.frame_step
    # At the end, nothing is left to wait for, so a missing frame does not hold back later ones.
    last = receiver.last.frame_number if receiver.last else -1
    receiver = Receiver(hello, patience=0)
    for packet in newest_packets:
        for pose in receiver.receive(packet):
            if pose.frame_number > last:
                yield pose, receiver.frame_step


def build_clip(hello: Hello, poses: list[Pose], frames: list[int]) -> Clip:
    """Return a clip with `poses` at `frames` (increasing from 0), and others interpolated."""
    count = frames[-1] + 1
    at = np.arange(count)
    after = np.minimum(np.searchsorted(frames, at), len(frames) - 1)
    before = np.maximum(np.searchsorted(frames, at, side="right") - 1, 0)
    known = np.array(frames)
    received = np.array([pose.rotations for pose in poses])
    translations = np.array([pose.translations for pose in poses])
    seen = np.zeros(count, np.bool_)
    seen[known] = True
    if seen.all():
        return Clip(replace(hello.header, frame_count=count), received, translations)
    weight = (at - known[before]) / np.maximum(known[after] - known[before], 1)
    # received poses stay bit-exact
    mixed = rotations.slerp(received[before], received[after], weight[:, np.newaxis])
    moved = translations[before] + weight[:, np.newaxis, np.newaxis] * (
        translations[after] - translations[before]
    )
    mixed[known], moved[known] = received, translations
    valid = np.repeat(seen[:, np.newaxis], len(hello.header.skeleton), axis=1)
    header = replace(hello.header, frame_count=count)
    return Clip(header, mixed, moved, take_data=TakeData(valid=valid))
