"""Run file readers in a child process, because a broken file can crash the library it uses.

A reader (`fbx_child.py`, `usd_child.py`, `robots/pickle_child.py`) runs in `child_main.py`. It gets
a request on its command line and the file on standard input, and responds with a line of JSON and
the bytes of arrays. The process has limits on memory and time and opens no other files. If it dies,
the parent raises an error.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Generic, TypedDict, TypeVar

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import MAX_POSES, find_index
from mocpack.common.json_object import Json
from mocpack.common.optional_packages import missing_package_error
from mocpack.common.termination import unwind_when_terminated
from mocpack.errors import CorruptionError, FormatError
from mocpack.io import child_main
from mocpack.io.text import make_unique
from mocpack.workers import describe_exit

MEMORY_PER_BYTE, MAX_MEMORY_BYTES = 64, 12 << 30  # of the child, beyond its initial size
SECONDS_PER_BYTE = 1e-6  # CPU time
WALL_TIME_RATIO = 8  # wall clock limit in CPU time limits, for busy machines


class Response(TypedDict, total=False):
    """What every reader responds."""

    motions: list[str]  # names of the motions that move something
    still: list[str]  # names of the others
    ignored: dict[str, int]  # numbers of meshes, materials and so on
    number: int  # index of the motion whose poses follow; missing if there is none
    error: str


R = TypeVar("R", bound=Response)


@dataclass(frozen=True)
class Reader(Generic[R]):
    """A reader script and the package that it needs; it responds R."""

    script: str  # its path
    package: str  # the package that it imports, or empty
    extra: str  # the pip extra that installs the package
    kind: str  # kind of file, for errors
    memory: int = 1 << 30  # limit for the smallest file, in bytes
    seconds: int = 30  # limit of CPU time for the smallest file

    @property
    def name(self) -> str:
        """Name of the reader, for errors."""
        return self.package or f"the {self.kind} reader"

    @property
    def origin(self) -> str:
        """Path of the package, or empty if none is needed."""
        package = find_spec(self.package) if self.package else None
        if package is not None and package.origin is not None:
            return package.origin
        if self.package:
            raise missing_package_error(
                self.package, extra=self.extra, purpose=f"reading {self.kind}"
            )
        return ""


def run_reader(reader: Reader[R], data: bytes, **request: Json) -> tuple[R, bytes]:
    """Return the response of a reader to a request, and the bytes of its arrays."""
    origin = reader.origin
    if not sys.executable or getattr(sys, "frozen", False):
        # sys.executable of a frozen program is the program itself.
        raise FormatError(
            f"reading {reader.kind} needs a Python interpreter to start as a child process, "
            "but there is none here"
        )
    seconds = int(reader.seconds + SECONDS_PER_BYTE * len(data))
    memory = min(reader.memory + MEMORY_PER_BYTE * len(data), MAX_MEMORY_BYTES)
    request |= {"max_poses": MAX_POSES, "limits": {"memory": memory, "seconds": seconds}}
    words = [sys.executable, "-I", "-B", child_main.__file__, reader.script, origin]
    try:
        # This folder is removed however the process ends.
        with unwind_when_terminated(), tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [*words, json.dumps(request | {"folder": folder})],
                input=data,
                capture_output=True,
                timeout=WALL_TIME_RATIO * seconds,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise CorruptionError(
            f"{reader.name} did not finish within {WALL_TIME_RATIO * seconds} s"
        ) from None
    except OSError as error:
        raise FormatError(
            f"the child process that reads {reader.kind} could not be started: {error}"
        ) from error
    head, newline, body = done.stdout.partition(b"\n")
    if done.returncode or not newline:
        raise CorruptionError(f"{reader.name} failed: {describe_exit(done.returncode)}")
    response: R = json.loads(head)
    if "error" in response:
        raise CorruptionError(f"{reader.name} failed: {response['error']}")
    return response, body


def motion_names(response: Response, what: str) -> list[str]:
    """Return unique names of the motions in a response."""
    return list(make_unique(name or f"{what} {k}" for k, name in enumerate(response["motions"])))


def read_motion(
    run_request: Callable[..., tuple[R, bytes]], clip: str | None, what: str, **request: Json
) -> tuple[R, bytes]:
    """Request the poses of one motion, chosen by name or by index from 0; by default the first.

    `run_request` sends a request. If the file has no motion, the response has no poses.
    """
    response, body = run_request(read=True, clip=clip, **request)
    if "number" in response or not response["motions"]:
        return response, body
    number = find_index(motion_names(response, what), clip, what)
    return run_request(read=True, clip=number, **request)


class Numbers:
    """Reads the arrays that follow a response, one after another."""

    def __init__(self, body: bytes, package: str) -> None:
        self._body, self._package, self._at = body, package, 0

    def take(self, count: int, kind: str = "f8") -> F64:
        """Return the next `count` numbers, which have this dtype in the response."""
        dtype = np.dtype(kind)
        if self._at + count * dtype.itemsize > len(self._body):
            raise CorruptionError(f"{self._package} returned fewer numbers than it announced")
        numbers = np.frombuffer(self._body, dtype, count, self._at)
        self._at += count * dtype.itemsize
        return numbers.astype(np.float64)
