"""The process that a file is read in: a script of the standard library, a reader and its package.

    python child_main.py READER PACKAGE QUESTION < file

READER is the path of a reader such as `fbx_child.py`, PACKAGE that of the `__init__.py` of what it
needs, or empty. QUESTION is JSON: `read` (whether poses are wanted, or the names of the motions
alone), `clip` (its name or number), `fps`, `folder` (for the reader's own use), `most_poses`,
`limits`, and what the reader knows. The answer is a line of JSON, and after it the bytes of its
arrays.

A reader has `opened(package, data, request)`, which returns what `names` and `poses` take, or a
dict that is the answer; `names(scene)`, the motions and those that do not move; and
`poses(scene, number, request, blocks)`. One that needs no package has `response(data, blocks)`.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any


def main() -> None:
    request = json.loads(sys.argv[3])
    data = sys.stdin.buffer.read()
    blocks: list[bytes] = []
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is not the answer
    try:
        _limit(**request["limits"])
        reader = _import_file("reader", sys.argv[1])
        if sys.argv[2]:
            package = _import_file(Path(sys.argv[2]).parent.name, sys.argv[2])
            response = _respond(reader, package, data, request, blocks)
        else:
            response = reader.respond(data, blocks)
    except MemoryError:
        response = {"error": "it needs more memory than such a file should"}
    except Exception as error:  # libraries have a class for each complaint
        response = {"error": _format_error(error, request["folder"])}
    out.write(json.dumps(response).encode() + b"\n")
    for block in blocks:
        out.write(block)
    out.flush()
    os._exit(0)


def _format_error(error: Exception, folder: str) -> str:
    """Return a complaint's last line, without places in a library's own sources and our folder."""
    said = (str(error).strip().splitlines() or [""])[-1].strip()
    inside = re.search(r" at line \d+ in file .* : '(.*)'$", said)  # USD's way
    words = inside[1] if inside else f"{type(error).__name__}: {said}"
    return words.replace(str(Path(folder) / "x")[:-1], "")[:300]


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none of these; the parent's clock still ends us
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _import_file(name: str, path: str) -> Any:
    # by its file: what else is in its folder must not stand in for the standard library
    inside = [str(Path(path).parent)] if Path(path).name == "__init__.py" else None
    spec = spec_from_file_location(name, path, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _respond(
    reader: Any, package: Any, data: bytes, request: dict[str, Any], blocks: list[bytes]
) -> dict[str, Any]:
    scene = reader.open_scene(package, data, request)
    if isinstance(scene, dict):
        return scene
    names, still = reader.names(scene)
    response: dict[str, Any] = {"motions": names, "still": still}
    number = _choose_motion(names, request.get("clip"))
    if request["read"] and number is not None:
        response |= {"number": number, **reader.poses(scene, number, request, blocks)}
    return response


def _choose_motion(names: list[str], wanted: str | int | None) -> int | None:
    """Return which motion is wanted, None where its name alone does not tell."""
    if wanted is None:
        wanted = 0
    if isinstance(wanted, str):
        return names.index(wanted) if names.count(wanted) == 1 else None
    return wanted if wanted < len(names) else None


if __name__ == "__main__":
    gc.disable()  # ufbx's objects may not be freed in any order
    main()
