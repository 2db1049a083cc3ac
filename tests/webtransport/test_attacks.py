"""Hostile WebTransport clients of a relay, with aioquic: `make test-webtransport`."""

import asyncio
import json
import socket
import ssl
from contextlib import ExitStack, suppress
from itertools import product

import pytest

from mocpack.live.limits import Limits
from mocpack.live.relay import Relay
from mocpack.live.stage import Tokens
from mocpack.live.webtransport import MAX_STREAM_BYTES, MIN_INITIAL_BYTES, WebTransportEndpoint

pytest.importorskip("aioquic")
from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DatagramReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

TOKENS = Tokens({"send": ("s" * 20,), "watch": ("w" * 20,)})


class Client(QuicConnectionProtocol):
    """An HTTP/3 client that records all events."""

    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        self.http = H3Connection(self._quic, enable_webtransport=True)
        self.statuses, self.said, self.news = {}, [], asyncio.Event()
        self.ended = asyncio.Event()

    def quic_event_received(self, event):
        if type(event).__name__ == "ConnectionTerminated":
            self.ended.set()
        for told in self.http.handle_event(event):
            if isinstance(told, HeadersReceived):
                self.statuses[told.stream_id] = int(dict(told.headers)[b":status"])
            if isinstance(told, DatagramReceived):
                self.said.append(told.data)
        self.news.set()

    async def ask(self, **headers):
        """Ask for a session; return the stream and the status."""
        asked = {
            b":method": b"CONNECT",
            b":scheme": b"https",
            b":path": b"/stage",
            b":protocol": b"webtransport",
        }
        asked |= {
            f":{k}".encode() if k == "authority" else k.encode(): v for k, v in headers.items()
        }
        stream = self._quic.get_next_available_stream_id()
        self.http.send_headers(stream, list(asked.items()))
        self.transmit()
        while stream not in self.statuses:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 10)
        return stream, self.statuses[stream]

    async def say(self, stream, data):
        """Send a datagram; return the next answer."""
        before = len(self.said)
        self.http.send_datagram(stream, data)
        self.transmit()
        while len(self.said) == before:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 10)
        return self.said[before]


def run(play, **options):
    """Run `play(relay, endpoint, client)` with a running relay; return errors of the event loop."""
    errors = []

    async def both():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        relay = Relay(**options)
        endpoint = WebTransportEndpoint(relay)
        relay.endpoints.append(endpoint)
        await relay.start()
        try:
            await asyncio.wait_for(play(relay, endpoint), 60)
        finally:
            await relay.stop()

    asyncio.run(both())
    assert errors == []


def client_of(endpoint):
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=H3_ALPN, max_datagram_frame_size=65536
    )
    configuration.verify_mode = ssl.CERT_NONE
    return connect("127.0.0.1", endpoint.port, configuration=configuration, create_protocol=Client)


def own(relay, endpoint):
    host = b"127.0.0.1:%d"
    return {"authority": host % endpoint.port, "origin": b"http://" + host % relay.port}


@pytest.mark.parametrize(
    "names",
    [
        {"authority": b"evil.com:1", "origin": b"http://evil.com:PORT"},  # DNS rebinding
        {"authority": b"[", "origin": b"http://["},
        {"authority": b"127.0.0.1:x", "origin": b"http://127.0.0.1:99999999"},
        {"authority": b"\xff\xfe", "origin": b"null"},
        {"authority": b"127.0.0.1:1", "origin": b"http://evil.com"},
        {"authority": b"127.0.0.1:1"},
    ],
)
def test_clients_of_other_origins_are_refused(names):
    async def play(relay, endpoint):
        told = {k: v.replace(b"PORT", b"%d" % relay.port) for k, v in names.items()}
        async with client_of(endpoint) as client:
            assert (await client.ask(**told))[1] == 403
        async with client_of(endpoint) as client:
            assert (await client.ask(**own(relay, endpoint)))[1] == 200

    run(play)


