"""Values that nobody can change, whole or in their arrays, and that travel to other processes."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack.arguments import check_array
from mocpack.arrays import F64


class FrozenPickle:
    """A frozen value that other processes get bit for bit, and as frozen."""

    def __reduce__(self) -> tuple[Any, ...]:
        given = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        plain = {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in given.items()}
        return restore_fields, (type(self), plain)


def restore_fields(cls: type, given: dict[str, Any]) -> Any:
    """Return a value of given fields that were checked before, as those of one that was sent."""
    value: Any = object.__new__(cls)
    for name, part in given.items():
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
        kept = MappingProxyType(part) if isinstance(part, dict) else part
        object.__setattr__(value, name, kept)
    return value


def build_unchecked(cls: type, fields: dict[str, Any]) -> Any:
    """Return a value of fields that are checked and frozen already."""
    value: Any = object.__new__(cls)
    vars(value).update(fields)
    return value


def freeze_array(values: npt.ArrayLike) -> F64:
    """Return a float64 array that nobody can write to; copies only what somebody can."""
    array = np.asanyarray(check_array("values of an array", values), np.float64)
    return read_only(array if is_frozen(array) else array.copy(order="C"))  # type: ignore[no-any-return]


def is_frozen(array: F64) -> bool:
    """Whether nobody can write to an array, and its numbers follow one another."""
    shared = isinstance(array.base, np.ndarray) and array.base.flags.writeable
    return not (array.flags.writeable or shared) and array.flags.c_contiguous


class ReadOnlyArray(np.ndarray[Any, Any]):
    """An array that says what to do where somebody writes to it; what is computed from it is plain.

    >>> a = read_only(np.zeros(3))
    >>> a[0] = 1.0
    Traceback (most recent call last):
    ValueError: this array belongs to a clip and is read-only: change a .copy() of it
    """

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise ValueError(READ_ONLY_MESSAGE)
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out") or ()
        for out in outs:
            if isinstance(out, np.ndarray) and not out.flags.writeable:
                raise ValueError(READ_ONLY_MESSAGE)
        if outs:
            options["out"] = tuple(map(_as_ndarray, outs))
        return getattr(ufunc, method)(*map(_as_ndarray, inputs), **options)


READ_ONLY_MESSAGE = "this array belongs to a clip and is read-only: change a .copy() of it"


def read_only(array: npt.NDArray[Any]) -> Any:
    """Return a view of an array that nobody shall write to, with a sentence for who tries."""
    if isinstance(array, ReadOnlyArray) and not array.flags.writeable:
        return array
    view = array.view(ReadOnlyArray)
    view.setflags(write=False)
    return view


def _as_ndarray(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, ReadOnlyArray) else value
