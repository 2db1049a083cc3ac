"""A relay with its performers and audience, in one process on the loopback."""

import asyncio
import json
import socket
import struct
import subprocess

import numpy as np
import pytest

from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import UsageError
from mocpack.live import Report, Sender
from mocpack.live.client import send_frames, watch
from mocpack.live.limits import Limits
from mocpack.live.recording import decode_clips
from mocpack.live.relay import CLOSE_TIMEOUT_S, Relay
from mocpack.live.report import read_json, read_report
from mocpack.live.sources import ClipSource
from mocpack.live.stage import StageAddress, Tokens, pack_item, unpack_items
from mocpack.live.udp import send_frames_udp, watch_udp
from naming import naming

websockets = pytest.importorskip("websockets")
pytest.importorskip("websockets.asyncio.client")
CLIP = load_clip("cmu/49_02", COMMITTED).frames(200, 320)
SECRET = {"send": "s" * 20, "watch": "w" * 20, "record": "r" * 20}


def frames(clip=CLIP):
    return ClipSource(clip, speed=0).frames(clip.header)


async def collected(url, wanted, **options):
    """Return the poses of a stage by performer, until `wanted` have left."""
    poses, left = {}, 0
    async for event in watch(url, **options):
        if event.kind == "join":
            poses.setdefault(event.name, [])
        if event.pose is not None:
            poses[event.name].append(event.pose)
        left += event.kind == "leave"
        if left == wanted:
            break
    return poses


def run(play, **options):
    """Run `play(relay)` with a running relay."""

    async def both():
        relay = Relay(**options)
        await relay.start()
        try:
            return await asyncio.wait_for(play(relay), 60)
        finally:
            await relay.stop()

    return asyncio.run(both())


async def joined(relay, count=1):
    """Wait until that many receivers watch."""
    while len(relay._watchers) < count:
        await asyncio.sleep(0)


def test_an_audience_gets_the_poses_that_were_sent():
    async def play(relay):
        watching = asyncio.ensure_future(collected(f"{relay.url}/stage", 2))
        await joined(relay)
        senders = [Sender(CLIP.header, 0.005) for _ in range(2)]
        names = ("anna", "ben")
        sent = [
            send_frames(f"{relay.url}/stage/{name}", sender, frames())
            for name, sender in zip(names, senders, strict=True)
        ]
        assert await asyncio.gather(*sent) == [120, 120]
        poses = await watching
        for name, sender in zip(names, senders, strict=True):
            assert [p.frame_number for p in poses[name]] == list(range(120))
            np.testing.assert_array_equal(poses[name][-1].rotations, sender.pose()[0])

    run(play)


def test_a_late_watcher_gets_the_newest_frame_at_once():
    async def play(relay):
        client = websockets.asyncio.client
        sender = Sender(CLIP.header, 0.005)
        address, words = f"{relay.url}/stage/anna", ["mocpack.live.2", "role.send"]
        async with client.connect(address, subprotocols=words) as performer:
            await performer.send(sender.hello.to_bytes())
            for turns, places in zip(CLIP.rotations[:50], CLIP.translations[:50], strict=True):
                await performer.send(sender.send(turns, places))
            while relay.counts["new"] < 50:
                await asyncio.sleep(0)
            async for event in watch(f"{relay.url}/stage"):
                if event.pose is not None and event.pose.frame_number == 49:
                    np.testing.assert_array_equal(event.pose.rotations, sender.pose()[0])
                    return

    run(play)


