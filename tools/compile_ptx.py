"""Compile the CUDA kernels of `mocpack.trainers` to PTX; needs no GPU and no CUDA toolkit.

    python tools/compile_ptx.py OUT.ptx

Uses the compiler of the package nvidia-cuda-nvrtc-cu12 (`make ptx` installs it). Its release is
pinned, because drivers that are older than the compiler refuse its PTX: every driver from 525 on
loads that of 12.0. Without the package nothing is written, and the exit code is 3.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path

FEATURES = Path(__file__).resolve().parents[1] / "core" / "src" / "features"
SOURCE, HEADER = "motion_states.cu", "motion_states.h"
OPTIONS = ("--gpu-architecture=compute_70", "--std=c++17")
VERSION = (12, 0)
EXIT_NO_COMPILER = 3


def find_compiler() -> ctypes.CDLL | None:
    """Return NVRTC of the installed package, or None."""
    try:
        package = importlib.util.find_spec("nvidia.cuda_nvrtc")
    except ModuleNotFoundError:
        return None
    for folder in package.submodule_search_locations or () if package else ():
        for found in (
            *Path(folder).glob("lib/libnvrtc.so.*"),
            *Path(folder).glob("bin/nvrtc64*.dll"),
        ):
            return ctypes.CDLL(str(found))
    return None


def compile_ptx(nvrtc: ctypes.CDLL) -> bytes:
    """Return the PTX of the kernels."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) != VERSION:
        raise SystemExit(
            f"expected NVRTC {VERSION[0]}.{VERSION[1]}, whose PTX every driver from 525 on loads; "
            f"got {major.value}.{minor.value}"
        )
    program = ctypes.c_void_p()
    source, header = ((FEATURES / name).read_bytes() for name in (SOURCE, HEADER))
    check(
        nvrtc,
        nvrtc.nvrtcCreateProgram(
            ctypes.byref(program),
            source,
            SOURCE.encode(),
            1,
            (ctypes.c_char_p * 1)(header),
            (ctypes.c_char_p * 1)(HEADER.encode()),
        ),
    )
    options = (ctypes.c_char_p * len(OPTIONS))(*(option.encode() for option in OPTIONS))
    status = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    if status:
        sys.stderr.write(text_of(nvrtc, "ProgramLog", program).decode())
    check(nvrtc, status)
    return text_of(nvrtc, "PTX", program)


def text_of(nvrtc: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, text))
    return text.value


def check(nvrtc: ctypes.CDLL, status: int) -> None:
    if status:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise SystemExit(f"NVRTC failed: {nvrtc.nvrtcGetErrorString(status).decode()}")


def main(out: str) -> int:
    nvrtc = find_compiler()
    if nvrtc is None:
        print("the CUDA kernels were not compiled: nvidia-cuda-nvrtc-cu12 is not installed")
        return EXIT_NO_COMPILER
    Path(out).write_bytes(compile_ptx(nvrtc))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
