"""Tensors of other packages by DLPack, without importing these packages."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from mocpack.common.arrays import AnyArray
from mocpack.errors import UsageError

CPU, CUDA = 1, 2  # device types of DLPack
INTEGER, FLOAT, COMPLEX = 0, 2, 5  # type codes of DLPack
CAPSULE = b"dltensor"


class Tensor(Protocol):
    """An array of any package that has DLPack: torch, cupy, jax, numpy 1.22 and later."""

    def __dlpack__(self, *, stream: int | None = None) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = (
    ("tensor", _DLTensor),
    ("context", ctypes.c_void_p),
    ("deleter", _Deleter),
)

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
_raw_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_raw_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


@dataclass(frozen=True)
class Memory:
    """Where the numbers of a tensor are; the tensor owns them."""

    pointer: int
    shape: tuple[int, ...]
    code: int
    bits: int
    device: tuple[int, int]  # type and index


def memory_of(tensor: Tensor, name: str, *, stream: int | None = None) -> Memory:
    """Return the memory of a contiguous tensor; `name` is that of the argument.

    `stream` is the one that will use it, as DLPack states it: -1 needs no synchronization.
    """
    if _is_of_torch(tensor):
        return _torch_memory(tensor, name)
    # numpy and others take no stream on the CPU
    on_cpu = tensor.__dlpack_device__()[0] == CPU
    capsule = tensor.__dlpack__() if on_cpu else tensor.__dlpack__(stream=stream)
    if not _is_valid(capsule, CAPSULE):
        raise UsageError(f"{name} must be a tensor with DLPack, got {type(tensor).__name__}")
    found = _DLManagedTensor.from_address(_get_pointer(capsule, CAPSULE)).tensor
    shape = tuple(found.shape[: found.ndim])
    if found.strides:
        expected = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
        strides = zip(shape, found.strides[: found.ndim], expected, strict=True)
        if prod(shape) and any(size > 1 and own != right for size, own, right in strides):
            raise UsageError(f"{name} must be contiguous; call its contiguous()")
    return Memory(
        (found.data or 0) + found.byte_offset,
        shape,
        found.code,
        found.bits,
        (found.device_type, found.device_id),
    )


def _torch_memory(tensor: Any, name: str) -> Memory:
    """Return the memory of a tensor of torch, whose attributes are read faster than a capsule."""
    if not tensor.is_contiguous():
        raise UsageError(f"{name} must be contiguous; call its contiguous()")
    if tensor.requires_grad:
        raise UsageError(f"{name} must not require gradients; call its detach()")
    dtype = tensor.dtype
    code = FLOAT if dtype.is_floating_point else COMPLEX if dtype.is_complex else INTEGER
    bits = 8 * tensor.element_size()
    return Memory(tensor.data_ptr(), tuple(tensor.shape), code, bits, device_of(tensor))


_exported: dict[int, tuple[_DLManagedTensor, Any, Any]] = {}  # until their deleter is called


def _delete(managed: Any) -> None:
    _exported.pop(ctypes.addressof(managed.contents), None)


def _destroy(capsule: int) -> None:
    # a capsule that nobody took, still under its first name
    if _raw_is_valid(capsule, CAPSULE):
        _exported.pop(_raw_pointer(capsule, CAPSULE), None)


_deleter, _destructor = _Deleter(_delete), _Destructor(_destroy)


def export(owner: object, memory: Memory) -> object:
    """Return a DLPack capsule of some memory, which keeps `owner` alive."""
    shape = (ctypes.c_int64 * len(memory.shape))(*memory.shape)
    tensor = _DLTensor(
        memory.pointer,
        *memory.device,
        len(memory.shape),
        memory.code,
        memory.bits,
        1,
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
        None,
        0,
    )
    managed = _DLManagedTensor(tensor, None, _deleter)
    address = ctypes.addressof(managed)
    _exported[address] = managed, shape, owner
    return _new_capsule(address, CAPSULE, ctypes.cast(_destructor, ctypes.c_void_p))


def package_of(array: object) -> ModuleType | None:
    """Return torch or cupy if an array is of that package, else None."""
    name = type(array).__module__.partition(".")[0]
    return sys.modules.get(name) if name in ("torch", "cupy") else None


def _is_of_torch(array: object) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def device_of(array: Any) -> tuple[int, int]:
    """Return type and index of an array's device; arrays without DLPack are on the CPU."""
    if _is_of_torch(array):  # its own method takes longer
        return (CUDA, array.get_device()) if array.is_cuda else (CPU, 0)
    return array.__dlpack_device__() if hasattr(array, "__dlpack_device__") else (CPU, 0)


def to_numpy(array: Any) -> AnyArray:
    """Return an array on the CPU as a numpy array that shares its memory, if it can."""
    if isinstance(array, np.ndarray):
        return array
    package = package_of(array)
    if package is not None and device_of(array)[0] != CPU:
        raise UsageError(
            f"expected arrays on the CPU, where this library runs, got a {package.__name__} tensor "
            "on the device; open the library with device='cuda'"
        )
    if package is not None:
        return np.asarray(array.detach().numpy())
    return np.asarray(array)
