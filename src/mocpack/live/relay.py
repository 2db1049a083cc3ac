"""Relay: forwards the packets of performers to the audience of a stage.

The relay checks packets but never decodes them. A new watcher gets the newest frame at once. A slow
watcher skips to the newest frame, so it delays nobody.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from mocpack.common.optional_packages import require
from mocpack.errors import FormatError, UsageError
from mocpack.live.connections import Connections, make_connection_class
from mocpack.live.hello import Hello, is_hello
from mocpack.live.limits import Budget, Limits
from mocpack.live.log import LOGGER, OneLineLogger
from mocpack.live.receiver import PacketStatus
from mocpack.live.stage import (
    SUBPROTOCOL,
    StageAddress,
    Tokens,
    is_loopback,
    is_served_host,
    pack_item,
    parse_subprotocols,
    read_ping,
)
from mocpack.live.stream_buffer import StreamBuffer

if TYPE_CHECKING:
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response

CLOSE_TIMEOUT_S = 0.5  # when the relay stops; then connections are aborted
BATCH_INTERVAL_S = 0.0025  # packets of several performers are sent together

# reasons for which clients are rejected or disconnected
WRONG_ROLE = "the role does not fit: send to /stage/performer, watch or record /stage"
NAME_IN_USE = "the performer's name is already in use"
TOO_MANY_CONNECTIONS = "too many connections"
RATE_EXCEEDED = "too many messages or bytes per second"
TOO_MANY_DAMAGED = "too many damaged packets"
RELAY_FULL = "the relay has no room for another performer"

Recorder = Callable[[StageAddress, Hello], Callable[[bytes | None], None]]
"""Called for every performer; returns a function that takes their packets, and None at the end."""


@dataclass(eq=False)
class Performer:
    """A performer on a stage.

    Attributes
    ----------
    id : int
        Id of the performer in messages to the audience.
    round_trip : function
        Returns the round-trip time to the performer in seconds; 0 before it is known.
    """

    address: StageAddress
    id: int
    buffer: StreamBuffer
    hello: bytes
    round_trip: Callable[[], float]
    record: Callable[[bytes | None], None] | None = None


@dataclass(eq=False)
class _Watcher:
    connection: ServerConnection
    stage: str
    is_recorder: bool  # gets every packet
    lagging: bool = False


class Endpoint(Protocol):
    """Serves the stages of a relay over a transport other than WebSocket."""

    def on_join(self, performer: Performer) -> None: ...

    def on_packet(self, performer: Performer, packet: bytes) -> None: ...

    def on_leave(self, performer: Performer) -> None: ...

    async def open(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class Relay:
    """Serves stages over WebSocket.

    Parameters
    ----------
    host, port : str, int
        Port 0 takes a free port; `start` sets `port` to it.
    tls : ssl.SSLContext, optional
        Required, together with tokens, on every address except the loopback.
    pages : mapping of str to (str, bytes)
        Media type and bytes of every page that browsers can fetch, by path.
    hosts : tuple of str
        Host names that requests may use, besides those of the loopback. On other addresses than
        the loopback, an empty tuple allows every name, since tokens protect the relay there.
    endpoints : list of Endpoint
        Endpoints for other transports, opened and closed with the relay.
    ports : tuple of int
        Other ports of this host that the page may connect to.
    """

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    tokens: Tokens = field(default_factory=Tokens)
    limits: Limits = field(default_factory=Limits)
    pages: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    recorder: Recorder | None = None
    endpoints: list[Endpoint] = field(default_factory=list)
    ports: tuple[int, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    _performers: dict[StageAddress, Performer] = field(default_factory=dict)
    _watchers: set[_Watcher] = field(default_factory=set)
    _hosts: Counter[str] = field(default_factory=Counter)
    _pending: dict[str, list[bytes]] = field(default_factory=dict)
    _last_id: int = 0
    _server: Server | None = None

    def __post_init__(self) -> None:
        self.connections = Connections(self.limits)
        self.hosts = tuple(host.lower() for host in self.hosts)
        if is_loopback(self.host):
            return
        if self.tls is None or not self.tokens.by_role:
            raise UsageError(
                f"a relay on {self.host} is reachable from other machines and requires a "
                "certificate (--tls) and tokens (--token-file); 127.0.0.1 needs neither"
            )

    async def start(self) -> None:
        """Start listening."""
        require("websockets", extra="live", purpose="a relay")
        from websockets.asyncio.server import serve
        from websockets.typing import Subprotocol

        self._server = await serve(
            self._handle_connection,
            self.host,
            self.port,
            ssl=self.tls,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            process_request=self._process_request,
            compression=None,
            max_size=self.limits.max_message_bytes,
            max_queue=64,
            ping_interval=5,
            ping_timeout=10,
            open_timeout=self.limits.opening_timeout_s,
            close_timeout=CLOSE_TIMEOUT_S,
            create_connection=make_connection_class(self.connections),
            server_header="mocpack",
            logger=OneLineLogger(LOGGER, {}),
            ssl_handshake_timeout=self.limits.opening_timeout_s if self.tls else None,
        )
        self.port = next(iter(self._server.sockets)).getsockname()[1]
        for endpoint in self.endpoints:
            await endpoint.open()

    async def stop(self) -> None:
        """Close all connections and end all recordings."""
        for endpoint in self.endpoints:
            endpoint.close()
        self.connections.abort_half_open()
        assert self._server is not None
        self._server.close()
        for _ in range(2):
            try:
                await asyncio.wait_for(self._server.wait_closed(), CLOSE_TIMEOUT_S)
                break
            except TimeoutError:
                self.connections.abort_all()
        await asyncio.sleep(0)  # let the loop close the sockets: this may be its last iteration
        for performer in [*self._performers.values()]:
            self.remove_performer(performer)

    def list_performers(self, stage: str) -> list[Performer]:
        """Return the performers on a stage."""
        return [p for p in self._performers.values() if p.address.stage == stage]

    def is_taken(self, address: StageAddress) -> bool:
        """Whether a performer already uses this address."""
        return address in self._performers

    def has_room(self, host: str) -> bool:
        """Whether one more connection from this host is allowed."""
        few = sum(self._hosts.values()) < self.limits.max_connections
        return few and self._hosts[host] < self.limits.max_connections_per_host

    def count_connection(self, host: str) -> None:
        self._hosts[host] += 1

    def discount_connection(self, host: str) -> None:
        self._hosts[host] -= 1
        if not self._hosts[host]:
            del self._hosts[host]

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.tls else 'ws'}://{host}:{self.port}"

    def serves_host(self, header: str) -> bool:
        """Whether a Host header, or an authority, names this relay."""
        anywhere = not is_loopback(self.host) and not self.hosts
        return anywhere or is_served_host(header, self.hosts)

    def _process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer page requests; reject WebSocket requests that are not allowed."""
        headers = request.headers
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or len(origins) > 1:
            wanted = "expected one Host header and at most one Origin header\n"
            return connection.respond(HTTPStatus.BAD_REQUEST, wanted)
        if not self.serves_host(hosts[0]):
            return connection.respond(
                HTTPStatus.FORBIDDEN, "unknown host name: start the relay with --allow-host\n"
            )
        if "websocket" not in ",".join(headers.get_all("Upgrade")).lower():
            return self._respond_page(connection, request.path.partition("?")[0], hosts[0])
        if any(origin.partition("://")[2] != hosts[0] for origin in origins):
            return connection.respond(HTTPStatus.FORBIDDEN, "pages of other sites cannot connect\n")
        if not self.has_room(_peer_host(connection)):
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, f"{TOO_MANY_CONNECTIONS}\n")
        try:
            address, role, token = _parse_request(request)
        except UsageError as error:
            return connection.respond(HTTPStatus.NOT_FOUND, f"{error}\n")
        if role not in (("send",) if address.performer else ("watch", "record")):
            return connection.respond(HTTPStatus.BAD_REQUEST, f"{WRONG_ROLE}\n")
        if not self.tokens.allow(role, token):
            return connection.respond(
                HTTPStatus.FORBIDDEN, f"the token does not grant the role {role}\n"
            )
        self.connections.finish_opening(connection.transport)
        return None

    def _respond_page(self, connection: ServerConnection, path: str, host: str) -> Response:
        page = self.pages.get(path)
        if page is None:
            return connection.respond(HTTPStatus.NOT_FOUND, "no such page\n")
        response = connection.respond(HTTPStatus.OK, "")
        response.body = page[1]
        del response.headers["Content-Type"], response.headers["Content-Length"]
        sources = [f"{'wss' if self.tls else 'ws'}://{host}"]
        sources += [f"https://{host.rpartition(':')[0] or host}:{port}" for port in self.ports]
        response.headers["Content-Type"] = page[0]
        response.headers["Content-Length"] = str(len(page[1]))
        response.headers["Content-Security-Policy"] = (
            f"default-src 'self'; connect-src 'self' {' '.join(sources)}; "
            "script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; "
            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "no-cache"
        return response

    async def _handle_connection(self, connection: ServerConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        assert connection.request is not None
        address, role, _ = _parse_request(connection.request)
        host = _peer_host(connection)
        self.count_connection(host)
        try:
            with suppress(
                ConnectionClosed
            ):  # a client can disappear without closing the connection
                if role == "send":
                    await self._serve_performer(connection, address)
                else:
                    await self._serve_watcher(
                        connection, address.stage, is_recorder=role == "record"
                    )
        finally:
            self.discount_connection(host)

    async def _serve_performer(self, connection: ServerConnection, address: StageAddress) -> None:
        """Receive a performer's hello and packets until they leave."""
        if self.is_taken(address):
            await connection.close(1008, NAME_IN_USE)
            return
        budget, bad = Budget(self.limits), 0
        performer: Performer | None = None
        try:
            async for message in connection:
                if not budget.spend(len(message)):
                    await connection.close(1008, RATE_EXCEEDED)
                    return
                if not isinstance(message, bytes):
                    continue
                if is_hello(message):
                    if performer is None and self.is_taken(address):
                        await connection.close(1008, NAME_IN_USE)
                        return
                    performer = self.add_performer(
                        address, message, performer, lambda: connection.latency
                    )
                    if performer is None:
                        await connection.close(1013, RELAY_FULL)
                        return
                elif performer is not None:
                    bad += not self.relay_packet(performer, message).is_good
                    if bad > self.limits.max_bad_packets:
                        await connection.close(1008, TOO_MANY_DAMAGED)
                        return
                    if performer.buffer.newest >= 0 and not performer.buffer.is_ready:
                        await connection.send(json.dumps({"restart": True}))
        except (FormatError, UsageError) as error:
            await connection.close(1007, str(error).encode("ascii", "replace")[:100].decode())
        finally:
            if performer is not None:
                self.remove_performer(performer)

    def add_performer(
        self,
        address: StageAddress,
        data: bytes,
        before: Performer | None,
        round_trip: Callable[[], float],
    ) -> Performer | None:
        """Start a stream, or restart it after a new hello; return None if the relay is full."""
        hello = Hello.from_bytes(data)
        if before is not None:
            if before.hello == data:
                return before
            self.remove_performer(before)
        if len(self._performers) >= self.limits.max_performers:
            return None
        used = {other.id for other in self._performers.values()}
        self._last_id = (self._last_id + 1) % 65536
        while self._last_id in used:
            self._last_id = (self._last_id + 1) % 65536
        performer = Performer(address, self._last_id, StreamBuffer(hello), data, round_trip)
        if self.recorder is not None:
            performer.record = self.recorder(address, hello)
        self._performers[address] = performer
        for watcher in self._list_watchers(address.stage):
            self._send_performer(watcher, performer)
        for endpoint in self.endpoints:
            endpoint.on_join(performer)
        return performer

    def remove_performer(self, performer: Performer) -> None:
        """End a stream."""
        if self._performers.get(performer.address) is not performer:
            return
        del self._performers[performer.address]
        if performer.record is not None:
            performer.record(None)
        self._flush(performer.address.stage)
        for watcher in self._list_watchers(performer.address.stage):
            self._send(watcher, json.dumps({"leave": performer.id}))
        for endpoint in self.endpoints:
            endpoint.on_leave(performer)

    def relay_packet(self, performer: Performer, packet: bytes) -> PacketStatus:
        """Check a packet and forward it to the audience if it holds new frames."""
        status = performer.buffer.add(packet)
        self.counts[status.name.lower()] += 1
        if status is not PacketStatus.NEW:
            return status
        if performer.record is not None:
            performer.record(packet)
        for endpoint in self.endpoints:
            endpoint.on_packet(performer, packet)
        stage = performer.address.stage
        if not any(watcher.stage == stage for watcher in self._watchers):
            return status
        pending = self._pending.setdefault(stage, [])
        pending.append(pack_item(performer.id, packet))
        if len(pending) == 1:
            asyncio.get_running_loop().call_later(BATCH_INTERVAL_S, self._flush, stage)
        return status

    def _flush(self, stage: str) -> None:
        """Send the collected packets to all watchers that keep up."""
        pending = self._pending.pop(stage, None)
        if not pending:
            return
        ready = []
        for watcher in self._list_watchers(stage):
            backlog = watcher.connection.transport.get_write_buffer_size()
            if watcher.is_recorder:
                if backlog > 64 * self.limits.max_backlog_bytes:
                    watcher.connection.transport.abort()
                    continue
            elif watcher.lagging:
                if backlog < self.limits.max_backlog_bytes // 4:
                    self._catch_up(watcher)
                continue
            elif backlog > self.limits.max_backlog_bytes:
                watcher.lagging = True
                self.counts["dropped_to_newest"] += 1
                continue
            ready.append(watcher.connection)
        from websockets.asyncio.server import broadcast

        broadcast(ready, b"".join(pending))

    def _catch_up(self, watcher: _Watcher) -> None:
        """Send the newest frame of every performer to a watcher that was too slow."""
        watcher.lagging = False
        for performer in self.list_performers(watcher.stage):
            snapshot = performer.buffer.snapshot()
            if snapshot is not None:
                self._send(watcher, pack_item(performer.id, snapshot))

    async def _serve_watcher(
        self, connection: ServerConnection, stage: str, is_recorder: bool
    ) -> None:
        watcher = _Watcher(connection, stage, is_recorder)
        # data buffered by the system for a slow receiver would be outdated when it is sent
        own = connection.transport.get_extra_info("socket")
        if own is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.limits.max_backlog_bytes)
        self._flush(stage)  # the new watcher gets a snapshot instead of the pending packets
        self._watchers.add(watcher)
        try:
            for performer in self.list_performers(stage):
                self._send_performer(watcher, performer)
            budget = Budget(Limits(max_bytes_per_s=1 << 14, max_messages_per_s=100))
            async for message in connection:
                if not budget.spend(len(message)):
                    await connection.close(1008, RATE_EXCEEDED)
                elif (ping := read_ping(message)) is not None:
                    self._send(
                        watcher, json.dumps({"pong": ping, "trips": self.round_trips(stage)})
                    )
        finally:
            self._watchers.discard(watcher)

    def round_trips(self, stage: str) -> dict[str, float]:
        """Return the round-trip time to each performer, by id, in seconds; 0 if it is unknown."""
        return {str(p.id): round(p.round_trip(), 6) for p in self.list_performers(stage)}

    def _send_performer(self, watcher: _Watcher, performer: Performer) -> None:
        """Send a performer's name, hello and newest frame to a watcher."""
        message = {"join": performer.id, "name": performer.address.performer}
        self._send(watcher, json.dumps(message))
        snapshot = performer.buffer.snapshot()
        parts = [pack_item(performer.id, performer.hello)]
        parts += [pack_item(performer.id, snapshot)] if snapshot is not None else []
        self._send(watcher, b"".join(parts))

    def _send(self, watcher: _Watcher, message: str | bytes) -> None:
        from websockets.asyncio.server import broadcast

        with suppress(OSError):
            broadcast([watcher.connection], message)

    def _list_watchers(self, stage: str) -> list[_Watcher]:
        return [watcher for watcher in self._watchers if watcher.stage == stage]


def _parse_request(request: Request) -> tuple[StageAddress, str, str]:
    """Return the stage, the role and the token of a WebSocket request."""
    words = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
    role, token = parse_subprotocols([word.strip() for word in words.split(",")])
    return StageAddress.parse(request.path), role, token


def _peer_host(connection: ServerConnection) -> str:
    """Return the host of the peer; "" if it disconnected before it was accepted."""
    address = connection.remote_address
    return str(address[0]) if address else ""
