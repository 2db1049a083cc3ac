"""Check the layers of core/src: a folder may include only headers of lower layers.

    python tools/includes.py

This is the C++ counterpart of the import contract of the Python package. ARCHITECTURE.md shows the
layers. Outside of papers, sources call the elementary functions of math/elementary.h, and not those
of the platform, so that all platforms compute the same bits. Headers of kernels are C++; C programs
include core/include only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "core" / "src"
LAYERS = (
    ("writer",),
    ("reader", "live", "papers/*"),
    ("keysine/encode",),
    ("keysine/decode",),
    ("keysine/format",),
    ("entropy", "features", "text"),
    ("math",),
    ("common",),
)
OUTER = ("live", "papers/")  # their headers still declare C functions
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)
PLATFORM_FUNCTION = re.compile(
    r"(?<![\w.>])(?:std::|(?<!:))"
    r"((?:a?(?:sin|cos|tan)h?|atan2|exp[2m]?1?|log(?:2|10|1p)?|pow|cbrt|hypot)f?)\("
)


def layer_of(folder: str) -> int:
    """Return the layer of a folder of core/src; 0 is the top.

    >>> layer_of("papers/li") < layer_of("entropy") < layer_of("common")
    True
    """
    for layer, names in enumerate(LAYERS):
        if folder in names or (folder.startswith("papers/") and "papers/*" in names):
            return layer
    raise SystemExit(f"core/src/{folder}: folder is missing from LAYERS in tools/includes.py")


def find_violations(source: Path = SOURCE) -> Iterator[str]:
    """Yield a message for each include and call of a function that the layers forbid."""
    for path in sorted([*source.rglob("*.cpp"), *source.rglob("*.h"), *source.rglob("*.inc")]):
        folder = path.parent.relative_to(source).as_posix()
        own = layer_of(folder)
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(source).as_posix()
        if not folder.startswith("papers/") and path.name != "elementary.h":
            code = re.sub(r"//.*", "", text)
            for call in PLATFORM_FUNCTION.findall(code):
                yield f"{name} calls the platform's {call}; call math::{call}"
        if 'extern "C"' in text and path.suffix == ".h" and not folder.startswith(OUTER):
            yield f'{name} is extern "C", but only C++ includes it'
        for included in INCLUDE.findall(text):
            target = Path(included).parent.as_posix()
            if (source / included).is_file() and target != folder and layer_of(target) <= own:
                yield f"{path.relative_to(source)} includes {included}, not in a lower layer"


def main() -> int:
    violations = list(find_violations())
    print("\n".join(violations) or f"core/src: all includes follow the {len(LAYERS)} layers")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
