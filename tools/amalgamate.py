"""Write libmocpack as headers and two source files, for projects without a build system.

    python tools/amalgamate.py build/amalgamation

This writes copies of the public headers, mocpack.h and mocpack.hpp, and two sources. mocpack.cpp
contains every source that `core/reader.txt` lists and each of their headers once, and
mocpack_encoder.cpp those of `core/encoder.txt`. Compile them as C++17 with `-ffp-contract=off`;
programs that only read need the first alone.
"""

import argparse
import re
from pathlib import Path

CORE = Path(__file__).parents[1] / "core"
OWN_INCLUDE = re.compile(r'^\s*#include "([^"]+)"')
OPTIONS = """\
// libmocpack {version}, made by tools/amalgamate.py; do not edit.
//
// Compile as C++17 with -ffp-contract=off, so that every machine decodes the same numbers.
// With -fno-exceptions, C programs link without the C++ library. -fno-rtti also works.
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    header = (CORE / "include/mocpack/mocpack.h").read_text()
    (folder / "mocpack.h").write_text(header)
    wrapper = (CORE / "include/mocpack/mocpack.hpp").read_text()
    (folder / "mocpack.hpp").write_text(wrapper.replace("mocpack/mocpack.h", "mocpack.h"))
    version = parse_version(header)
    for name, sources in (("mocpack.cpp", "reader.txt"), ("mocpack_encoder.cpp", "encoder.txt")):
        (folder / name).write_text(amalgamate(version, sources))


def amalgamate(version: str, sources: str) -> str:
    """Return all sources that a file lists, with their headers, as one text."""
    patterns = (CORE / sources).read_text().splitlines()
    paths = [
        path
        for line in patterns
        if line.endswith(".cpp")
        for path in sorted((CORE / "src").glob(line))
    ]
    seen: set[str] = {"mocpack/mocpack.h"}
    bodies = [expand_includes(path, seen) for path in paths]
    text = "\n".join(['#include "mocpack.h"', "", *bodies])
    return OPTIONS.format(version=version) + re.sub(r"\n{3,}", "\n\n", text) + "\n"


def expand_includes(path: Path, seen: set[str]) -> str:
    """Return a file with each include of our own headers replaced by the header, once."""
    out = [f"// ---- {path.relative_to(CORE).as_posix()}"]
    for line in path.read_text().splitlines():
        match = OWN_INCLUDE.match(line)
        if match is None:
            if line != "#pragma once":
                out.append(line)
        elif match[1] not in seen:
            seen.add(match[1])
            out.append(expand_includes(find_header(match[1], path), seen))
    return "\n".join(out)


def find_header(name: str, user: Path) -> Path:
    for folder in (CORE / "src", CORE / "include", user.parent):
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"{user}: cannot find the included header {name}")


def parse_version(header: str) -> str:
    numbers = re.findall(r"#define MOCPACK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    return ".".join(numbers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/amalgamation"))
    main(parser.parse_args().folder)
