"""Decode the clips of an archive into rows on all cores."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack._core import RowStore
from mocpack.common.arrays import F32, AnyArray
from mocpack.common.choice import list_names
from mocpack.common.source import open_source
from mocpack.container.chunks import read_chunk_head
from mocpack.cores import core_count
from mocpack.corpora.reading import Corpus
from mocpack.errors import FormatError, LimitWarning, MemoryLimitError, UsageError, name_errors
from mocpack.io.robots.limits import MAX_FRAME_SHARE
from mocpack.model.clip import ClipHeader
from mocpack.model.take_data import TakeData
from mocpack.motion import Motion
from mocpack.trainers.skeletons import Layout, row_layout

MAX_NAMES_LISTED = 5
CLIPS_PER_TASK = 32
CLIP = np.dtype(
    [
        ("first_word", "i8"),
        ("frames", "i4"),
        ("skeleton", "i4"),
        ("rate", "f4"),
        ("origin", "f4", 3),
        ("step", "f4"),
    ],
    align=True,
)

# of rows in 16 bits, as motion_rows.h has it
REPORT = np.dtype([("origin", "f4", 3), ("step", "f4"), ("errors", "f4", 3), ("is_beyond", "f4")])


class RowError(NamedTuple):
    """Largest errors of float16 rows beside the decoded archive."""

    root_m: float
    angle_rad: float  # of root, joints and ball joints
    length_m: float  # of sliders and translations of joints


@dataclass(frozen=True)
class Rows:
    """Decoded clips.

    Attributes
    ----------
    words : array, shape (W,)
        Rows of all clips, one after the other: float32, or uint16 for 16 bits per number.
    clips : structured array, shape (N,)
        Where each clip is.
    layouts : list of Layout
        One per skeleton.
    error : RowError
        What 16 bits cost; zeros for float32.
    """

    words: AnyArray
    clips: npt.NDArray[np.void]
    layouts: list[Layout]
    error: RowError


def load_rows(corpus: Corpus, clips: Sequence[int], dtype: str, order: str) -> Rows:
    """Decode these clips of an archive; `dtype` is float32 or float16."""
    layouts: dict[tuple[object, ...], Layout] = {}
    readers: list[_Reader] = []
    groups = _group_clips(corpus, clips)
    skeletons = np.zeros(len(groups), np.int64)
    kinds = np.zeros(len(clips), np.int64)
    for number, group in enumerate(groups.values()):
        motion, name = corpus.motion(clips[group[0]]), corpus.names[clips[group[0]]]
        if not isinstance(motion.header, ClipHeader):
            raise UsageError(
                f"clip {name!r} is a vertex animation; select skeletal clips with where="
            )
        with name_errors(f"clip {name!r}", UsageError):
            layout = row_layout(motion.header, order, _contact_names(motion.take_data))
        layouts.setdefault(layout.key, layout)
        skeletons[number] = list(layouts).index(layout.key)
        readers.append(_Reader(corpus, motion, layout, order))
        kinds[group] = number
    table = np.zeros(len(clips), CLIP)
    table["frames"], table["skeleton"] = corpus.index.frame_counts[clips], skeletons[kinds]
    table["rate"] = 1 / corpus.index.frame_times[clips]
    widths = np.array([layout.width for layout in layouts.values()])
    sizes = table["frames"].astype(np.int64) * widths[table["skeleton"]]
    ends = np.cumsum(sizes)
    table["first_word"] = ends - sizes
    words = np.empty(int(ends[-1]), np.uint16 if dtype == "float16" else np.float32)
    reports = np.zeros(len(clips), REPORT)
    store = _core.RowStore(
        words=words.view(np.uint8),
        are_halves=dtype == "float16",
        reports=reports.view(np.uint8).reshape(len(clips), REPORT.itemsize),
    )
    tasks = [
        (reader, group[start : start + CLIPS_PER_TASK])
        for reader, group in zip(readers, groups.values(), strict=True)
        for start in range(0, len(group), CLIPS_PER_TASK)
    ]
    with ThreadPoolExecutor(core_count()) as pool:
        try:
            for _ in pool.map(lambda task: task[0].load(clips, table, task[1], store), tasks):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    table["origin"], table["step"] = reports["origin"], reports["step"]
    beyond = np.flatnonzero(reports["is_beyond"])
    outside = [
        corpus.names[clips[at]]
        for at in beyond.tolist()
        if readers[kinds[at]].layout.exceeds_limits(
            words[ends[at] - sizes[at] : ends[at]].reshape(int(table["frames"][at]), -1)
        )
    ]
    if outside:
        warnings.warn(
            f"{len(outside)} of {len(clips)} clips have joints outside the limits of their robot "
            f"in more than {MAX_FRAME_SHARE:.0%} of the frames, as angles in a wrong order or "
            f"unit have: {list_names(sorted(outside), MAX_NAMES_LISTED)}",
            LimitWarning,
            stacklevel=3,
        )
    error = RowError(*map(float, reports["errors"].max(axis=0)))
    return Rows(words, table, list(layouts.values()), error)


def _group_clips(corpus: Corpus, clips: Sequence[int]) -> dict[object, list[int]]:
    """Return the positions in `clips` of clips that have one skeleton and one robot.

    Clips that share their skeleton have the same one; if they do not share their metadata, which
    describes the robot, each is looked at.
    """
    bases = corpus.index.columns[clips, 0].tolist()
    is_shared: dict[int, bool] = {}
    groups: dict[object, list[int]] = {}
    for at, (clip, base) in enumerate(zip(clips, bases, strict=True)):
        if base not in is_shared:
            has_robot = "robot" in corpus.motion(clip).header.metadata
            is_shared[base] = not has_robot or _shares_metadata(corpus.index.bases[base - 1])
        key: object = base
        if not base:
            key = 0, at
        elif not is_shared[base]:
            key = base, json.dumps(corpus.motion(clip).header.metadata.get("robot"), default=str)
        groups.setdefault(key, []).append(at)
    return groups


def _shares_metadata(base: bytes) -> bool:
    """Return whether metadata is among the chunks that clips share."""
    source, at = open_source(base), 0
    while at < len(base):
        tag, body, size, _ = read_chunk_head(source, at)
        if tag == "meta":
            return True
        at = body + size
    return False


class _Reader:
    """Decodes the clips of one skeleton, on several threads at once."""

    def __init__(self, corpus: Corpus, like: Motion, layout: Layout, order: str) -> None:
        self._corpus, self.layout, self._order, self._lock = corpus, layout, order, Lock()
        self._store = None if _contact_names(like.take_data) else like.row_storer

    def load(
        self, clips: Sequence[int], table: npt.NDArray[np.void], group: list[int], store: RowStore
    ) -> None:
        """Store the rows of the clips at the positions `group` of `clips` and `table`."""
        left = group
        if self._store is not None:
            files = [self._corpus.read(clips[at]) for at in group]
            own = table[group]
            places = np.array(group), own["first_word"].copy(), own["frames"].astype(np.int64)
            found = self._store(files, self.layout.plan, self.layout.native, store, *places)
            left = [group[at] for at in found]
        for at in left:
            name = self._corpus.names[clips[at]]
            with name_errors(f"clip {name!r}", FormatError, MemoryLimitError, UsageError):
                rows = self._read(clips[at], int(table["frames"][at]))
                store.write(self.layout.native, at, int(table["first_word"][at]), rows)

    def _read(self, clip: int, frames: int) -> F32:
        """Return the rows (frames, width) of a clip that may differ in its codec or its tracks."""
        layout = self.layout
        with self._lock:
            motion = self._corpus.motion(clip)
            writer, take_data = motion.window_writer, motion.take_data
        if take_data.times is not None:
            raise UsageError(
                "it has uneven frame times; resample it before packing, or exclude it with where="
            )
        names = _contact_names(take_data)
        if names != layout.contact_names:
            raise UsageError(
                f"expected the contact tracks {', '.join(layout.contact_names) or '(none)'} of the "
                f"other clips of its skeleton, got {', '.join(names) or '(none)'}"
            )
        # raises for scales, which clips with shared chunks can have of their own
        if row_layout(motion.header, self._order, names).key != layout.key:
            raise UsageError("its skeleton differs from that of the clips that share its chunks")
        window = np.empty((frames, layout.plan.width), np.float32)
        writer.write(layout.plan, 0, frames, window)
        rows = np.empty((frames, layout.width), np.float32)
        rows[:, : layout.motion_width] = window[:, layout.columns]
        frame_time = float(self._corpus.index.frame_times[clip])
        for column, name in enumerate(names, layout.motion_width):
            track = take_data.tracks[name]
            seconds = np.arange(frames) * frame_time
            at = np.searchsorted(track.seconds(frame_time), seconds + 1e-6, side="right") - 1
            rows[:, column] = np.asarray(track.values, np.float32)[np.maximum(at, 0)]
        return rows


def _contact_names(take_data: TakeData) -> tuple[str, ...]:
    """Return the names of the tracks of contacts."""
    return tuple(
        sorted(
            name
            for name, track in take_data.tracks.items()
            if "contact" in name.lower() and track.kind in ("flag", "scalar") and len(track)
        )
    )
