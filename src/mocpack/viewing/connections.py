"""HTTP connections of the viewer's server: one validated request per connection.

The server closes every connection after one response. Bytes after a request, such as the body of
a rejected one, are therefore never parsed as another request (request smuggling). A new connection
on the loopback interface takes a fraction of a millisecond.

Only the server's own page may send requests. ``Host`` must be the server's address, which prevents
DNS rebinding. ``Origin`` and ``Sec-Fetch-Site``, which pages cannot forge, must not name another
site.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Request = socket.socket | tuple[bytes, socket.socket]
"""A connection; the base classes also serve datagrams."""

MAX_CONNECTIONS = 64  # concurrent; a browser opens six. A new one closes an idle one
MAX_HEAD_BYTES = 1 << 17
HEAD_TIMEOUT_S = 30.0
BODY_TIMEOUT_S = 60.0
MIN_BODY_BYTES_PER_S = 1_000_000  # after BODY_TIMEOUT_S
SEND_TIMEOUT_S = 60.0
LINGER_S = 5.0  # time to read the remaining data of a rejected client
_LENGTH = re.compile(r"[0-9]{1,15}")
_VERSIONS = ("HTTP/1.0", "HTTP/1.1")


@dataclass(frozen=True)
class Response:
    """Status, body and headers of a response."""

    data: bytes
    media_type: str
    status: HTTPStatus = HTTPStatus.OK
    headers: dict[str, str] = field(default_factory=dict)


class RequestError(Exception):
    """A rejected request; the message is sent to the client."""

    def __init__(
        self, status: HTTPStatus, sentence: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.response = Response(
            f"{sentence}\n".encode(errors="backslashreplace"),
            "text/plain; charset=utf-8",
            status,
            headers or {},
        )


class ConnectionServer(ThreadingHTTPServer):
    """A server on a loopback address that limits the number of open connections."""

    daemon_threads = True
    # on Windows it would allow a second server on the same port
    allow_reuse_address = sys.platform != "win32"

    def __init__(
        self, address: tuple[str, int], handler: type[ConnectionHandler], headers: dict[str, str]
    ) -> None:
        self.common_headers = headers
        self.open_count = 0
        self._idle: dict[Request, None] = {}  # connections that wait for their client, oldest first
        self._counting = Lock()
        super().__init__(address, handler)
        self.hosts = {f"{name}:{self.port}" for name in (address[0], "localhost")}

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def process_request(self, request: Request, client_address: tuple[str, int]) -> None:
        """Start a thread for a connection. If too many are open, close the oldest idle one."""
        with self._counting:
            if self.open_count >= MAX_CONNECTIONS:
                if not self._idle:
                    return self.close_request(request)
                oldest = next(iter(self._idle))
                del self._idle[oldest]
                assert isinstance(oldest, socket.socket)
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread ends at once
            self.open_count += 1
            self._idle[request] = None
        return super().process_request(request, client_address)

    def process_request_thread(self, request: Request, client_address: tuple[str, int]) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._counting:
                self.open_count -= 1
                self._idle.pop(request, None)

    def set_idle(self, request: Request, *, idle: bool) -> None:
        """State whether a connection waits for its client, so that a new one may close it."""
        with self._counting:
            self._idle.pop(request, None)
            if idle:
                self._idle[request] = None

    def shutdown_request(self, request: Request) -> None:
        """Close a connection after the client has received the response.

        Closing a socket with unread bytes resets the connection, and the client loses the
        response. So shut down sending first and read until the client closes.
        """
        assert isinstance(request, socket.socket)
        end = time.monotonic() + LINGER_S
        with suppress(OSError):
            request.shutdown(socket.SHUT_WR)
            while (left := end - time.monotonic()) > 0:
                request.settimeout(left)
                if not request.recv(1 << 16):
                    break
        self.close_request(request)

    def handle_error(self, request: Request, client_address: tuple[str, int]) -> None:
        """Print an internal error in one line; ignore clients that disconnect."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            # ascii, because the text may contain terminal control bytes of the client
            print(f"mocpack view: internal error: {error!a}", file=sys.stderr)


