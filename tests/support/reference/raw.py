"""The payload of `raw` in plain numpy, to be read beside docs/codecs/raw.md."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F32


def read_channels(payload: bytes, frames: int, count: int) -> F32:
    """Return the channels (T, C) of a skeletal clip."""
    size = -(-count // 8)
    bits = np.unpackbits(np.frombuffer(payload, np.uint8, size), bitorder="little")
    moving = bits[:count].astype(bool)
    numbers = np.frombuffer(payload[size:], "<f4")
    still, samples = np.split(numbers, [count - int(moving.sum())])
    channels = np.empty((frames, count), np.float32)
    channels[:, ~moving] = still
    channels[:, moving] = samples.reshape(frames, -1)
    return channels
