"""Readers in a process of their own, for libraries that a broken file could make crash.

A reader (`fbx_child.py`, `usd_child.py`, `robots/pickle_child.py`) runs in `child_main.py`: it is
given a question on its command line and a file on its standard input, and answers with a line of
JSON and the bytes of arrays. The process has limits of memory and time, opens nothing else, and its
death is a sentence.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack.errors import CorruptionError, FormatError
from mocpack.io import child_main
from mocpack.io.choice import MAX_POSES, find_index
from mocpack.io.text import make_unique
from mocpack.optional_packages import missing_package_error
from mocpack.workers import describe_exit

MEMORY_PER_BYTE, MAX_MEMORY_BYTES = (
    64,
    12 << 30,
)  # that a process may take, beyond what it starts with
SECONDS_PER_BYTE = 1e-6  # of a processor
WALL_TIME_RATIO = 8  # times that, on the clock: others work on this machine too


@dataclass(frozen=True)
class Reader:
    """A script, and the package that it needs.

    Attributes
    ----------
    script : str
        Its path.
    package, extra : str
        What it imports, and the extra of pip's that brings it; empty if Python has all it needs.
    kind : str
        Of files, for complaints.
    memory : int
        Bytes that it may take for the smallest file.
    seconds : int
        Of a processor, that it may take for the smallest file.
    """

    script: str
    package: str
    extra: str
    kind: str
    memory: int = 1 << 30
    seconds: int = 30

    @property
    def name(self) -> str:
        """Who reads it, for complaints."""
        return self.package or f"the reader of {self.kind}"

    @property
    def origin(self) -> str:
        """The path of the package; empty where none is needed."""
        package = find_spec(self.package) if self.package else None
        if package is not None and package.origin is not None:
            return package.origin
        if self.package:
            raise missing_package_error(
                self.package, extra=self.extra, purpose=f"reading {self.kind}"
            )
        return ""


def run_reader(reader: Reader, data: bytes, **request: Any) -> tuple[dict[str, Any], bytes]:
    """Return a reader's answer on a file, and the bytes of its arrays."""
    origin = reader.origin
    if not sys.executable or getattr(sys, "frozen", False):
        # a program that Python is built into would start itself
        raise FormatError(f"{reader.kind} is read by a Python of its own, and there is none here")
    seconds = int(reader.seconds + SECONDS_PER_BYTE * len(data))
    memory = min(reader.memory + MEMORY_PER_BYTE * len(data), MAX_MEMORY_BYTES)
    request |= {"most_poses": MAX_POSES, "limits": {"memory": memory, "seconds": seconds}}
    words = [sys.executable, "-I", "-B", child_main.__file__, reader.script, origin]
    try:
        # a folder of ours, which is removed however the process ends
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [*words, json.dumps(request | {"folder": folder})],
                input=data,
                capture_output=True,
                timeout=WALL_TIME_RATIO * seconds,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise CorruptionError(
            f"{reader.name} did not read it within {WALL_TIME_RATIO * seconds} s"
        ) from None
    except OSError as error:
        raise FormatError(
            f"{reader.kind} is read in a process of its own, which cannot be started here: {error}"
        ) from error
    head, newline, body = done.stdout.partition(b"\n")
    if done.returncode or not newline:
        raise CorruptionError(f"{reader.name} cannot read it: {describe_exit(done.returncode)}")
    response: dict[str, Any] = json.loads(head)
    if "error" in response:
        raise CorruptionError(f"{reader.name} cannot read it: {response['error']}")
    return response, body


def motion_names(response: dict[str, Any], what: str) -> list[str]:
    """Return the names of the motions that an answer lists, all different."""
    return list(make_unique(name or f"{what} {k}" for k, name in enumerate(response["motions"])))


def read_motion(
    run_request: Callable[..., tuple[dict[str, Any], bytes]],
    clip: str | None,
    what: str,
    **request: Any,
) -> tuple[dict[str, Any], bytes]:
    """Ask for the poses of one motion by name, or number from 0, or the first.

    `run_request` takes the question. Where the file has no motion, the answer is without poses.
    """
    response, body = run_request(read=True, clip=clip, **request)
    if "number" in response or not response["motions"]:
        return response, body
    number = find_index(motion_names(response, what), clip, what)
    return run_request(read=True, clip=number, **request)


class Numbers:
    """The arrays after an answer, one after the other."""

    def __init__(self, body: bytes, package: str) -> None:
        self._body, self._package, self._at = body, package, 0

    def take(self, count: int, kind: str = "f8") -> npt.NDArray[np.float64]:
        """Return the next `count` numbers, which are of that type."""
        dtype = np.dtype(kind)
        if self._at + count * dtype.itemsize > len(self._body):
            raise CorruptionError(f"{self._package} told fewer numbers than it announced")
        found = np.frombuffer(self._body, dtype, count, self._at)
        self._at += count * dtype.itemsize
        return found.astype(np.float64)
