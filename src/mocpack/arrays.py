"""Short names for arrays by what they hold; shapes are said where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


class ReadOnlyArray(np.ndarray[Any, Any]):
    """An array that says what to do where somebody writes to it; what is computed from it is plain.

    >>> a = read_only(np.zeros(3))
    >>> a[0] = 1.0
    Traceback (most recent call last):
    ValueError: this array belongs to a clip and is read-only: change a .copy() of it
    """

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise ValueError(READ_ONLY)
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out") or ()
        if any(isinstance(out, np.ndarray) and not out.flags.writeable for out in outs):
            raise ValueError(READ_ONLY)
        if outs:
            options["out"] = tuple(_plain(out) for out in outs)
        return getattr(ufunc, method)(*map(_plain, inputs), **options)


READ_ONLY = "this array belongs to a clip and is read-only: change a .copy() of it"


def read_only(array: npt.NDArray[Any]) -> Any:
    """Return a view of an array that nobody shall write to, with a sentence for who tries."""
    if isinstance(array, ReadOnlyArray) and not array.flags.writeable:
        return array
    view = array.view(ReadOnlyArray)
    view.setflags(write=False)
    return view


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, ReadOnlyArray) else value
