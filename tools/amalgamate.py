"""Writes libmocpack as one header and one source, for those who add files and not build systems.

    python tools/amalgamate.py build/amalgamation

gives mocpack.h, which is the public header as it is, and mocpack.cpp: every source that
`core/reader.txt` names, headers included once each. Compile it as C++17 with `-ffp-contract=off`.
"""

import argparse
import re
from pathlib import Path

CORE = Path(__file__).parents[1] / "core"
OWN = re.compile(r'^\s*#include "([^"]+)"')
OPTIONS = """\
// libmocpack {version} in one source, made by tools/amalgamate.py; do not edit.
//
// C++17, without exceptions and RTTI if you like. Needs -ffp-contract=off, or a compiler that does
// not contract, so that every machine decodes the same numbers.
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    header = (CORE / "include/mocpack/mocpack.h").read_text()
    (folder / "mocpack.h").write_text(header)
    (folder / "mocpack.cpp").write_text(amalgamated(version(header)))


def amalgamated(named: str) -> str:
    """Return the one source."""
    sources = [
        line for line in (CORE / "reader.txt").read_text().splitlines() if line.endswith(".cpp")
    ]
    seen: set[str] = {"mocpack/mocpack.h"}
    bodies = [expanded(CORE / "src" / source, seen) for source in sources]
    text = "\n".join(['#include "mocpack.h"', "", *bodies])
    return OPTIONS.format(version=named) + re.sub(r"\n{3,}", "\n\n", text) + "\n"


def expanded(path: Path, seen: set[str]) -> str:
    """Return a file with our own headers in the place of their includes, each once."""
    out = [f"// ---- {path.relative_to(CORE).as_posix()}"]
    for line in path.read_text().splitlines():
        found = OWN.match(line)
        if found is None:
            if line != "#pragma once":
                out.append(line)
        elif found[1] not in seen:
            seen.add(found[1])
            out.append(expanded(header_of(found[1], path), seen))
    return "\n".join(out)


def header_of(name: str, user: Path) -> Path:
    for folder in (CORE / "src", CORE / "include", user.parent):
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"{user}: no header {name}")


def version(header: str) -> str:
    numbers = re.findall(r"#define MOCPACK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    return ".".join(numbers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/amalgamation"))
    main(parser.parse_args().folder)
