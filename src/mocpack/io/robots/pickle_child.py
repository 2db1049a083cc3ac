"""Read pickles in a child process (`child_main.py`) without running them.

A pickle is a program. This reader executes only the instructions that build numbers, texts, lists,
dicts and arrays, and names everything else in an error. It reads plain pickles, joblib files and
PyTorch files. The process has limits on memory and time, because a few bytes of a pickle can
describe values of any size, and comparing or hashing them can take any time.

The response is `value`, JSON with these objects for what JSON does not have:

| | |
|---|---|
| `{"dict": [[key, value], …]}`, `{"tuple": […]}`, `{"bytes": text}` | bytes as Latin-1 |
| `{"array": block, "dtype", "shape", "fortran"}` | an array; several may share a block |
| `{"array": block, "dtype", "shape", "offset", "strides"}` | a tensor; both in numbers |
| `{"other": type}` | an unsupported value |

or `refused` or `broken`, an error message. `blocks` are the sizes of the blocks in bytes.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from mocpack.common.json_object import Json, JsonObject

MAX_INFLATED_BYTES = 2 << 30
MAX_EXPANSION = 200
MAX_DEPTH = 40
EXTRA_VALUES = 1 << 18  # in addition to one per byte; shared values count each time they are used
DTYPE = re.compile(r"f[248]|[iu][1248]|b1|[US]\d{1,6}")
NUMBERS = {"f2": "e", "f4": "f", "f8": "d"}
STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "|i1",
    "ByteStorage": "|u1",
    "BoolStorage": "|b1",
}
# Exceptions of the standard library for broken zip files and deflate streams.
ZIP_ERRORS: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, struct.error, EOFError)
ZIP_ERRORS += (OSError, OverflowError, RuntimeError, TypeError, ValueError)


class UnsupportedPickle(Exception):  # noqa: N818 - not an error of the file
    """The pickle uses something that is not supported."""


class BrokenPickle(Exception):  # noqa: N818 - as above
    """The pickle is invalid."""


def respond(data: bytes, blocks: list[bytes]) -> JsonObject:
    """Return the content of a pickle; append the bytes of arrays to the blocks."""
    try:
        made, size = _load(data)
        value = _Encoder(blocks, size + EXTRA_VALUES).encode(made, 0)
        return {"value": value, "blocks": [len(block) for block in blocks]}
    except UnsupportedPickle as error:
        return {"refused": str(error)}
    except BrokenPickle as error:
        return {"broken": str(error)}


def _load(data: bytes) -> tuple[object, int]:
    """Return the value of a pickle, and the size of the pickle itself."""
    if data[:4] == b"PK\x03\x04":
        return _load_torch(data)
    if data[:1] == b"\x78":  # joblib with zlib
        data = _inflate(data)
    return _run(_RestrictedUnpickler(io.BytesIO(data))), len(data)


class _Encoder:
    """Encodes the value of a pickle as JSON; arrays that are used repeatedly are sent once."""

    def __init__(self, blocks: list[bytes], values: int) -> None:
        self._blocks, self._left = blocks, values
        self._sent: dict[int, int] = {}

    def encode(self, value: object, depth: int) -> Json:
        self._left -= 1
        if self._left < 0:
            raise UnsupportedPickle(
                "the pickle repeats shared values more often than a motion needs"
            )
        if depth > MAX_DEPTH:
            raise BrokenPickle(f"values are nested more than {MAX_DEPTH} levels deep")
        inside = depth + 1
        if value is None or isinstance(value, (bool, float, str)):
            return value
        if isinstance(value, int):
            return value if value.bit_length() < 1024 else {"other": "int"}
        if isinstance(value, list):
            return [self.encode(part, inside) for part in value]
        if isinstance(value, tuple):
            return {"tuple": [self.encode(part, inside) for part in value]}
        if isinstance(value, dict):
            pairs = value.items()
            return {"dict": [[self.encode(k, inside), self.encode(v, inside)] for k, v in pairs]}
        if isinstance(value, bytes):
            return {"bytes": value.decode("latin1")}
        if isinstance(value, _Array):
            return {"array": self._block(value.raw), **value.form}
        return {"other": type(value).__name__}

    def _block(self, raw: bytes) -> int:
        if id(raw) not in self._sent:
            self._sent[id(raw)] = len(self._blocks)
            self._blocks.append(raw)
        return self._sent[id(raw)]


class _Dtype:
    """A dtype of numbers or texts, as numpy pickles it."""

    def __init__(self, name: object = "f8", *_: object) -> None:
        if not isinstance(name, str) or not DTYPE.fullmatch(name):
            raise UnsupportedPickle(f"arrays of dtype {str(name)[:40]!r} are not supported")
        self.name, self.order = name, "<"
        self.size = int(name[1:]) * (4 if name[0] == "U" else 1)

    def set_state(self, state: object) -> None:
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else "<"
        if order not in ("<", ">", "|", "="):
            raise BrokenPickle(f"array has unknown byte order {str(order)[:10]!r}")
        self.order = ">" if order == ">" else "<"


class _Array:
    """An array: its bytes and their layout."""

    def __init__(self, *_: object) -> None:
        self.raw = b""
        self.form: JsonObject = {"dtype": "<f8", "shape": [0], "fortran": False}

    def set_state(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise BrokenPickle("array state must have 5 entries with shape, dtype and data")
        _, shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Dtype):
            raise BrokenPickle("array has no dtype")
        if isinstance(raw, list):
            raise UnsupportedPickle("arrays of objects are not supported")
        self.fill(raw, dtype, shape, fortran=bool(fortran))

    def fill(self, raw: object, dtype: _Dtype, shape: object, *, fortran: bool) -> None:
        raw = _encode(raw) if isinstance(raw, str) else raw
        sizes = _check_shape(shape)
        if not isinstance(raw, bytes) or len(raw) != math.prod(sizes) * dtype.size:
            raise BrokenPickle(f"array of shape {sizes} does not match its bytes")
        self.raw = raw
        self.form = {"dtype": dtype.order + dtype.name, "shape": sizes, "fortran": fortran}


class _JoblibArray(_Array):
    """joblib's placeholder for an array whose data follows in the file."""

    def read(self, state: object, file: io.BytesIO) -> None:
        if not isinstance(state, dict) or not isinstance(state.get("dtype"), _Dtype):
            raise BrokenPickle("joblib array has no dtype")
        dtype = state["dtype"]
        if state.get("numpy_array_alignment_bytes") is not None:
            padding = file.read(1)
            file.read(padding[0] if padding else 0)
        shape = _check_shape(state.get("shape"))
        raw = file.read(math.prod(shape) * dtype.size)
        self.fill(raw, dtype, shape, fortran=state.get("order") == "F")


