"""The built pages: the output of Vite for `viewer/`."""

from __future__ import annotations

from pathlib import Path

from mocpack.errors import UsageError

FOLDER = Path(__file__).with_name("page")
INDEX = "index.html"
STAGE = "stage.html"
STAGE_FILES = (STAGE, "assets/stage.js", "assets/stage.css", "assets/live.wasm")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
}


def page_files() -> dict[str, bytes]:
    """Return the page's files by path, such as ``assets/page.js``."""
    _check_built(INDEX)
    return {name: data for name, data in _read_built_files().items() if name not in STAGE_FILES}


def stage_files() -> dict[str, bytes]:
    """Return the files of the page that a live relay serves."""
    _check_built(STAGE)
    return {name: data for name, data in _read_built_files().items() if name in STAGE_FILES}


def _read_built_files() -> dict[str, bytes]:
    return {
        path.relative_to(FOLDER).as_posix(): path.read_bytes()
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file() and path.suffix in TYPES
    }


def _check_built(name: str) -> None:
    if not (FOLDER / name).is_file():
        raise UsageError(
            "this installation has no viewer page, because node was missing when it was built; "
            "install node, and run `make viewer` and `pip install .` in the clone"
        )
