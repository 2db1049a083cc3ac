"""Decode the clips of an archive into rows on all cores."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mocpack.codec import WindowWriter
from mocpack.common.arrays import F32, F64, AnyArray
from mocpack.common.choice import list_names
from mocpack.common.source import open_source
from mocpack.container.chunks import read_chunk_head
from mocpack.cores import core_count
from mocpack.corpora.reading import Corpus
from mocpack.errors import FormatError, LimitWarning, MemoryLimitError, UsageError, name_errors
from mocpack.io.robots.limits import MAX_FRAME_SHARE, find_outside
from mocpack.model.clip import ClipHeader
from mocpack.model.take_data import TakeData
from mocpack.motion import Motion
from mocpack.trainers.skeletons import ROOT_WIDTH, Layout, row_layout

MAX_NAMES_LISTED = 5
CLIPS_PER_TASK = 16
STEPS = 32_767  # of a position to each side of the middle of its clip
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
        readers.append(_Reader(corpus, motion, layout))
        kinds[group] = number
    table = np.zeros(len(clips), CLIP)
    table["frames"], table["skeleton"] = corpus.index.frame_counts[clips], skeletons[kinds]
    table["rate"] = 1 / corpus.index.frame_times[clips]
    widths = np.array([layout.width for layout in layouts.values()])
    sizes = table["frames"].astype(np.int64) * widths[table["skeleton"]]
    ends = np.cumsum(sizes)
    table["first_word"] = ends - sizes
    words = np.empty(int(ends[-1]), np.uint16 if dtype == "float16" else np.float32)
    outside: list[str] = []
    errors = np.zeros((len(clips), 3))

    def load(at: int) -> None:
        own, clip = table[at], clips[at]
        reader = readers[kinds[at]]
        place = slice(int(own["first_word"]), int(ends[at]))
        shape = int(own["frames"]), reader.layout.width
        target = words[place].reshape(shape)
        rows = target if dtype == "float32" else np.empty(shape, np.float32)
        with name_errors(f"clip {corpus.names[clip]!r}", FormatError, MemoryLimitError, UsageError):
            reader.read(clip, rows)
        if _is_outside_limits(reader.layout, rows):
            outside.append(corpus.names[clip])
        if dtype == "float16":
            own["origin"], own["step"], errors[at] = _write_halves(reader.layout, rows, target)

    def load_some(start: int) -> None:
        for at in range(start, min(start + CLIPS_PER_TASK, len(clips))):
            load(at)

    with ThreadPoolExecutor(core_count()) as pool:
        try:
            for _ in pool.map(load_some, range(0, len(clips), CLIPS_PER_TASK)):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if outside:
        warnings.warn(
            f"{len(outside)} of {len(clips)} clips have joints outside the limits of their robot "
            f"in more than {MAX_FRAME_SHARE:.0%} of the frames, as angles in a wrong order or "
            f"unit have: {list_names(sorted(outside), MAX_NAMES_LISTED)}",
            LimitWarning,
            stacklevel=3,
        )
    return Rows(words, table, list(layouts.values()), RowError(*map(float, errors.max(axis=0))))


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

    def __init__(self, corpus: Corpus, like: Motion, layout: Layout) -> None:
        self._corpus, self.layout, self._lock = corpus, layout, Lock()
        has_contacts = bool(_contact_names(like.take_data))
        opener = None if has_contacts else like.window_opener
        self._open: Callable[[bytes], WindowWriter | None] = opener or (lambda data: None)

    def read(self, clip: int, rows: F32) -> None:
        """Write the rows (T, width) of a clip."""
        layout = self.layout
        writer = self._open(self._corpus.read(clip))
        take_data = TakeData()
        if writer is None:
            with self._lock:
                motion = self._corpus.motion(clip)
                writer, take_data = motion.window_writer, motion.take_data
            if take_data.times is not None:
                raise UsageError(
                    "it has uneven frame times; resample it before packing, or exclude it with "
                    "where="
                )
        names = _contact_names(take_data)
        if names != layout.contact_names:
            raise UsageError(
                f"expected the contact tracks {', '.join(layout.contact_names) or '(none)'} of the "
                f"other clips of its skeleton, got {', '.join(names) or '(none)'}"
            )
        if layout.motion_width == layout.plan.width == layout.width:
            writer.write(layout.plan, 0, len(rows), rows)
        else:
            own = np.empty((len(rows), layout.plan.width), np.float32)
            writer.write(layout.plan, 0, len(rows), own)
            layout.write(own, rows)
        frame_time = float(self._corpus.index.frame_times[clip])
        for column, name in enumerate(names, layout.motion_width):
            track = take_data.tracks[name]
            seconds = np.arange(len(rows)) * frame_time
            at = np.searchsorted(track.seconds(frame_time), seconds + 1e-6, side="right") - 1
            rows[:, column] = np.asarray(track.values, np.float32)[np.maximum(at, 0)]


def _contact_names(take_data: TakeData) -> tuple[str, ...]:
    """Return the names of the tracks of contacts."""
    return tuple(
        sorted(
            name
            for name, track in take_data.tracks.items()
            if "contact" in name.lower() and track.kind in ("flag", "scalar") and len(track)
        )
    )


def _is_outside_limits(layout: Layout, rows: F32) -> bool:
    """Return whether a robot's joints exceed their limits, as in a wrong order or unit."""
    if layout.hinges is None:
        return False
    angles = rows[:, ROOT_WIDTH : ROOT_WIDTH + len(layout.hinges)]
    low, high = layout.hinges.limits.T.astype(np.float32)
    if (angles.min(axis=0) >= low).all() and (angles.max(axis=0) <= high).all():
        return False
    _, is_outside = find_outside(layout.hinges, angles.astype(np.float64))
    return bool(is_outside.any(axis=1).mean() > MAX_FRAME_SHARE)


def _write_halves(layout: Layout, rows: F32, out: AnyArray) -> tuple[F32, np.float32, F64]:
    """Write rows in 16 bits; return origin and step of the root's positions, and the errors."""
    places = rows[:, :3]
    low, high = places.min(axis=0), places.max(axis=0)
    origin = (low + high) / 2
    step = np.float32(max(float((high - low).max()), 1e-6) / (2 * STEPS))
    steps = np.rint((places - origin) / step).clip(-STEPS, STEPS).astype(np.int16)
    halves = rows[:, 3:].astype(np.float16)
    out[:, :3], out[:, 3:] = steps.view(np.uint16), halves.view(np.uint16)
    error = np.abs(halves.astype(np.float32) - rows[:, 3:])
    root = np.linalg.norm(origin + step * steps.astype(np.float32) - places, axis=1).max()
    is_length = np.zeros(layout.motion_width, np.bool_)
    is_angle = np.zeros(layout.motion_width, np.bool_)
    if layout.hinges is not None:
        span = slice(ROOT_WIDTH, ROOT_WIDTH + len(layout.hinges))
        is_length[span], is_angle[span] = layout.hinges.slides, ~layout.hinges.slides
    for column in layout.place_columns.values():
        is_length[column : column + 3] = True
    angle = error[:, : layout.motion_width - 3][:, is_angle[3:]].max(initial=0.0)
    length = error[:, : layout.motion_width - 3][:, is_length[3:]].max(initial=0.0)
    for column in (3, *layout.turn_columns.values()):
        # half the angle between two unit quaternions is about the length of their difference
        turn = np.linalg.norm(error[:, column - 3 : column + 1], axis=1).max()
        angle = max(angle, 2 * turn)
    return origin, step, np.array([root, angle, length])
