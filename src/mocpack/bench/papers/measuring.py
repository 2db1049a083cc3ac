"""Helpers that the reproductions of several papers share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track

from mocpack import _api
from mocpack.cores import core_count
from mocpack.errors import MocpackError
from mocpack.model.clip import Clip
from mocpack.workers import LostJob, WorkerGroup

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


def report_progress(text: str) -> None:
    """Print a line about the current measurement."""
    print(f"  {text}", file=sys.stderr, flush=True)


def load_frames(path: Path, start: int = 1, stride: int = 1, frames: int | None = None) -> Clip:
    """Read every `stride`-th frame; frame 0 of a CMU BVH file is a T-pose of the conversion."""
    clip = _api.read(path)
    chosen = slice(start, None if frames is None else start + stride * frames, stride)
    rotations = clip.rotations[chosen]
    header = replace(clip.header, frame_count=len(rotations), frame_time=clip.frame_time * stride)
    numbers = None if clip.channels is None else clip.channels[chosen]
    return Clip(header, rotations, clip.translations[chosen], numbers)


def without_cache(clip: Clip) -> Clip:
    """Return the clip without cached positions, so that a timing includes computing them."""
    return Clip(clip.header, clip.rotations, clip.translations, clip.channels)


def mean_error(clip: Clip, decoded: Clip) -> float:
    """Return the mean distance of joints over all frames, in meters."""
    return float(np.linalg.norm(clip.positions() - decoded.positions(), axis=-1).mean())


def interpolate_log(at: float, points: Sequence[tuple[float, float]]) -> float | None:
    """Return y at x = `at`, linear in logarithms between (x, y) points; None outside them.

    >>> round(interpolate_log(2.0, [(4.0, 25.0), (1.0, 100.0)]), 6)
    50.0
    """
    if not points:
        return None
    x, y = np.array(sorted(points)).T
    if not x[0] <= at <= x[-1]:
        return None
    return float(np.exp(np.interp(np.log(at), np.log(x), np.log(y))))


def map_parallel(
    function: Callable[[S, T], R], shared: S, tasks: Sequence[T], title: str
) -> list[R]:
    """Return ``function(shared, task)`` of each task, on all cores, under a progress bar.

    `shared` is sent to each process once.
    """
    found: dict[int, R] = {}
    with WorkerGroup(partial(function, shared), core_count()) as group:
        results = group.run([(task,) for task in tasks])
        for index, result in track(results, title, len(tasks), console=Console(stderr=True)):
            if isinstance(result, LostJob):
                raise MocpackError(f"{title}: task {index} failed: {result.reason}")
            found[index] = result
    return [found[index] for index in range(len(tasks))]
