"""Write PyTorch files without PyTorch: a dict of tensors, numbers and texts.

The file is a zip with a pickle, in which each tensor refers to an entry with its data. `torch.load`
reads it.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Value: TypeAlias = npt.NDArray[np.generic] | str | float | list[str]

STORAGES = {"<f4": "FloatStorage", "|b1": "BoolStorage", "<i8": "LongStorage"}
ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # fixed, so that equal motions give equal bytes


def pack(values: Mapping[str, Value]) -> bytes:
    """Return a dict as a PyTorch file; arrays of float32, bool and int64 become tensors."""
    out, storages = [b"\x80\x02}("], list[bytes]()
    for name, value in values.items():
        out += [_encode_text(name), _encode_value(value, storages)]
    out.append(b"u.")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        members = {"data.pkl": b"".join(out), "byteorder": b"little", "version": b"3\n"}
        members |= {f"data/{k}": raw for k, raw in enumerate(storages)}
        for name, raw in members.items():
            archive.writestr(zipfile.ZipInfo(f"archive/{name}", ZIP_TIMESTAMP), raw)
    return file.getvalue()


def _encode_value(value: Value, storages: list[bytes]) -> bytes:
    if isinstance(value, np.ndarray):
        return _encode_tensor(np.ascontiguousarray(value), storages)
    if isinstance(value, list):
        return b"](" + b"".join(map(_encode_text, value)) + b"e"
    if isinstance(value, str):
        return _encode_text(value)
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    return b"G" + struct.pack(">d", float(value))


def _encode_tensor(array: npt.NDArray[np.generic], storages: list[bytes]) -> bytes:
    """Return the pickle instructions of a tensor, and append its data to `storages`."""
    kind = STORAGES[array.dtype.str]
    words = (
        _encode_text("storage"),
        f"ctorch\n{kind}\n".encode(),
        _encode_text(str(len(storages))),
    )
    place = b"(" + b"".join(words) + _encode_text("cpu") + _encode_int(array.size) + b"tQ"
    storages.append(array.tobytes())
    strides = [stride // array.itemsize for stride in array.strides]
    sizes = b"(" + b"".join(map(_encode_int, array.shape)) + b"t"
    steps = b"(" + b"".join(map(_encode_int, strides)) + b"t"
    hooks = b"ccollections\nOrderedDict\n)R"
    parts = (place, _encode_int(0), sizes, steps, b"\x89", hooks)
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + b"".join(parts) + b"tR"


def _encode_int(number: int) -> bytes:
    raw = number.to_bytes(9, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def _encode_text(text: str) -> bytes:
    raw = text.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw
