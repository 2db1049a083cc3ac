"""Stages over datagrams: admission, delivery, and hostile peers."""

import asyncio
import json
import socket
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mocpack import _core
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import UsageError
from mocpack.live import Receiver, Report, Sender, is_hello
from mocpack.live.client import StageDecoder, send_frames, watch
from mocpack.live.datagrams import ITEMS, DatagramEndpoint, compute_proof
from mocpack.live.limits import Budget, Limits
from mocpack.live.player import MAX_POSES, Player
from mocpack.live.receiver import PacketStatus
from mocpack.live.relay import Relay
from mocpack.live.report import MAX_NUMBER, SILENCE_TIMEOUT_S, read_report
from mocpack.live.sources import ClipSource
from mocpack.live.stage import Tokens, pack_item
from mocpack.live.stream_buffer import StreamBuffer
from mocpack.live.udp import watch_udp
from mocpack.live.udp_stage import UdpEndpoint, send_frames_udp_stage, watch_udp_stage
from naming import names, naming

pytest.importorskip("websockets")
CLIP = load_clip("cmu/49_02", COMMITTED).frames(200, 320)
SECRET = {"send": "s" * 20, "watch": "w" * 20}
TOKENS = Tokens({role: (token,) for role, token in SECRET.items()})


class Wire:
    """A datagram stage with peers in memory and a simulated clock."""

    def __init__(self, tokens=None, limits=None):
        self.now = 100.0
        self.relay = Relay(tokens=tokens or Tokens(), limits=limits or Limits())
        self.endpoint = DatagramEndpoint(self.relay, lambda: self.now)
        self.relay.endpoints.append(self.endpoint)
        self.got = {}

    def say(self, who, data, *, is_encrypted=False):
        """Send as `who`; return the replies."""
        box = self.got.setdefault(who, [])
        start = len(box)
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.endpoint.receive((who, 1), "127.0.0.1", data, box.append, is_encrypted=is_encrypted)
        return box[start:]

    def come(self, who, path, role, token=None):
        """Come in as a client does; return the last answer."""
        asked = {"join": path, "role": role, "challenge": "0" * 32, "proof": "x" * 64}
        challenge = json.loads(self.say(who, asked)[0])["challenge"]
        asked |= {"challenge": challenge, "proof": compute_proof(token, challenge, role, path)}
        return json.loads(self.say(who, asked)[0])


@pytest.fixture
def wire():
    return Wire()


