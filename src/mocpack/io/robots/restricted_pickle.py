"""Pickles of strangers, read without running anything of theirs.

A pickle is a program; this machine knows the instructions that build numbers, texts, lists, dicts
and arrays. Arrays are made by functions of our own, which hold what is announced against the bytes
that are there. Whatever else a pickle names is refused by name. Plain pickles, joblib's files and
PyTorch's are read.
"""

from __future__ import annotations

import codecs
import io
import math
import pickle
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.errors import CorruptionError, FormatError
from mocpack.io.npz import BROKEN

MAX_INFLATED = 2 << 30
MAX_SWELL = 200
NUMERIC = "fiub"
STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


def load(data: bytes) -> Any:
    """Return what a pickle holds; what is no number, text, list, dict or array is refused."""
    if data[:4] == b"PK\x03\x04":
        return _load_torch(data)
    if data[:1] == b"\x78":  # joblib's zlib
        data = _inflated(data)
    return _run(_Machine(io.BytesIO(data)))


def array_of(value: Any, what: str) -> npt.NDArray[np.float64]:
    """Return an array, or a list of numbers, as float64."""
    try:
        found = np.asarray(value.array if isinstance(value, _Array) else value)
        if found.dtype.kind not in NUMERIC:
            raise CorruptionError(f"{what} must be an array of numbers, got {type(value).__name__}")
        return found.astype(np.float64)
    except (TypeError, ValueError, AttributeError) as error:
        raise CorruptionError(f"{what} must be an array of numbers: {error}") from error


class _Dtype:
    """A type of numbers or texts, as pickles of numpy build one."""

    def __init__(self, name: Any = "f8", *_: Any) -> None:
        if not isinstance(name, str) or len(name) > 10 or name[:1] not in "fiubUS":
            raise FormatError(f"an array of {str(name)[:40]!r} is not read")
        self.dtype = np.dtype(name)

    def set_state(self, state: Any) -> None:
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else "<"
        if order not in ("<", ">", "|", "="):
            raise CorruptionError(f"bytes of an array in an unknown order {str(order)[:10]!r}")
        self.dtype = self.dtype.newbyteorder(">" if order == ">" else "<")


class _Array:
    """An array that is still without its numbers."""

    array: npt.NDArray[Any]

    def __init__(self, *_: Any) -> None:
        self.array = np.zeros(0)

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise CorruptionError("an array without shape, type and numbers")
        _, shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Dtype):
            raise CorruptionError("an array without a type")
        if isinstance(raw, list):
            raise FormatError("an array of objects is not read")
        self.array = _shaped(raw, dtype.dtype, shape, bool(fortran))


class _JoblibArray:
    """joblib's note that the numbers of an array follow in the file."""

    def __init__(self, *_: Any) -> None:
        self.array = np.zeros(0)

    def read(self, state: Any, file: io.BytesIO) -> None:
        if not isinstance(state, dict) or not isinstance(state.get("dtype"), _Dtype):
            raise CorruptionError("a joblib array without a type")
        dtype = state["dtype"].dtype
        if state.get("numpy_array_alignment_bytes") is not None:
            padding = file.read(1)
            file.read(padding[0] if padding else 0)
        shape = _shape(state.get("shape"))
        raw = file.read(math.prod(shape) * dtype.itemsize)
        self.array = _shaped(raw, dtype, shape, state.get("order") == "F")


