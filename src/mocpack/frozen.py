"""Values that nobody can change, whole or in their arrays, and that travel to other processes."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64


class FrozenPickle:
    """A frozen value that other processes get bit for bit, and as frozen."""

    def __reduce__(self) -> tuple[Any, ...]:
        given = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        plain = {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in given.items()}
        return _restored, (type(self), plain)


def _restored(cls: type, given: dict[str, Any]) -> Any:
    """Return the value that was sent; it was checked when it was made."""
    value: Any = object.__new__(cls)
    for name, part in given.items():
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
        kept = MappingProxyType(part) if isinstance(part, dict) else part
        object.__setattr__(value, name, kept)
    return value


def frozen_array(values: npt.ArrayLike) -> F64:
    """Return a float64 array that nobody can write to; copies only what somebody can."""
    array = np.asarray(values, np.float64)
    if not is_frozen(array):
        array = array.copy(order="C")
        array.setflags(write=False)
    return array


def is_frozen(array: F64) -> bool:
    """Whether nobody can write to an array, and its numbers follow one another."""
    shared = isinstance(array.base, np.ndarray) and array.base.flags.writeable
    return not (array.flags.writeable or shared) and array.flags.c_contiguous