@contextmanager
def limited_memory(more=1 << 28):
    """Limit the additional memory of the block, so that excessive use is an error."""
    statm = Path("/proc/self/statm")
    if not statm.exists():  # only Linux tells, and limits
        yield
        return
    import resource

    used = int(statm.read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture
def bounded_memory():
    return limited_memory()


def packets(count=30, **options):
    sender = Sender(CLIP.header, 0.005, **options)
    made = [sender.send(CLIP.rotations[t], CLIP.translations[t]) for t in range(count)]
    return sender, made


def damaged(packet):
    """Return the packet with another last byte, which is part of its checksum."""
    return packet[:-1] + bytes([packet[-1] ^ 1])


def poses_of(box, patience=1):
    """The poses that a watcher decodes, in order."""
    audience = StageDecoder(patience)
    events = []
    for message in box:
        if message[:1] == ITEMS:
            events += audience.decode(message[1:])
        else:
            events += audience.apply_message(json.loads(message))
    return [e.pose for e in events if e.pose is not None], events


def test_a_watcher_gets_hello_frames_and_the_end(wire):
    assert wire.come("w", "/stage", "watch") == {"welcome": "/stage"}
    assert wire.come("a", "/stage/anna", "send") == {"welcome": "/stage/anna"}
    sender, made = packets()
    for data in (sender.hello.to_bytes(), *made):
        wire.say("a", data)
    wire.say("a", {"bye": True})
    poses, events = poses_of(wire.got["w"])
    assert [pose.frame_number for pose in poses] == list(range(30))
    assert [e.kind for e in events if e.kind in ("join", "leave")] == ["join", "leave"]
    assert events[0].name == "anna"


def test_a_late_watcher_gets_the_newest_frame_at_once(wire):
    wire.come("a", "/stage/anna", "send")
    sender, made = packets()
    for data in (sender.hello.to_bytes(), *made):
        wire.say("a", data)
    wire.come("w", "/stage", "watch")
    poses, _ = poses_of(wire.got["w"])
    assert poses[-1].frame_number == 29


def test_missed_packets_are_sent_again_when_a_watcher_reports_them(wire):
    wire.come("w", "/stage", "watch")
    wire.come("a", "/stage/anna", "send")
    sender, made = packets()
    wire.say("a", sender.hello.to_bytes())
    for data in made:
        wire.say("a", data)
    number = int.from_bytes(wire.got["w"][-1][1:3], "little")
    receiver = Receiver(sender.hello)
    kept = [made[t] for t in range(30) if t not in (25, 26)]
    for data in kept:
        receiver.receive(data)
    assert receiver.report().missing[:2] == (25, 26)
    (again,) = wire.say("w", receiver.report().to_json(of=number))
    assert [p.frame_number for p in receiver.receive(again[7:])] == [25, 26, 27, 28, 29]


@pytest.mark.parametrize(("patience", "repeated"), [(1, 5), (5, 0)])
def test_a_watcher_that_loses_frames_gets_them_repeated_unless_it_waits(wire, patience, repeated):
    wire.come("w", "/stage", "watch")
    wire.come("a", "/stage/anna", "send")
    sender, made = packets()
    wire.say("a", sender.hello.to_bytes())
    for data in made[:10]:
        wire.say("a", data)
    number = int.from_bytes(wire.got["w"][-1][1:3], "little")
    wire.say("w", Report(0.05, 5, newest=9, patience=patience).to_json(of=number))
    before = len(wire.got["w"])
    for data in made[10:]:
        wire.say("a", data)
    newest = wire.got["w"][before:][5][7:]
    rows = _core.live_unpack(sender.hello.checksum, newest, (14, 0))[4]
    assert [row[0] for row in rows] == list(range(repeated + 1))


def test_late_packets_are_relayed_to_watchers(wire):
    wire.come("w", "/stage", "watch")
    wire.come("a", "/stage/anna", "send")
    sender, made = packets()
    wire.say("a", sender.hello.to_bytes())
    for data in [*made[:10], *made[11:25], made[10], *made[25:]]:
        wire.say("a", data)
    poses, _ = poses_of(wire.got["w"], patience=16)
    assert [pose.frame_number for pose in poses] == list(range(30))


def test_a_relay_reports_what_it_misses_to_the_performer(wire):
    wire.come("a", "/stage/anna", "send")
    sender, made = packets()
    wire.say("a", sender.hello.to_bytes())
    for data in [*made[:20], *made[22:]]:
        wire.now += 0.01
        said = wire.say("a", data)
    assert json.loads(said[-1])["missing"] == [20, 21]


def test_a_hello_goes_out_until_it_has_come(wire):
    wire.come("w", "/stage", "watch")
    wire.come("a", "/stage/anna", "send")
    sender, made = packets(1)
    wire.say("a", sender.hello.to_bytes())
    wire.say("a", made[0])
    before = len(wire.got["w"])
    wire.now += 1.1
    wire.endpoint.check()
    again = [m for m in wire.got["w"][before:] if m[:1] == ITEMS]
    assert is_hello(again[0][7:])
    number = int.from_bytes(again[0][1:3], "little")
    wire.say("w", Report(newest=0, patience=1).to_json(of=number))
    before = len(wire.got["w"])
    wire.now += 1.1
    wire.endpoint.check()
    assert [json.loads(m) for m in wire.got["w"][before:]] == [{"here": {str(number): "anna"}}]


def test_a_silent_client_is_removed(wire):
    wire.come("w", "/stage", "watch")
    wire.come("a", "/stage/anna", "send")
    wire.say("a", packets(1)[0].hello.to_bytes())
    wire.now += SILENCE_TIMEOUT_S / 2
    wire.say("w", {"ping": 1})
    wire.now += SILENCE_TIMEOUT_S / 2 + 1
    wire.endpoint.check()
    assert len(wire.endpoint) == 1
    assert json.loads(wire.got["w"][-1]) == {"here": {}}
    assert wire.relay._hosts["127.0.0.1"] == 1


def test_a_hello_that_overtakes_its_name_waits_for_it(wire):
    wire.come("a", "/stage/anna", "send")
    sender, made = packets(3)
    for data in (sender.hello.to_bytes(), *made):
        wire.say("a", data)
    wire.come("w", "/stage", "watch")
    wire.now += 1.1
    wire.endpoint.check()
    early, late = [m for m in wire.got["w"] if m[:1] == ITEMS], wire.got["w"]
    _, events = poses_of([*early, *late])
    assert [e.name for e in events if e.kind == "join"] == ["anna"]


# hostile peers


@pytest.mark.parametrize(
    ("path", "role", "token", "named"),
    [
        ("/stage/anna", "send", "x" * 20, "token send"),
        ("/stage/anna", "send", None, "token send"),
        ("/stage/anna", "send", SECRET["watch"], "token send"),
        ("/stage", "record", SECRET["watch"], "token record"),
        ("/stage", "send", SECRET["send"], "role"),
        ("/stage/anna", "watch", SECRET["watch"], "role"),
        ("/../etc/passwd", "watch", SECRET["watch"], "/stage"),
        ("", "watch", SECRET["watch"], "/stage"),
    ],
)
def test_a_refused_client_gets_the_reason(wire, path, role, token, named):
    wire.relay.tokens = TOKENS
    assert names(wire.come("x", path, role, token)["refused"], named)
    assert not len(wire.endpoint)


def test_tokens_are_never_sent_and_proofs_cannot_be_reused(wire):
    wire.relay.tokens = TOKENS
    assert wire.come("a", "/stage/anna", "send", SECRET["send"]) == {"welcome": "/stage/anna"}
    asked = {"join": "/stage/ben", "role": "send", "challenge": "0" * 32, "proof": "x" * 64}
    challenge = json.loads(wire.say("a2", asked)[0])["challenge"]
    proof = compute_proof(SECRET["send"], challenge, "send", "/stage/ben")
    asked |= {"challenge": challenge, "proof": proof}
    assert SECRET["send"] not in json.dumps(asked)
    assert "challenge" in json.loads(wire.say("thief", asked)[0])  # from another address
    wire.now += 60
    assert "challenge" in json.loads(wire.say("a2", asked)[0])  # or much later


def test_strangers_get_less_than_they_send(wire):
    junk = [b"", b"{", b"x" * 9, b"x" * 1400, b"[" * 4000, b'{"join": 3}', b'{"join": "/s"}']
    junk += [json.dumps({"join": "/stage", "role": "watch"}).encode()]
    junk += [json.dumps({"join": "/stage", "role": "watch", "proof": "x" * 900}).encode()]
    for k, data in enumerate(junk):
        assert sum(map(len, wire.say(f"x{k}", data))) <= len(data)
    assert not len(wire.endpoint)


def test_replies_to_a_flood_of_unknown_peers_are_limited(wire):
    asked = {"join": "/stage", "role": "watch", "challenge": "0" * 32, "proof": "x" * 64}
    for _ in range(2):
        answered = sum(len(wire.say(f"x{k}", asked)) for k in range(1000))
        assert answered == 200  # per second
        wire.now += 1


def test_a_performer_that_floods_or_sends_damaged_packets_is_disconnected(wire):
    wire.relay.limits = Limits(max_messages_per_s=50, max_bad_packets=5)
    sender, made = packets()
    wire.come("a", "/stage/anna", "send")
    for _ in range(51):
        wire.say("a", sender.hello.to_bytes())
    assert any(b"per second" in m for m in wire.got["a"])
    wire.relay.limits = Limits(max_bad_packets=5)
    wire.come("b", "/stage/ben", "send")
    wire.say("b", sender.hello.to_bytes())
    for t in range(10):
        wire.say("b", damaged(made[t]))
    assert any(b"damaged packets" in m for m in wire.got["b"])
    assert not wire.relay.list_performers("stage")


@pytest.mark.parametrize("hello", [b"mlh1", b"mlh1" + b"\xff" * 60, b"mlh1junk" * 4000])
def test_a_hello_that_is_none_ends_a_performance(wire, hello):
    wire.come("a", "/stage/anna", "send")
    (answer,) = wire.say("a", hello)
    assert json.loads(answer)["refused"]
    assert not len(wire.endpoint)


@pytest.mark.parametrize(
    "told",
    [
        {"of": -1, "missing": [], "loss": 0, "burst": 0, "lost": True, "newest": -1, "patience": 0},
        {"of": "x", "loss": 0},
        {"of": 1e300, "missing": [1e300] * 200},
        {"ping": "x"},
        {"ping": [[]]},
        {"bye": "no"},
        b"\x00" * 1400,
    ],
)
def test_messages_of_watchers_do_no_harm(wire, told):
    wire.come("w", "/stage", "watch")
    assert wire.say("w", told) == []
    assert len(wire.endpoint) == 1


def test_asking_for_everything_again_and_again_is_answered_now_and_then(wire):
    wire.come("a", "/stage/anna", "send")
    sender, made = packets(100, keyframe_interval=1000)
    for data in (sender.hello.to_bytes(), *made):
        wire.say("a", data)
    wire.come("w", "/stage", "watch")
    number = int.from_bytes(wire.got["w"][-1][1:3], "little")
    answers = 0
    for _ in range(50):
        wire.now += 0.01
        answers += len(wire.say("w", Report(lost=True, newest=5, patience=1).to_json(of=number)))
    assert answers <= 3


def test_one_host_has_so_many_peers_and_no_more(wire):
    wire.relay.limits = Limits(max_connections_per_host=2)
    for k in range(2):
        assert "welcome" in wire.come(f"w{k}", "/stage", "watch")
    assert "too many" in wire.come("w3", "/stage", "watch")["refused"]


def test_a_name_on_the_stage_has_one_performer(wire):
    wire.come("a", "/stage/anna", "send")
    wire.say("a", packets(1)[0].hello.to_bytes())
    assert "already in use" in wire.come("b", "/stage/anna", "send")["refused"]


# over UDP itself


def frames(clip=CLIP, pause=0.002):
    async def paced():
        async for frame in ClipSource(clip, speed=0).frames(clip.header):
            yield frame
            await asyncio.sleep(pause)

    return paced()


def run(play, tokens=None):
    async def both():
        relay = Relay(tokens=tokens or Tokens())
        relay.endpoints.append(UdpEndpoint(relay))
        await relay.start()
        try:
            return await asyncio.wait_for(play(relay, f"udp://127.0.0.1:{relay.port}"), 60)
        finally:
            await relay.stop()

    return asyncio.run(both())


async def until_left(events):
    poses = []
    async for event in events:
        if event.pose is not None:
            poses.append(event.pose)
        if event.kind == "leave":
            return poses
    return poses


def test_udp_performers_reach_udp_and_websocket_audiences():
    async def play(relay, url):
        by_udp = asyncio.ensure_future(
            until_left(watch_udp_stage(f"{url}/stage", token=SECRET["watch"]))
        )
        by_socket = asyncio.ensure_future(
            until_left(watch(f"{relay.url}/stage", token=SECRET["watch"]))
        )
        while not (relay._watchers and len(relay.endpoints[0])):
            await asyncio.sleep(0.001)
        sender = Sender(CLIP.header, 0.005)
        await send_frames_udp_stage(f"{url}/stage/anna", sender, frames(), token=SECRET["send"])
        one, other = await asyncio.gather(by_udp, by_socket)
        assert [p.frame_number for p in one][:100] == [p.frame_number for p in other][:100]
        assert len(one) >= 110
        for a, b in zip(one, other, strict=False):
            np.testing.assert_array_equal(a.rotations, b.rotations)

    run(play, TOKENS)


def test_a_websocket_performer_reaches_a_udp_audience():
    async def play(relay, url):
        watching = asyncio.ensure_future(until_left(watch_udp_stage(f"{url}/stage")))
        while not len(relay.endpoints[0]):
            await asyncio.sleep(0.001)
        await send_frames(f"{relay.url}/stage/anna", Sender(CLIP.header, 0.005), frames())
        assert len(await watching) >= 110

    run(play)


def test_a_wrong_token_is_a_clear_error():
    async def play(relay, url):
        sender = Sender(CLIP.header, 0.005)
        with pytest.raises(UsageError, match=naming("/stage/anna token send")):
            await send_frames_udp_stage(f"{url}/stage/anna", sender, frames(), token="x" * 20)

    run(play, TOKENS)


def test_a_performer_reconnects_after_the_relay_has_forgotten_it():
    async def play(relay, url):
        endpoint = relay.endpoints[0]

        async def forgetting():
            async for frame in frames():
                yield frame
                if relay._performers and frame[0] == pytest.approx(50 / 120):
                    endpoint.drop(next(iter(endpoint._peers)))

        sent = await send_frames_udp_stage(f"{url}/stage/anna", Sender(CLIP.header), forgetting())
        assert sent == CLIP.frame_count
        assert relay.counts["new"] >= 80

    run(play)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("udp://192.0.2.1:9/stage/anna", "--plain-udp"),
        ("udp://127.0.0.1:9/stage", "udp://127.0.0.1:9/stage/anna"),
    ],
)
def test_an_invalid_address_is_a_clear_error(url, named):
    with pytest.raises(UsageError, match=naming(named)):
        asyncio.run(send_frames_udp_stage(url, Sender(CLIP.header), frames()))


