"""A motion library: the states of an archive's clips at any time, on the CPU or a GPU."""

from __future__ import annotations

import os
import re
import warnings
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mocpack.common.arguments import check_integer
from mocpack.common.arrays import F32, F64, I64
from mocpack.corpora.reading import Corpus, open_corpus
from mocpack.errors import DeviceWarning, UsageError
from mocpack.trainers.cuda import Device, NoDeviceError
from mocpack.trainers.engines import CpuEngine, CudaEngine, Engine, Query
from mocpack.trainers.rows import load_rows
from mocpack.trainers.skeletons import skeleton_tables
from mocpack.trainers.velocities import velocity_table

if TYPE_CHECKING:
    from pyarrow import Table

DTYPES = ("float32", "float16")
QUATERNIONS = ("xyzw", "wxyz")
WEIGHT_COLUMN = "weight"


class MotionState(NamedTuple):
    """States of N clips and moments, in the world: z up, meters, radians, seconds.

    Clips whose skeleton has fewer bodies or angles than others have zeros behind them.
    """

    positions: Any  # (N, B, 3) of the bodies
    rotations: Any  # (N, B, 4)
    linear_velocities: Any  # (N, B, 3) of the origins of the bodies
    angular_velocities: Any  # (N, B, 3)
    angles: Any  # (N, H) of a robot's joints; meters for sliders
    angle_velocities: Any  # (N, H)
    contacts: Any  # (N, C), interpolated


