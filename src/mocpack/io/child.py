"""Readers in a process of their own, for libraries that a broken file could make crash.

A reader is a script of the standard library and one package (`fbx_child.py`, `usd_child.py`). It is
given a question on its command line and a file on its standard input, and answers with a line of
JSON and the bytes of arrays. The process has limits of memory and time, opens nothing else, and
its death is a sentence.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack.errors import CorruptionError, FormatError
from mocpack.extras import missing
from mocpack.workers import why_it_ended

MAX_POSES = 1 << 25  # frames × joints: 1 GB of rotations
MEMORY_A_BYTE, MOST_MEMORY = 64, 12 << 30  # that a process may take, beyond what it starts with
SECONDS, SECONDS_A_BYTE = 30, 1e-6  # of a processor
PATIENCE = 8  # times that, on the clock: others work on this machine too


@dataclass(frozen=True)
class Reader:
    """A script, and the package that it needs.

    Attributes
    ----------
    script : str
        Its path.
    package, extra : str
        What it imports, and the extra of pip's that brings it.
    kind : str
        Of files, for complaints.
    memory : int
        Bytes that it may take for the smallest file.
    """

    script: str
    package: str
    extra: str
    kind: str
    memory: int = 1 << 30


def ask(reader: Reader, data: bytes, **question: Any) -> tuple[dict[str, Any], bytes]:
    """Return a reader's answer on a file, and the bytes of its arrays."""
    package = find_spec(reader.package)
    if package is None or package.origin is None:
        raise missing(reader.package, extra=reader.extra, purpose=f"reading {reader.kind}")
    if not sys.executable or getattr(sys, "frozen", False):
        # a program that Python is built into would start itself
        raise FormatError(f"{reader.kind} is read by a Python of its own, and there is none here")
    seconds = int(SECONDS + SECONDS_A_BYTE * len(data))
    memory = min(reader.memory + MEMORY_A_BYTE * len(data), MOST_MEMORY)
    question |= {"most_poses": MAX_POSES, "limits": {"memory": memory, "seconds": seconds}}
    words = [sys.executable, "-I", "-B", reader.script, package.origin, json.dumps(question)]
    try:
        done = subprocess.run(
            words, input=data, capture_output=True, timeout=PATIENCE * seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise CorruptionError(
            f"{reader.package} did not read it within {PATIENCE * seconds} s"
        ) from None
    except OSError as error:
        raise FormatError(
            f"{reader.kind} is read in a process of its own, which cannot be started here: {error}"
        ) from error
    head, newline, body = done.stdout.partition(b"\n")
    if done.returncode or not newline:
        raise CorruptionError(f"{reader.package} cannot read it: {why_it_ended(done.returncode)}")
    answer: dict[str, Any] = json.loads(head)
    if "error" in answer:
        raise CorruptionError(f"{reader.package} cannot read it: {answer['error']}")
    return answer, body


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
