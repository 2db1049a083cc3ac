"""Engines, which compute states: on the CPU and on a GPU, by the same definition.

An engine takes clips and moments and writes all arrays of a `MotionState` that it gets.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from math import prod
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F32, I32, I64, U8, AnyArray
from mocpack.cores import core_count
from mocpack.errors import UsageError
from mocpack.trainers import tensors
from mocpack.trainers.cuda import MAX_SHARED_BYTES, Device, DeviceArray
from mocpack.trainers.rows import Rows
from mocpack.trainers.skeletons import Tables
from mocpack.trainers.velocities import FILTERS, Record

STATES_PER_THREAD = 256  # a thread for fewer is not worth its start
LANES, THREADS = 8, 128  # per state and per block, as in motion_states.cu
FLOATS_OF_JOINT, FLOATS_OF_FILTER, FLOATS_OF_HORIZON = 13, 17, 41  # as in motion_states.h
OUTPUTS = (
    "positions",
    "rotations",
    "linear",
    "angular",
    "angles",
    "angle_rates",
    "contacts",
)
Sizes = tuple[int, int, int]  # bodies, angles and contacts of a state


class Query(NamedTuple):
    """Clips and moments: any arrays of one shape."""

    clip_ids: Any
    moments: Any  # seconds or frames
    is_time: bool
    length: int | None = None  # frames of a window from each moment on; None for single states


class Engine(Protocol):
    """Computes states."""

    def run(self, query: Query, out: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arrays of states by name: all, or those of `out`, which are written."""
        ...


