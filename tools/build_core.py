"""Build the core without Python: python tools/build_core.py library|cross

library    libmocpack, static, shared and without the encoder, in build/library
cross      the core and a DLL for CROSS_TARGETS, in build/cross, with zig
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
CROSS_TARGETS = "x86_64-windows-gnu aarch64-macos aarch64-linux-gnu.2.17"
SYSTEMS = {"windows": "Windows", "macos": "Darwin", "linux": "Linux"}
FLAGS = ("-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off")


def main(part: str) -> None:
    if part == "library":
        build_library()
    else:
        for target in os.environ.get("CROSS_TARGETS", CROSS_TARGETS).split():
            cross_compile(target)
        build_dll(ROOT / "build/cross/dll", "x86_64-windows-gnu")


def build_library() -> None:
    print("==> compiling libmocpack", flush=True)
    folder = ROOT / "build/library"
    # the last one has no encoder
    for kind, shared, encoder in (
        ("static", "OFF", "ON"),
        ("shared", "ON", "ON"),
        ("reader", "ON", "OFF"),
    ):
        made = folder / f"make-{kind}"
        place = f"CMAKE_INSTALL_PREFIX={folder / kind}"
        options = ["MOCPACK_WERROR=ON", f"BUILD_SHARED_LIBS={shared}", "CMAKE_INSTALL_LIBDIR=lib"]
        options.append(f"MOCPACK_ENCODER={encoder}")
        build(made, *options, place)
        run_quietly(BIN / "cmake", "--install", made, "--strip")


def cross_compile(target: str) -> None:
    """Compile the core for another system; the programs do not run here."""
    print(f"==> the core for {target}", flush=True)
    system = next(SYSTEMS[name] for name in SYSTEMS if name in target)
    options = ["MOCPACK_CORE=ON", "MOCPACK_WERROR=ON", f"CMAKE_SYSTEM_NAME={system}"]
    options += ["CMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", "CMAKE_OSX_ARCHITECTURES="]
    build(ROOT / "build/cross" / target, *options, CXX=f"{find_zig()} c++ -target {target}")


def build_dll(folder: Path, target: str) -> None:
    """Compile libmocpack's single source as a DLL, and a program that uses it."""
    print("==> libmocpack as a DLL, and a program that uses it", flush=True)
    run_quietly(sys.executable, ROOT / "tools/amalgamate.py", folder)
    (folder / "mocpack").mkdir(exist_ok=True)
    shutil.copy(folder / "mocpack.h", folder / "mocpack")
    cc, cxx = ((find_zig(), name, "-target", target, "-DMOCPACK_SHARED") for name in ("cc", "c++"))
    compiled = ("-DMOCPACK_BUILDING", "-c", "mocpack.cpp", "-o", "mocpack.obj")
    linked = ("-shared", "mocpack.obj", "-o", "mocpack.dll", "-Wl,--out-implib,mocpack.lib")
    program = ("-I.", ROOT / "examples/c/play.c", "mocpack.lib", "-o", "play.exe")
    for command in ((*cxx, *FLAGS, *compiled), (*cc, *linked), (*cc, *program)):
        run_quietly(*command, cwd=folder)


def build(folder: Path, *options: str, only_tests: bool = False, **variables: str) -> None:
    """Configure and compile CMakeLists.txt in a folder; print the compiler's output if it fails."""
    defined = [f"-D{option}" for option in (*options, f"CMAKE_MAKE_PROGRAM={BIN / 'ninja'}")]
    run_quietly(
        BIN / "cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *defined, variables=variables
    )
    targets: list[str] = []
    if only_tests:
        listed = run_quietly(BIN / "ctest", "--test-dir", folder, "-N")
        targets = ["--target", *re.findall(r"^ *Test *#\d+: (.*)$", listed, re.MULTILINE)]
    run_quietly(BIN / "cmake", "--build", folder, *targets)


def run_quietly(
    *command: str | Path, cwd: Path = ROOT, variables: Mapping[str, str] | None = None
) -> str:
    """Return the output of a command; if it fails, print the output and exit."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | (variables or {}), text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stdout)
    return done.stdout


def find_zig() -> str:
    """Return the program itself: `python -m ziglang` would start Python for every source."""
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        sys.exit("ziglang is not installed; `make wheel` and `make cross` install it")
    return str(Path(spec.origin).parent / "zig")


if __name__ == "__main__":
    main(sys.argv[1])
