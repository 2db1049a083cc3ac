"""Run the kernels of states on an NVIDIA GPU, through the driver's own library.

The wheel contains the kernels as PTX, which every driver from 525 on compiles. Nothing of CUDA's
toolkit is needed, only the driver.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import prod
from pathlib import Path

import numpy as np

from mocpack.common.arrays import AnyArray
from mocpack.errors import MocpackError
from mocpack.trainers import tensors

PTX = Path(__file__).with_name("motion_states.ptx")
LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
LOG_BYTES = 1 << 14
ERROR_LOG, ERROR_LOG_SIZE = 5, 6  # options of cuModuleLoadDataEx
SHARED_MEMORY = 8  # attribute of functions: most bytes of dynamic shared memory
MAX_SHARED_BYTES = 48 << 10  # that need no attribute


class NoDeviceError(MocpackError, RuntimeError):
    """There is no usable NVIDIA GPU; the message says why."""


class Driver:
    """The CUDA driver."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise NoDeviceError(
                f"there is no NVIDIA driver ({LIBRARY} cannot be loaded)"
            ) from error
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function of the driver; raise if it fails."""
        status = getattr(self._library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(status, ctypes.byref(text))
            reason = (text.value or b"unknown error").decode()
            raise NoDeviceError(f"{name} failed: {reason} (CUDA error {status})")


@cache
def driver() -> Driver:
    return Driver()


class Memory:
    """Memory of a device."""

    def __init__(self, device: Device, size: int) -> None:
        self.device, self.size = device, size
        pointer = ctypes.c_uint64()
        with device.current():
            driver().call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(1, size)))
        self.pointer = pointer.value

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            with self.device.current():
                driver().call("cuMemFree_v2", ctypes.c_uint64(self.pointer))


class DeviceArray:
    """An array on a device. Other packages take it by DLPack, as ``torch.from_dlpack(array)``."""

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: str = "float32") -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.device, self.memory = device, Memory(device, prod(shape) * self.dtype.itemsize)

    def __dlpack_device__(self) -> tuple[int, int]:
        return tensors.CUDA, self.device.index

    def __dlpack__(self, *, stream: int | None = None, **_: object) -> object:
        code = tensors.FLOAT if self.dtype.kind == "f" else tensors.INTEGER
        bits = 8 * self.dtype.itemsize
        place = tensors.Memory(
            self.memory.pointer, self.shape, code, bits, self.__dlpack_device__()
        )
        if stream != -1:
            self.device.synchronize()
        return tensors.export(self, place)

    def numpy(self) -> AnyArray:
        """Return a copy on the CPU."""
        found = np.empty(self.shape, self.dtype)
        self.device.download(self.memory.pointer, found)
        return found


class Device:
    """One GPU, with the kernels of states."""

    def __init__(self, index: int = 0) -> None:
        if not PTX.is_file():
            raise NoDeviceError(
                f"this installation of mocpack has no CUDA kernels ({PTX.name}): it was built "
                "without nvidia-cuda-nvrtc-cu12"
            )
        self.index = index
        device, context = ctypes.c_int(), ctypes.c_void_p()
        call = driver().call
        call("cuDeviceGet", ctypes.byref(device), index)
        # the context that torch and others use
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._context = context
        name = ctypes.create_string_buffer(256)
        call("cuDeviceGetName", name, len(name), device)
        self.name = name.value.decode()
        with self.current():
            self._module = _load_module(PTX.read_bytes())

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this device's context the current one."""
        previous = ctypes.c_void_p()
        driver().call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            driver().call("cuCtxPopCurrent_v2", ctypes.byref(previous))

    def upload(self, array: AnyArray) -> Memory:
        """Return a copy of an array on the device."""
        array = np.ascontiguousarray(array)
        memory = Memory(self, array.nbytes)
        with self.current():
            driver().call(
                "cuMemcpyHtoD_v2",
                ctypes.c_uint64(memory.pointer),
                ctypes.c_void_p(array.ctypes.data),
                ctypes.c_size_t(array.nbytes),
            )
        return memory

    def download(self, pointer: int, out: AnyArray) -> None:
        """Copy from the device to an array, after all work before."""
        with self.current():
            driver().call("cuCtxSynchronize")
            driver().call(
                "cuMemcpyDtoH_v2",
                ctypes.c_void_p(out.ctypes.data),
                ctypes.c_uint64(pointer),
                ctypes.c_size_t(out.nbytes),
            )

    def synchronize(self) -> None:
        """Wait for all work of the device."""
        with self.current():
            driver().call("cuCtxSynchronize")

    def function(self, name: str, shared_bytes: int) -> ctypes.c_void_p:
        """Return a kernel that uses that much shared memory per block."""
        found = ctypes.c_void_p()
        with self.current():
            driver().call("cuModuleGetFunction", ctypes.byref(found), self._module, name.encode())
            if shared_bytes > MAX_SHARED_BYTES:
                driver().call("cuFuncSetAttribute", found, SHARED_MEMORY, shared_bytes)
        return found

    def launch(
        self,
        function: ctypes.c_void_p,
        blocks: int,
        threads: int,
        shared_bytes: int,
        stream: int,
        argument: ctypes.Structure,
    ) -> None:
        """Start a kernel of one argument."""
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        with self.current():
            driver().call(
                "cuLaunchKernel",
                function,
                *(blocks, 1, 1),
                *(threads, 1, 1),
                shared_bytes,
                ctypes.c_void_p(stream),
                arguments,
                None,
            )


def _load_module(ptx: bytes) -> ctypes.c_void_p:
    module, log = ctypes.c_void_p(), ctypes.create_string_buffer(LOG_BYTES)
    options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
    try:
        driver().call("cuModuleLoadDataEx", ctypes.byref(module), ptx, 2, options, values)
    except NoDeviceError as error:
        raise NoDeviceError(f"{error}; {log.value.decode(errors='replace').strip()}") from error
    return module