def test_a_request_on_a_stream_that_was_answered_does_no_harm():
    async def play(relay, endpoint):
        async with client_of(endpoint) as client:
            stream, status = await client.ask(authority=b"evil.com", origin=b"http://evil.com")
            assert status == 403
            client.http.send_headers(stream, [(b"x", b"y")])
            client.transmit()
            await client.ping()  # the relay has read all before it answers
        async with client_of(endpoint) as client:
            assert (await client.ask(**own(relay, endpoint)))[1] == 200

    run(play)


WRONG = ["\ud800", 10**300, None, [], {}, [[["\udfff"]]], "x" * 900, True]


@pytest.mark.parametrize("tokens", [Tokens(), TOKENS])
def test_no_message_harms_the_relay(tokens):
    async def play(relay, endpoint):
        good = {"join": "/stage", "role": "watch", "token": "w" * 20}
        async with client_of(endpoint) as client:
            stream, _ = await client.ask(**own(relay, endpoint))
            for data in [
                *(json.dumps({**good, k: v}).encode() for k in good for v in WRONG),
                *(json.dumps({"ping": v}).encode() for v in WRONG),
                b"",
                b"\xff" * 1000,
                b"[" * 1000,
                b'{"join": ' + b"[" * 500 + b"]" * 500 + b', "role": "watch"}',
            ]:
                client.http.send_datagram(stream, data)
                client.transmit()
            client.http.send_datagram(stream + 4, b"x")  # of no session
            while json.loads(await client.say(stream, json.dumps(good).encode())) != {
                "welcome": "/stage"
            }:
                pass

    run(play, tokens=tokens)


def test_a_client_cannot_fill_the_memory_by_streams():
    async def play(relay, endpoint):
        async with client_of(endpoint) as client:
            stream = client._quic.get_next_available_stream_id()
            # a HEADERS frame that never ends
            client._quic.send_stream_data(stream, b"\x01\xbf\xff\xff\xff" + bytes(MAX_STREAM_BYTES))
            client.transmit()
            await asyncio.wait_for(client.ended.wait(), 10)
        assert not len(endpoint)

    run(play)


def test_a_session_that_does_not_join_is_closed_in_time():
    async def play(relay, endpoint):
        async with client_of(endpoint) as client:
            await client.ask(**own(relay, endpoint))
            await asyncio.wait_for(client.ended.wait(), 10)
        assert endpoint.session_count == 0

    run(play, limits=Limits(opening_timeout_s=0.3))


def test_sessions_are_so_many_and_no_more():
    async def play(relay, endpoint):
        async with client_of(endpoint) as first:
            await first.ask(**own(relay, endpoint))
            with suppress(ConnectionError):  # it may end before it is open
                async with client_of(endpoint) as second:
                    await asyncio.wait_for(second.ended.wait(), 10)
            assert endpoint.session_count == 1

    run(play, limits=Limits(max_connections=1))


def test_strangers_get_no_more_bytes_than_they_send():
    """Every first byte, unknown versions and long headers of all sizes, from an unknown address."""

    async def play(relay, endpoint):
        sizes = (1, 7, 8, 20, 50, 100, 400, MIN_INITIAL_BYTES, 1400)
        versions = (b"\x00\x00\x00\x00", b"\x00\x00\x00\x01", b"\x1a\x2a\x3a\x4a")
        kinds = (0x00, 0x40, 0x80, 0xC0, 0xD0, 0xE0, 0xFF)
        with ExitStack() as stack:
            sent = []
            for size, version, kind in product(sizes, versions, kinds):
                one = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                one.setblocking(False)
                one.connect(("127.0.0.1", endpoint.port))
                one.send((bytes([kind]) + version + bytes(size))[:size])
                sent.append((one, size, version, kind))
            async with client_of(endpoint) as client:  # clients are served in order
                await client.ask(**own(relay, endpoint))
            for one, *what in sent:
                got = 0
                with suppress(BlockingIOError):
                    while True:
                        got += len(one.recv(4096))
                assert got <= what[0], what

    run(play)
