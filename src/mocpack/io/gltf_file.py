"""Parse glTF 2.0 files: the JSON document, its buffers, and the arrays in them.

Reads binary (.glb, .vrma) and text (.gltf) files with embedded or external buffers. Input is not
trusted: every number of the document is checked before use, and so is the memory of every array.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.common.json_object import Json, JsonObject, is_list, is_object
from mocpack.errors import (
    CorruptionError,
    FormatError,
    TruncatedError,
    UnsupportedVersionError,
    convert_errors,
    name_errors,
)
from mocpack.io import meshopt

Numbers: TypeAlias = npt.NDArray[np.number]

MAGIC, VERSION = b"glTF", 2
GENERATOR, FIGURE = "mocpack", "figure"  # in files that mocpack writes; the bones as a mesh
JSON_CHUNK, BIN_CHUNK = b"JSON", b"BIN\0"
COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
MAX_ARRAY_NUMBERS = 1 << 26
MAX_ZEROS = 1 << 22  # numbers of arrays without a buffer view, in total
MAX_NUMBER = 1e30  # in the JSON document
MAX_UNPACKED_BYTES = 1 << 28  # of all packed views of a file


@dataclass(frozen=True)
class Document:
    """An open file."""

    root: JsonObject
    body: bytes | None  # the buffer inside a binary file
    read_external: Callable[[str], bytes] | None  # None if the input has no folder
    _lists: dict[str, list[JsonObject]] = field(default_factory=dict)
    _views: dict[int, bytes] = field(default_factory=dict)
    _buffers: dict[int, bytes] = field(default_factory=dict)
    _zeros: dict[int, int] = field(default_factory=dict)

    def items(self, name: str) -> list[JsonObject]:
        """Return one of the document's lists of objects, empty if it is missing."""
        if name not in self._lists:
            self._lists[name] = get_objects(self.root, name)
        return self._lists[name]

    def number(self, name: str, number: Json) -> int:
        """Check an index into one of the lists and return it."""
        count = len(self.items(name))
        if type(number) is not int or not 0 <= number < count:
            raise CorruptionError(f"{name}[{number!r:.40}] does not exist; there are {count}")
        return number

    def item(self, name: str, number: Json) -> JsonObject:
        """Return an object of one of the lists by its index."""
        return self.items(name)[self.number(name, number)]

    def array(self, index: Json, *, width: int | None = None) -> F64:
        """Return an accessor's numbers (count, width); normalized integers become -1..1 or 0..1."""
        number = self.number("accessors", index)
        accessor, what = self.items("accessors")[number], f"accessors[{number}]"
        kind = COMPONENTS.get(get_integer(accessor, "componentType", what, high=9999))
        own = WIDTHS.get(get_text(accessor, "type"))
        if kind is None or own is None:
            raise CorruptionError(
                f"{what} must hold numbers, got type {accessor.get('type')!r:.20} and component "
                f"type {accessor.get('componentType')!r:.20}"
            )
        if width is not None and own != width:
            raise CorruptionError(f"{what} must have {width} numbers per row, got {own}")
        count = get_integer(accessor, "count", what, low=1, high=MAX_ARRAY_NUMBERS // own)
        offset = get_integer(accessor, "byteOffset", what, default=0)
        component: np.dtype[np.number] = np.dtype(kind)
        if accessor.get("bufferView") is None:
            self._zeros[number] = count * own
            if sum(self._zeros.values()) > MAX_ZEROS:
                raise CorruptionError(
                    f"{what}: arrays without a buffer view have over {MAX_ZEROS} zeros in total"
                )
            values: Numbers = np.zeros((count, own), component)
        else:
            values = self._view_rows(accessor["bufferView"], offset, count, own, component, what)
        if "sparse" in accessor:
            values = self._apply_sparse(values, accessor["sparse"], what)
        if not accessor.get("normalized"):
            return values.astype(np.float64)
        if component.kind == "f":
            raise CorruptionError(f"{what} is normalized, but its components are floats")
        return np.asarray(np.maximum(values / np.iinfo(kind).max, -1.0), np.float64)

    def _apply_sparse(self, values: Numbers, sparse: Json, what: str) -> Numbers:
        """Return `values` with the rows replaced that the accessor's sparse entry names."""
        fields = sparse if is_object(sparse) else {}
        at, new = fields.get("indices"), fields.get("values")
        if not (is_object(at) and is_object(new)):
            raise CorruptionError(f"{what}.sparse must have indices and values")
        count = get_integer(fields, "count", f"{what}.sparse", low=1, high=len(values))
        kind = COMPONENTS.get(get_integer(at, "componentType", what, high=9999))
        if kind not in ("<u1", "<u2", "<u4"):
            raise CorruptionError(f"{what}.sparse.indices must be unsigned integers")
        begin = get_integer(at, "byteOffset", what, default=0)
        rows = self._view_rows(at.get("bufferView"), begin, count, 1, np.dtype(kind), what)[:, 0]
        if rows.max() >= len(values):
            raise CorruptionError(f"{what}.sparse refers to row {rows.max()} of {len(values)}")
        begin = get_integer(new, "byteOffset", what, default=0)
        view = new.get("bufferView")
        changed = values.copy()
        changed[rows] = self._view_rows(view, begin, count, values.shape[1], values.dtype, what)
        return changed

    def _view_rows(
        self, index: Json, offset: int, count: int, width: int, kind: np.dtype[np.number], what: str
    ) -> Numbers:
        """Return rows (count, width) of a buffer view, without a copy."""
        view = self.number("bufferViews", index)
        holder, name = self.items("bufferViews")[view], f"bufferViews[{view}]"
        packed = self._find_packing(holder, name)
        length = get_integer(holder, "byteLength", name)
        size = width * kind.itemsize
        stride = get_integer(holder, "byteStride", name, low=size, high=255, default=size)
        if offset + (count - 1) * stride + size > length:
            raise CorruptionError(f"{what} exceeds {name} of {length} bytes")
        if packed is not None:
            data, start = self._unpack_view(view, packed, length, name), 0
        else:
            data, start = self._find_bytes(holder, length, name)
        return np.ndarray((count, width), kind, data, start + offset, (stride, kind.itemsize))

    def _find_bytes(self, holder: JsonObject, length: int, name: str) -> tuple[bytes, int]:
        """Return a buffer and the offset of an object's bytes in it."""
        start = get_integer(holder, "byteOffset", name, default=0)
        data = self.buffer(holder.get("buffer"))
        if start + length > len(data):
            raise TruncatedError(
                f"{name} ends at byte {start + length} of a buffer of {len(data)} bytes"
            )
        return data, start

    def _find_packing(self, holder: JsonObject, name: str) -> JsonObject | None:
        """Return the compression extension of a buffer view, or None."""
        used = holder.get("extensions")
        for extension in meshopt.EXTENSIONS:
            if is_object(used) and extension in used:
                packed = used[extension]
                if not is_object(packed):
                    raise CorruptionError(f"{name}.{extension} must be an object")
                return packed
        return None

    def _unpack_view(self, view: int, packed: JsonObject, length: int, name: str) -> bytes:
        if view in self._views:
            return self._views[view]
        stride = get_integer(packed, "byteStride", name, low=1, high=meshopt.MAX_STRIDE)
        room = MAX_UNPACKED_BYTES - sum(len(known) for known in self._views.values())
        count = get_integer(packed, "count", name, low=1, high=max(1, room // stride))
        if count * stride != length:
            raise CorruptionError(
                f"{name} has {length} bytes, but its packed form has {count} × {stride}"
            )
        size = get_integer(packed, "byteLength", name)
        data, start = self._find_bytes(packed, size, name)
        mode, kind = get_text(packed, "mode"), get_text(packed, "filter") or "NONE"
        with name_errors(name, TruncatedError, CorruptionError):
            rows = meshopt.unpack(data[start : start + size], count, stride, mode, kind, name)
        self._views[view] = rows
        return rows

    def buffer(self, index: Json) -> bytes:
        """Return the bytes of one of the file's buffers."""
        number = self.number("buffers", index)
        uri = self.items("buffers")[number].get("uri")
        if uri is None:
            if number != 0 or self.body is None:
                raise CorruptionError(
                    f"buffers[{number}] has no uri and the file has no embedded buffer for it"
                )
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
        """Return the bytes of an external file."""
        path = unquote(uri)
        if self.read_external is None:
            raise FormatError(
                f"{what} is the external file {path[:80]!r}, which cannot be found because the "
                "input is a pipe"
            )
        with name_errors(what):
            return self.read_external(path)


def parse(data: bytes, read_external: Callable[[str], bytes] | None = None) -> Document:
    """Parse the bytes of a binary or text file."""
    if not data.startswith(MAGIC):
        return Document(_parse_json(data), None, read_external)
    if len(data) < 20:
        raise TruncatedError(f"a binary glTF must have at least 20 bytes, got {len(data)}")
    _, version, size = struct.unpack_from("<4sII", data)
    if version != VERSION:
        raise UnsupportedVersionError(
            f"unsupported binary glTF version {version}; expected {VERSION}"
        )
    if size > len(data):
        raise TruncatedError(f"the header states {size} bytes, but the file has {len(data)}")
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= size:
        length, kind = struct.unpack_from("<I4s", data, at)
        if at + 8 + length > size:
            raise TruncatedError(f"chunk {kind!r} extends past the end of the file at byte {size}")
        chunks.setdefault(kind, data[at + 8 : at + 8 + length])
        at += 8 + length + (-length % 4)
    if JSON_CHUNK not in chunks:
        raise CorruptionError("a binary glTF must have a JSON chunk")
    return Document(_parse_json(chunks[JSON_CHUNK]), chunks.get(BIN_CHUNK), read_external)


def list_external_files(
    data: bytes, read_external: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the paths of a document's external buffers."""
    uris = [buffer.get("uri") for buffer in parse(data, read_external).items("buffers")]
    return list(dict.fromkeys(unquote(uri) for uri in uris if is_external(uri)))


def is_external(uri: Json) -> TypeGuard[str]:
    """Return whether a URI refers to a file."""
    return isinstance(uri, str) and not uri.startswith("data:")


def _parse_json(data: bytes) -> JsonObject:
    try:
        root: Json = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except RecursionError:
        raise CorruptionError("JSON is nested too deeply") from None
    except ValueError as error:
        raise CorruptionError(f"invalid JSON: {str(error)[:200]}") from error
    if not is_object(root):
        raise CorruptionError("the JSON document must be an object")
    asset = root.get("asset")
    version = str(asset.get("version")) if is_object(asset) else "none"
    if version.split(".")[0] != "2":
        raise UnsupportedVersionError(f"unsupported glTF version {version[:20]}; expected 2.0")
    return root


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _decode_inline(uri: str, number: int) -> bytes:
    head, comma, text = uri.partition(",")
    if not comma or not head.endswith(";base64"):
        raise CorruptionError(f"buffers[{number}].uri must be base64")
    with convert_errors((binascii.Error, ValueError), f"buffers[{number}].uri is invalid base64"):
        return base64.b64decode(unquote(text), validate=True)


def get_objects(holder: JsonObject, name: str, what: str = "") -> list[JsonObject]:
    """Return a field with a list of objects, empty if it is missing; errors begin with `what`."""
    items = holder.get(name, [])
    if is_list(items):
        objects = [item for item in items if is_object(item)]
        if len(objects) == len(items):
            return objects
    raise CorruptionError(f"{what}{name} must be a list of objects")


def get_object(holder: JsonObject, *names: str) -> JsonObject:
    """Return a nested object, or an empty one if any level is missing."""
    for name in names:
        part = holder.get(name, {})
        if not is_object(part):
            raise CorruptionError(f"{name:.40} must be an object")
        holder = part
    return holder


def get_integer(
    holder: JsonObject,
    name: str,
    what: str,
    *,
    low: int = 0,
    high: int = 1 << 40,
    default: int | None = None,
) -> int:
    """Return an integer field of an object, checked against its range."""
    value = holder.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise CorruptionError(f"{what}.{name} must be in {low}..{high}, got {value!r:.40}")
    return value


def get_numbers(holder: JsonObject, name: str, what: str, default: tuple[float, ...]) -> F64:
    """Return a field with as many finite numbers as its default has."""
    value = holder.get(name, default)
    items = value if isinstance(value, list | tuple) else []
    numbers = [v for v in items if isinstance(v, int | float) and not isinstance(v, bool)]
    if not len(numbers) == len(items) == len(default) or not all(
        abs(v) < MAX_NUMBER for v in numbers
    ):
        raise CorruptionError(f"{what}.{name} must be {len(default)} numbers, got {value!r:.80}")
    return np.array(numbers, np.float64)


def get_text(holder: JsonObject, name: str) -> str:
    """Return a text field of an object, or "" if it is missing."""
    value = holder.get(name, "")
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
