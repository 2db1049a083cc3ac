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
from mocpack.extras import missing
from mocpack.io import child_main
from mocpack.io.choice import MAX_POSES, chosen
from mocpack.io.text import distinct
from mocpack.workers import why_it_ended

MEMORY_A_BYTE, MOST_MEMORY = 64, 12 << 30  # that a process may take, beyond what it starts with
SECONDS_A_BYTE = 1e-6  # of a processor
PATIENCE = 8  # times that, on the clock: others work on this machine too


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
            raise missing(self.package, extra=self.extra, purpose=f"reading {self.kind}")
        return ""


def ask(reader: Reader, data: bytes, **question: Any) -> tuple[dict[str, Any], bytes]:
    """Return a reader's answer on a file, and the bytes of its arrays."""
    origin = reader.origin
    if not sys.executable or getattr(sys, "frozen", False):
        # a program that Python is built into would start itself
        raise FormatError(f"{reader.kind} is read by a Python of its own, and there is none here")
    seconds = int(reader.seconds + SECONDS_A_BYTE * len(data))
    memory = min(reader.memory + MEMORY_A_BYTE * len(data), MOST_MEMORY)
    question |= {"most_poses": MAX_POSES, "limits": {"memory": memory, "seconds": seconds}}
    words = [sys.executable, "-I", "-B", child_main.__file__, reader.script, origin]
    try:
        # a folder of ours, which is removed however the process ends
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [*words, json.dumps(question | {"folder": folder})],
                input=data,
                capture_output=True,
                timeout=PATIENCE * seconds,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise CorruptionError(
            f"{reader.name} did not read it within {PATIENCE * seconds} s"
        ) from None
    except OSError as error:
        raise FormatError(
            f"{reader.kind} is read in a process of its own, which cannot be started here: {error}"
        ) from error
    head, newline, body = done.stdout.partition(b"\n")
    if done.returncode or not newline:
        raise CorruptionError(f"{reader.name} cannot read it: {why_it_ended(done.returncode)}")
    answer: dict[str, Any] = json.loads(head)
    if "error" in answer:
        raise CorruptionError(f"{reader.name} cannot read it: {answer['error']}")
    return answer, body


def motion_names(answer: dict[str, Any], what: str) -> list[str]:
    """Return the names of the motions that an answer lists, all different."""
    return list(distinct(name or f"{what} {k}" for k, name in enumerate(answer["motions"])))


def ask_for(
    asked: Callable[..., tuple[dict[str, Any], bytes]], clip: str | None, what: str, **question: Any
) -> tuple[dict[str, Any], bytes]:
    """Ask for the poses of one motion by name, or number from 0, or the first.

    `asked` takes the question. Where the file has no motion, the answer is without poses.
    """
    answer, body = asked(read=True, clip=clip, **question)
    if "number" in answer or not answer["motions"]:
        return answer, body
    number = chosen(motion_names(answer, what), clip, what)
    return asked(read=True, clip=number, **question)


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