class MotionLibrary:
    """The motion of an archive, decoded into rows of root and angles, or local rotations.

    Parameters
    ----------
    archive : path or Corpus
        An archive of clips of robots or other skeletons.
    device : str
        ``"cuda"``, ``"cuda:1"`` or ``"cpu"``. Without a GPU, states are computed on the CPU, and a
        `DeviceWarning` says so once.
    dtype : str
        ``"float32"``, or ``"float16"`` for half the memory; `row_error` is what it costs.
    velocity : str
        ``"central"``: central differences of root and joints; velocities of bodies follow by
        kinematics. Or the definition of a trainer: ``"protomotions"``, ``"sonic"``, ``"twist"``.
    order : str
        Order of bodies and joints: ``"mujoco"`` (depth first) or ``"physx"`` (breadth first,
        without fixed bodies).
    quaternion : str
        ``"xyzw"`` or ``"wxyz"``.
    where : str, optional
        SQL condition on the catalog that selects clips.

    Attributes
    ----------
    device : str
        Where states are computed: ``"cpu"`` or ``"cuda:0"``.
    names : tuple of str
        Names of the clips.
    frame_counts, frame_rates, lengths : array, shape (N,)
        Frames, frames per second and seconds (from the first frame to the last) of each clip.
    boundaries : array, shape (N + 1,)
        Frames before each clip, and all frames.
    skeletons : array, shape (N,)
        Index of each clip's skeleton; `body_names`, `joint_names` and `contact_names` have one
        entry per skeleton.
    joint_axes : tuple of array, shape (H, 3)
        Axis of each joint in the frame of its body, per skeleton.
    body_count, angle_count : int
        B and H of states: those of the largest skeletons.
    nbytes : int
        Bytes of all rows.
    row_error : RowError
        Largest errors of float16 rows beside the archive: meters of the root, radians, and meters
        of sliders.
    """

    def __init__(
        self,
        archive: str | os.PathLike[str] | Corpus,
        device: str = "cuda",
        dtype: str = "float32",
        *,
        velocity: str = "central",
        order: str = "mujoco",
        quaternion: str = "xyzw",
        where: str | None = None,
    ) -> None:
        for name, given, known in (
            ("dtype", dtype, DTYPES),
            ("quaternion", quaternion, QUATERNIONS),
        ):
            if given not in known:
                raise UsageError(f"{name} must be one of {', '.join(known)}, got {given!r:.80}")
        definition, gpu = velocity_table(velocity), _find_device(device)
        self.corpus = archive if isinstance(archive, Corpus) else open_corpus(archive)
        try:
            clips = self.corpus.select(where)
            if not clips:
                raise UsageError("no clip of the archive is selected")
            rows = load_rows(self.corpus, clips, dtype, order)
        finally:
            if self.corpus is not archive:
                self.corpus.close()  # the index and the catalog stay in memory
        self.clips: I64 = np.array(clips)
        self.names = tuple(self.corpus.names[clip] for clip in clips)
        self.frame_counts: I64 = rows.clips["frames"].astype(np.int64)
        self.frame_rates: F64 = 1 / self.corpus.index.frame_times[clips]
        self.lengths: F64 = (self.frame_counts - 1) / self.frame_rates
        self.boundaries: I64 = np.concatenate([[0], np.cumsum(self.frame_counts)])
        self.skeletons: I64 = rows.clips["skeleton"].astype(np.int64)
        self.body_names = tuple(layout.body_names for layout in rows.layouts)
        self.joint_names = tuple(layout.joint_names for layout in rows.layouts)
        self.contact_names = tuple(layout.contact_names for layout in rows.layouts)
        self.joint_axes = tuple(layout.joint_axes for layout in rows.layouts)
        self.nbytes, self.row_error = rows.words.nbytes, rows.error
        tables = skeleton_tables(rows.layouts)
        names = self.body_names, self.joint_names, self.contact_names
        bodies, angles, contacts = (max(map(len, one)) for one in names)
        sizes, is_w_first = (bodies, angles, contacts), quaternion == "wxyz"
        self.body_count, self.angle_count = bodies, angles
        self._engine: Engine
        if gpu is None:
            self.device = "cpu"
            self._engine = CpuEngine(rows, tables, definition, sizes, is_w_first)
        else:
            self.device = f"cuda:{gpu.index}"
            self._engine = CudaEngine(gpu, rows, tables, definition, sizes, is_w_first)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        hours = float(self.lengths.sum()) / 3600
        size = f"{self.nbytes / 1e6:.1f} MB"
        return f"MotionLibrary of {len(self)} clips, {hours:.2f} hours, {size} on {self.device}"

    @cached_property
    def weights(self) -> F32:
        """The catalog's column ``weight`` (N,), else ones. Yours to change."""
        if WEIGHT_COLUMN not in self.corpus.columns:
            return np.ones(len(self), np.float32)
        weights = self.table.column(WEIGHT_COLUMN).to_numpy().astype(np.float32)
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise UsageError("the catalog's column 'weight' must have finite numbers of at least 0")
        return np.asarray(weights)

    @property
    def table(self) -> Table:
        """The catalog of these clips, as a `pyarrow.Table` in the order of `names`."""
        return self.corpus.table.take(self.clips)

    def state(self, clip_ids: Any, times: Any, *, out: MotionState | None = None) -> MotionState:
        """Return states at times in seconds, clamped to the clips.

        Parameters
        ----------
        clip_ids, times : arrays of one shape S
            numpy arrays, or tensors of torch or cupy on the library's device. The result is of the
            same package. On a GPU, numpy arrays give arrays that ``torch.from_dlpack`` takes.
        out : MotionState, optional
            Arrays to write to, float32. Fields that are None are not computed.

        Returns
        -------
        MotionState
            Arrays of shape (*S, …).
        """
        return self._run(Query(clip_ids, times, True), out)

    def frames(self, clip_ids: Any, indices: Any, *, out: MotionState | None = None) -> MotionState:
        """Return states at frames of clips, as `state` does at times.

        A clip or frame that does not exist is an IndexError; on a GPU, which cannot raise it, the
        state is NaN.
        """
        return self._run(Query(clip_ids, indices, False), out)

    def windows(
        self, clip_ids: Any, starts: Any, length: int, *, out: MotionState | None = None
    ) -> MotionState:
        """Return `length` frames from each start on, in arrays of shape (*S, length, …)."""
        check_integer("length", length, 1)
        return self._run(Query(clip_ids, starts, False, length), out)

    def _run(self, query: Query, out: MotionState | None) -> MotionState:
        wanted = None
        if out is not None:
            from_fields = zip(FIELDS, out, strict=True)
            wanted = {name: array for name, array in from_fields if array is not None}
        found = self._engine.run(query, wanted)
        return MotionState(*(found.get(name) for name in FIELDS))


# arrays of the engines, in the order of the fields of a state
FIELDS = ("positions", "rotations", "linear", "angular", "angles", "angle_rates", "contacts")


def _find_device(name: str) -> Device | None:
    """Return the GPU of a name; None for the CPU, or if there is no GPU, after a warning."""
    found = re.fullmatch(r"cpu|cuda(?::(\d+))?", name)
    if found is None:
        raise UsageError(f"device must be cpu, cuda or cuda:0, got {name!r:.80}")
    if name == "cpu":
        return None
    try:
        return _open_device(int(found[1] or 0))
    except NoDeviceError as error:
        _warn_once(str(error))
        return None


@cache
def _open_device(index: int) -> Device:
    return Device(index)


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"the motion library computes states on the CPU: {reason}", DeviceWarning, stacklevel=4
    )