def _shapes(
    sizes: Sizes, query: Query, shape: tuple[int, ...], out: Mapping[str, Any] | None
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the wanted arrays; raise if one of `out` has another shape."""
    bodies, angles, contacts = sizes
    parts = (bodies, 3), (bodies, 4), (bodies, 3), (bodies, 3), (angles,), (angles,), (contacts,)
    lead = shape if query.length is None else (*shape, query.length)
    shapes = {name: (*lead, *part) for name, part in zip(OUTPUTS, parts, strict=True)}
    if out is None:
        return shapes
    for name, array in out.items():
        if tuple(array.shape) != shapes[name]:
            raise UsageError(
                f"out: {name} must have shape {shapes[name]}, got {tuple(array.shape)}"
            )
    return {name: shapes[name] for name in out}


class CpuEngine:
    """Computes states on the CPU, for numpy arrays and torch tensors."""

    def __init__(
        self, rows: Rows, tables: Tables, velocity: Record, sizes: Sizes, is_w_first: bool
    ) -> None:
        self._sizes, self._is_w_first = sizes, is_w_first
        self._frames = rows.clips["frames"]
        self._tables = _core.MotionTables(
            words=rows.words.view(np.uint8),
            are_halves=rows.words.dtype == np.uint16,
            joints=_as_bytes(tables.joints),
            hinges=_as_bytes(tables.hinges),
            levels=tables.levels,
            angle_columns=tables.angle_columns,
            skeletons=_as_bytes(tables.skeletons),
            clips=_as_bytes(rows.clips),
            velocity=_as_bytes(velocity),
        )

    def run(self, query: Query, out: Mapping[str, Any] | None) -> dict[str, Any]:
        clips, at = _check_query(query)
        length = 1 if query.length is None else query.length
        _check_range(self._frames, clips, None if query.is_time else at.view(np.int64), length)
        shapes = _shapes(self._sizes, query, clips.shape, out)
        if out is None:
            found = {name: np.empty(shape, np.float32) for name, shape in shapes.items()}
        else:
            found = {name: _as_writable(name, out[name]) for name in shapes}
        bodies, angles, contacts = self._sizes
        threads = clips.size * length // STATES_PER_THREAD
        self._tables.write(
            clips.reshape(-1),
            at.reshape(-1).view(np.float64) if query.is_time else None,
            None if query.is_time else at.reshape(-1).view(np.int64),
            length,
            bodies=bodies,
            angle_columns_out=angles,
            contact_columns_out=contacts,
            is_w_first=self._is_w_first,
            threads=max(1, min(core_count(), threads)),
            **{name: found.get(name) for name in OUTPUTS},
        )
        if out is not None:
            return dict(out)
        package = tensors.package_of(query.clip_ids)
        if package is not None:
            return {name: package.from_numpy(array) for name, array in found.items()}
        return dict(found)


class CudaEngine:
    """Computes states on a GPU. Arrays on the device stay there; others are copied to it."""

    def __init__(
        self,
        device: Device,
        rows: Rows,
        tables: Tables,
        velocity: Record,
        sizes: Sizes,
        is_w_first: bool,
    ) -> None:
        self.device, self._sizes = device, sizes
        self._frames = rows.clips["frames"]
        tables_on_cpu = {
            "words": rows.words,
            "joints": tables.joints,
            "hinges": tables.hinges,
            "levels": tables.levels,
            "angle_columns": tables.angle_columns,
            "skeletons": tables.skeletons,
            "clips": rows.clips,
            "velocity": velocity,
        }
        self._memory = {name: device.upload(array) for name, array in tables_on_cpu.items()}
        most = int(tables.skeletons["joint_count"].max())
        bodies, angles, contacts = sizes
        self._call = Call(
            **{name: memory.pointer for name, memory in self._memory.items()},
            clip_count=len(rows.clips),
            bodies=bodies,
            angle_columns_out=angles,
            contact_columns_out=contacts,
            is_w_first=is_w_first,
            scratch_joints=most,
        )
        is_of_bodies = bool(velocity["is_of_bodies"][0])
        of_bodies = FLOATS_OF_HORIZON if velocity["horizon"][0] else FLOATS_OF_FILTER
        linear, angular, angle = (int(velocity[name]["radius"][0]) for name in FILTERS)
        taps = sum(1 + 2 * (2 * radius + 5) for radius in (linear, angle))
        terms = 3 * (2 * angular + 2)
        per_joint = of_bodies if is_of_bodies else FLOATS_OF_JOINT
        bytes_per_state = 4 * (most * per_joint + taps + terms)
        warp = 32 // LANES
        groups = min(THREADS // LANES, MAX_SHARED_BYTES // bytes_per_state // warp * warp)
        self._groups = max(groups, warp)
        self._shared_bytes = self._groups * bytes_per_state
        level = "bodies" if is_of_bodies else "joints"
        kind = "float16" if rows.words.dtype == np.uint16 else "float32"
        self._function = device.function(f"{level}_{kind}", self._shared_bytes)

    def run(self, query: Query, out: Mapping[str, Any] | None) -> dict[str, Any]:
        package = tensors.package_of(query.clip_ids)
        stream = _current_stream(package, self.device.index)
        kept: list[object] = []  # until the kernel has started
        ids = self._input("clip_ids", query.clip_ids, stream, kept)
        moments = self._input("times" if query.is_time else "frames", query.moments, stream, kept)
        _check_same_shape(ids, moments)
        if (moments.code == tensors.FLOAT) != query.is_time:
            raise UsageError(f"expected {'floating-point times' if query.is_time else 'integers'}")
        shapes = _shapes(self._sizes, query, ids.shape, out)
        found = {n: self._new(package, s) for n, s in shapes.items()} if out is None else dict(out)
        length = 1 if query.length is None else query.length
        call = Call.from_buffer_copy(self._call)
        call.clip_ids, call.moments = ids.pointer, moments.pointer
        call.ids_are_long = ids.bits == 64
        call.moment_type = 2 * (not query.is_time) + (moments.bits == 64)
        call.length, call.count = length, prod(ids.shape) * length
        for name, array in found.items():
            setattr(call, name, self._output(name, array, stream).pointer)
        if call.count:
            blocks = -(-call.count // self._groups)
            self.device.launch(
                self._function, blocks, LANES * self._groups, self._shared_bytes, stream, call
            )
        return found

    def _input(self, name: str, array: Any, stream: int, kept: list[object]) -> tensors.Memory:
        if tensors.device_of(array) == (tensors.CUDA, self.device.index):
            found = tensors.memory_of(array, name, stream=-1 if stream else 1)
        else:
            numbers = np.ascontiguousarray(array.cpu() if hasattr(array, "cpu") else array)
            if numbers.dtype.kind == "f":
                numbers = numbers.astype(np.float64)
            else:
                numbers = _check_integers(name, numbers)
            memory = self.device.upload(numbers)
            kept.append(memory)
            code = tensors.FLOAT if numbers.dtype.kind == "f" else tensors.INTEGER
            place = tensors.CUDA, self.device.index
            found = tensors.Memory(memory.pointer, numbers.shape, code, 64, place)
        if found.code not in (tensors.INTEGER, tensors.FLOAT) or found.bits not in (32, 64):
            raise UsageError(f"{name} must have 32 or 64 bits per number")
        return found

    def _output(self, name: str, array: Any, stream: int) -> tensors.Memory:
        memory = tensors.memory_of(array, f"out: {name}", stream=-1 if stream else 1)
        if (memory.code, memory.bits) != (tensors.FLOAT, 32) or memory.device != (
            tensors.CUDA,
            self.device.index,
        ):
            raise UsageError(f"out: {name} must be float32 on cuda:{self.device.index}")
        return memory

    def _new(self, package: ModuleType | None, shape: tuple[int, ...]) -> Any:
        if package is None:
            return DeviceArray(self.device, shape)
        if package.__name__ == "torch":
            return package.empty(shape, dtype=package.float32, device=f"cuda:{self.device.index}")
        with package.cuda.Device(self.device.index):
            return package.empty(shape, package.float32)


class Call(ctypes.Structure):
    """The argument of the kernels, as in motion_states.h."""

    _fields_ = (
        *(
            (name, ctypes.c_void_p)
            for name in (
                "words",
                "joints",
                "hinges",
                "levels",
                "angle_columns",
                "skeletons",
                "clips",
                "velocity",
                "clip_ids",
                "moments",
                *OUTPUTS,
            )
        ),
        ("count", ctypes.c_longlong),
        ("length", ctypes.c_longlong),
        *(
            (name, ctypes.c_int)
            for name in (
                "clip_count",
                "ids_are_long",
                "moment_type",
                "bodies",
                "angle_columns_out",
                "contact_columns_out",
                "is_w_first",
                "scratch_joints",
            )
        ),
    )


def _current_stream(package: ModuleType | None, index: int) -> int:
    """Return the stream on which a package works; 0 is the default stream."""
    if package is None:
        return 0
    if package.__name__ == "torch":
        return int(package.cuda.current_stream(index).cuda_stream)
    return int(package.cuda.get_current_stream().ptr)


def _as_bytes(table: AnyArray) -> U8:
    """Return a structured array as rows of bytes."""
    return np.ascontiguousarray(table).view(np.uint8).reshape(len(table), table.dtype.itemsize)


def _check_integers(name: str, values: AnyArray) -> I64:
    if values.dtype.kind not in "iu":
        raise UsageError(f"{name} must be integers, got {values.dtype}")
    return np.ascontiguousarray(values, np.int64)


def _check_query(query: Query) -> tuple[I64, AnyArray]:
    """Return the clips and moments of a query as arrays of one shape."""
    clips = _check_integers("clip_ids", tensors.to_numpy(query.clip_ids))
    at = tensors.to_numpy(query.moments)
    if query.is_time:
        at = np.ascontiguousarray(at, np.float64)
        if not np.isfinite(at).all():
            raise UsageError("times must be finite")
    else:
        at = _check_integers("frames", at)
    if clips.shape != at.shape:
        raise UsageError(
            f"clip_ids and times or frames must have one shape, got {clips.shape} and {at.shape}"
        )
    return clips, at


def _check_same_shape(ids: tensors.Memory, moments: tensors.Memory) -> None:
    if ids.code != tensors.INTEGER:
        raise UsageError("clip_ids must be integers")
    if ids.shape != moments.shape:
        raise UsageError(
            f"clip_ids and times or frames must have one shape, got {ids.shape} and {moments.shape}"
        )


def _check_range(frame_counts: I32, clips: I64, frames: I64 | None, length: int) -> None:
    count = len(frame_counts)
    is_unknown = (clips < 0) | (clips >= count)
    if is_unknown.any():
        raise IndexError(f"clip {clips[is_unknown][0]} of a library of {count}")
    if frames is None:
        return
    is_outside = (frames < 0) | (frames + length > frame_counts[clips])
    if is_outside.any():
        clip, first = clips[is_outside][0], frames[is_outside][0]
        raise IndexError(
            f"frames {first} to {first + length - 1} of clip {clip}, which has "
            f"{frame_counts[clip]} frames"
        )


def _as_writable(name: str, array: Any) -> F32:
    found = tensors.to_numpy(array)
    flags = found.flags
    if found.dtype != np.float32 or not flags.c_contiguous or not flags.writeable:
        raise UsageError(f"out: {name} must be a contiguous, writable float32 array")
    return found.view(np.float32)