def test_off_the_loopback_udp_needs_a_token():
    with pytest.raises(UsageError, match=naming("192.0.2.1 --token-file")):
        asyncio.run(
            send_frames_udp_stage(
                "udp://192.0.2.1:9/stage/anna", Sender(CLIP.header), frames(), plain=True
            )
        )


# numbers and times that no honest sender has

FURTHEST = (1 << 47) - 1


def forged(hello, number, micros, *, intra=False, rows=None):
    """A packet with a good checksum and any number and time."""
    rows = rows or [(0, intra, b"\x00" * 20)]
    return _core.live_pack(hello.checksum, number, micros, True, rows)


def slow_hello(frame_time):
    header = replace(CLIP.header, frame_time=frame_time)
    return Sender(header, 0.005).hello


@pytest.mark.parametrize("frame_time", [1e-6, 1 / 120, 1e6])
@pytest.mark.parametrize("micros", [0, 1 << 60])
@pytest.mark.parametrize("intra", [False, True])
@pytest.mark.parametrize("numbers", [(0, FURTHEST), (FURTHEST, 0), (0, 500, 10**6, FURTHEST)])
def test_a_leap_in_numbers_or_times_costs_the_relay_nothing(
    wire, bounded_memory, frame_time, micros, intra, numbers
):
    wire.come("w", "/stage", "watch")
    wire.come("a", "/stage/anna", "send")
    hello = slow_hello(frame_time)
    wire.say("a", hello.to_bytes())
    with bounded_memory:
        for at, number in enumerate(numbers):
            wire.now += 1
            wire.say("a", forged(hello, number, micros, intra=intra or not at))
        wire.come("late", "/stage", "watch")  # gets all that the newest frame needs
        (performer,) = wire.relay.list_performers("stage")
        report = Report(0.5, 5, numbers, newest=numbers[-1], patience=16)
        for said in wire.say("w", report.to_json(of=performer.id)):
            assert StreamBuffer(hello).add(said[7:]) is not PacketStatus.DAMAGED
        wire.relay.list_performers("stage")[0].buffer.snapshot()
    told = [json.loads(m) for m in wire.got["a"] if m[:1] == b"{"]
    assert max(len(report.get("missing", ())) for report in told) <= 63
    assert len(wire.endpoint) == 3


