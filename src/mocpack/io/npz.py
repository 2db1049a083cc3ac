"""Read .npz files from untrusted sources: no pickles, and sizes are checked before allocation."""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import IO

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.common.choice import list_names
from mocpack.common.json_object import JsonObject
from mocpack.errors import CorruptionError, FormatError, TruncatedError, convert_errors
from mocpack.io.assumptions import choose_frame_rate

MAX_BYTES = 4 << 30  # of all arrays
# A file that expands beyond this is a zip bomb.
MAX_EXPANSION, MIN_EXPANSION_LIMIT_BYTES = 100, 256 << 20
NUMBER_KINDS, TEXT_KINDS = "fiu", "US"
NPY_MAGIC = b"\x93NUMPY"
MAX_CODE_POINT = 0x10FFFF
DEFAULT_FRAME_RATE = 30.0  # of a file without a rate
MAX_HEADER_BYTES = 10_000
HEADER_PATTERN = re.compile(
    rb"\{'descr': '(?P<dtype>[<>|=]?[a-zA-Z]\d{0,9})', "
    rb"'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(?:\d{1,15}, ?)*(?:\d{1,15})?)\), *\} *\n?"
)
# Exceptions of the standard library for broken zip files and deflate streams.
ZIP_ERRORS: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, struct.error, EOFError)
ZIP_ERRORS += (OSError, OverflowError, RuntimeError, TypeError, ValueError)


class Arrays:
    """The arrays of an .npz file by name, read on request."""

    def __init__(self, data: bytes) -> None:
        with convert_errors(ZIP_ERRORS, "invalid .npz file"):
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        self._members = {
            info.filename.removesuffix(".npy"): info
            for info in self._zip.infolist()
            if info.filename.endswith(".npy")
        }
        limit = min(MAX_BYTES, max(MIN_EXPANSION_LIMIT_BYTES, MAX_EXPANSION * len(data)))
        if sum(info.file_size for info in self._members.values()) > limit:
            raise CorruptionError("arrays would need more memory than a file of this size can hold")

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self) -> list[str]:
        return sorted(self._members)

    def numbers(
        self, name: str, default: npt.ArrayLike | None = None, *, kinds: str = NUMBER_KINDS
    ) -> F64:
        """Return an array of numbers, or the default if it is missing."""
        if default is not None and name not in self:
            return np.asarray(default, np.float64)
        return self.read(name, kinds).astype(np.float64)

    def integers(
        self, name: str, default: Sequence[int] | None = None, *, kinds: str = "iu"
    ) -> tuple[int, ...]:
        """Return a list of integers, or the default if it is missing."""
        if default is not None and name not in self:
            return tuple(default)
        return tuple(map(int, self.read(name, kinds).ravel().tolist()))

    def texts(self, name: str, default: Sequence[str] = ()) -> list[str]:
        """Return a list of texts, or the default if it is missing."""
        if name not in self:
            return list(default)
        words = self.read(name, TEXT_KINDS).ravel().tolist()
        return [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in words]

    def read(self, name: str, kinds: str = NUMBER_KINDS) -> npt.NDArray[np.generic]:
        """Return an array whose dtype is of one of these kinds, after checking its header."""
        if name not in self._members:
            raise CorruptionError(
                f"array {name!r} is missing; the file has {list_names(self.names()) or 'none'}"
            )
        info = self._members[name]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CorruptionError(f"array {name!r} uses an unsupported compression method")
        try:
            with self._zip.open(info) as file:
                return _read_array(file, info.file_size, kinds)
        except ZIP_ERRORS as error:
            kind = type(error) if isinstance(error, FormatError) else CorruptionError
            raise kind(f"array {name!r}: {str(error)[:300]}") from error

    def frame_time(self, fps: float | None, metadata: JsonObject) -> float:
        """Return the frame time that the file states, or else that of `fps` or of 30 per second."""
        if stated := self.number("frame_time", 0.0):
            return stated
        rate = self.number("frame_rate", 0.0) if "frame_rate" in self else fps
        return 1 / (choose_frame_rate(rate, DEFAULT_FRAME_RATE, metadata) or np.nan)

    def number(self, name: str, default: float) -> float:
        """Return an array with a single number."""
        array = self.numbers(name, default)
        if array.size != 1:
            raise CorruptionError(f"{name} must be a single number, got shape {array.shape}")
        return float(array.reshape(-1)[0])


def member_names(data: bytes) -> set[str]:
    """Return the names of the arrays of an .npz file; none if `data` is not one."""
    if not data.startswith(b"PK\x03\x04"):
        return set()
    try:
        return set(Arrays(data).names())
    except CorruptionError:
        return set()


def probe(data: bytes, name: str) -> bool:
    """Return whether `data` is an .npz file with an array of this name."""
    return name in member_names(data)


def read_npy(data: bytes) -> F64:
    """Return the numbers of an .npy file."""
    try:
        return _read_array(io.BytesIO(data), len(data), NUMBER_KINDS).astype(np.float64)
    except TypeError as error:  # numpy does not know the dtype
        raise CorruptionError(f"invalid .npy file: {error}") from error


def pack(arrays: Mapping[str, npt.ArrayLike]) -> bytes:
    """Return an .npz file; equal arrays give equal bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, values in arrays.items():
            array = np.asarray(values)
            big = array.nbytes > 1 << 30
            with archive.open(f"{name}.npy", "w", force_zip64=big) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return file.getvalue()


def _read_array(file: IO[bytes], size: int, kinds: str) -> npt.NDArray[np.generic]:
    """Read an array from a file of `size` bytes, after checking its header."""
    shape, fortran, dtype = _read_header(file)
    _check_array(shape, dtype, size - file.tell(), kinds)
    values = file.read()
    if len(values) != math.prod(shape) * dtype.itemsize:
        raise TruncatedError("array data is truncated")
    array = np.frombuffer(values, dtype) if values else np.empty(0, dtype)
    if dtype.kind == "U" and (array.view(f"{dtype.byteorder}u4") > MAX_CODE_POINT).any():
        # Python strings cannot hold these.
        raise CorruptionError("invalid Unicode code points")
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Read the header of an array, in the only form that numpy writes for plain arrays."""
    magic = file.read(8)
    size = int.from_bytes(file.read(2 if magic[6:7] == b"\x01" else 4), "little")
    match = HEADER_PATTERN.fullmatch(file.read(min(size, MAX_HEADER_BYTES)))
    if magic[:6] != NPY_MAGIC or match is None:
        raise CorruptionError("expected a plain numpy array")
    shape = tuple(int(n) for n in match["shape"].split(b",") if n.strip())
    return shape, match["fortran"] == b"True", np.dtype(match["dtype"].decode())


def _check_array(
    shape: tuple[int, ...], dtype: np.dtype[np.generic], rest: int, kinds: str
) -> None:
    if dtype.hasobject:
        raise CorruptionError("it is pickled, and mocpack does not open pickles")
    if dtype.kind not in kinds or not dtype.itemsize:
        raise CorruptionError(f"dtype {dtype} is not supported here")
    if math.prod(shape) * dtype.itemsize != rest:
        raise CorruptionError(f"shape {shape} does not match {rest} bytes of data")
