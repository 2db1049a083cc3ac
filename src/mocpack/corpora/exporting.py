"""Export of archives to files or to other stores, one row per frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from mocpack import _api
from mocpack.common.arguments import check_path
from mocpack.common.arrays import F32, F64
from mocpack.corpora import catalog
from mocpack.corpora.reading import Corpus
from mocpack.errors import MissingExtraError, UsageError
from mocpack.io.atomic import atomic_stream
from mocpack.model.clip import Clip, require_skeleton

if TYPE_CHECKING:
    from pyarrow import ListArray, RecordBatch, Schema

ROW_GROUP_ROWS = 1 << 16  # largest Parquet row group


def export(
    corpus: Corpus,
    path: str | Path,
    store: str,
    *,
    clips: Sequence[int] | None = None,
    suffix: str | None = None,
    fps: float | None = None,
) -> int:
    """Write clips of an archive to another store; return how many.

    Parameters
    ----------
    corpus : Corpus
    path : path
        A folder, or a file for ``parquet``. It must not exist, except as an empty folder.
    store : {"npz", "folder", "parquet", "lance", "lerobot"}
    clips : sequence of int, optional
        Indices of clips; default: all.
    suffix : str, optional
        Format of the files in a ``folder``, such as ``.bvh`` or ``bvh``.
    fps : float, optional
        Frames per second to resample to; ``lerobot`` needs it if frame rates differ.
    """
    check_path("path", path)
    if store not in STORES:
        raise UsageError(f"store must be one of {', '.join(STORES)}, got {store!r}")
    if store == "folder" and suffix is None:
        raise UsageError("a folder needs the format of its files: --to bvh (suffix='.bvh')")
    selected = list(range(len(corpus))) if clips is None else list(clips)
    if not selected:
        raise UsageError("no clip of the archive is selected")
    suffix = None if suffix is None else "." + suffix.lstrip(".")
    place = Path(path)
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise UsageError(f"{path} exists already")
    source = _SelectedClips(corpus, selected, fps)
    STORES[store](source, place, ".npz" if store == "npz" else suffix)
    return len(selected)


def safe_path(folder: str | Path, name: str, suffix: str) -> Path:
    """Return the path of a clip's file; reject names that lead out of the folder."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or any(p in ("..", ".") or "\\" in p for p in parts):
        raise UsageError(f"clip {name!r}: its name leads outside of {folder}")
    if any(":" in part or "\0" in part for part in parts):
        raise UsageError(f"clip {name!r}: its name is not a valid file name")
    return Path(folder, *parts[:-1], parts[-1] + suffix)


class _SelectedClips:
    """Clips of an archive, decoded one at a time."""

    def __init__(self, corpus: Corpus, numbers: Sequence[int], fps: float | None) -> None:
        self.corpus, self.numbers, self.fps = corpus, numbers, fps

    def __iter__(self) -> Iterator[tuple[str, Clip]]:
        for number in self.numbers:
            name, clip = self.corpus.names[number], self.corpus.motion(number).clip()
            clip = require_skeleton(clip, f"clip {name!r} (--where can leave it out): an export")
            yield name, clip if self.fps is None else clip.resample(self.fps)

    def frame_rates(self) -> set[float]:
        if self.fps is not None:
            return {float(self.fps)}
        return {round(1 / float(self.corpus.index.frame_times[n]), 6) for n in self.numbers}


def _write_files(source: _SelectedClips, folder: Path, suffix: str | None) -> None:
    for name, clip in source:
        file = safe_path(folder, name, str(suffix))
        file.parent.mkdir(parents=True, exist_ok=True)
        _api.write(clip, file)


def _write_parquet(source: _SelectedClips, path: Path, _suffix: str | None) -> None:
    schema = _schema()
    writing = catalog.import_parquet().ParquetWriter
    with atomic_stream(path) as file, writing(file, schema, compression="zstd") as writer:
        for batch in _batches(source):
            writer.write_batch(batch, row_group_size=ROW_GROUP_ROWS)


def _write_lance(source: _SelectedClips, path: Path, _suffix: str | None) -> None:
    lance = _import_package("lance", "pylance")
    reader = catalog.import_arrow().RecordBatchReader.from_batches(_schema(), _batches(source))
    lance.write_dataset(reader, str(path))


def _write_lerobot(source: _SelectedClips, path: Path, _suffix: str | None) -> None:
    """Write one episode per clip: root and angles of robots, all local values of other clips."""
    package = _import_package("lerobot.datasets.lerobot_dataset", "lerobot")
    frame_rates = source.frame_rates()
    if len(frame_rates) > 1 or next(iter(frame_rates)) != round(next(iter(frame_rates))):
        raise UsageError(
            f"lerobot needs one integer frame rate, clips have {sorted(frame_rates)}: pass --fps"
        )
    if path.is_dir():
        path.rmdir()  # LeRobot creates it
    made = None
    width = 0
    for name, clip in source:
        state = _frame_vectors(clip)
        if made is None:
            width = state.shape[1]
            features = {"observation.state": {"dtype": "float32", "shape": (width,), "names": None}}
            made = package.LeRobotDataset.create(
                "local/mocpack", int(next(iter(frame_rates))), features, root=path, use_videos=False
            )
        if state.shape[1] != width:
            raise UsageError(
                f"clip {name!r} has {state.shape[1]} values per frame, other clips have {width}"
            )
        for row in state:
            made.add_frame({"observation.state": row, "task": name})
        made.save_episode()
    if made is not None and hasattr(made, "finalize"):
        made.finalize()


STORES: dict[str, Callable[[_SelectedClips, Path, str | None], None]] = {
    "npz": _write_files,
    "folder": _write_files,
    "parquet": _write_parquet,
    "lance": _write_lance,
    "lerobot": _write_lerobot,
}


def _schema() -> Schema:
    pa = catalog.import_arrow()
    numbers = pa.list_(pa.float32())
    columns = [("clip", pa.string()), ("frame", pa.int32()), ("time", pa.float64())]
    return pa.schema([*columns, ("rotations", numbers), ("translations", numbers)])


def _batches(source: _SelectedClips) -> Iterator[RecordBatch]:
    """Yield clips as record batches with one row per frame."""
    pa, schema = catalog.import_arrow(), _schema()
    for name, clip in source:
        count = len(clip)
        arrays = [
            pa.array([name] * count, pa.string()),
            pa.array(np.arange(count, dtype=np.int32)),
            pa.array(np.asarray(clip.times, np.float64)),
            _to_list_array(np.asarray(clip.rotations)),
            _to_list_array(np.asarray(clip.translations)),
        ]
        yield pa.record_batch(arrays, schema=schema)


def _to_list_array(values: F64) -> ListArray:
    """Return an array (T, …) as a list array with one float32 list per frame."""
    pa = catalog.import_arrow()
    flat = np.ascontiguousarray(values, np.float32).reshape(len(values), -1)
    ends = np.arange(len(flat) + 1, dtype=np.int32) * np.int32(flat.shape[1])
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(flat.ravel()))


def _frame_vectors(clip: Clip) -> F32:
    """Return frame vectors (T, N): root pose and angles, or all translations and rotations."""
    turns, places = np.asarray(clip.rotations), np.asarray(clip.translations)
    if clip.skeleton.hinges is None:
        parts = [places.reshape(len(clip), -1), turns.reshape(len(clip), -1)]
    else:
        parts = [*clip.source_root(), clip.angles]
    return np.concatenate(parts, axis=1).astype(np.float32)


def _import_package(module: str, package: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name.partition(".")[0]):
            raise
        raise MissingExtraError(f"this export needs {package}, which is not installed") from error