def test_a_slow_receiver_skips_to_the_newest_frame_and_delays_nobody():
    async def play(relay):
        words = ["mocpack.live.2", "role.watch"]
        slow = await websockets.asyncio.client.connect(
            f"{relay.url}/stage", subprotocols=words, max_queue=1
        )
        slow.transport.pause_reading()
        own = slow.transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await joined(relay)
        (watcher,) = relay._watchers
        watcher.connection.transport.set_write_buffer_limits(high=1 << 30)
        watching = asyncio.ensure_future(collected(f"{relay.url}/stage", 1))
        await joined(relay, 2)
        sender = Sender(CLIP.header, 0.0001, keyframe_interval=1)
        long = 60 * [frame async for frame in frames()]

        async def again():
            for frame in long:
                yield frame

        await send_frames(f"{relay.url}/stage/anna", sender, again())
        poses = await watching
        assert len(poses["anna"]) == len(long)
        assert relay.counts["dropped_to_newest"] == 1
        waiting = watcher.connection.transport.get_write_buffer_size()
        assert waiting < 3 * relay.limits.max_backlog_bytes
        slow.transport.abort()

    run(
        play,
        limits=Limits(
            max_backlog_bytes=1 << 14, max_bytes_per_s=1 << 30, max_messages_per_s=1 << 30
        ),
    )


def test_packets_that_are_damaged_are_not_passed_on():
    async def play(relay):
        watching = asyncio.ensure_future(collected(f"{relay.url}/stage", 1))
        await joined(relay)
        sender = Sender(CLIP.header, 0.005)
        words = ["mocpack.live.2", "role.send"]
        async with websockets.asyncio.client.connect(
            f"{relay.url}/stage/anna", subprotocols=words
        ) as performer:
            await performer.send(sender.hello.to_bytes())
            for t in range(20):
                packet = bytearray(sender.send(CLIP.rotations[t], CLIP.translations[t]))
                await performer.send(bytes(packet))
                packet[9] ^= 4
                await performer.send(bytes(packet))
        poses = await watching
        assert [p.frame_number for p in poses["anna"]] == list(range(20))
        assert relay.counts["damaged"] == 20

    run(play)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([b"mlh1junk"], "deflate"),
        ([b"x" * 70_000], ""),
        (["hello"] * 3 + [b"mlh1"], ""),
    ],
)
def test_a_hostile_performer_is_disconnected(messages, reason):
    async def play(relay):
        words = ["mocpack.live.2", "role.send"]
        performer = await websockets.asyncio.client.connect(
            f"{relay.url}/stage/anna", subprotocols=words
        )
        for message in messages:
            await performer.send(message)
        with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
            await performer.recv()
        assert reason in str(closed.value)
        assert not relay._performers

    run(play)


def test_a_performer_that_floods_is_disconnected():
    async def play(relay):
        with pytest.raises(UsageError, match=naming("/stage/anna")):
            await send_frames(f"{relay.url}/stage/anna", Sender(CLIP.header), frames())

    run(play, limits=Limits(max_messages_per_s=20))


def test_a_place_has_one_performer():
    async def play(relay):
        words = ["mocpack.live.2", "role.send"]
        address = f"{relay.url}/stage/anna"
        async with websockets.asyncio.client.connect(address, subprotocols=words) as first:
            await first.send(Sender(CLIP.header).hello.to_bytes())
            while not relay._performers:
                await asyncio.sleep(0)
            with pytest.raises(UsageError, match=naming("/stage/anna")):
                await send_frames(address, Sender(CLIP.header), frames())

    run(play)


def test_tokens_open_their_own_role_only():
    tokens = Tokens({role: (secret,) for role, secret in SECRET.items()})
    assert tokens.allow("send", SECRET["send"])
    assert not tokens.allow("send", SECRET["watch"])
    assert not tokens.allow("record", SECRET["watch"])
    assert tokens.allow("watch", SECRET["record"])
    assert not tokens.allow("watch", "")

    async def play(relay):
        with pytest.raises(UsageError, match=naming("/stage/anna token send")):
            await send_frames(
                f"{relay.url}/stage/anna", Sender(CLIP.header), frames(), token=SECRET["watch"]
            )
        with pytest.raises(UsageError, match=naming("/stage token watch")):
            await collected(f"{relay.url}/stage", 1)
        watching = asyncio.ensure_future(collected(f"{relay.url}/stage", 1, token=SECRET["watch"]))
        await joined(relay)
        await send_frames(
            f"{relay.url}/stage/anna", Sender(CLIP.header), frames(), token=SECRET["send"]
        )
        assert len((await watching)["anna"]) == 120

    run(play, tokens=tokens)


