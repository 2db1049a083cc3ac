"""The inside of glTF 2.0 files: the JSON document, its buffers, and arrays of numbers in them.

Both forms are opened, binary (.glb, .vrma) and text (.gltf) with buffers inside or beside it.
Nothing is trusted: every number of the document is checked before it is used, and what an array
would take in memory is checked before it is made.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64
from mocpack.errors import (
    CorruptionError,
    FormatError,
    TruncatedError,
    UnsupportedVersionError,
)
from mocpack.io import meshopt

Object = dict[str, Any]

MAGIC, VERSION = b"glTF", 2
JSON_CHUNK, BIN_CHUNK = b"JSON", b"BIN\0"
COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
MAX_ARRAY_NUMBERS = 1 << 26  # numbers of one array
MAX_ZEROS = 1 << 22  # numbers of arrays that no bytes of the file stand for, together
MAX_NUMBER = 1e30  # of the numbers in the document itself
MAX_UNPACKED_BYTES = 1 << 28  # bytes of all packed views of a file together


@dataclass(frozen=True)
class Document:
    """An open file.

    Attributes
    ----------
    root : dict
        The JSON document.
    body : bytes, optional
        The buffer inside a binary file.
    read_external : callable, optional
        Returns the bytes of a file named by a relative path; None where there is no folder.
    """

    root: Object
    body: bytes | None
    read_external: Callable[[str], bytes] | None
    _lists: dict[str, list[Object]] = field(default_factory=dict)
    _views: dict[int, bytes] = field(default_factory=dict)
    _buffers: dict[int, bytes] = field(default_factory=dict)
    _zeros: dict[int, int] = field(default_factory=dict)

    def items(self, name: str) -> list[Object]:
        """Return one of the document's lists of objects; an empty one where it has none."""
        if name not in self._lists:
            self._lists[name] = self._check_items(name)
        return self._lists[name]

    def _check_items(self, name: str) -> list[Object]:
        found = self.root.get(name, [])
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise CorruptionError(f"{name} must be a list of objects")
        return found

    def number(self, name: str, number: Any) -> int:
        """Return a number that the document gives for an object of such a list, checked."""
        count = len(self.items(name))
        if type(number) is not int or not 0 <= number < count:
            raise CorruptionError(f"there is no {name}[{number!r:.40}]; there are {count} of them")
        return number

    def item(self, name: str, number: Any) -> Object:
        """Return one object of such a list, by a number that the document gives."""
        return self.items(name)[self.number(name, number)]

    def array(self, number: Any, *, width: int | None = None) -> F64:
        """Return an accessor's numbers (count, width); normalised integers as -1..1 or 0..1."""
        accessor, what = self.item("accessors", number), f"accessors[{number}]"
        kind = COMPONENTS.get(get_integer(accessor, "componentType", what, high=9999))
        own = WIDTHS.get(get_text(accessor, "type"))
        if kind is None or own is None:
            raise CorruptionError(
                f"{what} holds {accessor.get('type')!r:.20} of component type "
                f"{accessor.get('componentType')!r:.20}, not numbers that move a node"
            )
        if width is not None and own != width:
            raise CorruptionError(f"{what} must have {width} numbers a row, got {own}")
        count = get_integer(accessor, "count", what, low=1, high=MAX_ARRAY_NUMBERS // own)
        offset = get_integer(accessor, "byteOffset", what, default=0)
        component = np.dtype(kind)
        if accessor.get("bufferView") is None:
            self._zeros[number] = count * own
            if sum(self._zeros.values()) > MAX_ZEROS:
                raise CorruptionError(f"{what}: more than {MAX_ZEROS} zeros that no buffer holds")
            values = np.zeros((count, own), component)
        else:
            values = self._view_rows(accessor["bufferView"], offset, count, own, component, what)
        if "sparse" in accessor:
            values = self._apply_sparse(values, accessor["sparse"], what)
        if not accessor.get("normalized"):
            return values.astype(np.float64)
        if component.kind == "f":
            raise CorruptionError(f"{what} is normalized, and its numbers are floats")
        return np.asarray(np.maximum(values / np.iinfo(component).max, -1.0), np.float64)

    def _apply_sparse(self, values: npt.NDArray[Any], sparse: Any, what: str) -> npt.NDArray[Any]:
        """Return `values` with some rows replaced, as the accessor says."""
        at = sparse.get("indices") if isinstance(sparse, dict) else None
        new = sparse.get("values") if isinstance(sparse, dict) else None
        if not (isinstance(at, dict) and isinstance(new, dict)):
            raise CorruptionError(f"{what}.sparse must have indices and values")
        count = get_integer(sparse, "count", f"{what}.sparse", low=1, high=len(values))
        kind = COMPONENTS.get(get_integer(at, "componentType", what, high=9999))
        if kind not in ("<u1", "<u2", "<u4"):
            raise CorruptionError(f"{what}.sparse.indices must be unsigned integers")
        begin = get_integer(at, "byteOffset", what, default=0)
        rows = self._view_rows(at.get("bufferView"), begin, count, 1, np.dtype(kind), what)[:, 0]
        if rows.max() >= len(values):
            raise CorruptionError(f"{what}.sparse names row {rows.max()} of {len(values)}")
        begin = get_integer(new, "byteOffset", what, default=0)
        view = new.get("bufferView")
        changed = values.copy()
        changed[rows] = self._view_rows(view, begin, count, values.shape[1], values.dtype, what)
        return changed

    def _view_rows(
        self, view: Any, offset: int, count: int, width: int, kind: np.dtype[Any], what: str
    ) -> npt.NDArray[Any]:
        """Return rows (count, width) of a buffer view, without a copy."""
        holder, name = self.item("bufferViews", view), f"bufferViews[{view}]"
        packed = self._find_packing(holder, name)
        length = get_integer(holder, "byteLength", name)
        size = width * kind.itemsize
        stride = get_integer(holder, "byteStride", name, low=size, high=255, default=size)
        if offset + (count - 1) * stride + size > length:
            raise CorruptionError(f"{what} does not lie in {name} of {length} bytes")
        if packed is not None:
            data, start = self._unpack_view(view, packed, length, name), 0
        else:
            data, start = self._find_bytes(holder, length, name)
        return np.ndarray((count, width), kind, data, start + offset, (stride, kind.itemsize))

    def _find_bytes(self, holder: Object, length: int, name: str) -> tuple[bytes, int]:
        """Return a buffer, and where in it the bytes are that an object of the document means."""
        start = get_integer(holder, "byteOffset", name, default=0)
        data = self.buffer(holder.get("buffer"))
        if start + length > len(data):
            raise TruncatedError(f"{name} ends at byte {start + length} of a buffer of {len(data)}")
        return data, start

    def _find_packing(self, holder: Object, name: str) -> Object | None:
        """Return what an extension says of a view that it packs; None of plain ones."""
        used = holder.get("extensions")
        for extension in meshopt.EXTENSIONS:
            if isinstance(used, dict) and extension in used:
                packed = used[extension]
                if not isinstance(packed, dict):
                    raise CorruptionError(f"{name}.{extension} must be an object")
                return packed
        return None

    def _unpack_view(self, view: int, packed: Object, length: int, name: str) -> bytes:
        if view in self._views:
            return self._views[view]
        stride = get_integer(packed, "byteStride", name, low=1, high=meshopt.MAX_STRIDE)
        room = MAX_UNPACKED_BYTES - sum(len(known) for known in self._views.values())
        count = get_integer(packed, "count", name, low=1, high=max(1, room // stride))
        if count * stride != length:
            raise CorruptionError(f"{name} has {length} bytes and is packed as {count} × {stride}")
        size = get_integer(packed, "byteLength", name)
        data, start = self._find_bytes(packed, size, name)
        mode, kind = get_text(packed, "mode"), get_text(packed, "filter") or "NONE"
        try:
            rows = meshopt.unpack(data[start : start + size], count, stride, mode, kind, name)
        except (TruncatedError, CorruptionError) as error:
            raise type(error)(f"{name}: {error}") from error
        self._views[view] = rows
        return rows

    def buffer(self, number: Any) -> bytes:
        """Return the bytes of one of the file's buffers."""
        buffer = self.item("buffers", number)
        uri = buffer.get("uri")
        if uri is None:
            if number != 0 or self.body is None:
                raise CorruptionError(f"buffers[{number}] has no bytes: it names no file")
            return self.body
        if not isinstance(uri, str):
            raise CorruptionError(f"buffers[{number}].uri must be text")
        if number not in self._buffers:
            is_inline = uri.startswith("data:")
            self._buffers[number] = (
                _decode_inline(uri, number)
                if is_inline
                else self.read_side_file(uri, f"buffers[{number}]")
            )
        return self._buffers[number]

    def read_side_file(self, uri: str, what: str) -> bytes:
        """Return the bytes of a file that the document names."""
        path = unquote(uri)
        if self.read_external is None:
            raise FormatError(
                f"{what} is the file {path[:80]!r}, and from a pipe there is no folder"
            )
        try:
            return self.read_external(path)
        except FormatError as error:
            raise type(error)(f"{what}: {error}") from error


def parse(data: bytes, read_external: Callable[[str], bytes] | None = None) -> Document:
    """Open a file's bytes, binary or text."""
    if not data.startswith(MAGIC):
        return Document(_parse_json(data), None, read_external)
    if len(data) < 20:
        raise TruncatedError(f"a binary glTF has at least 20 bytes, got {len(data)}")
    _, version, size = struct.unpack_from("<4sII", data)
    if version != VERSION:
        raise UnsupportedVersionError(f"binary glTF of version {version}; mocpack reads {VERSION}")
    if size > len(data):
        raise TruncatedError(f"the file should have {size} bytes and has {len(data)}")
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= size:
        length, kind = struct.unpack_from("<I4s", data, at)
        if at + 8 + length > size:
            raise TruncatedError(f"chunk {kind!r} ends after byte {size}")
        chunks.setdefault(kind, data[at + 8 : at + 8 + length])
        at += 8 + length + (-length % 4)
    if JSON_CHUNK not in chunks:
        raise CorruptionError("a binary glTF has a JSON chunk, and this one does not")
    return Document(_parse_json(chunks[JSON_CHUNK]), chunks.get(BIN_CHUNK), read_external)


def list_external_files(
    data: bytes, read_external: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the paths of the files that hold a document's buffers, from where it stands."""
    found = []
    for buffer in parse(data, read_external).items("buffers"):
        uri = buffer.get("uri")
        if isinstance(uri, str) and not uri.startswith("data:"):
            found.append(unquote(uri))
    return list(dict.fromkeys(found))


def _parse_json(data: bytes) -> Object:
    try:
        root = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except RecursionError:
        raise CorruptionError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise CorruptionError(f"its JSON cannot be read: {str(error)[:200]}") from error
    if not isinstance(root, dict):
        raise CorruptionError("its JSON must be an object")
    asset = root.get("asset")
    version = str(asset.get("version")) if isinstance(asset, dict) else "none"
    if version.split(".")[0] != "2":
        raise UnsupportedVersionError(f"glTF of version {version[:20]}; mocpack reads 2.0")
    return root


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON's")


def _decode_inline(uri: str, number: int) -> bytes:
    head, comma, text = uri.partition(",")
    if not comma or not head.endswith(";base64"):
        raise CorruptionError(f"buffers[{number}].uri must be base64")
    try:
        return base64.b64decode(unquote(text), validate=True)
    except (binascii.Error, ValueError) as error:
        raise CorruptionError(f"buffers[{number}].uri is not whole base64: {error}") from error


def get_integer(
    holder: Object,
    name: str,
    what: str,
    *,
    low: int = 0,
    high: int = 1 << 40,
    default: int | None = None,
) -> int:
    """Return a whole number of an object of the document, in its range."""
    value = holder.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise CorruptionError(f"{what}.{name} must be {low} to {high}, got {value!r:.40}")
    return value


def get_numbers(holder: Object, name: str, what: str, default: tuple[float, ...]) -> F64:
    """Return as many finite numbers of an object of the document as its default has."""
    value = holder.get(name, default)
    fits = isinstance(value, list | tuple) and len(value) == len(default)
    if not fits or not all(type(v) in (int, float) and abs(v) < MAX_NUMBER for v in value):
        raise CorruptionError(f"{what}.{name} must be {len(default)} numbers, got {value!r:.80}")
    return np.array(value, np.float64)


def get_text(holder: Object, name: str) -> str:
    """Return a name of an object of the document, "" where it has none; whole characters only."""
    value = holder.get(name, "")
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
