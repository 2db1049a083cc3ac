"""Train keysine's statistics on the clips of `cmu-train` only.

    python tools/train_keysine.py [--clips N] [--jobs N]

It encodes a segment of each clip at several frame rates, bounds and steps, some also with detected
hinges and as chains of hinges. It fits the weights that predict each symbol, counts symbols by
class, and rewrites `tables.inc`. The clips of every fourth subject are held out to measure the cost
of unseen symbols.

The symbols that the encoder chooses depend on the tables. Training therefore runs in rounds, each
with a core that is built with the tables of the previous round. The first round rounds values
without tables, so the result does not depend on the existing tables. New tables change the
bitstream, so `bitstream_version` must increase after a release.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hinge_chains import convert_to_hinges
from scipy.optimize import minimize

import mocpack
from mocpack.bench.datasets import collection
from mocpack.codec import Read
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.codec import encode_natively

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from keysine_payload import Grid, PayloadHead
from keysine_tracks import UNIT_STEP, hinges_of
from reference.keysine import part_body, read_bundle, read_edges
from reference.keysine_grid import GridRows
from reference.keysine_head import read_head
from reference.keysine_plan import Plan, Track
from reference.keysine_symbols import Group as ReferenceGroup

Array = npt.NDArray[Any]  # of integers or floats, see the docstrings
Settings = dict[str, Any]  # parameters of a codec
Tables = dict[str, Array]  # by their names in the core

SOURCES = Path(__file__).resolve().parents[1] / "core" / "src"
# Bounds and plain steps in millimeters, and block lengths in seconds if they are fixed. The encoder
# seldom chooses some block lengths, but the statistics must include them.
SETTINGS = tuple(
    {name: value / 1000, "block_seconds": seconds}
    for name, value, seconds in (
        *(("max_error", value, None) for value in (20, 10, 5, 2, 1)),
        *(("step", value, None) for value in (80, 10, 3, 0.9)),
        ("max_error", 10, 0.25),
        ("max_error", 2, 0.5),
        ("max_error", 1, 0.125),
    )
)
# (stride, maximum number of frames) for each frame rate: every stride-th frame of a clip.
RATES = ((1, 481), (2, 361), (4, 301), (5, 201))
# Bounds in meters of time grids, one per rate.
GRID_BOUNDS = (0.0004, 0.0003, 0.0001, 0.0001)
# Every HINGED_EVERY-th clip is also encoded with its detected hinges, and as chains of hinges.
HINGED_EVERY, HINGED_FRAMES, CHAIN_RATES = 2, 361, ((4, 241), (2, 201))
FOUND_SETTINGS, CHAIN_SETTINGS = (1, 2, 3, 4), (2, 4)
WHOLE = 4096  # sum of the probabilities of a table
# Significant bits of shares (except the largest) and of weights, and the grid of the families'
# weights. Coarse numbers make the tables themselves compress well.
SHARE_BITS, WEIGHT_BITS, FAMILY_GRID = 4, 5, 16
FAMILIES, BANDS, SYMBOLS, ESCAPE = 10, 16, 32, 31
BAND_ENDS = np.array([1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 58])
MAGNITUDE_CLASSES, REACH_CLASSES, KEY_CLASSES = 26, 32, 48
REACHES, STEP_SYMBOLS, STEP_GUESSES, FIRST_GUESS = 24, 24, 8, 5
LEVELS_CUT = 255
NEIGHBORS, KEY_INPUTS = (
    11,
    2,
)  # inputs of a coefficient: neighboring levels, keys
NUMBERS, FIRST_LIFTED, LIFTED_STEPS = 4, 4, 10
LIFTS = FAMILIES + NUMBERS + LIFTED_STEPS
RATIOS = np.array([1, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256])
AXES_BITS = 12  # rotations of axes are multiples of 2^-12 radians
HEAD_NUMBERS = (
    *("mean", "still", "key_step", "origin", "place", "size", "count"),
    *("channel", "source", "band", "factor"),
    *(f"precision{i}" for i in range(4)),
    *(f"scale{c}" for c in range(4)),
    *(f"turn{precision}" for precision in range(1, AXES_BITS + 1)),
)
DIRECT = ("band", "precision", "scale")  # numbers that are coded as their own symbols
KIND_TABLES, KINDS = 8, 8
# Grids: number of predictor inputs, and classes; the first classes code the side of the prediction.
GRID_INPUTS, GRID_CLASSES, GRID_SIDED, GRID_FRACTIONS = 6, 17, 8, 4
FIRST_GRID_LEVEL, WIDE_OCTAVE, MAX_WIDTH = 72, 12, 16
MIN_ERROR = 16.0  # in 1/256 of a step; smaller errors are raised to this
# Each round uses every n-th clip. The first round rounds to these steps (millimeters) and block
# lengths (seconds) without a search.
ROUNDS = (4, 8, 1)
PLAIN = tuple(
    {"step": step / 1000, "block_seconds": seconds, "effort": "fast"}
    for step, seconds in ((60, 1.0), (20, 0.5), (6, 0.5), (2, 0.25), (0.9, 0.25), (3, 0.125))
)
SAMPLE = 60_000  # coefficients per fitted set of weights
PRIOR = 8.0  # weight of the neighbors of a class, in symbols
LIFT_REGULARIZATION = 1e-4  # regularization of lifts


@dataclass(frozen=True)
class Group:
    keys: Array  # (blocks + 1, channels)
    steps: Array  # (tracks, blocks)
    values: Array  # (channels, blocks, longest): coefficient k at k
    lengths: Array  # (blocks), frames
    tempo: int


@dataclass(frozen=True)
class Symbols:
    """Everything that a payload codes."""

    tracks: list[Track]
    segments: list[Array]  # keys (count, channels) of each segment
    groups: list[Group]
    head: dict[str, list[int]]  # numbers by field; sizes in file order
    kinds: list[tuple[int, int]]  # table of a kind, and the kind
    size: int
    weight: float = 1.0  # weight of each symbol
    grid: Array | None = None  # numbers of a grid in time (N, 8): `RecordedGrid`


def stretch(path: Path, every: int, frames: int) -> mocpack.Clip:
    """Return the middle of a clip, without its first frame, at a lower frame rate."""
    clip = mocpack.read(path)
    kept = slice(1, None, every)
    turns, places = clip.rotations[kept], clip.translations[kept]
    start = max(0, (len(turns) - frames) // 2)
    part = slice(start, start + frames)
    time = every * clip.frame_time
    header = replace(clip.header, frame_count=len(turns[part]), frame_time=time)
    return mocpack.Clip(header, turns[part].copy(), places[part].copy())


def corpus_of(path: Path, index: int) -> list[list[Symbols]]:
    """Return the symbols of a clip by settings, at all frame rates; for some also with hinges."""
    clips = [stretch(path, *rate) for rate in RATES]
    corpus = [[symbols_of(clip, settings) for clip in clips] for settings in SETTINGS]
    corpus[-1] += grids_of(clips, index)
    if index % HINGED_EVERY:
        return corpus
    every, frames = RATES[index // HINGED_EVERY % len(RATES)]
    found = stretch(path, every, min(frames, HINGED_FRAMES)).with_hinges(detect=True)
    for i in FOUND_SETTINGS:
        corpus[i].append(symbols_of(found, SETTINGS[i]))
    for every, frames in CHAIN_RATES:
        chain = convert_to_hinges(stretch(path, every, frames))
        for i in CHAIN_SETTINGS:
            corpus[i].append(symbols_of(chain, SETTINGS[i]))
    return corpus


def plain_corpus_of(path: Path, index: int) -> list[list[Symbols]]:
    """Return the symbols of a clip by plain rounding, without tables.

    Their size in bytes depends on the tables, so it is left out; the number of symbols replaces it.
    """
    clips = [stretch(path, *RATES[index % len(RATES)])]
    unit = float(UNIT_STEP), float(UNIT_STEP)
    found = [[symbols_of(clip, settings, free_range=unit) for clip in clips] for settings in PLAIN]
    found[-1] += grids_of(clips, index)  # their search uses no table
    return [[without_sizes(symbols) for symbols in part] for part in found]


def without_sizes(symbols: Symbols) -> Symbols:
    coefficients = sum(int(np.count_nonzero(group.values)) for group in symbols.groups)
    keys = sum(segment.size for segment in symbols.segments)
    return replace(symbols, head=symbols.head | {"size": []}, size=coefficients + keys)


def symbols_of(clip: mocpack.Clip, settings: Settings, **constants: tuple[float, ...]) -> Symbols:
    """Return the symbols of a clip encoded with a codec and encoder constants."""
    codec = Keysine(mode="transform", threads=1, **settings)
    changed = {"weight_tries": (0.0, 3.0), **constants}
    payload = encode_natively(codec, clip, changed).payload
    read = reader(payload)
    head, plan = read_head(read, clip.header)
    edges = read_edges(read, head, plan, 1)
    starts = [head.key_frame(g, clip.frame_count) for g in range(head.group_count + 1)]
    per = head.groups_per_segment
    bundles = [bundle for s in range(head.segment_count) for bundle in head.bundles_of(s)]
    groups = [read_bundle(read, head, plan, edges, starts, bundle, 1) for bundle in bundles]
    return Symbols(
        plan.tracks,
        [edges[0][i : i + per + 1] for i in range(0, head.group_count, per)],
        [group_of(group) for part in groups for group in part.values()],
        *head_numbers(head, clip, plan),
        len(payload),
    )


def reader(payload: bytes) -> Read:
    return lambda offset, size: payload[offset : offset + size]


def group_of(group: ReferenceGroup) -> Group:
    """Return the symbols of a group, by channel and without margins."""
    values = group.values.swapaxes(0, 1)[:, :, 4 : 4 + max(group.lengths)]
    return Group(group.keys, group.steps, values, np.array(group.lengths), group.tempo)


def grids_of(clips: list[mocpack.Clip], index: int) -> list[Symbols]:
    """Return the symbols of clips on time grids, with alternating bounds."""
    return [grid_of(clips[(index + i) % len(clips)], bound) for i, bound in enumerate(GRID_BOUNDS)]


def grid_of(clip: mocpack.Clip, bound: float) -> Symbols:
    """Return the symbols of a clip on a time grid."""
    payload = Keysine(mode="grid", max_error=bound, threads=1).encode(clip)
    read = reader(payload)
    head, plan = read_head(read, clip.header)
    assert head.grid is not None
    starts = [head.key_frame(g, clip.frame_count) for g in range(head.group_count + 1)]
    numbers: list[tuple[int, ...]] = []
    for group, (start, stop) in enumerate(pairwise(starts)):
        body = part_body(read(*head.part_at(0, "group", group)))
        rows = RecordedGrid(body, plan, clip.skeleton, head.grid)
        for _ in range(start + 1, stop):
            rows.next()
        numbers += rows.numbers
    return Symbols([], [], [], *head_numbers(head, clip, plan), size=0, grid=np.array(numbers))


class RecordedGrid(GridRows):
    """Reads a grid in time and keeps the inputs, fraction and residual of each number."""

    def __init__(self, body: bytes, plan: Plan, skeleton: mocpack.Skeleton, grid: Grid) -> None:
        super().__init__(body, plan, skeleton, grid)
        self.numbers: list[tuple[int, ...]] = []

    def residual(self, inputs: tuple[int, ...], fraction: int) -> int:
        found = super().residual(inputs, fraction)
        self.numbers.append((*inputs, fraction, found))
        return found


def head_numbers(
    head: PayloadHead, clip: mocpack.Clip, plan: Plan
) -> tuple[dict[str, list[int]], list[tuple[int, int]]]:
    """Return the numbers of a head by field, and its kinds with their tables."""
    found: dict[str, list[int]] = {name: [] for name in HEAD_NUMBERS}
    found["size"] = [*head.segment_sizes, *head.layer_sizes[0]]
    found["count"] = [head.group_count, head.groups_per_segment, len(head.predictors)]
    kinds, turn, place, step, precision = [], 0, 0, 8, 0
    translated = set(clip.translated_joints)
    hinges = hinges_of(clip.skeleton)
    for j, row in enumerate(np.asarray(head.table).tolist()):
        # kinds of joints with hinges are not counted, unless the joint leaves its hinges
        turns, slides = len(hinges[j].turns), len(hinges[j].slides)
        if not turns or row[0] in (2, 3):
            kinds.append((turn, row[0]))
            turn = row[0]
        count = {1: turns or 3, 2: 3, 4: turns}.get(row[0], 0)
        found["still" if row[0] == 1 else "mean"] += row[2 : 2 + count]
        if row[0] == 2:
            table = 2 * (head.grid is not None) + (not precision)
            precision = precision_of(row[5:8])
            found[f"precision{table}"].append(precision)
            if precision:
                found[f"turn{precision}"] += [n >> AXES_BITS - precision for n in row[5:8]]
        if row[0] >= 2:
            found["key_step"].append(row[8] - step)
            step = row[8]
        if j not in translated:
            continue
        if not slides or row[1] == 2:
            kinds.append((5 + place, row[1]))
            place = row[1]
        count = {1: slides or 3, 2: 3}.get(row[1], 0)
        found["place" if row[1] == 1 else "origin"] += row[9 : 9 + count]
        if row[1] >= 2:
            found["key_step"].append(row[12] - step)
            step = row[12]
    channel, first_channels = 0, [track.first_channel for track in plan.tracks]
    for target, source, band, factor in np.asarray(head.predictors).tolist():
        first = max(c for c in first_channels if c <= target)
        found["channel"].append(target - channel)
        found["source"].append(first - 1 - source)
        found["band"].append(band)
        found["factor"].append(factor)
        channel = target
    if head.grid is not None:
        found["key_step"] += np.diff(head.grid.steps, prepend=8).tolist()
        for c, scale in enumerate(head.grid.initial_scales):
            first = max(first for first in first_channels if first <= c)
            found[f"scale{c - first}"].append(scale)
    return found, kinds


def precision_of(turn: Sequence[int]) -> int:
    """Return the number of fractional bits of a rotation of axes; 0 without one."""
    whole = turn[0] | turn[1] | turn[2]
    return max(1, AXES_BITS + 1 - (whole & -whole).bit_length()) if whole else 0


def symbol_of(size: npt.ArrayLike, m: int) -> tuple[Array, Array]:
    """Return the symbols of magnitudes, and the number of raw bits after each."""
    size = np.abs(np.asarray(size, np.int64))
    bits = np.maximum(0, np.frexp(size.astype(float))[1] - m - 1)
    return np.minimum((bits << m) + (size >> bits), ESCAPE), bits


def level_of(size: Array) -> Array:
    symbol, _ = symbol_of(size, 2)
    bits = np.maximum(0, (symbol >> 2) - 1)
    return np.minimum((symbol - (bits << 2)) << bits, LEVELS_CUT)


def reach_symbol(reach: Array) -> tuple[Array, Array]:
    symbol, bits = symbol_of(np.maximum(reach - 1, 0), 1)
    return np.where(reach > 0, 1 + symbol, 0), np.where(reach > 0, bits, 0)


class Channels:
    """Indices of the neighbors of each channel; a row of zeros follows the last."""

    def __init__(self, tracks: list[Track]) -> None:
        count = sum(track.channel_count for track in tracks)
        self.left, self.second, self.up, self.first = (np.full(count, count) for _ in range(4))
        self.track, self.number, self.family = (np.zeros(count, int) for _ in range(3))
        self.key_index = np.zeros(count, int)
        # parent track of each track; -1 (the last row of steps) without one
        self.above = np.array([track.parent for track in tracks], int)
        self.orphan = np.zeros(count, bool)
        for t, track in enumerate(tracks):
            for c in range(track.channel_count):
                at = track.first_channel + c
                self.track[at], self.number[at], self.family[at] = t, c, track.family
                self.orphan[at], self.key_index[at] = track.parent < 0, track.key_index
                self.left[at] = at - 1 if c else count
                self.second[at] = at - 2 if c > 1 else count
                if track.parent >= 0:
                    parent = tracks[track.parent]
                    self.up[at] = parent.first_channel + min(c, parent.channel_count - 1)
                    self.first[at] = parent.first_channel


def bands_of(k: Array, tempo: int) -> Array:
    return np.searchsorted(BAND_ENDS, (k * tempo + 32) >> 6)


def reaches_of(values: Array) -> Array:
    moved = values != 0
    last = values.shape[2] - 1 - np.argmax(moved[:, :, ::-1], axis=2)
    return np.where(moved.any(axis=2), last, 0)


def step_ratio(difference: Array) -> Array:
    return RATIOS[np.clip(difference, -8, 8) + 8]


def key_distances(keys: Array) -> tuple[Array, Array]:
    """Return distance and bend (C, B) of the keys at the ends of blocks."""
    keys = keys.astype(np.int64)
    apart = np.abs(np.diff(keys, axis=0)).T
    bend = np.zeros_like(apart)
    off = np.abs(np.diff(keys, n=2, axis=0)).T
    bend[:, :-1] += off
    bend[:, 1:] += off
    return apart, bend


def key_distance_context(distance: Array, step: Array, key_index: Array, length: Array) -> Array:
    root = np.sqrt(64 * length + 0.5).astype(np.int64)
    seen = np.minimum(distance, 1 << 20) * step_ratio(step - key_index) * root >> 6
    return np.minimum(seen, 1 << 14)


@dataclass(frozen=True)
class Coefficients:
    """Every coefficient up to the reach of its row, and its predictor inputs.

    Attributes
    ----------
    levels : array of int, shape (N, 11)
        Levels of its neighbors.
    ratios : array of int, shape (N, 2)
        Steps of the block before and of the parent to its own, in sixteenths; 0: does not move.
    keys : array of int, shape (N, 2)
        Distance and bend of the keys, over the frequency.
    lifts : array of int, shape (N, 3)
        Rows of lifts that belong to it.
    sizes, sets, bands, left, frequencies : array of int, shape (N,)
    weights : array, shape (N,)
        Weight of each coefficient.
    """

    levels: Array
    ratios: Array
    keys: Array
    lifts: Array
    sizes: Array
    sets: Array
    bands: Array
    left: Array
    frequencies: Array
    weights: Array

    def rows(self, own: Array) -> Coefficients:
        return Coefficients(*(array[own] for array in vars(self).values()))

    def inputs(self) -> Array:
        """Return the inputs of the weights (N, 13)."""
        ratios = np.ones((len(self.sizes), NEIGHBORS))
        ratios[:, 3:5] = self.ratios[:, :1] / 16
        ratios[:, 8:] = self.ratios[:, 1:] / 16
        seen = self.keys / 16 / self.frequencies[:, np.newaxis]
        return np.concatenate([self.levels * ratios, seen], axis=1)


def coefficients(corpus: Iterable[Symbols]) -> Coefficients:
    """Return the coefficients of all groups."""
    parts = []
    for symbols in corpus:
        at = Channels(symbols.tracks)
        parts += [_coefficients_of(at, group, symbols.weight) for group in symbols.groups]
    return Coefficients(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _coefficients_of(at: Channels, group: Group, weight: float) -> tuple[Array, ...]:
    count, blocks, longest = group.values.shape
    levels = np.zeros((count + 1, blocks + 1, longest + 5), np.int64)
    levels[:count, 1:, 4:-1] = level_of(group.values)
    reach = reaches_of(group.values)
    k = np.arange(longest)
    c, b, k = np.nonzero((k >= 1) & (k <= reach[:, :, np.newaxis]))

    def near(row: Array, back: int, shift: int) -> Array:
        return levels[row, 1 + b - back, 4 + k + shift]

    def sides(row: Array, back: int) -> Array:
        return near(row, back, -1) + near(row, back, 1)

    side, second, up, first = at.left[c], at.second[c], at.up[c], at.first[c]
    around = [near(c, 0, -1), near(c, 0, -2), near(c, 0, -3), near(c, 1, 0), sides(c, 1)]
    around += [near(side, 0, 0), sides(side, 0), 2 * near(second, 0, 0) + sides(second, 0)]
    around += [near(up, 0, 0), sides(up, 0), near(first, 0, 0)]
    steps = np.concatenate([group.steps, np.full((1, blocks), -1)])
    track = at.track[c]
    own, was = steps[track, b], np.where(b > 0, steps[track, b - 1], -1)
    above = steps[at.above[track], b]
    ratios = [np.where(other < 0, 0, step_ratio(own - other)) for other in (was, above)]
    seen = [
        key_distance_context(distance[c, b], own, at.key_index[c], group.lengths[b])
        for distance in key_distances(group.keys)
    ]
    lifted = np.clip(own - FIRST_LIFTED, 0, LIFTED_STEPS - 1)
    lifts = [at.family[c], FAMILIES + at.number[c], FAMILIES + NUMBERS + lifted]
    return (
        np.stack(around, axis=1).astype(np.int16),
        np.stack(ratios, axis=1).astype(np.int16),
        np.stack(seen, axis=1).astype(np.int16),
        np.stack(lifts, axis=1).astype(np.int8),
        np.abs(group.values[c, b, k]),
        (2 * (b == 0) + (at.number[c] == 0)).astype(np.int8),
        bands_of(k, group.tempo).astype(np.int8),
        np.minimum(reach[c, b] - k, 3).astype(np.int8),
        k.astype(np.int16),
        np.full(len(k), weight, np.float32),
    )


def fit_magnitudes(rows: Coefficients, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return weights (16, 13), constants (16 bands, 4) and lifts (16, 24) of mean magnitudes.

    Weights and constants are in 1/256, lifts in eighths of an octave.
    """
    inputs = NEIGHBORS + KEY_INPUTS
    weights, constants = np.zeros((16, inputs)), np.full((BANDS, 4), 0.3)
    lifts = np.zeros((16, LIFTS))
    for group in range(4):
        for kind in range(4):
            own = np.flatnonzero((rows.bands // 4 == group) & (rows.sets == kind))
            if len(own) < 200:
                continue
            likely = rows.weights[own].astype(float)
            own = rng.choice(own, min(len(own), SAMPLE), p=likely / likely.sum())
            found = _geometric(rows.rows(own))
            weights[group * 4 + kind] = np.exp(found[:inputs])
            constants[group * 4 : group * 4 + 4, kind] = np.exp(found[inputs : inputs + 4])
            lifts[group * 4 + kind] = found[inputs + 4 :] * 8 / np.log(2)
    return (
        brief(256 * weights),
        np.maximum(1, brief(256 * constants)),
        np.round(lifts).astype(int),
    )


def _geometric(rows: Coefficients) -> Array:
    """Return logarithms of the maximum-likelihood weights, constants and lifts of magnitudes."""
    x, q = rows.inputs(), np.minimum(rows.sizes, 300).astype(float)
    band, inputs = rows.bands % 4, x.shape[1]

    def cost(log: Array) -> tuple[float, Array]:
        w, c, lifts = np.exp(log[:inputs]), np.exp(log[inputs : inputs + 4]), log[inputs + 4 :]
        lifted = np.exp(np.clip(lifts[rows.lifts].sum(axis=1), -6, 6))
        mean = (c[band] + x @ w) * lifted
        slope = (1 + q) / (1 + mean) - q / mean
        value = np.mean(np.log1p(mean) * (1 + q) - q * np.log(mean))
        towards = [np.bincount(row, slope * mean, LIFTS) for row in rows.lifts.T]
        parts = [(x.T @ (slope * lifted)) * w, np.bincount(band, slope * lifted, 4) * c]
        slopes = np.concatenate([*parts, sum(towards)]) / len(q)
        slopes[inputs + 4 :] += 2 * LIFT_REGULARIZATION * lifts
        return value + LIFT_REGULARIZATION * np.sum(lifts * lifts), slopes

    start = np.concatenate([np.full(inputs, -3.0), np.full(4, -1.5), np.zeros(LIFTS)])
    limits = [(-12.0, 3.0)] * len(start)
    return minimize(
        cost, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 60}
    ).x


def magnitude_classes(rows: Coefficients, weights: Array, constants: Array, lifts: Array) -> Array:
    """Return 4 · class + the remaining reach, as the core computes them."""
    found = np.zeros(len(rows.sizes), np.int64)
    for row in range(16):
        own = np.flatnonzero((rows.bands // 4) * 4 + rows.sets == row)
        part, w = rows.rows(own), weights[row].astype(np.int64)
        levels, ratios = part.levels.astype(np.int64), part.ratios.astype(np.int64)
        sums = constants[part.bands, part.sets].astype(np.int64)
        plain = [0, 1, 2, 5, 6, 7]
        sums += levels[:, plain] @ w[plain]
        for columns, ratio in (((3, 4), ratios[:, 0]), ((8, 9, 10), ratios[:, 1])):
            for column in columns:
                sums += (w[column] * ratio >> 4) * levels[:, column]
        keys = np.minimum(part.keys.astype(np.int64) @ w[NEIGHBORS:] >> 8, 65535)
        sums += keys * (65536 // part.frequencies.astype(np.int64)) >> 12
        sums |= 1
        bits = np.frexp(sums.astype(float))[1]
        top = np.where(bits > 3, sums >> np.maximum(bits - 4, 0), sums << np.maximum(4 - bits, 0))
        lift = lifts[row][part.lifts].sum(axis=1)
        found[own] = (8 * bits + (top & 7) + lift - 24) >> 2
    return np.clip(found, 0, MAGNITUDE_CLASSES - 1) * 4 + rows.left


def reaches(corpus: Iterable[Symbols]) -> tuple[Array, ...]:
    """Return inputs (N, 9), family and set, symbols and raw bits, and weights."""
    inputs, places, found, weights = [], [], [], []
    for symbols in corpus:
        at = Channels(symbols.tracks)
        for group in symbols.groups:
            symbol, bits = reach_symbol(reaches_of(group.values))
            count, blocks = symbol.shape
            padded = np.zeros((count + 1, blocks + 1), np.int64)
            padded[:count, 1:] = symbol
            steps = group.steps[at.track]
            c, b = np.nonzero(steps >= 0)
            length, _ = symbol_of(group.lengths - 1, 1)
            before = np.where(b > 0, padded[c, b], 0)
            side, up, first = (padded[row[c], b + 1] for row in (at.left, at.up, at.first))
            number = at.number[c]
            seen = [
                key_distance_context(d[c, b], steps[c, b], at.key_index[c], group.lengths[b]) >> 2
                for d in key_distances(group.keys)
            ]
            known = [before, side, up, first, steps[c, b], length[b], number > 1]
            inputs.append(np.stack([*known, *(symbol_of(d, 1)[0] for d in seen)], axis=1))
            kind = (b == 0) + 2 * (number == 0) + 4 * at.orphan[c]
            places.append(np.stack([at.family[c], kind], axis=1))
            found.append(np.stack([symbol[c, b], bits[c, b]], axis=1))
            weights.append(np.full(len(c), symbols.weight))
    return tuple(map(np.concatenate, (inputs, places, found, weights)))


def fit_sums(
    inputs: Array, families: Array, sets: Array, wanted: Array, counts: Array, count: int
) -> tuple[Array, Array]:
    """Return weights (sets, inputs) and (sets, families) in 1/256 by weighted least squares.

    `counts` are the weights of the targets.
    """
    weights, lifts = np.zeros((count, inputs.shape[1])), np.zeros((count, FAMILIES))
    design = np.concatenate([inputs, np.eye(FAMILIES)[families]], axis=1).astype(float)
    for row in range(count):
        own = sets == row
        if own.sum() < 50:
            continue
        x = design[own]
        # regularization: weights with little data stay near zero, and families near each other
        pull = np.full(x.shape[1], 2.0)
        counted = x * counts[own, np.newaxis]
        mean = np.average(wanted[own], weights=counts[own])
        lifted = np.concatenate([np.zeros(inputs.shape[1]), np.full(FAMILIES, mean)])
        off = counted.T @ (wanted[own] - x @ lifted)
        solved = lifted + np.linalg.solve(counted.T @ x + np.diag(pull), off)
        weights[row], lifts[row] = solved[: inputs.shape[1]], solved[inputs.shape[1] :]
    return brief(256 * weights), FAMILY_GRID * np.round(256 / FAMILY_GRID * lifts).astype(int)


def sum_classes(
    inputs: Array, families: Array, sets: Array, weights: Array, lifts: Array, count: int
) -> Array:
    sums = np.einsum("ni,ni->n", inputs, weights[sets]) + lifts[sets, families]
    return np.clip(sums >> 7, 0, count - 1)


def steps(corpus: Iterable[Symbols]) -> tuple[Array, Array, Array]:
    """Return tables (was · 3 + up, guess), symbols of steps, and weights."""
    rows, found, weights = [], [], []
    for symbols in corpus:
        for group in symbols.groups:
            blocks = group.steps.shape[1]
            for t, track in enumerate(symbols.tracks):
                for b in range(blocks):
                    own, guess = int(group.steps[t, b]), _guess(symbols.tracks, group.steps, t, b)
                    was = 1 + int(group.steps[t, b - 1] >= 0) if b else 0
                    up = 1 + int(group.steps[track.parent, b] >= 0) if track.parent >= 0 else 0
                    row = min(max(guess - FIRST_GUESS, 0), STEP_GUESSES - 1)
                    rows.append((3 * was + up, row))
                    change = own - guess
                    symbol = 2 * change + 1 if change > 0 else -2 * change or 1
                    found.append(0 if own < 0 else min(symbol, STEP_SYMBOLS - 1))
                    weights.append(symbols.weight)
    return np.array(rows), np.array(found), np.array(weights)


def _guess(tracks: list[Track], used: Array, t: int, b: int) -> int:
    for e in range(b - 1, -1, -1):
        if used[t, e] >= 0:
            return int(used[t, e])
    above = tracks[t].parent
    while above >= 0:
        if used[above, b] >= 0:
            return int(used[above, b])
        above = tracks[above].parent
    return 8


def keys(corpus: Iterable[Symbols]) -> tuple[Array, ...]:
    """Return inputs (N, 8), family and set, symbols and raw bits (with signs), and weights."""
    inputs, places, found, weights = [], [], [], []

    def add(
        at: Channels, change: Array, before: Array, apart: Array, state: int, weight: float
    ) -> Array:
        symbol, bits = symbol_of(change, 1)
        padded = np.append(symbol, 0)
        seen = np.arange(len(symbol))
        mean = 4 * (np.cumsum(symbol) - symbol) // np.maximum(seen, 1)
        number = at.number
        inputs.append(
            np.stack(
                [before, apart, padded[at.left], padded[at.up], mean]
                + [number == c for c in (1, 2, 3)],
                axis=1,
            )
        )
        kind = 4 * state + (number == 0) + 2 * at.orphan
        places.append(np.stack([at.family, kind], axis=1))
        found.append(np.stack([symbol, bits + (symbol > 0)], axis=1))
        weights.append(np.full(len(symbol), weight))
        return symbol

    for symbols in corpus:
        at = Channels(symbols.tracks)
        if not len(at.left):
            continue
        none = np.zeros(len(at.left), np.int64)
        for segment in symbols.segments:
            before = none
            for k, key in enumerate(segment.astype(np.int64)):
                change = key - segment[k - 1] if k else key
                before = add(at, change, before, none, min(k, 2), symbols.weight)
        for group in symbols.groups:
            before, key = none, group.keys.astype(np.int64)
            half, level = (len(key) - 1) // 2, 0
            while half:
                for middle in range(half, len(key) - 1, 2 * half):
                    low, high = key[middle - half], key[middle + half]
                    apart, _ = symbol_of(high - low, 1)
                    change = key[middle] - (low + high >> 1)
                    before = add(at, change, before, apart, 3 + min(level, 2), symbols.weight)
                half, level = half // 2, level + 1
    return tuple(map(np.concatenate, (inputs, places, found, weights)))


def shares(counts: Array, *, allowed: Array | None = None) -> Array:
    """Return cumulative tables (N, symbols + 1) from counts (N, symbols); rows are ordered."""
    counts = np.asarray(counts, float)
    around = counts.copy()
    around[1:] += counts[:-1]
    around[:-1] += counts[1:]
    geometric = 0.5 ** np.arange(1, counts.shape[1] + 1)
    seen = counts.sum(axis=1) > 0
    starts = np.zeros((len(counts), counts.shape[1] + 1), int)
    for row in range(len(counts)):
        near = around[row] + 0.1 * geometric
        if around[row].sum() < 1 and seen.any():  # use the nearest row with data
            near = counts[np.flatnonzero(seen)[np.argmin(np.abs(np.flatnonzero(seen) - row))]]
            near = near + 0.1 * geometric
        likely = counts[row] + PRIOR * near / near.sum()
        may = np.ones(counts.shape[1], bool) if allowed is None else allowed[row]
        likely = np.where(may, likely, 0.0)
        rounded = np.where(may, np.maximum(1, np.floor(WHOLE * likely / likely.sum())), 0).astype(
            int
        )
        most = np.argmax(rounded)
        rounded = brief(rounded, SHARE_BITS)
        rounded[most] += WHOLE - rounded.sum()
        assert rounded[most] > 0, "a table without a largest share"
        starts[row, 1:] = np.cumsum(rounded)
    return starts


def brief(numbers: Array, bits: int = WEIGHT_BITS) -> Array:
    """Return integers with all but their highest `bits` bits zero."""
    grid = 2.0 ** np.maximum(0, np.frexp(np.round(numbers))[1] - bits)
    return (grid * np.round(numbers / grid)).astype(int)


def count_symbols(
    rows: Array, symbols: Array, shape: tuple[int, int], weights: Array | float
) -> Array:
    counts = np.zeros(shape)
    np.add.at(counts, (rows, symbols), weights)
    return counts


def bits_by(starts: Array, rows: Array, symbols: Array) -> Array:
    return -np.log2(np.diff(starts, axis=1)[rows, symbols] / WHOLE)


def train(corpus: list[Symbols]) -> Tables:
    """Return every table, by its name in the core."""
    rng = np.random.default_rng(0)
    tables = {}
    rows = coefficients(corpus)
    weights, constants, lifts = fit_magnitudes(rows, rng)
    classes = magnitude_classes(rows, weights, constants, lifts)
    symbols = symbol_of(rows.sizes, 2)[0]
    counts = count_symbols(classes, symbols, (4 * MAGNITUDE_CLASSES, SYMBOLS), rows.weights)
    by_left = counts.reshape(MAGNITUDE_CLASSES, 4, SYMBOLS).swapaxes(0, 1)
    starts = []
    for left in range(4):
        allowed = np.ones((MAGNITUDE_CLASSES, SYMBOLS), bool)
        allowed[:, 0] = left > 0  # the last coefficient is not zero
        starts.append(shares(by_left[left], allowed=allowed))
    tables["MAGNITUDE_WEIGHTS"], tables["MAGNITUDE_CONSTANTS"] = weights, constants
    tables["MAGNITUDE_LIFTS"], tables["MAGNITUDE_TABLES"] = lifts, np.stack(starts, axis=1)

    inputs, places, found, counts = reaches(corpus)
    weights, lifts = fit_sums(inputs, places[:, 0], places[:, 1], found[:, 0], counts, 8)
    classes = sum_classes(inputs, places[:, 0], places[:, 1], weights, lifts, REACH_CLASSES)
    starts = [
        shares(count_symbols(classes[own], found[own, 0], (REACH_CLASSES, REACHES), counts[own]))
        for own in (places[:, 1] % 4 == kind for kind in range(4))
    ]
    tables["REACH_WEIGHTS"], tables["REACH_FAMILIES"] = weights, lifts
    tables["REACH_TABLES"] = np.stack(starts, axis=1)

    at, found, counts = steps(corpus)
    starts = [
        shares(count_symbols(at[own, 1], found[own], (STEP_GUESSES, STEP_SYMBOLS), counts[own]))
        for own in (at[:, 0] == context for context in range(9))
    ]
    tables["STEP_TABLES"] = np.array(starts)

    inputs, places, found, counts = keys(corpus)
    weights, lifts = fit_sums(inputs, places[:, 0], places[:, 1], found[:, 0], counts, 24)
    classes = sum_classes(inputs, places[:, 0], places[:, 1], weights, lifts, KEY_CLASSES)
    tables["KEY_WEIGHTS"], tables["KEY_FAMILIES"] = weights, lifts
    tables["KEY_TABLES"] = shares(
        count_symbols(classes, found[:, 0], (KEY_CLASSES, SYMBOLS), counts)
    )

    splits = np.zeros((1, 8))
    for s in corpus:
        for group in s.groups:
            splits[0, group.steps.shape[1].bit_length() - 1] += s.weight
    tables["SPLIT_TABLE"] = shares(splits)[0]
    tables.update(head_tables(corpus))
    tables.update(grid_tables(grid_numbers(corpus), rng))
    return tables


def grid_numbers(corpus: Iterable[Symbols]) -> Array:
    return np.concatenate([s.grid for s in corpus if s.grid is not None])


def grid_tables(numbers: Array, rng: np.random.Generator) -> Tables:
    """Return weights (7) and tables (8, 4, 33), (9, 33) of time grids."""
    weights = fit_levels(numbers[rng.permutation(len(numbers))[: 4 * SAMPLE]])
    rows, symbols, _ = grid_symbols(numbers, weights)
    count = (GRID_FRACTIONS - 1) * GRID_SIDED + GRID_CLASSES
    counts = count_symbols(rows, symbols, (count, SYMBOLS), 1.0)
    sided = counts[: GRID_FRACTIONS * GRID_SIDED].reshape(GRID_SIDED, GRID_FRACTIONS, SYMBOLS)
    starts = np.stack([shares(sided[:, i]) for i in range(GRID_FRACTIONS)], axis=1)
    above = shares(counts[GRID_FRACTIONS * GRID_SIDED :])
    return {"GRID_WEIGHTS": weights, "GRID_SIDED_TABLES": starts, "GRID_TABLES": above}


def fit_levels(numbers: Array) -> Array:
    """Return weights of inputs, in 1/256, and a constant, for the distance from predictions."""
    inputs = numbers[:, :GRID_INPUTS] / 16.0
    inputs = np.concatenate([inputs, np.ones((len(numbers), 1))], axis=1)
    # a correct prediction may be off by up to an eighth of a step
    off = np.abs(numbers[:, -1] - (2 * numbers[:, -2] + 1) / 16) * 256 + MIN_ERROR

    def cost(weights: Array) -> tuple[float, Array]:
        level = np.clip(inputs @ weights, 2, 30)  # octaves
        ratio = off / 2.0**level
        slopes = np.log(2) * (1 - ratio) @ inputs / len(off)
        return np.mean(np.log(2) * level + ratio), slopes

    start = np.array([1.0, *np.zeros(GRID_INPUTS)])
    found = minimize(cost, start, jac=True, method="L-BFGS-B").x
    return np.round(256 * found * [*np.ones(GRID_INPUTS), 16]).astype(int)


def grid_symbols(numbers: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return the row, the symbol and the raw bits of each number, as the core computes them."""
    levels = numbers[:, :GRID_INPUTS].astype(np.int64) @ weights[:-1] + weights[-1] >> 8
    width = np.clip((levels >> 4) - WIDE_OCTAVE, 0, MAX_WIDTH)
    kind = np.clip(levels - 16 * width - FIRST_GRID_LEVEL >> 3, 0, GRID_CLASSES - 1)
    fraction, way = numbers[:, -2], numbers[:, -1].astype(np.int64)
    symbol, bits = symbol_of(2 * (np.abs(way) >> width) + (way < 0), 2)
    sided = GRID_FRACTIONS * kind + fraction
    row = np.where(kind < GRID_SIDED, sided, (GRID_FRACTIONS - 1) * GRID_SIDED + kind)
    return row, symbol, bits + width


def head_tables(corpus: Iterable[Symbols]) -> Tables:
    counts = np.zeros((len(HEAD_NUMBERS), SYMBOLS))
    kinds = np.zeros((KIND_TABLES, KINDS))
    for symbols in corpus:
        for row, name in enumerate(HEAD_NUMBERS):
            np.add.at(counts[row], head_symbols(name, symbols.head[name]), 1)
        for table, kind in symbols.kinds:
            kinds[table, kind] += 1
    # symbols that the clips do not use get a minimum probability, per table; equal sizes cost at
    # least one bit, so that a short head cannot declare very many
    size = counts[HEAD_NUMBERS.index("size")]
    size[0] = min(size[0], 0.8 * size[1:].sum())
    numbers = np.concatenate([shares(row[np.newaxis]) for row in counts])
    may = np.zeros((KIND_TABLES, KINDS), bool)
    may[:5, :5] = may[5:, :3] = True
    pairs = [shares(kinds[i : i + 1], allowed=may[i : i + 1]) for i in range(KIND_TABLES)]
    return {"HEAD_TABLES": numbers, "KIND_STARTS": np.concatenate(pairs)}


def head_symbols(name: str, numbers: list[int]) -> Array:
    """Return the symbols of some numbers of a head, all of one kind."""
    if name.startswith(DIRECT):
        return np.array(numbers, int)
    return size_symbols(numbers) if name == "size" else symbol_of(numbers, 1)[0]


def size_symbols(sizes: list[int]) -> Array:
    symbol, _ = symbol_of(sizes, 1)
    change = np.diff(symbol, prepend=0)
    return np.minimum(np.where(change > 0, 2 * change - 1, -2 * change), ESCAPE)


def cost(corpus: list[Symbols], tables: Tables) -> dict[str, float]:
    """Return the bytes of the symbols of keys, groups and heads, without checksums."""
    total = {}
    rows = coefficients(corpus)
    names = ("WEIGHTS", "CONSTANTS", "LIFTS")
    classes = magnitude_classes(rows, *(tables[f"MAGNITUDE_{name}"] for name in names))
    symbol, bits = symbol_of(rows.sizes, 2)
    starts = tables["MAGNITUDE_TABLES"].reshape(-1, SYMBOLS + 1)
    total["magnitudes"] = (bits_by(starts, classes, symbol) + bits).sum()
    total["signs"] = (rows.sizes > 0).sum()
    inputs, places, found, _ = reaches(corpus)
    fitted = tables["REACH_WEIGHTS"], tables["REACH_FAMILIES"]
    classes = sum_classes(inputs, places[:, 0], places[:, 1], *fitted, REACH_CLASSES)
    starts = tables["REACH_TABLES"].reshape(-1, REACHES + 1)
    total["reaches"] = (
        bits_by(starts, 4 * classes + places[:, 1] % 4, found[:, 0]) + found[:, 1]
    ).sum()
    at, symbol, _ = steps(corpus)
    starts = tables["STEP_TABLES"].reshape(-1, STEP_SYMBOLS + 1)
    total["steps"] = bits_by(starts, STEP_GUESSES * at[:, 0] + at[:, 1], symbol).sum()
    inputs, places, found, _ = keys(corpus)
    fitted = tables["KEY_WEIGHTS"], tables["KEY_FAMILIES"]
    classes = sum_classes(inputs, places[:, 0], places[:, 1], *fitted, KEY_CLASSES)
    total["keys"] = (bits_by(tables["KEY_TABLES"], classes, found[:, 0]) + found[:, 1]).sum()
    return {name: value / 8 for name, value in total.items()}


def write(tables: Tables, folder: Path) -> None:
    lines = ["// Made by tools/train_keysine.py from cmu-train; do not edit.\n"]
    for name, table in tables.items():
        kind = (
            "int16_t"
            if name.endswith(("WEIGHTS", "CONSTANTS", "FAMILIES", "LIFTS"))
            else "uint16_t"
        )
        shape = "".join(f"[{n}]" for n in table.shape)
        lines.append(f"inline constexpr {kind} {name}{shape} = {_format_initializer(table)};\n")
    (path,) = folder.rglob("*tables.inc")
    path.write_text("".join(lines))


def _format_initializer(table: Array) -> str:
    if table.ndim == 1:
        return "{" + ",".join(map(str, table)) + "}"
    return "{" + ",\n".join(map(_format_initializer, table)) + "}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--clips", type=int, default=1000, help="use the first N clips of cmu-train"
    )
    parser.add_argument("--jobs", type=int, default=None, help="processes; by default one a core")
    parser.add_argument("--round", type=int, default=None, help="this one alone; builds no core")
    given = parser.parse_args()
    if given.round is not None:
        return one_round(given.round, collection("cmu-train")[: given.clips], given.jobs)
    for number in range(len(ROUNDS)):
        command = [sys.executable, __file__, *sys.argv[1:], "--round", str(number)]
        subprocess.run(command, check=True)
        # the next round must not reuse symbols of the old core
        subprocess.run(["make", "setup"], check=True, cwd=SOURCES.parents[1])
    return None


def one_round(number: int, paths: list[Path], jobs: int | None) -> None:
    """Encode with the tables of the built core, and write new ones."""
    plain, paths = number == 0, paths[:: ROUNDS[number]]
    with ProcessPoolExecutor(jobs) as crew:
        made = list(crew.map(plain_corpus_of if plain else corpus_of, paths, range(len(paths))))
    corpora = weight_settings(made)
    if number == len(ROUNDS) - 1:
        print_held_out_cost(paths, corpora)
    write(train([s for corpus in corpora for part in corpus for s in part]), SOURCES)


def weight_settings(corpora: list[list[list[Symbols]]]) -> list[list[list[Symbols]]]:
    """Return the symbols with weights that give each setting the same total."""
    settings = range(len(corpora[0]))
    sizes = np.array([sum(s.size for corpus in corpora for s in corpus[i]) for i in settings])
    weights = sizes.mean() / sizes
    return [
        [[replace(s, weight=weights[i]) for s in corpus[i]] for i in settings] for corpus in corpora
    ]


def print_held_out_cost(paths: list[Path], corpora: list[list[list[Symbols]]]) -> None:
    """Print the cost of the symbols of held-out subjects with tables of the others."""
    held = set(sorted({subject_of(path) for path in paths})[1::4])
    known = [c for path, c in zip(paths, corpora, strict=True) if subject_of(path) not in held]
    others = [c for path, c in zip(paths, corpora, strict=True) if subject_of(path) in held]
    tables = train([s for corpus in known for part in corpus for s in part])
    for i, settings in enumerate(SETTINGS):
        told = [s for corpus in others for s in corpus[i]]
        parts = cost(told, tables)
        listed = ", ".join(f"{name} {value:.0f}" for name, value in parts.items())
        print(f"{settings}: other subjects {sum(s.size for s in told)} bytes as coded; {listed}")
    numbers = grid_numbers([s for corpus in others for part in corpus for s in part])
    row, symbol, bits = grid_symbols(numbers, tables["GRID_WEIGHTS"])
    sided = tables["GRID_SIDED_TABLES"].reshape(-1, SYMBOLS + 1)
    starts = np.concatenate([sided, tables["GRID_TABLES"]])
    grid = (bits_by(starts, row, symbol) + bits).sum() / 8
    print(f"grids in time: other subjects {len(numbers)} numbers; {grid:.0f} bytes")


def subject_of(path: Path) -> str:
    return path.stem.split("_")[0]


if __name__ == "__main__":
    main()