class _Storage:
    """The numbers of PyTorch's tensors."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self.values = values


class _Machine(pickle._Unpickler):
    """Python's own reader of pickles, without what could run or reach anything."""

    dispatch: ClassVar[Any] = dict(pickle._Unpickler.dispatch)
    stack: list[Any]
    read: Callable[[int], bytes]

    def __init__(self, file: io.BytesIO, storages: Callable[[str], bytes] | None = None) -> None:
        super().__init__(file, encoding="latin1")
        self._own_file, self._storages = file, storages

    def find_class(self, module: str, name: str) -> Any:
        found = KNOWN.get((module.replace("numpy._core", "numpy.core"), name))
        if found is None and module == "torch" and name in STORAGES:
            return name
        if found is None:
            raise FormatError(
                f"the pickle names {module[:60]}.{name[:60]}, which is not read: only numbers, "
                "texts, lists, dicts and arrays are"
            )
        return found

    def persistent_load(self, pid: Any) -> Any:
        if self._storages is None or not isinstance(pid, tuple) or len(pid) < 5:
            raise FormatError("the pickle refers to things outside it")
        kind, storage, key = pid[0], pid[1], pid[2]
        if kind != "storage" or storage not in STORAGES or not isinstance(key, str):
            raise FormatError("a tensor of an unknown kind is not read")
        dtype = np.dtype(STORAGES[storage])
        raw = self._storages(key)
        return _Storage(np.frombuffer(raw[: len(raw) // dtype.itemsize * dtype.itemsize], dtype))

    def load_build(self) -> None:
        state = self.stack.pop()
        made = self.stack[-1]
        if isinstance(made, _JoblibArray):
            made.read(state, self._own_file)
        elif isinstance(made, (_Array, _Dtype)):
            made.set_state(state)
        else:
            raise FormatError("the pickle changes what it may not")

    def load_reduce(self) -> None:
        words = self.stack.pop()
        made = self.stack[-1]
        if not any(made is known for known in KNOWN.values()) or not isinstance(words, tuple):
            raise FormatError("the pickle calls what it may not")
        self.stack[-1] = made(*words)

    def load_newobj(self) -> None:
        self.load_reduce()

    def load_bytearray8(self) -> None:
        """Python's own makes room for as many bytes as are announced, before it reads them."""
        (size,) = struct.unpack("<Q", self.read(8))
        raw = self.read(size)
        if len(raw) != size:
            raise CorruptionError(f"the pickle ends {size - len(raw)} bytes too early")
        self.stack.append(bytes(raw))

    def refuse(self) -> None:
        raise FormatError("the pickle has instructions that are not read")


_Machine.dispatch[pickle.BUILD[0]] = _Machine.load_build
_Machine.dispatch[pickle.REDUCE[0]] = _Machine.load_reduce
_Machine.dispatch[pickle.NEWOBJ[0]] = _Machine.load_newobj
_Machine.dispatch[pickle.BYTEARRAY8[0]] = _Machine.load_bytearray8
for _code in (
    pickle.INST,
    pickle.OBJ,
    pickle.NEWOBJ_EX,
    pickle.EXT1,
    pickle.EXT2,
    pickle.EXT4,
    pickle.NEXT_BUFFER,
    pickle.READONLY_BUFFER,
):
    _Machine.dispatch[_code[0]] = _Machine.refuse


def _scalar(dtype: Any, raw: Any = b"") -> Any:
    """A number of numpy's."""
    if not isinstance(dtype, _Dtype):
        raise CorruptionError("a number without a type")
    return _shaped(raw, dtype.dtype, (), False)[()].item()


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """Bytes, as the second protocol has them."""
    if not isinstance(text, str) or encoding != "latin1":
        raise FormatError("bytes in an unknown manner are not read")
    return codecs.latin_1_encode(text)[0]


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> npt.NDArray[Any]:
    """A tensor of PyTorch's, which looks at a part of its numbers."""
    if not isinstance(storage, _Storage) or not isinstance(offset, int):
        raise CorruptionError("a tensor without its numbers")
    shape, steps = _shape(size), _shape(stride)
    if len(shape) != len(steps) or offset < 0:
        raise CorruptionError("a tensor of no shape")
    last = offset + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if math.prod(shape) > len(storage.values) or last >= max(len(storage.values), 1):
        raise CorruptionError("a tensor is larger than its numbers")
    if not math.prod(shape):
        return np.zeros(shape, storage.values.dtype)
    places = np.full(shape, offset, np.int64)
    for axis, (n, step) in enumerate(zip(shape, steps, strict=True)):
        along = [1] * len(shape)
        along[axis] = n
        places += (np.arange(n) * step).reshape(along)
    return storage.values[places]


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _from_buffer(raw: Any, dtype: Any, shape: Any, order: Any = "C") -> _Array:
    """An array, as the fifth protocol has it."""
    found = _Array()
    found.set_state((1, shape, dtype, order == "F", raw))
    return found


def _bytes(*parts: Any) -> bytes:
    if parts:
        raise FormatError("bytes in an unknown manner are not read")
    return b""


def _ordered(*pairs: Any) -> dict[Any, Any]:
    return dict(*pairs[:1]) if pairs and isinstance(pairs[0], list) else {}


KNOWN: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy.core.numeric", "_frombuffer"): _from_buffer,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _bytes,
    ("builtins", "bytes"): _bytes,
    ("collections", "OrderedDict"): _ordered,
    ("joblib.numpy_pickle", "NumpyArrayWrapper"): _JoblibArray,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
}


def _run(machine: _Machine) -> Any:
    try:
        return _plain(machine.load(), 0)
    except (FormatError, MemoryError):
        raise
    except (
        pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, KeyError,
        OverflowError, RecursionError, TypeError, UnicodeDecodeError, ValueError, struct.error,
    ) as error:  # fmt: skip
        raise CorruptionError(f"not a whole pickle: {error}") from error


def _plain(value: Any, depth: int) -> Any:
    """Return what was built with arrays in place of our notes of them, a few levels deep."""
    if isinstance(value, (_Array, _JoblibArray)):
        return value.array
    if depth < 4 and type(value) in (dict, OrderedDict):
        return {key: _plain(part, depth + 1) for key, part in value.items()}
    return value


def _shaped(raw: Any, dtype: np.dtype[Any], shape: Any, fortran: bool) -> npt.NDArray[Any]:
    if isinstance(raw, str):
        raw = _encode(raw)
    sizes = _shape(shape)
    if not isinstance(raw, bytes) or len(raw) != math.prod(sizes) * dtype.itemsize:
        raise CorruptionError(f"an array of shape {sizes} does not fill its bytes")
    flat = np.frombuffer(raw, dtype) if raw else np.zeros(0, dtype)
    return flat.reshape(sizes[::-1]).T if fortran else flat.reshape(sizes)


def _shape(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if len(sizes) > 8 or not all(type(n) is int and 0 <= n < 2**40 for n in sizes):
        raise CorruptionError(f"an array of impossible shape {str(shape)[:60]}")
    return sizes


def _inflated(data: bytes) -> bytes:
    limit = min(MAX_INFLATED, max(MAX_SWELL * len(data), 1 << 24))
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise CorruptionError(f"not a whole pickle: {error}") from error
    if len(found) > limit:
        raise FormatError("a pickle that swells beyond what such a file can need")
    return found


def _load_torch(data: bytes) -> Any:
    """Read PyTorch's zip: a pickle, and a file for the numbers of each tensor."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = {info.filename: info for info in archive.infolist()}
        limit = max(MAX_SWELL * len(data), 1 << 24)
        if sum(info.file_size for info in members.values()) > min(limit, MAX_INFLATED):
            raise FormatError("its tensors would fill more memory than such a file can need")
        inside = next((name for name in members if name.endswith("/data.pkl")), None)
        if inside is None:
            raise FormatError("a zip file without data.pkl is no file of PyTorch's")
        stem = inside.removesuffix("data.pkl")

        def storage(key: str) -> bytes:
            name = f"{stem}data/{key}"
            if name not in members:
                raise CorruptionError(f"the numbers {key[:40]!r} of a tensor are not there")
            return archive.read(members[name])

        return _run(_Machine(io.BytesIO(archive.read(members[inside])), storage))
    except FormatError:
        raise
    except BROKEN as error:
        raise CorruptionError(f"not a whole file of PyTorch's: {error}") from error