@pytest.mark.parametrize("frame_time", [1e-6, 1 / 120, 1e6])
@pytest.mark.parametrize("numbers", [(0, FURTHEST), (FURTHEST, 0), (0, 500, 10**6, FURTHEST)])
def test_a_leap_in_numbers_or_times_costs_a_receiver_nothing(bounded_memory, frame_time, numbers):
    sender = Sender(slow_hello(frame_time), keyframe_interval=1)
    row = _core.live_unpack(
        sender.hello.checksum, sender.send(CLIP.rotations[0], CLIP.translations[0]), None
    )[4][0][2]
    receiver = Receiver(sender.hello)
    player = Player(receiver)
    with bounded_memory:
        for at, number in enumerate(numbers):
            rows = [(o, True, row) for o in (0, 1, 65535) if o <= number]
            poses = player.receive(forged(sender.hello, number, 0, rows=rows), at)
            assert all(np.isfinite(pose.time) for pose in poses)
            assert len(receiver.report().missing) <= 63
            assert player.at(at + 0.05) is not None


def test_a_player_keeps_a_bounded_number_of_poses_for_any_times():
    sender = Sender(CLIP.header, 0.005, keyframe_interval=1)
    player = Player(Receiver(sender.hello))
    poses = player.receive(sender.send(CLIP.rotations[0], CLIP.translations[0]), 0.0)
    for _ in range(3):
        player.add_poses(MAX_POSES * poses, 1.0)
    assert len(player._poses) <= MAX_POSES