class _Storage:
    """The data of PyTorch tensors."""

    def __init__(self, raw: bytes, dtype: str) -> None:
        self.raw, self.dtype = raw, dtype


class _RestrictedUnpickler(pickle._Unpickler):
    """Python's unpickler without the instructions that could run code or reach other objects."""

    dispatch: ClassVar[dict[int, Callable[..., None]]] = dict(pickle._Unpickler.dispatch)
    stack: list[object]
    read: Callable[[int], bytes]

    def __init__(self, file: io.BytesIO, storages: Callable[[str], bytes] | None = None) -> None:
        super().__init__(file, encoding="latin1")
        self._own_file, self._storages = file, storages

    def find_class(self, module: str, name: str) -> Callable[..., object] | str:
        function = ALLOWED_GLOBALS.get((module.replace("numpy._core", "numpy.core"), name))
        if function is None and module == "torch" and name in STORAGES:
            return name
        if function is None:
            raise UnsupportedPickle(
                f"refuses to unpickle {module[:60]}.{name[:60]}; only numbers, texts, lists, "
                "dicts and arrays are allowed"
            )
        return function

    def persistent_load(self, pid: object) -> _Storage:
        if self._storages is None or not isinstance(pid, tuple) or len(pid) < 5:
            raise UnsupportedPickle("the pickle refers to external objects, which is not supported")
        kind, storage, key = pid[0], pid[1], pid[2]
        if kind != "storage" or not isinstance(key, str) or storage not in STORAGES:
            raise UnsupportedPickle("the tensor storage type is not supported")
        return _Storage(self._storages(key), STORAGES[storage])

    def load_build(self) -> None:
        state = self.stack.pop()
        made = self.stack[-1]
        if isinstance(made, _JoblibArray):
            made.read(state, self._own_file)
        elif isinstance(made, (_Array, _Dtype)):
            made.set_state(state)
        else:
            raise UnsupportedPickle(
                "the pickle sets the state of an object that is not an array, which is not "
                "supported"
            )

    def load_reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack[-1]
        allowed = next((known for known in ALLOWED_GLOBALS.values() if known is function), None)
        if allowed is None or not isinstance(arguments, tuple):
            raise UnsupportedPickle(
                "the pickle calls a function that is not allowed; only numpy arrays and plain "
                "containers are"
            )
        self.stack[-1] = allowed(*arguments)

    def load_bytearray8(self) -> None:
        """Read a bytearray; Python's own method allocates the stated size before reading."""
        (size,) = struct.unpack("<Q", self.read(8))
        raw = self.read(size)
        if len(raw) != size:
            raise BrokenPickle(f"the pickle is truncated by {size - len(raw)} bytes")
        self.stack.append(bytes(raw))

    def reject(self) -> None:
        raise UnsupportedPickle("the pickle uses an instruction that is not supported")


