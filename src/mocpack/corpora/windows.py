"""Windows of an archive's clips as feature arrays, resampled and optionally mirrored."""

from __future__ import annotations

import warnings
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from math import ceil
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np

from mocpack import _core
from mocpack.common.arguments import (
    check_integer,
    check_integers,
    check_sequence,
    did_you_mean,
    is_finite,
)
from mocpack.common.arrays import F32, F64, I64, Mask
from mocpack.common.choice import list_names
from mocpack.common.units import parse_size
from mocpack.corpora import clip_features
from mocpack.corpora.decoded_cache import DecodedCache, decode_rows
from mocpack.corpora.features import (
    FEATURES,
    HINGE_FEATURES,
    STORED_FEATURES,
    feature_columns,
    window_plan,
)
from mocpack.corpora.reading import Corpus
from mocpack.errors import ShortClipWarning, UsageError, name_errors
from mocpack.io.humanml3d import FRAME_RATE
from mocpack.model.clip import ClipHeader
from mocpack.model.mirroring import MAX_ASYMMETRY

FRAME_TOLERANCE = 1e-6  # fraction of a frame, for rounding of times
MAX_NAMES_LISTED = 5  # clips in a message
WINDOWS_PER_MARK = 64  # between entries of the table that a search for a window starts from

MASK = "mask"  # the label of padded windows

WindowPlans = tuple[_core.WindowPlan, ...]
Labels = dict[str, Any]
"""Labels of a window by name; of a batch, a list or an array of them by name."""


class Statistics(NamedTuple):
    """Mean and standard deviation of each column (width,); 0 for columns that do not change."""

    mean: F64
    std: F64


class _ClipKind(NamedTuple):
    """What the windows of clips with one base and frame rate have in common."""

    base: int
    step: float  # frames from row to row
    stride: float  # frames from window to window
    span: float  # frames from the first row to the last


class _Place(NamedTuple):
    """Where a window is: its clip's position in `clips`, index and kind, and its frames."""

    clip_position: int
    clip: int
    kind: int
    start: int
    stop: int
    mirrored: bool


class WindowOptions(TypedDict, total=False):
    """The options of `Windows`."""

    fps: float | None
    stride: float | None
    features: str | Sequence[str]
    mirror: bool | Literal["skip"]
    mirror_tolerance: float
    root_relative: bool
    where: str | None
    cache: str | int | DecodedCache | None
    labels: Sequence[str]
    pad: bool


