"""Write libmocpack as one header and one source file, for projects without a build system.

    python tools/amalgamate.py build/amalgamation

This writes mocpack.h, a copy of the public header, and mocpack.cpp, which contains every source
that `core/reader.txt` lists and each of their headers once. Compile it as C++17 with
`-ffp-contract=off`.
"""

import argparse
import re
from pathlib import Path

CORE = Path(__file__).parents[1] / "core"
OWN_INCLUDE = re.compile(r'^\s*#include "([^"]+)"')
OPTIONS = """\
// libmocpack {version} in one source, made by tools/amalgamate.py; do not edit.
//
// Compile as C++17 with -ffp-contract=off, so that every machine decodes the same numbers.
// -fno-exceptions and -fno-rtti also work.
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    header = (CORE / "include/mocpack/mocpack.h").read_text()
    (folder / "mocpack.h").write_text(header)
    (folder / "mocpack.cpp").write_text(amalgamate(parse_version(header)))


def amalgamate(version: str) -> str:
    """Return all sources and headers as one text."""
    sources = [
        line for line in (CORE / "reader.txt").read_text().splitlines() if line.endswith(".cpp")
    ]
    seen: set[str] = {"mocpack/mocpack.h"}
    bodies = [expand_includes(CORE / "src" / source, seen) for source in sources]
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
