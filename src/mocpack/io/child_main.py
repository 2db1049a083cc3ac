"""Main program of the child process that reads one file; uses only the standard library.

    python child_main.py READER PACKAGE REQUEST < file

READER is the path of a reader such as `fbx_child.py`. PACKAGE is the path of the `__init__.py` of
the package that it imports, or empty. REQUEST is JSON (`Request`). The response is a line of JSON
followed by the bytes of arrays.

A reader defines `open_file(data, request)`, which returns an argument for the other functions, or a
dict that is the response; `names(opened)`, the motions that move and those that do not;
`count_ignored(opened)`, the numbers of meshes, materials and so on, which clips do not hold; and
`poses(opened, number, request, blocks)`. A reader without a package defines only
`respond(data, blocks)`.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from mocpack.common.json_object import JsonObject


class Limits(TypedDict):
    """Limits of the process."""

    memory: int  # in bytes
    seconds: int  # of CPU time


class Request(TypedDict):
    """What the parent asks for."""

    read: bool  # return poses, or only the names of the motions
    clip: str | int | None  # name or index of the motion
    fps: float | None
    divided: int  # number of parts per gap between samples
    read_external: list[tuple[str, int]]  # names and sizes of the files after the main file
    folder: str  # for temporary files
    max_poses: int  # frames times joints
    limits: Limits


def main() -> None:
    request: Request = json.loads(sys.argv[3])
    data = sys.stdin.buffer.read()
    blocks: list[bytes] = []
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps output that libraries print out of the response
    try:
        _limit(**request["limits"])
        reader = _import_file("reader", sys.argv[1])
        if sys.argv[2]:
            _import_file(Path(sys.argv[2]).parent.name, sys.argv[2])
            response = _respond(reader, data, request, blocks)
        else:
            response = reader.respond(data, blocks)
    except MemoryError:
        response = {"error": "it needs more memory than a file of this size should"}
    except Exception as error:  # libraries raise many types
        response = {"error": _format_error(error, request["folder"])}
    out.write(json.dumps(response).encode() + b"\n")
    for block in blocks:
        out.write(block)
    out.flush()
    os._exit(0)


def _format_error(error: Exception, folder: str) -> str:
    """Return the last part of an error, without paths of library sources and of our folder."""
    text = str(error).strip()
    # USD's errors are a list, and a text in it can have several lines
    parts = re.findall(r" at line \d+ in file .*? : '(.*?)'\s*(?=Error in |\Z)", text, re.DOTALL)
    last = (text.splitlines() or [""])[-1].strip()
    words = f"{type(error).__name__}: {last}"
    if parts:
        words = " ".join(re.sub(r"\w+::", "", parts[-1]).split())
    return words.replace(str(Path(folder) / "x")[:-1], "")[:300]


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows; the parent's timeout still applies
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _import_file(name: str, path: str) -> ModuleType:
    # Import by path, so that other files in the folder cannot shadow the standard library.
    inside = [str(Path(path).parent)] if Path(path).name == "__init__.py" else None
    spec = spec_from_file_location(name, path, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _respond(reader: ModuleType, data: bytes, request: Request, blocks: list[bytes]) -> JsonObject:
    opened = reader.open_file(data, request)
    if isinstance(opened, dict):
        return opened
    names, still = reader.names(opened)
    response: JsonObject = {"motions": names, "still": still}
    if not request["read"]:
        response["ignored"] = reader.count_ignored(opened)
    number = _choose_motion(names, request.get("clip"))
    if request["read"] and number is not None:
        response |= {"number": number, **reader.poses(opened, number, request, blocks)}
    return response


def _choose_motion(names: list[str], wanted: str | int | None) -> int | None:
    """Return the index of the requested motion, or None if the name is missing or ambiguous."""
    if wanted is None:
        wanted = 0
    if isinstance(wanted, str):
        return names.index(wanted) if names.count(wanted) == 1 else None
    return wanted if wanted < len(names) else None


if __name__ == "__main__":
    gc.disable()  # ufbx objects must not be freed in arbitrary order
    main()
