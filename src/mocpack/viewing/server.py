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
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import PurePosixPath
from urllib.parse import unquote

from mocpack import rate
from mocpack.common.json_object import JsonObject
from mocpack.errors import MocpackError
from mocpack.viewing.connections import ConnectionHandler, ConnectionServer, RequestError, Response
from mocpack.viewing.dropped_files import DroppedFiles
from mocpack.viewing.frames import frames_to_bytes
from mocpack.viewing.motions import Selection, ShownMotion
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

    def __init__(self, selection: Selection, port: int, start: JsonObject | None = None) -> None:
        self.selection = selection
        self.dropped = DroppedFiles()
        motions = enumerate(selection.motions)
        self.undecodable = {i: shown for i, shown in motions if shown.data is None}
        self.resources = _build_table(selection, start or {})
        super().__init__((ADDRESS, port), _Handler, HEADERS)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}/"


def open_server(
    selection: Selection, port: int = PORT, start: JsonObject | None = None
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
        data = self._make_data(path)
        return None if data is None else Resource(data, "application/octet-stream")

    def _make_data(self, path: str) -> bytes | None:
        dropped = self.server.dropped
        if match := _SKIN.fullmatch(path):
            shown = dropped.sources.get(int(match[1]))
            return None if shown is None else shown.skin
        if match := _PACKED.fullmatch(path):
            with suppress(MocpackError):
                return dropped.pack(*map(int, match.groups()))
        if match := _FRAMES.fullmatch(path):
            index, start, stop = map(int, match.groups()[1:])
            sources = dropped.sources if match[1] == "dropped" else self.server.undecodable
            shown = sources.get(index)
            last = 0 if shown is None else shown.clip.frame_count
            if shown is not None and start < stop <= min(last, start + MAX_FRAMES_PER_RESPONSE):
                return frames_to_bytes(shown.clip, start, stop)
        return None

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


def _build_table(selection: Selection, start: JsonObject) -> dict[str, Resource]:
    """Return all static resources by path."""
    table = {
        f"/{name}": Resource(data, TYPES[PurePosixPath(name).suffix])
        for name, data in page_files().items()
    }
    table["/"] = table.pop(f"/{INDEX}")
    session = selection.session(_locate) | {"start": start, "rawBytes": None, "packs": True}
    for i, shown in enumerate(selection.motions):
        if shown.data is not None:
            etag = f'"{hashlib.sha256(shown.data).hexdigest()[:16]}"'
            table[f"/files/{i}"] = Resource(shown.data, "application/octet-stream", etag)
    if selection.skin is not None:
        session["skin"] = {"url": "skin"}
        table["/skin"] = Resource(selection.skin, "application/octet-stream")
    table["/session.json"] = Resource(json.dumps(session).encode(), "application/json")
    return table


def _locate(i: int, shown: ShownMotion) -> JsonObject:
    return {"url": f"{'frames' if shown.data is None else 'files'}/{i}"}
