"""Key frames of a motion, by simplification of its curve in pose space (Lim and Thalmann 2001).

A stretch between two key frames is a straight line in time; the frame that strays furthest from
any such line becomes the next key frame, until the requested number or distance is reached.
"""

from __future__ import annotations

import heapq

import numpy as np

from mocpack.common.arrays import F64


def key_frames(curve: F64, *, count: int = 0, distance: float = 0.0) -> list[int]:
    """Return the key frames of a curve (T, C), increasing, both ends among them.

    Parameters
    ----------
    curve : array, shape (T, C)
        Poses with weighted columns.
    count : int
        Number of key frames; 0 for as many as `distance` needs.
    distance : float
        Maximum distance of a frame from its line, as root mean square over the columns.
    """
    last = len(curve) - 1
    keys = {0, last}
    stretches = [_farthest(curve, 0, last)]
    while stretches:
        stray, middle, start, stop = heapq.heappop(stretches)
        if len(keys) >= count if count else -stray <= distance:
            break
        if middle <= start:  # all frames are keys
            continue
        keys.add(middle)
        heapq.heappush(stretches, _farthest(curve, start, middle))
        heapq.heappush(stretches, _farthest(curve, middle, stop))
    return sorted(keys)


def _farthest(curve: F64, start: int, stop: int) -> tuple[float, int, int, int]:
    """Return (minus the distance, frame) of the frame furthest from the line, and the stretch."""
    if stop - start < 2:
        return 0.0, start, start, stop
    t = np.linspace(0, 1, stop - start + 1)[1:-1, np.newaxis]
    line = (1 - t) * curve[start] + t * curve[stop]
    strays = np.sqrt(np.mean((curve[start + 1 : stop] - line) ** 2, axis=1))
    at = int(np.argmax(strays))
    return -float(strays[at]), start + 1 + at, start, stop