class Windows:
    """Windows of equal length of an archive's clips, as float32 arrays.

    Parameters
    ----------
    corpus : Corpus
    seconds : float
        Length of a window; it has ``round(seconds * fps)`` rows.
    fps : float, optional
        Rows per second, interpolated by slerp; default: the common frame rate of the clips.
    stride : float, optional
        Seconds between the starts of consecutive windows, rounded to frames; default: `seconds`.
        Clips shorter than a window have no windows; a warning names some, `skipped` all of them.
    features : str or sequence of str
        Columns of a row, in this order: ``quaternion`` (4 per joint: x, y, z, w), ``rotation6d``
        (6 per joint), ``translations`` (3 per translated joint), ``positions`` (3 per joint,
        meters), ``velocities`` (3 per joint, meters per second), ``contacts`` (1 per foot: 0 or 1),
        ``angles`` (1 per hinge of a robot: radians, or meters for sliders), ``angle_velocities``
        (the same per second), ``root`` (7: position and x, y, z, w in the source's world).
        Or ``humanml3d`` alone: its 263 columns, as the dataset's script computes them for the whole
        clip; `fps` is then 20 by default.
    mirror : bool or "skip"
        Whether to append a copy of every window with left and right exchanged. Clips whose
        skeleton has no mirror image are an error; ``"skip"`` appends no copies of their windows.
    mirror_tolerance : float
        Difference allowed between left and right bones at rest, relative to their length.
    root_relative : bool
        Whether to move each window to the origin and to rotate it about the vertical axis, so
        that the root starts with heading zero.
    where : str, optional
        SQL condition on the catalog that selects clips.
    cache : str, int or DecodedCache, optional
        Memory for decoded motion ("8GB"), shared by all processes that use these windows.
    labels : sequence of str
        Columns of the catalog. Every window is then a pair (window, labels), with the values of
        its clip by column; of a batch, labels are lists. Mirrored windows keep them.
    pad : bool
        Whether a clip shorter than a window has one window, whose missing rows are 0. Every window
        is then a pair, with ``labels["mask"]`` (rows,): True for the rows of the clip.
    """

    def __init__(
        self,
        corpus: Corpus,
        seconds: float = 2.0,
        *,
        fps: float | None = None,
        stride: float | None = None,
        features: str | Sequence[str] = STORED_FEATURES,
        mirror: bool | Literal["skip"] = False,
        mirror_tolerance: float = MAX_ASYMMETRY,
        root_relative: bool = False,
        where: str | None = None,
        cache: str | int | DecodedCache | None = None,
        labels: Sequence[str] = (),
        pad: bool = False,
    ) -> None:
        features = (features,) if isinstance(features, str) else tuple(features)
        for name in features:
            if name not in (*FEATURES, clip_features.NAME):
                known = ", ".join((*FEATURES, clip_features.NAME))
                raise UsageError(f"features must be among {known}, got {name!r}")
        if clip_features.NAME in features:
            clip_features.check_features(features, root_relative=root_relative)
            fps = FRAME_RATE if fps is None else fps
        self.corpus, self.features = corpus, features
        if mirror not in (False, True, "skip"):
            raise UsageError(f"mirror must be False, True or 'skip', got {mirror!r:.80}")
        self._mirror, self._tolerance, self._relative = mirror, mirror_tolerance, root_relative
        self.clips = corpus.select(where)
        if not self.clips:
            raise UsageError("no clip of the archive is selected")
        rates = 1.0 / corpus.index.frame_times[self.clips]
        fps = _common_rate(rates) if fps is None else fps
        stride = seconds if stride is None else stride
        _check_positive(seconds=seconds, fps=fps, stride=stride, mirror_tolerance=mirror_tolerance)
        self.fps = float(fps)
        self.rows = max(1, round(seconds * self.fps))
        self._steps = rates / self.fps
        self._strides = stride * rates
        # A row of HumanML3D also describes the way to the next frame.
        self._needs_next = clip_features.NAME in features
        gaps = self.rows - (not self._needs_next)
        self._last = corpus.index.frame_counts[self.clips] - 1 - gaps * self._steps
        counts = (
            np.floor(np.maximum(self._last + FRAME_TOLERANCE, 0) / self._strides).astype(np.int64)
            + 1
        )
        self._pad = pad
        shortest = self._needs_next * self._steps if pad else gaps * self._steps
        self._is_skipped = corpus.index.frame_counts[self.clips] - 1 - shortest < -FRAME_TOLERANCE
        counts[self._is_skipped] = 0
        self._check_lengths(seconds, counts)
        self._kinds, kinds = self._find_kinds(gaps)
        rows = np.stack([self.clips, kinds, corpus.index.frame_counts[self.clips]], axis=1)
        self._clip_rows = _to_array(rows)  # index in the archive, kind and frames of each clip
        self._window_plans: dict[int, WindowPlans] = {}
        self._clip_features: clip_features.ClipFeatures | None = None
        self.columns = self._check_skeletons()
        # the mirror images of all clips follow the clips
        counts = np.concatenate([counts, np.where(self._find_mirrored(), counts, 0)])
        ends = np.cumsum(np.concatenate([[0], counts]))
        marks = np.arange(0, ends[-1] + WINDOWS_PER_MARK, WINDOWS_PER_MARK)
        self._ends, self._marks = _to_array(ends), _to_array(np.searchsorted(ends, marks, "right"))
        self.width = sum(part.stop - part.start for part in self.columns.values())
        if cache is not None and not isinstance(cache, DecodedCache):
            cache = DecodedCache(corpus, parse_size(cache, "cache"))
        self.cache = cache
        self._labels = self._read_labels(labels)

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_window_plans": {}}

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, key: int | slice | Sequence[int] | I64) -> Any:
        """Return a window (rows, width), or several for a sequence or slice (n, rows, width).

        With `labels` or `pad`, a pair of that and the labels.
        """
        if isinstance(key, slice):
            return self.batch(range(*key.indices(len(self))))
        if isinstance(key, Sequence | np.ndarray):
            return self.batch(key)
        return self.add_labels(key, self.read(key, np.empty((self.rows, self.width), np.float32)))

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]

    def __repr__(self) -> str:
        names = ", ".join(self.features)
        shape = f"{self.rows} × {self.width}"
        return f"{len(self)} windows of {shape} at {self.fps:g} fps: {names}"

    def batch(self, indices: Sequence[int] | I64, out: F32 | None = None) -> Any:
        """Return several windows (n, rows, width), written to `out` if given.

        With `labels` or `pad`, a pair of that and the labels.
        """
        indices = check_integers("indices", indices)
        if out is None:
            out = np.empty((len(indices), self.rows, self.width), np.float32)
        self.prefetch(indices)
        for index, window in zip(indices, out, strict=True):
            self.read(index, window)
        if not self.has_labels:
            return out
        every = [self.labels(index) for index in indices]
        labels: Labels = {name: [one[name] for one in every] for name in self._labels}
        if self._pad:
            masks = [one[MASK] for one in every]
            labels[MASK] = np.array(masks, np.bool_).reshape(len(every), self.rows)
        return out, labels

    @property
    def has_labels(self) -> bool:
        """Whether windows are pairs of a window and its labels."""
        return bool(self._labels) or self._pad

    def labels(self, index: int) -> Labels:
        """Return the labels of a window, and its mask if windows are padded."""
        place = self._find(index)
        labels = {name: values[place.clip_position] for name, values in self._labels.items()}
        if self._pad:
            labels[MASK] = np.arange(self.rows) < self._row_count(place)
        return labels

    def add_labels(self, index: int, window: F32) -> Any:
        """Return a window, paired with its labels if windows have any."""
        return (window, self.labels(index)) if self.has_labels else window

    def statistics(self) -> Statistics:
        """Return mean and standard deviation of each column over all windows, without padding.

        It decodes each clip once. Mirrored and overlapping windows count each row as often as they
        contain it.
        """
        count, mean, squares = 0, np.zeros(self.width), np.zeros(self.width)
        for position in range(len(self.clips)):
            for index, window in self.decode(self.clip_windows(position)):
                rows = window[: self._row_count(self._find(index))].astype(np.float64)
                apart = rows.mean(0) - mean
                weight = len(rows) / (count + len(rows))
                squares += ((rows - rows.mean(0)) ** 2).sum(0) + apart**2 * weight * count
                mean += weight * apart
                count += len(rows)
        return Statistics(mean, np.sqrt(squares / count))

    def prefetch(self, indices: Sequence[int] | I64) -> None:
        """Fetch the bytes of windows of a remote archive in parallel."""
        indices = check_integers("indices", indices)
        if self.corpus.is_remote:
            places = [self._find(index) for index in indices]
            self.corpus.prefetch([(place.clip, place.start, place.stop) for place in places])

    def read(self, index: int, out: F32) -> F32:
        """Write a window to a float32 array `out` (rows, width); return it."""
        place = self._find(index)
        clip, start, stop = place.clip, place.start, place.stop
        plan = self._get_window_plans(place)[place.mirrored]
        own = self._clear_padding(place, out)
        if self._clip_features is not None:
            self._write_clip_features(place, plan, own)
            return out
        if self.cache is not None:
            self.cache.write_window(clip, start, stop, plan, own)
            return out
        if self.corpus.is_remote:
            self.corpus.prefetch([(clip, start, stop)])
        self.corpus.window_writer(clip).write(plan, start, stop, own)
        return out

    def locate(self, index: int) -> tuple[int, int, bool]:
        """Return the clip's position in `clips`, the first frame, and whether it is mirrored."""
        place = self._find(index)
        return place.clip_position, place.start, place.mirrored

    def _find(self, index: int) -> _Place:
        if type(index) is not int:
            index = check_integer("window index", index)
        count: int = self._ends[-1]
        if not -count <= index < count:
            raise IndexError(f"window index must be below {count}, got {index}")
        index %= count
        mark = index // WINDOWS_PER_MARK
        at = bisect_right(self._ends, index, self._marks[mark], self._marks[mark + 1]) - 1
        mirrored, clip_position = divmod(at, len(self.clips))
        clip, number, frames = self._clip_rows[3 * clip_position : 3 * clip_position + 3]
        kind = self._kinds[number]
        last = int(max(frames - 1 - kind.span + FRAME_TOLERANCE, 0))
        start = min(round((index - self._ends[at]) * kind.stride), last)
        if self._clip_features is None:
            frames = min(start + ceil(kind.span - FRAME_TOLERANCE) + 1, frames)
        return _Place(clip_position, clip, number, start, frames, bool(mirrored))

    def window_indices(self, clip_position: int, *, mirrored: bool = False) -> range:
        """Return the indices of a clip's windows by its position in `clips`."""
        check_integer("clip_position", clip_position, 0, len(self.clips) - 1)
        at = clip_position + mirrored * len(self.clips)
        return range(*self._ends[at : at + 2])

    @property
    def skipped(self) -> list[str]:
        """Names of the clips that are too short for a window."""
        return [self.corpus.names[self.clips[at]] for at in np.flatnonzero(self._is_skipped)]

    def clip_windows(self, clip_position: int) -> list[int]:
        """Return the indices of a clip's windows, then of its mirrored ones."""
        both = (self.window_indices(clip_position, mirrored=m) for m in (False, True))
        return [*chain(*both)]

    def decode(self, numbers: Sequence[int]) -> Iterator[tuple[int, F32]]:
        """Yield windows of one clip with their indices; decode the clip once."""
        if not numbers:
            return
        clip = self._find(numbers[0]).clip
        stop = max(self._find(index).stop for index in numbers)
        self.corpus.prefetch([(clip, 0, stop)])
        rows = decode_rows(self.corpus, clip, 0, stop)
        for index in numbers:
            # separate arrays, so that the memory of a yielded window is freed
            out = np.empty((self.rows, self.width), np.float32)
            place = self._find(index)
            plan = self._get_window_plans(place)[place.mirrored]
            own = self._clear_padding(place, out)
            if self._clip_features is None:
                _core.write_window_from_rows(plan, rows, float(place.start), own)
            else:
                self._write_clip_features(place, plan, own, rows)
            yield index, out

    def _clear_padding(self, place: _Place, out: F32) -> F32:
        """Set the rows of a window that its clip lacks to 0; return the others."""
        if not self._pad:
            return out
        count = self._row_count(place)
        out[count:] = 0
        return out[:count]

    def _row_count(self, place: _Place) -> int:
        """Return how many rows of a window its clip has."""
        if not self._pad:
            return self.rows
        frames = self._clip_rows[3 * place.clip_position + 2]
        last = (frames - 1) / self._kinds[place.kind].step + FRAME_TOLERANCE
        return min(self.rows, int(last) + (not self._needs_next))

    def _write_clip_features(
        self, place: _Place, plan: _core.WindowPlan, out: F32, rows: F32 | None = None
    ) -> None:
        """Write a window of features that depend on the whole clip, or on its decoded `rows`."""
        clip, frames = place.clip, place.stop

        def write_positions(first: int, positions: F32) -> None:
            if rows is not None:
                _core.write_window_from_rows(plan, rows, float(first), positions)
            elif self.cache is not None:
                self.cache.write_window(clip, first, frames, plan, positions)
            else:
                self.corpus.prefetch([(clip, first, frames)])
                self.corpus.window_writer(clip).write(plan, first, frames, positions)

        assert self._clip_features is not None
        step = self._kinds[place.kind].step
        image = place.clip_position, place.mirrored
        self._clip_features.write(image, place.start, step, frames, write_positions, out)

    def _get_window_plans(self, place: _Place) -> WindowPlans:
        """Return the plans of a clip, plain and mirrored: those of its kind."""
        plans = self._window_plans.get(place.kind)
        if plans is None:
            header, kind = self.corpus.motion(place.clip).header, self._kinds[place.kind]
            is_mirrored = self._mirror and kind.base not in self._asymmetric
            plans = self._window_plans[place.kind] = tuple(
                self._window_plan(header, mirror=mirror, step=kind.step)
                for mirror in ((False, True) if is_mirrored else (False,))
            )
        return plans

    def _window_plan(
        self, header: ClipHeader, *, mirror: bool = False, step: float = 1.0
    ) -> _core.WindowPlan:
        return window_plan(
            header,
            self.features if self._clip_features is None else ("positions",),
            rate=self.fps,
            relative=self._relative,
            tolerance=self._tolerance,
            mirror=mirror,
            step=step,
        )

    def _find_kinds(self, gaps: int) -> tuple[list[_ClipKind], I64]:
        """Return the kinds of the clips, and the index of each clip's kind (N,)."""
        bases = self.corpus.index.columns[self.clips, 0]
        _, rates = np.unique(self._steps, return_inverse=True)
        _, firsts, kinds = np.unique(
            bases * (rates.max() + 1) + rates, return_index=True, return_inverse=True
        )
        columns = bases, self._steps, self._strides, gaps * self._steps
        rows = zip(*(column[firsts].tolist() for column in columns), strict=True)
        return [_ClipKind(*row) for row in rows], kinds

    def _check_lengths(self, seconds: float, counts: I64) -> None:
        """Warn about clips that are shorter than a window; raise if all are."""
        short, total = self.skipped, len(self.clips)
        if not counts.any():
            lengths = self.corpus.index.frame_counts[self.clips] / (self._steps * self.fps)
            longest = int(np.argmax(lengths))
            raise UsageError(
                f"no windows: all {total} selected clips are shorter than {seconds:g} s; the "
                f"longest, {short[longest][:80]!r}, has {lengths[longest]:.3g} s"
            )
        if short:
            words = f"{len(short)} of {total} clips are shorter than a window of {seconds:g} s"
            warnings.warn(
                f"{words} and have none: {list_names(short, MAX_NAMES_LISTED)}",
                ShortClipWarning,
                stacklevel=3,
            )

    def _read_labels(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """Return the values of columns of the catalog by clip; raise if a clip has none."""
        labels: dict[str, list[Any]] = {}
        for name in check_sequence("labels", names):
            if name not in self.corpus.columns or (self._pad and name == MASK):
                close = did_you_mean(str(name), self.corpus.columns)
                raise UsageError(f"labels must be columns of the catalog, got {name!r:.80}{close}")
            labels[name] = self.corpus.table.column(name).take(self.clips).to_pylist()
            lacking = [
                at for at, value in zip(self.clips, labels[name], strict=True) if value is None
            ]
            if lacking:
                clips = list_names([self.corpus.names[at] for at in lacking], MAX_NAMES_LISTED)
                raise UsageError(
                    f"label {name!r} is missing for {len(lacking)} of {len(self.clips)} clips: "
                    f'{clips}; exclude them with where="{name} is not null"'
                )
        return labels

    def _find_mirrored(self) -> Mask:
        """Return which clips to mirror (N,); raise if one has no mirror image, unless it may."""
        if not self._mirror:
            return np.zeros(len(self.clips), np.bool_)
        reasons: dict[int, str] = {}
        bases = self.corpus.index.columns[self.clips, 0]
        for base in np.unique(bases).tolist():
            clip = self.clips[int(np.argmax(bases == base))]
            try:
                self._window_plan(self.corpus.motion(clip).header, mirror=True)
            except UsageError as error:
                reasons[base] = str(error)
        self._asymmetric = frozenset(reasons)
        has_image = ~np.isin(bases, list(reasons))
        if reasons and self._mirror != "skip":
            names = [self.corpus.names[self.clips[at]] for at in np.flatnonzero(~has_image)]
            raise UsageError(
                f"{len(names)} of {len(self.clips)} clips cannot be mirrored: "
                f"{list_names(names, MAX_NAMES_LISTED)}. {names[0]!r}: "
                f"{reasons[int(bases[np.argmin(has_image)])]}. Pass mirror='skip' to mirror the "
                "others alone, or a larger mirror_tolerance"
            )
        return has_image

    def _check_skeletons(self) -> dict[str, slice]:
        """Raise if clips have different skeletons; return the columns of each feature."""
        bases = self.corpus.index.columns[self.clips, 0]
        first: tuple[str, object] | None = None
        headers: dict[str, ClipHeader] = {}
        for base in np.unique(bases):
            clip = self.clips[int(np.argmax(bases == base))]
            name, motion = self.corpus.names[clip], self.corpus.motion(clip)
            header = motion.header
            if not isinstance(header, ClipHeader):
                raise UsageError(
                    f"clip {name!r} is a vertex animation; select skeletal clips with where="
                )
            headers[name], hinges = header, header.skeleton.hinges
            rows = hinges if HINGE_FEATURES & set(self.features) else None
            shape = (
                header.skeleton.names,
                header.skeleton.parents,
                header.translated_joints,
                rows and (rows.names, rows.joints),
            )
            if first is not None and shape != first[1]:
                raise UsageError(
                    f"clips {first[0]!r} and {name!r} have different skeletons; "
                    "select clips of one skeleton with where="
                )
            first = first or (name, shape)
        header = self.corpus.motion(self.clips[0]).header
        if clip_features.NAME in self.features:
            self._clip_features = clip_features.ClipFeatures(header)
        for name, own in headers.items():
            with name_errors(f"clip {name!r}", UsageError):
                self._window_plan(own)
        if self._clip_features is not None:
            return {clip_features.NAME: slice(0, self._clip_features.width)}
        return feature_columns(header, self.features)


def _to_array(values: I64) -> array[int]:
    """Return numbers by clip as an array.

    An element of a numpy array costs more time than copying a window, one of a list a cache miss.
    """
    return array("q", values.astype(np.int64, copy=False).tobytes())


def _common_rate(rates: F64) -> float:
    if np.ptp(rates) > 1e-3 * rates[0]:
        low, high = rates.min(), rates.max()
        raise UsageError(f"clips have {low:.4g} to {high:.4g} frames per second; pass fps=")
    return float(rates[0])


def _check_positive(**given: float) -> None:
    for name, value in given.items():
        if not is_finite(value) or not 0 < value <= 1e9:
            raise UsageError(f"{name} must be above 0 and at most 1e9, got {value!r:.80}")
