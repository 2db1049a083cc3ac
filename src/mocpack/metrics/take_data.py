"""What a take holds beside its poses: how much of it changed."""

from __future__ import annotations

import numpy as np

from mocpack.clip import Clip
from mocpack.take_data import Track

BROKEN_TRACK = 1e9  # in place of infinity, which JSON does not have


def scale_error(a: Clip, b: Clip) -> float | None:
    """Return the largest difference of a scale; None where neither has any."""
    if not (a.header.is_scaled or b.header.is_scaled):
        return None
    return float(np.abs(a.scales - b.scales).max())


def time_error(a: Clip, b: Clip) -> float | None:
    """Return the largest difference of when a frame is, in seconds; None of even times from 0."""
    if not any(clip.start_time or clip.take_data.times is not None for clip in (a, b)):
        return None
    return float(np.abs(a.times - b.times).max())


def count_changed_gaps(a: Clip, b: Clip) -> float | None:
    """Return how many samples were seen in one and not in the other; None where none has gaps."""
    if a.take_data.valid is None and b.take_data.valid is None:
        return None
    return float((a.valid != b.valid).sum())


def track_error(a: Clip, b: Clip) -> float | None:
    """Return the largest error of a track over its own bound: above 1, one breaks it.

    A track that is missing, or exact and changed, counts as `BROKEN_TRACK`; None where there is none.
    """
    if not (a.tracks or b.tracks):
        return None
    if a.tracks.keys() != b.tracks.keys():
        return BROKEN_TRACK
    return max(_over_bound(track, b.tracks[name]) for name, track in a.tracks.items())


def _over_bound(a: Track, b: Track) -> float:
    if not a.has_same_layout(b):
        return BROKEN_TRACK
    error = a.error(b)
    if not a.bound:
        return BROKEN_TRACK if error else 0.0
    return error / a.bound
