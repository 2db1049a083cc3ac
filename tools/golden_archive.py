"""Write build/mocpack-golden-0.1.tar, and its size and SHA-256 into docs/promise.md.

    python tools/golden_archive.py            # make golden-archive
    python tools/golden_archive.py --check    # fail if the page states another SHA-256

The archive holds the golden files of everything that is frozen. The same files give the same bytes
on every machine.
"""

from __future__ import annotations

import io
import re
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests/golden"
PAGE = ROOT / "docs/promise.md"
NAME = "mocpack-golden-0.1"
FOLDERS = ("archive", "keysine", "lossless", "raw", "refused", "scene", "shards", "tables")
MAX_BYTES = 5_000_000
LINE = re.compile(r"^`mocpack-golden-\S+\.tar`: .*$", re.MULTILINE)


def build() -> bytes:
    """Return the archive."""
    files = [GOLDEN / "README.md"]
    for folder in FOLDERS:
        files += sorted(path for path in (GOLDEN / folder).rglob("*") if path.is_file())
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in files:
            entry = tarfile.TarInfo(f"{NAME}/{path.relative_to(GOLDEN).as_posix()}")
            data = path.read_bytes()
            entry.size, entry.mode = len(data), 0o644  # time, owner and group are 0
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def describe(data: bytes) -> str:
    """Return the line of the page."""
    return f"`{NAME}.tar`: {len(data):,} bytes, SHA-256 `{sha256(data).hexdigest()}`."


def main() -> int | str:
    data = build()
    if len(data) > MAX_BYTES:
        return f"{NAME}.tar has {len(data):,} bytes, expected at most {MAX_BYTES:,}"
    text, line = PAGE.read_text(encoding="utf-8"), describe(data)
    if sys.argv[1:] == ["--check"]:
        stated = LINE.findall(text)
        if stated == [line]:
            return 0
        return f"docs/promise.md: expected {line} found {stated}; run `make golden-archive`"
    target = ROOT / f"build/{NAME}.tar"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(data)
    PAGE.write_text(LINE.sub(line, text), encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