def test_off_the_loopback_a_relay_needs_tls_and_tokens():
    with pytest.raises(UsageError, match="certificate"):
        Relay("0.0.0.0")


def test_off_the_loopback_clients_insist_on_tls_and_a_token():
    with pytest.raises(UsageError, match="wss://"):
        asyncio.run(send_frames("ws://example.org/stage/anna", Sender(CLIP.header), frames()))
    with pytest.raises(UsageError, match="token"):
        asyncio.run(send_frames("wss://example.org/stage/anna", Sender(CLIP.header), frames()))
    with pytest.raises(UsageError, match="--plain-udp"):
        asyncio.run(send_frames_udp("udp://192.0.2.1:9", Sender(CLIP.header), frames()))


@pytest.fixture
def certificate(tmp_path):
    """TLS of a server, and of a client that trusts it."""
    import ssl

    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl makes no certificate here")
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    theirs = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    return ours, theirs


def test_streams_go_by_tls(certificate):
    ours, theirs = certificate

    async def play(relay):
        assert relay.url.startswith("wss://")
        watching = asyncio.ensure_future(collected(f"{relay.url}/stage", 1, tls=theirs))
        await joined(relay)
        await send_frames(f"{relay.url}/stage/anna", Sender(CLIP.header), frames(), tls=theirs)
        assert len((await watching)["anna"]) == 120

    run(play, tls=ours)


def test_an_unfinished_tls_handshake_is_ended_and_delays_no_shutdown(certificate):
    async def play():
        relay = Relay(tls=certificate[0], limits=Limits(opening_timeout_s=0.3))
        await relay.start()
        early = await asyncio.open_connection("127.0.0.1", relay.port)
        assert await closed(early[0]) == b""
        late = [await asyncio.open_connection("127.0.0.1", relay.port) for _ in range(20)]
        clock = asyncio.get_running_loop().time
        start = clock()
        await relay.stop()
        assert clock() - start < 2 * CLOSE_TIMEOUT_S + 0.5
        for _, writer in (early, *late):
            writer.close()

    asyncio.run(asyncio.wait_for(play(), 60))


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/../../etc/passwd", 404), ("/etc/passwd", 404), ("/assets/../x", 404)],
)
def test_only_the_pages_of_its_table_can_be_fetched(path, status):
    async def play(relay):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n\r\n".encode())
        answer = await reader.read(4096)
        assert answer.startswith(f"HTTP/1.1 {status}".encode())
        assert (b"<p>stage" in answer) == (status == 200)
        writer.close()

    run(play, pages={"/": ("text/html", b"<p>stage")})


async def closed(reader):
    """Wait until the other side has closed; return its messages."""
    try:
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionResetError:
        return b""


def test_an_unfinished_request_is_ended():
    async def play(relay):
        slow = [await asyncio.open_connection("127.0.0.1", relay.port) for _ in range(3)]
        for _, writer in slow:
            writer.write(b"GET /stage HTTP/1.1\r\nHost: ")
        for reader, writer in slow:
            assert b"101" not in await closed(reader)
            writer.close()
        sender = Sender(CLIP.header)
        assert await send_frames(f"{relay.url}/stage/anna", sender, frames()) == CLIP.frame_count

    run(play, limits=Limits(opening_timeout_s=0.2))


def test_the_number_of_half_open_connections_is_limited():
    async def play(relay):
        slow = [await asyncio.open_connection("127.0.0.1", relay.port) for _ in range(6)]
        for reader, _ in slow[:3]:  # the oldest make room for the newest
            assert await closed(reader) == b""
        assert len(relay.connections) <= 3
        sender = Sender(CLIP.header)
        assert await send_frames(f"{relay.url}/stage/anna", sender, frames()) == CLIP.frame_count
        for _, writer in slow:
            writer.close()

    run(play, limits=Limits(max_half_open=3))