_RestrictedUnpickler.dispatch[pickle.BUILD[0]] = _RestrictedUnpickler.load_build
_RestrictedUnpickler.dispatch[pickle.REDUCE[0]] = _RestrictedUnpickler.load_reduce
_RestrictedUnpickler.dispatch[pickle.NEWOBJ[0]] = _RestrictedUnpickler.load_reduce
_RestrictedUnpickler.dispatch[pickle.BYTEARRAY8[0]] = _RestrictedUnpickler.load_bytearray8
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
    _RestrictedUnpickler.dispatch[_code[0]] = _RestrictedUnpickler.reject


def _decode_scalar(dtype: object, raw: object = b"") -> object:
    """Return a numpy scalar as a Python value."""
    if not isinstance(dtype, _Dtype):
        raise BrokenPickle("numpy scalar has no dtype")
    raw = _encode(raw) if isinstance(raw, str) else raw
    if not isinstance(raw, bytes) or len(raw) != dtype.size:
        raise BrokenPickle("numpy scalar does not match its bytes")
    kind, order = dtype.name[0], "little" if dtype.order == "<" else "big"
    if kind == "f":
        return struct.unpack(dtype.order + NUMBERS[dtype.name], raw)[0]
    if kind == "U":
        return raw.decode(f"utf-32-{order[0]}e").rstrip("\0")
    if kind == "S":
        return raw.rstrip(b"\0")
    number = int.from_bytes(raw, "little" if order == "little" else "big", signed=kind == "i")
    return bool(number) if kind == "b" else number


def _encode(text: object, encoding: object = "latin1") -> bytes:
    """Return bytes, which protocol 2 stores as Latin-1 text."""
    if not isinstance(text, str) or encoding != "latin1":
        raise UnsupportedPickle("bytes must be encoded as latin1")
    return text.encode("latin1")


