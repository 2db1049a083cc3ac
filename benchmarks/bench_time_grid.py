"""Sizes of motion on a grid in time (`transforms/time_search.py`) at tight bounds.

    python benchmarks/bench_time_grid.py [--bounds 0.15,1,2] [--tries 24] [--trembling] [CLIP …]

By default three clips of the training set. Groups of a second, each coded by itself. Bytes are
real for numbers and levels; further digits of refined frames count a bit a channel and level, axes
and steps four bytes a number. Tremble is E30 over what it may be: at most 1 is promised. Of the
settings, the first that does not tremble is taken; with --trembling, the first.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.datasets import require_data
from mocpack.clip import promised_error
from mocpack.entropy.planes import encode_plane
from mocpack.entropy.relations import column_groups
from mocpack.entropy.series import QUICK, THOROUGH, decode_series, encode_series
from mocpack.metrics.spectrum import tremble
from mocpack.transforms.time_grid import decode_grid, group_slices
from mocpack.transforms.time_search import grids_in_time

TRAINING = ("11_01", "62_19", "127_19")


def owners(axes, joints):
    """Return whose each channel is."""
    found = [None] * axes.channel_count
    for first, joint in zip(axes.places, joints, strict=True):
        found[first : first + 3] = [(joint, True)] * 3 if first >= 0 else []
    for j, joint in enumerate(axes.joints):
        found[joint.first : joint.first + joint.count] = [(j, False)] * joint.count
    return found


def side_bytes(axes):
    """Return the bytes of axes and steps, four a number; a surface has ten."""
    numbers = 3 * len(axes.places) + 2 * axes.channel_count
    for joint in axes.joints:
        numbers += 3 + (6 if joint.count in (1, 2, 3) else 0) + (10 if joint.count == 2 else 0)
    return 4 * numbers


def code(clip, grid, forecast, *, whole=False):
    """Return the bytes of a grid, and the frames decoded a second."""
    columns = column_groups(clip.skeleton, owners(grid.axes, clip.translated_joints))
    coarse = grid.numbers >> grid.levels[:, np.newaxis]
    groups = group_slices(clip.frame_count, clip.frame_count if whole else grid.group_length)
    parts = [encode_series(coarse[g], columns, forecast) for g in groups]
    start = time.process_time()
    for part, group in zip(parts, groups, strict=True):
        rows = group.stop - group.start
        decoded = decode_series(part, rows, coarse.shape[1], columns, forecast)
        assert np.array_equal(decoded, coarse[group])
    speed = clip.frame_count / (time.process_time() - start)
    levels = len(encode_plane(grid.levels[:, np.newaxis]))
    refined = int(grid.levels.sum()) * coarse.shape[1] // 8
    return sum(map(len, parts)) + levels + refined + side_bytes(grid.axes), speed


def first_grid(clip, bound, tries, *, trembling):
    """Return the first grid that does not tremble, or else the calmest; or just the first."""
    for grid in grids_in_time(clip, bound, tries=tries):
        if trembling or tremble(clip, decode_grid(grid, clip.header), bound) <= 1:
            break
    return grid


def measure(path, bound, tries, trembling):
    clip = mocpack.read(path)
    clip = clip.frames(1, clip.frame_count)
    start = time.process_time()
    grid = first_grid(clip, bound, tries, trembling=trembling)
    seconds = time.process_time() - start
    back = decode_grid(grid, clip.header)
    error = promised_error(clip, back)
    quick, quick_speed = code(clip, grid, QUICK)
    best, best_speed = code(clip, grid, THOROUGH)
    whole, _ = code(clip, grid, THOROUGH, whole=True)
    print(
        f"{path.stem:<7} {bound * 1e3:>5.2f} {clip.frame_count:>6} {len(grid.steps):>4} "
        f"{quick / 1e3:>8.2f} {best / 1e3:>8.2f} {whole / 1e3:>8.2f} "
        f"{8 * best / clip.frame_count:>7.1f} {(grid.levels > 0).mean():>7.1%} "
        f"{grid.filters.mean():>5.1f} {grid.coarseness.mean():>5.1f} {error.max * 1e3:>6.3f} "
        f"{error.joint_mean * 1e3:>6.3f} {tremble(clip, back, bound):>7.2f} "
        f"{quick_speed:>7.0f} {best_speed:>7.0f} {seconds:>6.0f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("clips", nargs="*", type=Path)
    parser.add_argument("--bounds", default="0.15,1,2")
    parser.add_argument("--tries", type=int, default=24)
    parser.add_argument("--trembling", action="store_true", help="take the coarsest setting")
    given = parser.parse_args()
    clips = given.clips or [require_data() / "cmu-train" / f"{name}.bvh" for name in TRAINING]
    print(
        "clip       mm frames chan quick kB  best kB whole kB  bits/f refined  filt  coar "
        "   max   mean tremble  q fr/s  b fr/s  enc s"
    )
    for path in clips:
        for bound in given.bounds.split(","):
            measure(path, float(bound) / 1e3, given.tries, given.trembling)


if __name__ == "__main__":
    main()
