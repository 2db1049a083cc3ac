"""Check which folders of core/src include which: top to bottom only, siblings not at all.

    python tools/includes.py

For C++ what the import contract is for the Python package. ARCHITECTURE.md shows the order.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "core" / "src"
LAYERS = (
    ("reader", "live", "keysine/train", "papers/*"),
    ("keysine/encode",),
    ("keysine/decode",),
    ("features", "coding", "text"),
    ("math",),
    ("common",),
)
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def layer_of(folder: str) -> int:
    """Return the layer of a folder of core/src, 0 on top.

    >>> layer_of("papers/li") < layer_of("coding") < layer_of("common")
    True
    """
    for place, names in enumerate(LAYERS):
        if folder in names or (folder.startswith("papers/") and "papers/*" in names):
            return place
    raise SystemExit(f"core/src/{folder} has no place in LAYERS of tools/includes.py")


def violations(source: Path = SOURCE) -> Iterator[str]:
    """Yield a line for each include that goes up or sideways."""
    for path in sorted([*source.rglob("*.cpp"), *source.rglob("*.h"), *source.rglob("*.inc")]):
        folder = path.parent.relative_to(source).as_posix()
        own = layer_of(folder)
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = Path(included).parent.as_posix()
            if (source / included).is_file() and target != folder and layer_of(target) <= own:
                yield f"{path.relative_to(source)} includes {included}, which is not below it"


def main() -> int:
    found = list(violations())
    print("\n".join(found) or f"core/src: includes go down through {len(LAYERS)} layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
