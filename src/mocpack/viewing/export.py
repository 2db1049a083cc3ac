"""Export the page as one HTML file with script, style, decoder and data.

Its content security policy forbids network access.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping

from mocpack import progress
from mocpack.common.json_object import JsonObject
from mocpack.viewing.frames import frames_to_bytes
from mocpack.viewing.motions import Selection, ShownMotion
from mocpack.viewing.page import INDEX, page_files

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data: blob:"
)
PROGRESS_BYTES = 1 << 20  # compressed between progress reports
_SCRIPT = re.compile(r'<script type="module"[^>]* src="\./([^"]+)"></script>')
_STYLE = re.compile(r'<link rel="stylesheet"[^>]* href="\./([^"]+)"[^>]*>')


def export_page(selection: Selection, start: JsonObject | None = None) -> bytes:
    """Return the self-contained page; `start` is its initial state (session.ts)."""
    files = page_files()
    progress.expect(len(selection.motions))
    session = selection.session(_inline_data) | {"rawBytes": selection.raw_bytes}
    if selection.skin is not None:
        session["skin"] = {"data": _to_base64(_gzip(selection.skin))}
    for name, data in files.items():
        if name.endswith(".wasm"):
            session["wasm"] = _to_base64(data)
    if start:
        session["start"] = start
    return _assemble(files, session).encode()


def _inline_data(_: int, shown: ShownMotion) -> JsonObject:
    """Return the file itself, or its frames in float32: half the size, about 0.1 µm of error."""
    with progress.stage():
        data = shown.data
        if data is None:
            data = _gzip(frames_to_bytes(shown.clip, 0, shown.clip.frame_count, single=True))
        return {"data": _to_base64(data)}


def _gzip(data: bytes) -> bytes:
    """Compress in pieces and report progress, because it takes most of the time for long clips."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    report, parts = progress.reporter(), []
    for start in range(0, len(data), PROGRESS_BYTES):
        parts.append(squeeze.compress(data[start : start + PROGRESS_BYTES]))
        if report is not None:
            report(start + PROGRESS_BYTES, len(data))
    return b"".join([*parts, squeeze.flush()])


def _assemble(files: Mapping[str, bytes], session: JsonObject) -> str:
    page = files[INDEX].decode()
    script = _SCRIPT.search(page)
    style = _STYLE.search(page)
    assert script is not None
    assert style is not None
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    css = f"<style>{files[style.group(1)].decode()}</style>"
    # escape what HTML would parse as a tag or comment; in strings the backslash has no effect
    code = files[script.group(1)].decode().replace("</script", "<\\/script")
    code = code.replace("<!--", "<\\!--")
    data = json.dumps(session).replace("<", "\\u003c")
    page = page.replace(style.group(0), css).replace(script.group(0), "")
    page = page.replace('<meta charset="utf-8" />', f'<meta charset="utf-8" />{policy}', 1)
    head, body = page.rsplit("</body>", 1)
    return (
        f'{head}<script type="application/json" id="session">{data}</script>'
        f'<script type="module">{code}</script></body>{body}'
    )


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