@pytest.mark.parametrize(
    "head",
    [
        b"\x16\x03\x01" * 100,
        b"GET " + b"/" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
        b"POST /stage HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
        b"GET /stage HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
    ],
)
def test_invalid_requests_are_answered_or_ended_and_the_relay_continues(head):
    async def play(relay):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(head)
        assert b"101" not in (await closed(reader))[:16]
        writer.close()
        sender = Sender(CLIP.header)
        assert await send_frames(f"{relay.url}/stage/anna", sender, frames()) == CLIP.frame_count

    run(play, limits=Limits(opening_timeout_s=0.5))


@pytest.mark.parametrize("message", ["x" * 1000, b"x" * 20_000, "[" * 60, '{"ping": 1e999}'])
def test_invalid_messages_of_the_audience_are_ignored(message):
    async def play(relay):
        words = ["mocpack.live.2", "role.watch"]
        watcher = await websockets.asyncio.client.connect(f"{relay.url}/stage", subprotocols=words)
        await watcher.send(message)
        watching = asyncio.ensure_future(collected(f"{relay.url}/stage", 1))
        await joined(relay)
        await send_frames(f"{relay.url}/stage/anna", Sender(CLIP.header), frames())
        assert len((await watching)["anna"]) == CLIP.frame_count
        await watcher.close()

    run(play)


def test_a_watcher_gets_an_answer_to_its_ping():
    async def play(relay):
        words = ["mocpack.live.2", "role.watch"]
        async with websockets.asyncio.client.connect(
            f"{relay.url}/stage", subprotocols=words
        ) as watcher:
            await watcher.send('{"ping": 12.5}')
            assert json.loads(await watcher.recv()) == {"pong": 12.5, "trips": {}}

    run(play)


def test_pages_of_other_sites_cannot_watch():
    async def play(relay):
        words = ["mocpack.live.2", "role.watch"]
        with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
            await websockets.asyncio.client.connect(
                f"{relay.url}/stage", subprotocols=words, origin="https://example.org"
            )
        own = f"http://127.0.0.1:{relay.port}"
        await websockets.asyncio.client.connect(
            f"{relay.url}/stage", subprotocols=words, origin=own
        )

    run(play)


HANDSHAKE = [
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Protocol: mocpack.live.2, role.watch",
]


async def status_of(relay, path, headers):
    """Return the status that a request gets."""
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    lines = [f"GET {path} HTTP/1.1", *headers, "", ""]
    writer.write("\r\n".join(lines).encode("latin-1"))
    answer = await asyncio.wait_for(reader.readline(), 20)
    writer.close()
    return int(answer.split()[1])


