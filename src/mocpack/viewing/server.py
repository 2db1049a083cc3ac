"""The local server of the page: serves only the page and the given files, on the loopback address.

============================== =======================================================
path                           what
============================== =======================================================
``/``, ``/assets/…``           the page
``/session.json``              session data, `Selection.session`
``/ratio.json``                bytes of the clip as float32, which take a while to compute
``/files/<id>``                a .mocp file; supports ranges
``/frames/<id>/<start>/<stop>`` frames of a motion that the page cannot decode, `frames.py`
``/dropped``                   POST: adds a dropped motion file, `dropped_files.py`
``/dropped/<n>/<start>/<stop>`` its frames
``/dropped/<n>/skin``          its mesh, `skins.py`
``/packed/<n>/<µm>``           its .mocp file within that bound
``/skin``                      the mesh of the selection
============================== =======================================================

Paths are looked up in a table, never in the file system. `connections.py` rejects unwanted
requests first.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from mocpack import rate
from mocpack.errors import MocpackError
from mocpack.model.clip import Clip
from mocpack.viewing.connections import ConnectionHandler, ConnectionServer, RequestError, Response
from mocpack.viewing.dropped_files import DroppedFiles
from mocpack.viewing.frames import frames_to_bytes
from mocpack.viewing.motions import Selection
from mocpack.viewing.page import INDEX, TYPES, page_files
from mocpack.viewing.ranges import UnsatisfiableRangeError, parse_range

ADDRESS = "127.0.0.1"
PORT = 8417
MAX_FRAMES_PER_RESPONSE = 4096
MAX_DROP_BYTES = 1 << 30
_FRAMES = re.compile(r"/(frames|dropped)/(\d{1,4})/(\d{1,9})/(\d{1,9})")
_SKIN = re.compile(r"/dropped/(\d{1,4})/skin")
_PACKED = re.compile(r"/packed/(\d{1,4})/(\d{1,9})")
# pages of other sites cannot send this header without a CORS preflight, which is rejected
OWN_HEADER = "X-Mocpack-File"

HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "
    "img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    # a site that opens the page gets no reference to its window
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Resource:
    """Bytes under a path; those with an ETag support ranges."""

    data: bytes
    media_type: str
    etag: str = ""


class ViewServer(ConnectionServer):
    """Serves one selection."""

    def __init__(
        self, selection: Selection, port: int, start: Mapping[str, Any] | None = None
    ) -> None:
        self.selection = selection
        self.dropped = DroppedFiles()
        self.resources = _build_table(selection, start or {})
        super().__init__((ADDRESS, port), _Handler, HEADERS)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}/"


def open_server(
    selection: Selection, port: int = PORT, start: Mapping[str, Any] | None = None
) -> ViewServer:
    """Return a server on `port`, or on a free port if it is busy.

    `start` is the initial state of the page (session.ts).
    """
    try:
        return ViewServer(selection, port, start)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        return ViewServer(selection, 0, start)


class _Handler(ConnectionHandler):
    server: ViewServer

    def get(self) -> Response:
        path = self.path.partition("?")[0]
        resource = self.server.resources.get(path) or self._make_resource(path)
        if resource is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "not found")
        return self._select_range(resource)

    def post(self) -> Response:
        """Add a motion file that was dropped on the page."""
        name = unquote(self.headers.get(OWN_HEADER, ""))
        if not name:
            raise RequestError(HTTPStatus.FORBIDDEN, "only this server's own page may send files")
        if self.path != "/dropped":
            raise RequestError(HTTPStatus.NOT_FOUND, "not found")
        data = self.read_body(MAX_DROP_BYTES)
        try:
            number, shown = self.server.dropped.add(name, data)
        except MocpackError as error:
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
        facts = {
            "number": number,
            "note": shown.note,
            "skin": {"url": f"dropped/{number}/skin"} if shown.skin else None,
            "rawBytes": rate.raw_size(shown.clip),
            "motion": {"name": shown.name, "role": "original", "kind": "frames"}
            | {"head": shown.head(), "url": f"dropped/{number}"},
        }
        return Response(json.dumps(facts).encode(), "application/json")

    def _make_resource(self, path: str) -> Resource | None:
        """Return a resource that is created on request, or None."""
        if path == "/ratio.json":
            selection = self.server.selection
            facts = {"rawBytes": selection.raw_bytes if selection.versions else None}
            return Resource(json.dumps(facts).encode(), "application/json")
        return self._packed(path) or self._skin(path) or self._frames(path)

    def _skin(self, path: str) -> Resource | None:
        match = _SKIN.fullmatch(path)
        data = self.server.dropped.skin(int(match.group(1))) if match else None
        return None if data is None else Resource(data, "application/octet-stream")

    def _packed(self, path: str) -> Resource | None:
        match = _PACKED.fullmatch(path)
        if match is None:
            return None
        try:
            data = self.server.dropped.pack(*map(int, match.groups()))
        except MocpackError:
            return None
        return None if data is None else Resource(data, "application/octet-stream")

    def _frames(self, path: str) -> Resource | None:
        match = _FRAMES.fullmatch(path)
        if match is None:
            return None
        index, start, stop = map(int, match.groups()[1:])
        clip = self._clip(match.group(1), index)
        if clip is None or not start < stop <= min(
            clip.frame_count, start + MAX_FRAMES_PER_RESPONSE
        ):
            return None
        return Resource(frames_to_bytes(clip, start, stop), "application/octet-stream")

    def _clip(self, where: str, index: int) -> Clip | None:
        if where == "dropped":
            return self.server.dropped.clip(index)
        motions = self.server.selection.motions
        if index >= len(motions) or motions[index].data is not None:
            return None
        return motions[index].clip

    def _select_range(self, resource: Resource) -> Response:
        """Return the whole resource, or the bytes of the Range header."""
        size = len(resource.data)
        try:
            wanted = parse_range(self._requested_range(resource), size)
        except UnsatisfiableRangeError as error:
            extra = {"Content-Range": f"bytes */{size}"}
            status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            raise RequestError(status, "range is outside the resource", extra) from error
        headers = {"Accept-Ranges": "bytes", "ETag": resource.etag} if resource.etag else {}
        if wanted is None:
            return Response(resource.data, resource.media_type, headers=headers)
        start, stop = wanted
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        data = resource.data[start:stop]
        return Response(data, resource.media_type, HTTPStatus.PARTIAL_CONTENT, headers)

    def _requested_range(self, resource: Resource) -> str | None:
        """Return the Range header, unless If-Range names another version of the file."""
        if not resource.etag or self.headers.get("If-Range", resource.etag) != resource.etag:
            return None
        return self.headers.get("Range")


def _build_table(selection: Selection, start: Mapping[str, Any]) -> dict[str, Resource]:
    """Return all static resources by path."""
    table = {
        f"/{name}": Resource(data, TYPES[PurePosixPath(name).suffix])
        for name, data in page_files().items()
    }
    table["/"] = table.pop(f"/{INDEX}")
    session = selection.session() | {"start": dict(start), "rawBytes": None, "packs": True}
    for i, (entry, shown) in enumerate(zip(session["motions"], selection.motions, strict=True)):
        entry["url"] = f"{'frames' if shown.data is None else 'files'}/{i}"
        if shown.data is not None:
            etag = f'"{hashlib.sha256(shown.data).hexdigest()[:16]}"'
            table[f"/files/{i}"] = Resource(shown.data, "application/octet-stream", etag)
    if selection.skin is not None:
        session["skin"] = {"url": "skin"}
        table["/skin"] = Resource(selection.skin, "application/octet-stream")
    table["/session.json"] = Resource(json.dumps(session).encode(), "application/json")
    return table
