"""Immutable values with read-only arrays that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mocpack.common.arguments import check_array
from mocpack.common.arrays import F64

Scalar = TypeVar("Scalar", bound=np.generic)
Value = TypeVar("Value")


class FrozenPickle:
    """A frozen dataclass that stays frozen when it is pickled."""

    def __reduce__(self) -> tuple[object, ...]:
        given = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        plain = {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in given.items()}
        return restore_fields, (type(self), plain)


class FrozenValue(FrozenPickle):
    """A frozen dataclass that equals another of its class if all their fields are equal."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        return all(_are_equal(getattr(self, n), getattr(other, n)) for n in names)

    __hash__ = None  # type: ignore[assignment]


def restore_fields(cls: type[Value], given: Mapping[str, object]) -> Value:
    """Rebuild a pickled value from its fields, without validating them again."""
    for part in given.values():
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
    values = {k: MappingProxyType(v) if isinstance(v, dict) else v for k, v in given.items()}
    return build_unchecked(cls, values)


def build_unchecked(cls: type[Value], fields: Mapping[str, object]) -> Value:
    """Return a value with fields that are already validated and read-only."""
    value = object.__new__(cls)
    vars(value).update(fields)
    return value


def freeze_array(values: npt.ArrayLike) -> F64:
    """Return a read-only float64 array; copy only if the input is writable."""
    array = np.asanyarray(check_array("values of an array", values), np.float64)
    return array if is_frozen(array) else read_only(array.copy(order="C"))


def is_frozen(array: F64) -> bool:
    """Return whether an array is read-only and contiguous."""
    shared = isinstance(array.base, np.ndarray) and array.base.flags.writeable
    return not (array.flags.writeable or shared) and array.flags.c_contiguous


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def _are_equal(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a is b or np.array_equal(a, b)
    return not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) and bool(a == b)