@pytest.mark.parametrize("patience", [-MAX_NUMBER, 0, 1, 60, MAX_NUMBER])
@pytest.mark.parametrize("newest", [-MAX_NUMBER, MAX_NUMBER])
def test_a_report_with_huge_numbers_does_not_harm_a_sender(patience, newest):
    told = {"loss": 1, "burst": MAX_NUMBER, "missing": [-MAX_NUMBER, MAX_NUMBER], "lost": False}
    report = read_report({**told, "newest": newest, "patience": patience})
    assert report is not None
    sender, _ = packets(5)
    sender.apply_report(report)
    for t in range(5):
        assert len(sender.send(CLIP.rotations[t], CLIP.translations[t])) < 4096


@pytest.mark.parametrize("key", ["burst", "newest", "patience"])
def test_a_report_with_numbers_beyond_48_bits_is_ignored(key):
    for number in (10**300, -(10**3000)):
        assert read_report({**json.loads(Report().to_json()), key: number}) is None


@pytest.mark.parametrize("field", ["loss", "burst", "newest", "patience"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", True, None, [1], 1.5])
def test_a_report_of_wrong_types_is_no_report(field, value):
    told = {"loss": 0.5, "burst": 1, "missing": [], "lost": False, "newest": 3, "patience": 1}
    assert read_report(told | {field: value}) is None


# what strangers and peers may say

WRONG = [
    "\ud800",
    "x" * 300,
    "é" * 300,
    10**3000,
    -1,
    1e308,
    float("nan"),
    float("inf"),
    None,
    True,
    [],
    {},
    [[["\udfff"]]],
    {"a": "\ud800"},
]
KEYS = ["join", "role", "challenge", "proof", "token", "ping", "bye", "of", "missing", "loss"]
KEYS += ["burst", "lost", "newest", "patience", "welcome", "refused", "here", "\ud800"]


def nested(depth):
    return b'{"join": ' + b"[" * depth + b"]" * depth + b', "role": "watch"}'


@pytest.mark.parametrize("is_encrypted", [False, True])
@pytest.mark.parametrize("role", [None, "send", "watch"])
def test_no_message_raises_or_is_amplified(wire, role, is_encrypted):
    """Every key with every wrong value, from strangers, performers and watchers."""
    wire.relay.limits = Limits(max_messages_per_s=1 << 20, max_bytes_per_s=1 << 30)
    wire.endpoint._join_budget = Budget(wire.relay.limits)
    path = {"send": "/stage/anna", "watch": "/stage"}.get(role, "/stage")
    whole = {"join": path, "role": role or "watch", "challenge": "0" * 32, "proof": "x" * 64}
    whole |= json.loads(Report(0.1, 2, (3,), False, 9, 1).to_json(of=1))
    messages = [json.dumps(whole | {key: value}).encode() for key in KEYS for value in WRONG]
    messages += [json.dumps({key: value}).encode() for key in KEYS for value in WRONG]
    messages += [nested(depth) for depth in (10, 300, 900, 990, 1000, 1900)]
    messages += [b"", b"\x00", b"{" * 900, b"\xff" * 64, b"mlh1", b"i" * 40, b'"' * 64, b"NaN"]
    messages += ["[1]".encode("utf-16"), json.dumps(whole).encode("utf-32")]
    for at, data in enumerate(messages):
        who = f"x{at}"
        if role:
            wire.come(who, path, role)
        said = wire.say(who, data, is_encrypted=is_encrypted)
        if role is None and not is_encrypted:
            assert sum(map(len, said)) <= len(data)
        for one in said:
            assert json.loads(one, parse_constant=pytest.fail)
        wire.endpoint.drop((who, 1))


def test_a_challenge_is_valid_only_for_its_address_role_path_and_time(wire):
    wire.relay.tokens = Tokens({role: (SECRET[role],) for role in SECRET})
    asked = {"join": "/stage/anna", "role": "send", "challenge": "0" * 32, "proof": "x" * 64}
    challenge = json.loads(wire.say("a", asked)[0])["challenge"]
    proof = compute_proof(SECRET["send"], challenge, "send", "/stage/anna")
    shown = asked | {"challenge": challenge, "proof": proof}
    assert "challenge" in json.loads(wire.say("thief", shown)[0])
    for other in ({"join": "/stage/ben"}, {"role": "watch", "join": "/stage"}):
        assert "refused" in json.loads(wire.say("a", shown | other)[0])
    wire.now += 60
    assert "challenge" in json.loads(wire.say("a", shown)[0])
    assert not len(wire.endpoint)


def test_straight_udp_answers_the_sender_alone_and_by_no_more_than_it_sends():
    """There is no challenge here: an address that is not the sender's may be forged."""

    async def play():
        one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            address = probe.getsockname()
        sender, made = packets(60)
        events, seen = watch_udp(f"udp://127.0.0.1:{address[1]}"), 0
        with one, other:
            one.setblocking(False)
            other.setblocking(False)
            coming = asyncio.ensure_future(anext(events))
            sent = 0
            while not coming.done():  # it is not known when it listens
                sent += one.sendto(sender.hello.to_bytes(), address)
                await asyncio.sleep(0.01)
            assert (await coming).kind == "join"
            for t, data in enumerate(made):
                if t != 3:  # a missing frame, so that reports are sent at the maximum rate
                    sent += one.sendto(data, address)
                for junk in (b"", b"x", made[0], damaged(data)):
                    other.sendto(junk, address)
                await asyncio.sleep(0.006)
                if t == 2:
                    seen += len([await anext(events) for _ in range(6)])
            with suppress(TimeoutError):
                while True:
                    event = await asyncio.wait_for(anext(events), 0.3)
                    seen += event.kind == "packet"
            await events.aclose()
            with pytest.raises(BlockingIOError):
                other.recv(4096)
            got = []
            with suppress(BlockingIOError):
                while True:
                    got.append(len(one.recv(4096)))
            assert 0 < sum(got) <= sent

    asyncio.run(asyncio.wait_for(play(), 60))


def test_packets_that_are_damaged_are_no_events():
    sender, made = packets(3)
    audience = StageDecoder(1)
    audience.apply_message({"join": 7, "name": "anna"})
    audience.decode(pack_item(7, sender.hello.to_bytes()))
    assert [e.kind for e in audience.decode(pack_item(7, made[0]))] == ["packet", "pose"]
    assert audience.decode(pack_item(7, b"junk" * 10) + pack_item(7, damaged(made[1]))) == []


def test_no_two_performers_share_a_number(wire):
    wire.come("a", "/stage/anna", "send")
    sender, _ = packets(1)
    wire.say("a", sender.hello.to_bytes())
    wire.relay._last_id -= 1  # as after 65 536 others
    wire.come("b", "/stage/ben", "send")
    wire.say("b", packets(1)[0].hello.to_bytes())
    assert len({p.id for p in wire.relay.list_performers("stage")}) == 2
