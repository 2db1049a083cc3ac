"""Errors of take data: scales, times, gaps and tracks."""

from __future__ import annotations

import numpy as np

from mocpack.model.clip import Clip
from mocpack.model.take_data import Track

BROKEN_TRACK = 1e9  # instead of infinity, which JSON cannot represent


def scale_error(a: Clip, b: Clip) -> float | None:
    """Return the largest scale difference; None if neither clip has scales."""
    if not (a.header.is_scaled or b.header.is_scaled):
        return None
    return float(np.abs(a.scales - b.scales).max())


def time_error(a: Clip, b: Clip) -> float | None:
    """Return the largest time difference of a frame in seconds; None for even times from 0."""
    if not any(clip.start_time or clip.take_data.times is not None for clip in (a, b)):
        return None
    return float(np.abs(a.times - b.times).max())


def count_changed_gaps(a: Clip, b: Clip) -> float | None:
    """Return the number of samples that are valid in only one clip; None without gaps."""
    if a.take_data.valid is None and b.take_data.valid is None:
        return None
    return float((a.valid != b.valid).sum())


def track_error(a: Clip, b: Clip) -> float | None:
    """Return the largest ratio of track error to track bound; above 1, a bound is violated.

    A missing track, or a changed exact track, gives `BROKEN_TRACK`. None without tracks.
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
