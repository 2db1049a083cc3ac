"""Endpoint of a relay for browsers over WebTransport, whose datagrams do not block each other.

The relay creates its own certificate and renews it every few days. Browsers accept it by its hash,
which they read from ``/webtransport.json``. Messages too large for a datagram use a stream.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mocpack.common.optional_packages import require
from mocpack.live.datagrams import DatagramEndpoint
from mocpack.live.relay import Relay
from mocpack.live.report import SILENCE_TIMEOUT_S

if TYPE_CHECKING:
    from aioquic.asyncio.protocol import QuicConnectionProtocol
    from aioquic.asyncio.server import QuicServer
    from aioquic.h3.connection import H3Connection
    from aioquic.h3.events import H3Event
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.connection import QuicConnection
    from aioquic.quic.events import QuicEvent
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate

INFO_PATH = "/webtransport.json"
MAX_DATAGRAM_BYTES = 1100  # passes every network without fragmentation
MAX_OPEN_STREAMS = 128  # per browser; more messages are dropped
MAX_QUEUED_DATAGRAMS = 256  # for a slow browser; more are dropped
MAX_STREAM_BYTES = 1 << 16  # from one browser; its streams carry only the request
MIN_INITIAL_BYTES = 1200  # of a datagram that opens a QUIC connection
CERTIFICATE_LIFETIME = timedelta(days=13)  # browsers accept a hash for at most 14 days
RENEW_INTERVAL_S = 5 * 86400.0
PURPOSE = "WebTransport"


class WebTransportEndpoint(DatagramEndpoint):
    """WebTransport endpoint of a relay.

    Parameters
    ----------
    port : int
        UDP port; 0 takes a free one.
    """

    def __init__(self, relay: Relay, port: int = 0) -> None:
        super().__init__(relay)
        self.port = port
        self._sessions: set[_Session] = set()
        self._server: QuicServer | None = None
        self._renew_task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        require("aioquic", extra="webtransport", purpose=PURPOSE)
        from aioquic.asyncio.protocol import QuicConnectionProtocol
        from aioquic.asyncio.server import serve
        from aioquic.h3.connection import H3_ALPN
        from aioquic.quic.configuration import QuicConfiguration

        configuration = QuicConfiguration(
            alpn_protocols=H3_ALPN,
            is_client=False,
            max_datagram_frame_size=65536,
            max_data=1 << 18,
            max_stream_data=1 << 16,
            idle_timeout=2 * SILENCE_TIMEOUT_S,
        )
        self._renew_certificate(configuration)
        endpoint = self

        class Connection(QuicConnectionProtocol):
            def __init__(self, quic: QuicConnection, stream_handler: None = None) -> None:
                super().__init__(quic, stream_handler)
                self._session = _Session(endpoint, self)

            def quic_event_received(self, event: QuicEvent) -> None:
                self._session.handle_event(event)

        self._server = await serve(
            self.relay.host,
            self.port,
            configuration=configuration,
            create_protocol=Connection,
            retry=True,  # verifies the client's address
        )
        _ignore_short_initials(self._server, configuration.supported_versions)
        self.port = self._server._transport.get_extra_info("sockname")[1]
        self._publish(configuration)
        self._renew_task = asyncio.ensure_future(self._renew_regularly(configuration))
        await super().open()

    def close(self) -> None:
        super().close()
        if self._renew_task is not None:
            self._renew_task.cancel()
        if self._server is not None:
            self._server.close()

    @property
    def session_count(self) -> int:
        """Number of open connections, joined to a stage or not."""
        return len(self._sessions)

    def add_session(self, session: _Session) -> bool:
        """Count a new session; return False if there are too many."""
        if len(self._sessions) >= self.relay.limits.max_connections:
            return False
        self._sessions.add(session)
        return True

    def remove_session(self, session: _Session) -> None:
        """Remove a session and its client."""
        self._sessions.discard(session)
        self.drop(session)

    def check(self) -> None:
        """Remove silent clients, and close sessions that have not joined a stage in time."""
        super().check()
        now = self._clock()
        for session in [*self._sessions]:
            if session in self._peers:
                session.idle_since = now
            elif now - session.idle_since > self.relay.limits.opening_timeout_s:
                session.close()
                self.remove_session(session)

    async def _renew_regularly(self, configuration: QuicConfiguration) -> None:
        while True:
            await asyncio.sleep(RENEW_INTERVAL_S)
            self._renew_certificate(configuration)
            self._publish(configuration)

    def _renew_certificate(self, configuration: QuicConfiguration) -> None:
        certificate, key = make_certificate(self.relay.host)
        configuration.certificate, configuration.private_key = certificate, key

    def _publish(self, configuration: QuicConfiguration) -> None:
        """Tell browsers the port and the hash of the certificate."""
        from cryptography.hazmat.primitives.serialization import Encoding

        data = configuration.certificate.public_bytes(Encoding.DER)
        info = json.dumps({"port": self.port, "sha256": hashlib.sha256(data).hexdigest()}).encode()
        self.relay.pages = {**self.relay.pages, INFO_PATH: ("application/json", info)}
        self.relay.ports = (self.port,)


class _Session:
    """A QUIC connection of a browser, with its WebTransport session."""

    def __init__(self, endpoint: WebTransportEndpoint, protocol: QuicConnectionProtocol) -> None:
        self._endpoint, self._protocol = endpoint, protocol
        self._http: H3Connection | None = None
        self._stream: int | None = None
        self._flushing = self._answered = False
        self._stream_bytes = 0
        self.idle_since = endpoint.now()
        self._is_admitted = endpoint.add_session(self)

    def handle_event(self, event: QuicEvent) -> None:
        """Handle a QUIC event; only datagrams of an accepted session reach the endpoint."""
        from aioquic.h3.connection import H3Connection
        from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated

        if isinstance(event, ConnectionTerminated):
            self._end()
        elif not self._is_admitted or not self._has_budget(event):
            self._protocol.close()
            return
        elif isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self._protocol._quic, enable_webtransport=True)
        if self._http is not None:
            for http_event in self._http.handle_event(event):
                self._handle_http_event(self._http, http_event)

    def close(self) -> None:
        self._protocol.close()
        self._protocol.transmit()

    def _has_budget(self, event: QuicEvent) -> bool:
        """Whether the browser's stream data is within `MAX_STREAM_BYTES`."""
        from aioquic.quic.events import StreamDataReceived

        if isinstance(event, StreamDataReceived):
            self._stream_bytes += len(event.data)
        return self._stream_bytes <= MAX_STREAM_BYTES

    def answer(self, data: bytes) -> None:
        """Send a message as a datagram, or through a stream if it is too large."""
        quic = self._protocol._quic
        if self._stream is None or self._http is None:
            return
        if len(data) > MAX_DATAGRAM_BYTES:
            if len(quic._streams) >= MAX_OPEN_STREAMS:
                return
            stream = self._http.create_webtransport_stream(self._stream, is_unidirectional=True)
            quic.send_stream_data(stream, data, end_stream=True)
        elif len(quic._datagrams_pending) < MAX_QUEUED_DATAGRAMS:
            self._http.send_datagram(self._stream, data)
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self._protocol.transmit()

    def _handle_http_event(self, http: H3Connection, event: H3Event) -> None:
        from aioquic.h3.events import DatagramReceived, DataReceived, HeadersReceived

        if isinstance(event, HeadersReceived) and not self._answered:
            self._answered = True  # one request per connection
            status = self._choose_status(dict(event.headers))
            http.send_headers(event.stream_id, [(b":status", status)], end_stream=status != b"200")
            self._stream = event.stream_id if status == b"200" else None
            self._protocol.transmit()
        elif isinstance(event, DatagramReceived) and event.stream_id == self._stream:
            self._endpoint.receive(self, self._host, event.data, self.answer, is_encrypted=True)
        elif (
            isinstance(event, DataReceived)
            and event.stream_id == self._stream
            and event.stream_ended
        ):
            self._endpoint.drop(self)
            self._stream = None

    def _choose_status(self, headers: dict[bytes, bytes]) -> bytes:
        """Return the HTTP status of a session request: 200 only for pages of this relay."""
        if headers.get(b":protocol") != b"webtransport":
            return b"404"
        relay, authority = self._endpoint.relay, headers.get(b":authority", b"").decode("latin-1")
        try:
            origin = urlsplit(headers.get(b"origin", b"").decode("latin-1"))
            own = urlsplit("//" + authority)
            same = (origin.hostname, origin.port) == (own.hostname, relay.port)
        except ValueError:
            same = False
        return b"200" if same and relay.serves_host(authority) else b"403"

    @property
    def _host(self) -> str:
        return str(self._protocol._quic._network_paths[0].addr[0])

    def _end(self) -> None:
        self._stream = None
        self._endpoint.remove_session(self)


def _ignore_short_initials(server: QuicServer, versions: list[int]) -> None:
    """Ignore short datagrams of unknown QUIC versions, whose answer would be longer."""
    receive_any, known = server.datagram_received, {v.to_bytes(4, "big") for v in versions}

    def receive(data: bytes, address: tuple[str, int]) -> None:
        is_long_header = data[:1] >= b"\x80"
        if len(data) >= MIN_INITIAL_BYTES or not is_long_header or data[1:5] in known:
            receive_any(data, address)

    server.datagram_received = receive


def make_certificate(host: str) -> tuple[Certificate, EllipticCurvePrivateKey]:
    """Return a self-signed certificate for this host, and its key."""
    require("cryptography", extra="webtransport", purpose=PURPOSE)
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mocpack")])
    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    try:
        names.append(x509.IPAddress(ipaddress.ip_address(host)))
    except ValueError:
        names.append(x509.DNSName(host))
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + CERTIFICATE_LIFETIME)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    return builder.sign(key, hashes.SHA256()), key
