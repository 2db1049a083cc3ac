"""Make the environment of an extra suite and run its tests.

    python tools/suites.py NAME [PACKAGE ...]    # make test-NAME

The environment is .venv-NAME. It is made again if its packages or the Python changed. Packages
given on the command line are installed too; torch==2.13.0+cpu chooses a build of torch.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOTO_SERVER = ROOT / ".venv-moto/bin/moto_server"


@dataclass(frozen=True)
class Suite:
    """Packages of an environment, and its tests."""

    packages: tuple[str, ...]
    tests: str = ""
    """A folder; without one, another suite needs the environment."""
    is_beside: bool = True
    """Whether it imports all other packages from .venv; it holds some that .venv must not have."""
    needs: tuple[str, ...] = ()
    """Other environments."""


SUITES = {
    "blender": Suite(("bpy==5.0.1", "numpy<2"), is_beside=False),
    "gpu": Suite(("torch",), "tests/gpu"),
    "lerobot": Suite(("lerobot==0.4.4", "torch==2.10.0", "torchvision==0.25.0"), "tests/lerobot"),
    "moto": Suite(("moto[s3,server]>=5",), is_beside=False),
    "ray": Suite(("ray>=2.40", "s3fs>=2024.2"), "tests/ray", needs=("moto",)),
    "s3": Suite(("s3fs>=2024.2",), "tests/s3", needs=("moto",)),
    "stores": Suite(("pylance>=1", "datasets>=4", "zarr>=3"), "tests/stores"),
    "torch": Suite(("torch", "torchdata>=0.11"), "tests/torch"),
    "trainers": Suite(("mjlab==1.6.0", "torch"), "tests/trainers"),
    "webtransport": Suite(("aioquic>=1.2", "cryptography>=42"), "tests/webtransport"),
}
# mocpack itself with the packages that uv chooses; the environment is made for every run
RESOLUTIONS = {"newest": "highest", "oldest": "lowest-direct"}


def environment(name: str) -> Path:
    return ROOT / f".venv-{name}"


def python_of(name: str) -> Path:
    return environment(name) / "bin/python"


def make_environment(name: str, more: tuple[str, ...] = ()) -> None:
    """Make the environment of a suite, unless it has these packages."""
    suite = SUITES[name]
    for other in suite.needs:
        make_environment(other)
    packages = (*suite.packages, *more)
    base = sys.executable if suite.is_beside else python_for_others()
    version = sys.version if suite.is_beside else base
    wanted, stamp = "\n".join((version, *packages)), environment(name) / ".packages"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"==> making .venv-{name} with {' '.join(packages)}", flush=True)
    run(base, "-m", "venv", "--clear", "--without-pip", environment(name))
    pip = (sys.executable, "-m", "pip", "--python", python_of(name), "install", "--quiet")
    run(*pip, *packages)
    if suite.is_beside:
        (site,) = environment(name).glob("lib/python*/site-packages")
        (own,) = (ROOT / ".venv").glob("lib/python*/site-packages")
        (site / "beside.pth").write_text(f"import site; site.addsitedir({str(own)!r})\n")
    stamp.write_text(wanted)


def make_resolved_environment(name: str) -> None:
    """Install mocpack with the newest or the oldest packages that pyproject.toml allows."""
    print(f"==> making .venv-{name} with mocpack and its {name} packages (800 MB)", flush=True)
    run(python_for_others(), "-m", "venv", "--clear", "--without-pip", environment(name))
    uv = (Path(sys.executable).parent / "uv", "pip", "install", "--quiet")
    where = ("--python", python_of(name), "--resolution", RESOLUTIONS[name])
    run(*uv, *where, "--group", "test", "--editable", ".[fbx,usd,bench]")


def run_tests(name: str) -> None:
    pytest = (python_of(name), "-m", "pytest", "-q")
    if name in RESOLUTIONS:
        # old packages call functions that newer releases of their dependencies deprecate
        warnings = ["-W", "ignore::DeprecationWarning"] if name == "oldest" else []
        ignored = [f"--ignore=tests/{folder}" for folder in ("js", "viewer", "install")]
        run(*pytest, "-n", "auto", "--dist", "worksteal", *warnings, "tests", *ignored)
    elif name == "blender":
        clips = "build/blender"
        run(sys.executable, "tests/blender/write_clips.py", clips)
        run(python_of(name), "tests/blender/check_in_blender.py", clips)
        run(sys.executable, "tests/blender/read_exports.py", f"{clips}/exports")
    else:
        run(*pytest, SUITES[name].tests, MOTO_SERVER=str(MOTO_SERVER), HF_HUB_OFFLINE="1")


def python_for_others() -> str:
    """Return the Python of environments that import nothing from .venv: PYTHON, as for make."""
    return os.environ.get("PYTHON", "python3")


def run(*command: str | Path, **variables: str) -> None:
    done = subprocess.run(command, cwd=ROOT, env=os.environ | variables, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main(name: str, more: tuple[str, ...]) -> None:
    if name in RESOLUTIONS:
        make_resolved_environment(name)
    else:
        make_environment(name, more)
    run_tests(name)


if __name__ == "__main__":
    main(sys.argv[1], tuple(sys.argv[2:]))
