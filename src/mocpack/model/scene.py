"""Merge the clips of a scene into one clip, and shift clips in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from mocpack.errors import UsageError
from mocpack.model.clip import Clip
from mocpack.model.skeleton import Skeleton

MAX_FRAMES = 1_000_000


def merge_clips(clips: Mapping[str, Clip]) -> Clip:
    """Return one clip with the joints of all clips of a scene, named ``clip/joint``.

    It covers all clips at the highest frame rate among them. A clip keeps its first pose before it
    starts and its last pose after it ends. Scales become translations; tracks and gaps are dropped.
    """
    if not clips:
        raise UsageError("a scene must have at least one clip")
    step = min(clip.frame_time for clip in clips.values())
    start = min(float(clip.times[0]) for clip in clips.values())
    stop = max(float(clip.times[-1]) for clip in clips.values())
    count = int(np.floor((stop - start) / step + 1e-6)) + 1
    if count > MAX_FRAMES:
        raise UsageError(
            f"the merged clip would have {count} frames ({stop - start:.6g} seconds at "
            f"{1 / step:.6g} frames per second), at most {MAX_FRAMES} are allowed"
        )
    seconds = np.asarray(start + step * np.arange(count), np.float64)
    parts = [clip.bake_scales() for clip in clips.values()]
    poses = [
        part.poses_at(np.interp(seconds, part.times, np.arange(part.frame_count))) for part in parts
    ]
    starts = np.cumsum([0, *(len(part.skeleton) for part in parts)]).tolist()
    return Clip.build(
        _merge_skeletons(clips.keys(), [part.skeleton for part in parts], starts),
        np.concatenate([pose.rotations for pose in poses], axis=1),
        np.concatenate([pose.translations for pose in poses], axis=1),
        frame_time=step,
        start_time=start,
        translated_joints=[
            first + j
            for first, part in zip(starts, parts, strict=False)
            for j in part.translated_joints
        ],
    )


def shift_start(clip: Clip, seconds: float) -> Clip:
    """Return a clip that starts at another time; its tracks move with it."""
    later = seconds - clip.start_time
    uneven = clip.take_data.times
    tracks = {
        name: replace(
            track,
            start=track.start + later,
            times=None if track.times is None else track.times + later,
        )
        for name, track in clip.tracks.items()
    }
    times = None if uneven is None else uneven + (seconds - uneven[0])
    return clip.replace(start_time=seconds, times=times, tracks=tracks)


def _merge_skeletons(
    names: Iterable[str], skeletons: list[Skeleton], starts: list[int]
) -> Skeleton:
    titled = list(zip(names, skeletons, starts, strict=False))
    return Skeleton(
        tuple(f"{name}/{joint}" for name, skeleton, _ in titled for joint in skeleton.names),
        tuple(
            parent + first if parent >= 0 else -1
            for _, skeleton, first in titled
            for parent in skeleton.parents
        ),
        np.concatenate([skeleton.offsets for skeleton in skeletons]),
        np.concatenate([skeleton.end_sites for skeleton in skeletons]),
        tuple(first + j for _, skeleton, first in titled for j in skeleton.end_site_joints),
    )