LOOPBACK = ["127.0.0.1", "localhost", "LocalHost", "[::1]", "127.8.9.10"]
FOREIGN = ["evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "0.0.0.0", "[::2]", "10.0.0.1"]
FOREIGN += ["127.0.0.1@evil.com", "evil.com#127.0.0.1", "[127.0.0.1", "", "::1", "127.1", "a b"]


def test_only_names_of_this_machine_are_served_on_the_loopback():
    """DNS rebinding: a page of evil.com reaches 127.0.0.1 by a name of its own."""

    async def play(relay):
        for hosts, socket_status, page_status in ((LOOPBACK, 101, 200), (FOREIGN, 403, 403)):
            for name in hosts:
                for port in (f":{relay.port}", ""):
                    host, origin = f"Host: {name}{port}", f"Origin: http://{name}{port}"
                    asked = [host, origin, *HANDSHAKE]
                    assert await status_of(relay, "/stage", asked) == socket_status, host
                    asked = [host, *HANDSHAKE]
                    assert await status_of(relay, "/stage", asked) == socket_status, host
                    assert await status_of(relay, "/", [host]) == page_status, host

    run(play, pages={"/": ("text/html", b"<p>stage")})


def test_hosts_that_are_configured_are_served_and_no_others():
    async def play(relay):
        for name, status in (("mocap.example", 101), ("localhost", 101), ("evil.com", 403)):
            asked = [f"Host: {name}", f"Origin: https://{name}", *HANDSHAKE]
            assert await status_of(relay, "/stage", asked) == status

    run(play, hosts=("mocap.example",))


@pytest.mark.parametrize("twice", ["Host", "Origin", "Upgrade"])
def test_a_header_given_twice_is_refused_without_a_message(twice, caplog):
    async def play(relay):
        own = f"127.0.0.1:{relay.port}"
        asked = [f"Host: {own}", f"Origin: http://{own}", *HANDSHAKE]
        asked += [f"{twice}: evil.com"]
        assert 400 <= await status_of(relay, "/stage", asked) < 500

    run(play)
    assert not caplog.records


def test_a_flood_of_half_open_and_slow_connections_does_not_delay_the_end():
    async def play():
        limits = Limits(opening_timeout_s=60, max_half_open=200)
        relay = Relay(limits=limits, pages={"/": ("text/plain", bytes(1 << 24))})
        await relay.start()
        flood = [await asyncio.open_connection("127.0.0.1", relay.port) for _ in range(100)]
        for at, (_, writer) in enumerate(flood):
            path = "/" if at % 2 else "/stage"
            own = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n"
            writer.write(own.encode() + b"\r\n" * (at % 2))
        words = ["mocpack.live.2", "role.watch"]
        connect = websockets.asyncio.client.connect
        slow = [await connect(f"{relay.url}/stage", subprotocols=words) for _ in range(10)]
        await joined(relay, 10)
        for one in slow:
            one.transport.pause_reading()
        for watcher in relay._watchers:
            watcher.connection.transport.write(bytes(1 << 23))
        clock = asyncio.get_running_loop().time
        start = clock()
        await relay.stop()
        assert clock() - start < 2 * CLOSE_TIMEOUT_S + 0.5
        assert not len(relay.connections)
        for _, writer in flood:
            writer.transport.abort()
        for one in slow:
            one.transport.abort()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_client_that_leaves_before_acceptance_causes_no_message(caplog):
    async def play(relay):
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", relay.port)) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                own = f"GET /stage HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n"
                one.send((own + "\r\n".join([*HANDSHAKE, "", ""])).encode())
        sender = Sender(CLIP.header)
        assert await send_frames(f"{relay.url}/stage/anna", sender, frames()) == CLIP.frame_count

    run(play)
    assert not caplog.records


def test_text_messages_of_a_performer_count_against_its_limit():
    async def play(relay):
        words = ["mocpack.live.2", "role.send"]
        address = f"{relay.url}/stage/anna"
        async with websockets.asyncio.client.connect(address, subprotocols=words) as performer:
            for _ in range(20):
                await performer.send("x" * 1000)
            with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
                await performer.recv()
        assert closed.value.rcvd.code == 1008

    run(play, limits=Limits(max_bytes_per_s=10_000))


def test_an_abrupt_disconnect_causes_no_traceback(caplog):
    async def play(relay):
        connect = websockets.asyncio.client.connect
        watcher = await connect(f"{relay.url}/stage", subprotocols=["mocpack.live.2", "role.watch"])
        sender = await connect(
            f"{relay.url}/stage/anna", subprotocols=["mocpack.live.2", "role.send"]
        )
        await sender.send(Sender(CLIP.header).hello.to_bytes())
        await joined(relay)
        while not relay._performers:
            await asyncio.sleep(0)
        watcher.transport.abort()
        sender.transport.abort()
        while relay._performers or relay._watchers:
            await asyncio.sleep(0)

    run(play)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_one_host_has_so_many_connections_and_no_more():
    async def play(relay):
        words = ["mocpack.live.2", "role.watch"]
        connect = websockets.asyncio.client.connect
        kept = [await connect(f"{relay.url}/stage", subprotocols=words) for _ in range(3)]
        await joined(relay, 3)
        with pytest.raises(websockets.exceptions.InvalidStatus, match="503"):
            await connect(f"{relay.url}/stage", subprotocols=words)
        for connection in kept:
            await connection.close()

    run(play, limits=Limits(max_connections_per_host=3))


def test_a_recording_holds_the_very_poses_that_were_received():
    recorded = []

    def begin(place, hello):
        packets = []
        recorded.append((place, hello, packets))
        return lambda packet: packet and packets.append(packet)

    async def play(relay):
        watching = asyncio.ensure_future(collected(f"{relay.url}/stage", 1))
        await joined(relay)
        await send_frames(f"{relay.url}/stage/anna", Sender(CLIP.header), frames())
        return await watching

    poses = run(play, recorder=begin)["anna"]
    ((place, hello, packets),) = recorded
    (clip,) = decode_clips(hello, packets)
    assert place == StageAddress("stage", "anna")
    assert clip.frame_count == 120
    assert clip.take_data.valid is None
    received = np.array([pose.rotations for pose in poses])
    same = np.minimum(np.abs(clip.rotations - received), np.abs(clip.rotations + received))
    assert same.max() < 1e-15


def test_a_performer_reconnects_after_a_lost_connection():
    async def play(relay):
        poses = []

        async def audience():
            async for event in watch(f"{relay.url}/stage"):
                if event.pose is not None:
                    poses.append(event.pose.frame_number)
                if poses and poses[-1] == 119:
                    return

        watching = asyncio.ensure_future(audience())
        await joined(relay)

        async def interrupted():
            async for frame in frames():
                yield frame
                if frame[0] > 0.5 and relay._performers and len(cut) == 0:
                    cut.append(frame)
                    for connection in list(relay._server.connections):
                        if connection.request.path.count("/") == 2:  # names a performer
                            connection.transport.abort()
                if cut:
                    await asyncio.sleep(0)

        cut = []
        await send_frames(f"{relay.url}/stage/anna", Sender(CLIP.header), interrupted())
        await watching
        assert cut

    run(play)


def test_direct_udp_delivers_poses_and_reports():
    async def play():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        url, numbers = f"udp://127.0.0.1:{port}", []
        sender = Sender(CLIP.header, 0.005, keyframe_interval=20)
        heard = []
        sender.apply_report = heard.append
        done = asyncio.Event()

        async def audience():
            async for event in watch_udp(url):
                if event.pose is not None:
                    numbers.append(event.pose.frame_number)
                if heard and len(numbers) > 50:
                    done.set()
                    return

        async def forever():
            while not done.is_set():
                async for frame in frames():
                    yield frame
                    await asyncio.sleep(0.001)
                    if done.is_set():
                        return

        watching = asyncio.ensure_future(audience())
        await send_frames_udp(url, sender, forever())
        await watching
        assert len(numbers) > 50
        assert heard[0].loss < 0.5

    asyncio.run(asyncio.wait_for(play(), 60))


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'{"loss": "x"}', json.dumps({"loss": 1e999, "burst": 1e999}).encode()],
)
def test_invalid_reports_are_ignored(data):
    assert read_report(read_json(data)) is None


def test_a_report_is_read_as_it_was_written():
    report = Report(0.05, 5, (3, 4), False, 9, 1)
    assert read_report(read_json(report.to_json())) == report


@pytest.mark.parametrize("path", ["", "/", "/a/b/c", "/../x", "/a/..", "/a b", "/" + "x" * 65])
def test_an_address_that_names_no_place_is_refused(path):
    with pytest.raises(UsageError, match="/stage"):
        StageAddress.parse(path)


def test_messages_to_the_audience_come_apart_again():
    message = pack_item(3, b"abc") + pack_item(65535, b"")
    assert list(unpack_items(message)) == [(3, b"abc"), (65535, b"")]


def test_token_files_are_read_and_their_mistakes_named(tmp_path):
    good = tmp_path / "tokens"
    good.write_text(f"# who\nsend {SECRET['send']}\nwatch {SECRET['watch']}\n")
    assert Tokens.read(good).allow("watch", SECRET["watch"])
    good.write_text("send short\n")
    with pytest.raises(UsageError, match="line 1"):
        Tokens.read(good)
