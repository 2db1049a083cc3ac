"""The built page: `viewer/` as Vite leaves it, a few files of fixed names."""

from __future__ import annotations

from pathlib import Path

from mocpack.errors import UsageError

FOLDER = Path(__file__).with_name("page")
INDEX = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
}


def page_files() -> dict[str, bytes]:
    """Return the page's files by path, such as ``assets/page.js``; they are read once."""
    if not (FOLDER / INDEX).is_file():
        raise UsageError("the viewer's page is not built here; `make viewer` builds it (with node)")
    return {
        path.relative_to(FOLDER).as_posix(): path.read_bytes()
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file() and path.suffix in TYPES
    }
