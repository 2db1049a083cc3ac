"""Read untrusted pickles in a child process that does not run them.

`pickle_child.py` defines what is supported. This module decodes its response to arrays and values.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, FormatError, convert_errors
from mocpack.io.child import Reader, Response, run_reader
from mocpack.io.npz import MAX_CODE_POINT
from mocpack.io.robots import pickle_child

NUMERIC_KINDS = "fiub"

Encoded: TypeAlias = "bool | int | float | str | list[Encoded] | EncodedObject | None"


class EncodedObject(TypedDict, total=False):
    """A value that JSON does not have, in one of these forms."""

    dict: list[list[Encoded]]
    tuple: list[Encoded]
    bytes: str
    other: str
    array: int
    dtype: str
    shape: list[int]
    fortran: bool
    offset: int
    strides: list[int]


class PickleResponse(Response, total=False):
    """The value of a pickle, or why there is none, and the sizes of the arrays that follow."""

    value: Encoded
    blocks: list[int]
    refused: str
    broken: str


PICKLE = Reader[PickleResponse](
    pickle_child.__file__, "", "", "a pickle", memory=256 << 20, seconds=10
)


class UnreadValue:
    """A value of an unsupported type."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


def load(data: bytes) -> object:
    """Return the content of a pickle of numbers, texts, lists, dicts and arrays."""
    return decode_response(*run_reader(PICKLE, data))


def decode_response(response: PickleResponse, body: bytes) -> object:
    """Decode a response of `pickle_child`; `body` holds the bytes of its arrays."""
    if "refused" in response:
        raise FormatError(response["refused"])
    if "broken" in response:
        raise CorruptionError(response["broken"])
    ends = np.cumsum([0, *response["blocks"]])
    view = memoryview(body)
    blocks = [view[a:b] for a, b in pairwise(ends)]
    try:
        return _decode_value(response["value"], blocks)
    except TypeError as error:  # an array as a dict key
        raise CorruptionError(f"invalid pickle: {error}") from error


def to_array(value: object, what: str) -> F64:
    """Return an array or a list of numbers as float64."""
    with convert_errors(
        (TypeError, ValueError, AttributeError), f"{what} must be an array of numbers"
    ):
        numbers = np.asarray(value)
        if numbers.dtype.kind not in NUMERIC_KINDS:
            raise CorruptionError(f"{what} must be an array of numbers, got {type(value).__name__}")
        return numbers.astype(np.float64)


def _decode_value(encoded: Encoded, blocks: list[memoryview]) -> object:
    if isinstance(encoded, list):
        return [_decode_value(part, blocks) for part in encoded]
    if not isinstance(encoded, dict):
        return encoded
    if "array" in encoded:
        return _decode_array(encoded, blocks[encoded["array"]])
    if "dict" in encoded:
        return {
            _decode_value(key, blocks): _decode_value(part, blocks) for key, part in encoded["dict"]
        }
    if "tuple" in encoded:
        return tuple(_decode_value(part, blocks) for part in encoded["tuple"])
    return (
        encoded["bytes"].encode("latin1") if "bytes" in encoded else UnreadValue(encoded["other"])
    )


def _decode_array(encoded: EncodedObject, raw: memoryview) -> npt.NDArray[np.generic]:
    dtype, shape = np.dtype(encoded["dtype"]), tuple(encoded["shape"])
    count = len(raw) // dtype.itemsize if dtype.itemsize else 0
    flat = np.frombuffer(raw, dtype, count) if count else np.zeros(0, dtype)
    if dtype.kind == "U" and (flat.view(f"{dtype.byteorder}u4") > MAX_CODE_POINT).any():
        raise CorruptionError("an array contains invalid Unicode code points")
    if "strides" in encoded:
        strides = [step * dtype.itemsize for step in encoded["strides"]]
        # The child has checked that these lie within the data.
        part = flat[encoded["offset"] :]
        return np.lib.stride_tricks.as_strided(part, shape, strides, writeable=False)
    return flat.reshape(shape[::-1]).T if encoded["fortran"] else flat.reshape(shape)