def _build_tensor(
    storage: object, offset: object, size: object, stride: object, *_: object
) -> _Array:
    """Return a PyTorch tensor, which is a view of a storage."""
    if not isinstance(storage, _Storage) or not isinstance(offset, int):
        raise BrokenPickle("tensor has no storage")
    shape, strides = _check_shape(size), _check_shape(stride)
    if len(shape) != len(strides) or offset < 0:
        raise BrokenPickle("tensor needs a nonnegative offset and as many strides as dimensions")
    count = len(storage.raw) // int(storage.dtype[2:])
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if math.prod(shape) > count or last >= max(count, 1):
        raise BrokenPickle(f"tensor of shape {tuple(shape)} exceeds its storage of {count} numbers")
    tensor = _Array()
    tensor.raw = storage.raw
    tensor.form = {"dtype": storage.dtype, "shape": shape, "offset": offset, "strides": strides}
    return tensor


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _from_buffer(raw: object, dtype: object, shape: object, order: object = "C") -> _Array:
    """Return an array as protocol 5 stores it."""
    made = _Array()
    made.set_state((1, shape, dtype, order == "F", raw))
    return made


def _build_bytes(*parts: object) -> bytes:
    if parts:
        raise UnsupportedPickle("bytes must be encoded as latin1")
    return b""


def _build_dict(*pairs: object) -> dict[object, object]:
    return dict(pairs[0]) if pairs and isinstance(pairs[0], list) else {}


ALLOWED_GLOBALS: dict[tuple[str, str], Callable[..., object]] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy.core.multiarray", "scalar"): _decode_scalar,
    ("numpy.core.numeric", "_frombuffer"): _from_buffer,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _build_bytes,
    ("builtins", "bytes"): _build_bytes,
    ("collections", "OrderedDict"): _build_dict,
    ("joblib.numpy_pickle", "NumpyArrayWrapper"): _JoblibArray,
    ("torch._utils", "_rebuild_tensor_v2"): _build_tensor,
}


def _run(machine: _RestrictedUnpickler) -> object:
    try:
        return machine.load()
    except (
        pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, KeyError,
        OverflowError, RecursionError, TypeError, UnicodeError, ValueError, struct.error,
    ) as error:  # fmt: skip
        raise BrokenPickle(f"invalid pickle: {str(error)[:200]}") from error


def _check_shape(shape: object) -> tuple[int, ...]:
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = tuple(n for n in given if type(n) is int and 0 <= n < 2**40)
    if len(given) > 8 or len(sizes) < len(given):
        raise BrokenPickle("array shape must have at most 8 dimensions of 0 to 2**40")
    return sizes


def _inflate(data: bytes) -> bytes:
    limit = min(MAX_INFLATED_BYTES, max(MAX_EXPANSION * len(data), 1 << 24))
    stream = zlib.decompressobj()
    try:
        inflated = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise BrokenPickle(f"invalid pickle: {error}") from error
    if len(inflated) > limit:
        raise UnsupportedPickle("the compressed pickle expands more than a motion can need")
    return inflated


def _load_torch(data: bytes) -> tuple[object, int]:
    """Read a PyTorch zip file: a pickle, and a file with the data of each tensor."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = {info.filename: info for info in archive.infolist()}
        limit = max(MAX_EXPANSION * len(data), 1 << 24)
        if sum(info.file_size for info in members.values()) > min(limit, MAX_INFLATED_BYTES):
            raise UnsupportedPickle(
                "tensors would need more memory than a file of this size can hold"
            )
        inside = next((name for name in members if name.endswith("/data.pkl")), None)
        if inside is None:
            raise UnsupportedPickle("expected a PyTorch file, but the zip file has no data.pkl")
        stem = inside.removesuffix("data.pkl")
        read: dict[str, bytes] = {}

        def storage(key: str) -> bytes:
            name = f"{stem}data/{key}"
            if name not in members:
                raise BrokenPickle(f"the data {key[:40]!r} of a tensor is missing")
            if name not in read:
                read[name] = archive.read(members[name])
            return read[name]

        program = archive.read(members[inside])
        return _run(_RestrictedUnpickler(io.BytesIO(program), storage)), len(program)
    except ZIP_ERRORS as error:
        raise BrokenPickle(f"invalid PyTorch file: {str(error)[:200]}") from error