class ConnectionHandler(BaseHTTPRequestHandler):
    """Reads and checks one request and sends one response; subclasses create the response."""

    server: ConnectionServer
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.1"  # for responses to malformed request lines
    server_version, sys_version = "mocpack", ""

    def get(self) -> Response:
        """Return the response to GET and HEAD."""
        raise NotImplementedError

    def post(self) -> Response:
        """Return the response to POST."""
        raise NotImplementedError

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.reader = _BoundedReader(self.connection)
        self.rfile = io.BufferedReader(self.reader)

    def handle(self) -> None:
        """Handle exactly one request."""
        self.handle_one_request()

    def do_GET(self) -> None:
        self._respond(self.get)

    do_HEAD = do_GET  # noqa: N815 - http.server calls this name

    def do_POST(self) -> None:
        self._respond(self.post)

    def handle_expect_100(self) -> bool:
        """Do not send 100 Continue before the checks; clients then send the body anyway."""
        return True

    def read_body(self, max_bytes: int) -> bytes:
        """Return the request's body of at most `max_bytes` bytes."""
        size = self._body_size()
        if size is None:
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
        if size > max_bytes:
            raise RequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"body must be at most {max_bytes} bytes, got {size}",
            )
        self.reader.allow(size, BODY_TIMEOUT_S + size / MIN_BODY_BYTES_PER_S)
        self.server.set_idle(self.request, idle=True)
        data = self.rfile.read(size)
        self.server.set_idle(self.request, idle=False)
        if len(data) < size:
            raise RequestError(
                HTTPStatus.BAD_REQUEST, f"body ends after {len(data)} of {size} bytes"
            )
        return data

    def _respond(self, make: Callable[[], Response]) -> None:
        self.server.set_idle(self.request, idle=False)
        try:
            self._check()
            response = make()
        except RequestError as refusal:
            response = refusal.response
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            self.server.handle_error(self.request, self.client_address)
            response = RequestError(
                HTTPStatus.INTERNAL_SERVER_ERROR, f"internal error: {type(error).__name__}"
            ).response
        self.server.set_idle(self.request, idle=True)
        self._send(response)

    def _check(self) -> None:
        """Reject ambiguous requests and requests of other sites."""
        if not self.requestline.endswith(_VERSIONS):
            raise RequestError(
                HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "HTTP version must be 1.0 or 1.1"
            )
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise RequestError(
                HTTPStatus.FORBIDDEN, f"Host must be {' or '.join(sorted(self.server.hosts))}"
            )
        values = "".join(map(str, self.headers.values()))
        if self.headers.defects or any(c in values for c in "\r\n\0"):
            raise RequestError(HTTPStatus.BAD_REQUEST, "malformed header")
        if self._body_size() and self.command != "POST":
            raise RequestError(HTTPStatus.BAD_REQUEST, f"{self.command} must not have a body")
        if self._is_cross_site(hosts[0]):
            raise RequestError(
                HTTPStatus.FORBIDDEN, "only this server's own page may send requests"
            )

    def _body_size(self) -> int | None:
        """Return the Content-Length, or None if it is missing."""
        if "Transfer-Encoding" in self.headers:
            raise RequestError(HTTPStatus.NOT_IMPLEMENTED, "Transfer-Encoding is not supported")
        sizes = self.headers.get_all("Content-Length", [])
        if not sizes:
            return None
        if len(sizes) > 1 or not _LENGTH.fullmatch(sizes[0]):
            raise RequestError(
                HTTPStatus.BAD_REQUEST, "Content-Length must be one decimal number below 10^15"
            )
        return int(sizes[0])

    def _is_cross_site(self, host: str) -> bool:
        """Return whether a page of another site sent this request, as the browser reports.

        A link on another site may open the page, but nothing else.
        """
        if any(origin != f"http://{host}" for origin in self.headers.get_all("Origin", [])):
            return True
        if self.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none"):
            return False
        kind = self.headers.get("Sec-Fetch-Mode"), self.headers.get("Sec-Fetch-Dest")
        return kind != ("navigate", "document") or self.path.partition("?")[0] != "/"

    def _send(self, response: Response) -> None:
        self.connection.settimeout(SEND_TIMEOUT_S)
        self.send_response(response.status)
        own = {"Content-Type": response.media_type, "Content-Length": str(len(response.data))}
        headers = self.server.common_headers | response.headers | own | {"Connection": "close"}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send errors of http.server without its text, which repeats the request."""
        status = HTTPStatus(code)
        self._send(RequestError(status, status.phrase).response)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing to the user's terminal."""


class _BoundedReader(io.RawIOBase):
    """A reader with a byte limit and a deadline, at first for the request head."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._bytes = MAX_HEAD_BYTES
        self._end = time.monotonic() + HEAD_TIMEOUT_S

    def allow(self, size: int, seconds: float) -> None:
        """Allow `size` more bytes within `seconds` from now."""
        self._bytes += size
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        if self._bytes <= 0:
            raise http.client.HTTPException("the request head is too large")
        self._connection.settimeout(left)
        count = self._connection.recv_into(buffer)
        self._bytes -= count
        return count
