"""mocpack_encode of libmocpack, called through ctypes."""

from __future__ import annotations

import ctypes as c
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mocpack.container.skel import CHANNELS
from mocpack.model.clip import Clip

EFFORTS = ("fast", "default")
UP_AXES = ("y", "x", "z")  # in the order of mocpack_Axis
DOUBLES, INTEGERS = c.POINTER(c.c_double), c.POINTER(c.c_int32)


class Text(c.Structure):
    _fields_ = (("bytes", c.c_char_p), ("size", c.c_size_t))


class Hinge(c.Structure):
    _fields_ = (
        ("name", Text),
        ("joint", c.c_int32),
        ("slides", c.c_int32),
        ("axis", c.c_double * 3),
        ("lower_limit", c.c_double),
        ("upper_limit", c.c_double),
    )


class Skeleton(c.Structure):
    _fields_ = (
        ("joint_count", c.c_size_t),
        ("names", c.POINTER(Text)),
        ("parents", INTEGERS),
        ("offsets", DOUBLES),
        ("rest_rotations", DOUBLES),
        ("end_count", c.c_size_t),
        ("end_joints", INTEGERS),
        ("end_sites", DOUBLES),
        ("translated_count", c.c_size_t),
        ("translated_joints", INTEGERS),
        ("hinge_count", c.c_size_t),
        ("hinges", c.POINTER(Hinge)),
        ("unit", c.c_double),
        ("channels", c.POINTER(Text)),
        ("channel_frames", DOUBLES),
    )


class ClipArrays(c.Structure):
    _fields_ = (
        ("skeleton", Skeleton),
        ("frame_count", c.c_uint64),
        ("frame_time", c.c_double),
        ("start_time", c.c_double),
        ("times", DOUBLES),
        ("rotations", DOUBLES),
        ("translations", DOUBLES),
        ("valid", c.POINTER(c.c_uint8)),
        ("metadata", Text),
        ("is_looping", c.c_int),
        ("is_left_handed", c.c_int),
        ("up", c.c_int),
    )


PROGRESS = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_double)


class Options(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        ("allocator", c.c_void_p),
        ("max_error", c.c_double),
        ("effort", c.c_int),
        ("is_streamed", c.c_int),
        ("executor", c.c_void_p),
        ("progress", PROGRESS),
        ("user", c.c_void_p),
    )


class EncodedFile(c.Structure):
    _fields_ = (
        ("bytes", c.POINTER(c.c_uint8)),
        ("size", c.c_size_t),
        ("measured_max", c.c_double),
        ("measured_mean", c.c_double),
        ("measured_rms", c.c_double),
        ("measured_p99", c.c_double),
        ("memory", c.c_void_p),
    )


class Error(c.Structure):
    _fields_ = (
        ("status", c.c_int),
        ("offset", c.c_uint64),
        ("size", c.c_uint64),
        ("message", c.c_char * 232),
    )


@dataclass(frozen=True)
class Made:
    """The result of a call: its status as a word, the file, the largest error, the message."""

    status: str
    data: bytes
    max_error: float
    message: str


def encode_in_c(
    library: c.CDLL,
    clip: Clip,
    max_error: float,
    *,
    effort: str = "fast",
    streamed: bool = False,
    stops: bool = False,
) -> Made:
    """Encode a clip with the shared library; `stops` cancels the call when it reports progress."""
    kept: list[object] = []
    arrays = _arrays_of(clip, kept)
    progress = PROGRESS(lambda _user, _share: int(stops))
    options = Options(
        c.sizeof(Options), None, max_error, EFFORTS.index(effort), streamed, None, progress, None
    )
    file, error = EncodedFile(), Error()
    status = library.mocpack_encode(*map(c.byref, (arrays, options, file, error)))
    data = bytes(file.bytes[: file.size]) if file.size else b""
    largest = file.measured_max
    library.mocpack_encoded_release(c.byref(file))
    library.mocpack_status_name.restype = c.c_char_p
    name = library.mocpack_status_name(status).decode()
    return Made(name, data, largest, error.message.decode())


def _arrays_of(clip: Clip, kept: list[object]) -> ClipArrays:
    """Return a clip as the library takes it; `kept` holds what it points to."""

    def doubles(values: npt.ArrayLike) -> object:
        return _pointer(np.ascontiguousarray(values, np.float64), c.c_double)

    def integers(values: npt.ArrayLike) -> object:
        return _pointer(np.ascontiguousarray(values, np.int32), c.c_int32)

    def _pointer(array: np.ndarray, kind: type) -> object:
        kept.append(array)
        return array.ctypes.data_as(c.POINTER(kind))

    def texts(values: list[bytes]) -> object:
        found = (Text * max(len(values), 1))(*(Text(value, len(value)) for value in values))
        kept.append(found)
        return c.cast(found, c.POINTER(Text))

    skeleton, header, hinges = clip.skeleton, clip.header, clip.skeleton.hinges
    rows = (Hinge * (len(hinges) if hinges else 0))()
    for h, row in enumerate(rows):
        assert hinges is not None
        name = hinges.names[h].encode()
        row.name, row.joint, row.slides = (
            Text(name, len(name)),
            hinges.joints[h],
            int(hinges.slides[h]),
        )
        row.axis = (c.c_double * 3)(*hinges.axes[h])
        row.lower_limit, row.upper_limit = hinges.limits[h]
    kept.append(rows)
    channels = [bytes(CHANNELS.index(name) for name in own) for own in skeleton.channels]
    own = Skeleton(
        len(skeleton),
        texts([name.encode() for name in skeleton.names]),
        integers(skeleton.parents),
        doubles(skeleton.offsets),
        doubles(skeleton.rest),
        len(skeleton.end_site_joints),
        integers(skeleton.end_site_joints),
        doubles(skeleton.end_sites),
        len(header.translated_joints),
        integers(header.translated_joints),
        len(rows),
        rows,
        header.unit,
        texts(channels),
        doubles(skeleton.axes),
    )
    metadata = json.dumps(dict(header.metadata), separators=(",", ":"), sort_keys=True).encode()
    metadata = metadata if header.metadata else b""
    times, valid = clip.take_data.times, clip.take_data.valid
    gaps = None if valid is None else np.ascontiguousarray(valid, np.uint8)
    return ClipArrays(
        own,
        clip.frame_count,
        header.frame_time,
        header.start_time,
        None if times is None else doubles(times),
        doubles(clip.rotations),
        doubles(clip.translations),
        None if gaps is None else _pointer(gaps, c.c_uint8),
        Text(metadata, len(metadata)),
        header.loop,
        header.handedness == "left",
        UP_AXES.index(header.up),
    )


def open_library(folder: Path) -> c.CDLL:
    """Open the shared library in a folder."""
    (path,) = folder.glob("libmocpack.so.*.*.*")
    library = c.CDLL(str(path))
    library.mocpack_encode.argtypes = [c.c_void_p] * 4
    library.mocpack_encoded_release.argtypes = [c.c_void_p]
    return library
