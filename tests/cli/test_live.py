"""`live serve`, `live send` and `live receive` as separate programs."""

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from command_line import run_text as run

import child_processes
import mocpack
from mocpack.errors import UsageError
from mocpack.live import Sender, is_hello
from mocpack.live.commands.recorder import Recorder
from mocpack.live.recording import decode_clips
from mocpack.live.spool import Spool
from mocpack.live.stage import pack_item, unpack_items
from mocpack.model.kinematics import measure_error
from mocpack.testing import walk
from naming import names, naming

connect = pytest.importorskip("websockets.sync.client").connect
ConnectionClosed = pytest.importorskip("websockets.exceptions").ConnectionClosed
serve = pytest.importorskip("websockets.sync.server").serve


def start(*words, **options):
    return child_processes.start(
        [sys.executable, "-m", "mocpack", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def relay(tmp_path):
    """A relay that records, and its address."""
    process = start("live", "serve", "--port", 0, "--record", "day.mocp", "--no-page", cwd=tmp_path)
    line = process.stdout.readline()
    address = re.search(r"ws://127\.0\.0\.1:\d+", line)
    assert address, process.stderr.read()
    yield process, address[0]
    process.kill()
    process.communicate()


def error_of(clip, other):
    """Return the error of a recording against the looped clip."""
    at = np.arange(other.frame_count) % clip.frame_count
    return measure_error(
        clip.skeleton,
        (clip.rotations[at], clip.translations[at]),
        (other.rotations, other.translations),
        clip.header.translated_joints,
    ).max


@pytest.mark.parametrize(("up", "down"), [("ws", "ws"), ("udp", "udp"), ("udp", "ws")])
def test_a_file_is_sent_relayed_recorded_and_received(relay, tmp_path, up, down):
    process, address = relay
    rest = address.removeprefix("ws")
    mocpack.write(walk(0.5), tmp_path / "walk.bvh")
    clip = mocpack.read(tmp_path / "walk.bvh")
    words = ("walk.bvh", "--to", f"{up}{rest}/stage/anna", "--max-error", "5mm", "--loop")
    sender = start("live", "send", *words, cwd=tmp_path)
    receiver = start("live", "receive", f"{down}{rest}/stage", "-o", "got.mocp", cwd=tmp_path)
    assert "recording anna" in receiver.stderr.readline()
    lines = start("live", "receive", f"{down}{rest}/stage", "-o", "-", cwd=tmp_path)
    messages = [json.loads(lines.stdout.readline()) for _ in range(40)]
    assert messages[0]["skeleton"]["names"] == list(clip.skeleton.names)
    assert [set(m) for m in messages[1:]] == 39 * [{"time", "rotations", "translations"}]
    sender.send_signal(signal.SIGINT)
    _, errors = sender.communicate(timeout=60)
    assert sender.returncode == 0, errors
    assert lines.communicate(timeout=60)[1] == ""
    printed, errors = receiver.communicate(timeout=60)
    assert (receiver.returncode, printed.strip()) == (0, "wrote got.mocp"), errors
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert (process.returncode, printed.strip()) == (0, "wrote day.mocp"), errors
    day = mocpack.decode((tmp_path / "day.mocp").read_bytes())
    assert error_of(clip, day) <= 0.005 * (1 + 1e-6)
    got = mocpack.decode((tmp_path / "got.mocp").read_bytes())
    assert 39 <= got.frame_count <= day.frame_count
    np.testing.assert_array_equal(np.abs(got.rotations[-1]), np.abs(day.rotations[-1]))


def test_ctrl_c_finishes_the_file(relay, tmp_path):
    _, address = relay
    mocpack.write(walk(0.5), tmp_path / "walk.bvh")
    sender = start(
        "live", "send", "walk.bvh", "--to", f"{address}/stage/anna", "--loop", cwd=tmp_path
    )
    receiver = start("live", "receive", f"{address}/stage", "-o", "got.mocp", cwd=tmp_path)
    assert "recording anna" in receiver.stderr.readline()
    lines = start("live", "receive", f"{address}/stage", "-o", "-", "--delay", "auto", cwd=tmp_path)
    for _ in range(40):
        assert lines.stdout.readline()
    receiver.send_signal(signal.SIGINT)
    printed, errors = receiver.communicate(timeout=60)
    assert (receiver.returncode, printed.strip()) == (0, "wrote got.mocp"), errors
    for process in (sender, lines):
        process.kill()
        process.communicate()
    assert mocpack.decode((tmp_path / "got.mocp").read_bytes()).frame_count >= 39


def record(recorder, name, clip, *, end=True):
    """Record a clip as a performance; return the function that takes more packets."""
    sender = Sender(clip.header, 0.005)
    take = recorder.begin(name, sender.hello)
    for frame in zip(clip.rotations, clip.translations, strict=True):
        take(sender.send(*frame))
    if end:
        take(None)
    return take


def list_folder():
    return sorted(path.name for path in Path().iterdir())


@contextmanager
def performing(address, count=60):
    """Send this many frames to a relay and stay connected until it has recorded them."""
    clip, words = walk(1.0), ["mocpack.live.2"]
    sender = Sender(clip.header, 0.005)
    with (
        connect(f"{address}/stage", subprotocols=[*words, "role.watch"]) as watcher,
        connect(f"{address}/stage/anna", subprotocols=[*words, "role.send"]) as performer,
    ):
        performer.send(sender.hello.to_bytes())
        for frame in zip(clip.rotations[:count], clip.translations[:count], strict=True):
            performer.send(sender.send(*frame))
        got = 0
        while got < count:
            message = watcher.recv(timeout=60)
            if isinstance(message, bytes):
                got += sum(not is_hello(data) for _, data in unpack_items(message))
        yield count


def test_sigterm_finishes_the_file(relay, tmp_path):
    process, address = relay
    with performing(address) as count:
        receiver = start("live", "receive", f"{address}/stage", "-o", "got.mocp", cwd=tmp_path)
        assert "recording anna" in receiver.stderr.readline()
        for one, name in ((receiver, "got.mocp"), (process, "day.mocp")):
            one.send_signal(signal.SIGTERM)
            printed, errors = one.communicate(timeout=60)
            assert (one.returncode, printed.strip()) == (0, f"wrote {name}"), errors
            assert mocpack.decode((tmp_path / name).read_bytes()).frame_count == count
    assert not list(tmp_path.glob("*.spool"))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
def test_a_relay_that_was_started_with_sigint_ignored_keeps_ignoring_it(tmp_path):
    words = ("live", "serve", "--port", 0, "--record", "day.mocp", "--no-page")
    process = start(*words, cwd=tmp_path, ignore_interrupts=True)
    address = re.search(r"ws://127\.0\.0\.1:\d+", process.stdout.readline())[0]
    process.send_signal(signal.SIGINT)
    with performing(address) as count:
        pass
    process.send_signal(signal.SIGTERM)
    printed, errors = process.communicate(timeout=60)
    assert (process.returncode, printed.strip()) == (0, "wrote day.mocp"), errors
    assert mocpack.decode((tmp_path / "day.mocp").read_bytes()).frame_count == count


def test_a_killed_relay_loses_nothing_and_the_next_one_finishes_the_recording(relay, tmp_path):
    process, address = relay
    with performing(address) as count:
        process.kill()
        process.wait(timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["day-anna.mocp.spool"]
    again = start("live", "serve", "--port", 0, "--record", "day.mocp", "--no-page", cwd=tmp_path)
    again.stdout.readline()
    again.send_signal(signal.SIGTERM)
    printed, errors = again.communicate(timeout=60)
    assert (again.returncode, printed.strip()) == (0, "wrote day.mocp"), errors
    assert [path.name for path in tmp_path.iterdir()] == ["day.mocp"]
    assert mocpack.decode((tmp_path / "day.mocp").read_bytes()).frame_count == count


def test_a_relay_that_breaks_the_protocol_does_not_cost_the_recording(tmp_path):
    clip = walk(0.2)
    sender = Sender(clip.header, 0.005)
    frames = zip(clip.rotations, clip.translations, strict=True)
    packets = [sender.send(*frame) for frame in frames]

    def send_frames(connection):
        connection.send(json.dumps({"join": 1, "name": "../anna"}))
        connection.send(pack_item(1, sender.hello.to_bytes()))
        for packet in packets:
            connection.send(pack_item(1, packet))
        connection.send(b"\x01")  # ends within an item
        connection.recv()

    with serve(send_frames, "127.0.0.1", 0, subprotocols=["mocpack.live.2"]) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        url = f"ws://127.0.0.1:{port}/stage"
        process = start("live", "receive", url, "-o", "got.mocp", cwd=tmp_path)
        printed, errors = process.communicate(timeout=60)
        server.shutdown()
        thread.join()
    assert (process.returncode, printed.strip()) == (2, "wrote got.mocp"), errors
    assert "Traceback" not in errors
    assert mocpack.decode((tmp_path / "got.mocp").read_bytes()).frame_count == len(packets)


def test_a_recording_overwrites_no_earlier_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clip = walk(0.1)
    for _ in range(2):
        recorder = Recorder("day.mocp", None, force=False)
        for name in ("anna", "ben"):
            record(recorder, name, clip)
        assert recorder.finish()
    names = ["day-anna-2.mocp", "day-anna.mocp", "day-ben-2.mocp", "day-ben.mocp"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a\0b", "", "é" * 300, "x\x1b[31m", ".."])
def test_no_name_of_a_performer_leads_out_of_the_folder(tmp_path, monkeypatch, name):
    folder = tmp_path / "in"
    folder.mkdir()
    monkeypatch.chdir(folder)
    recorder = Recorder("day.mocp", None, force=False)
    record(recorder, name, walk(0.1))
    assert recorder.finish()
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "day.mocp"]


@pytest.mark.parametrize("name", ["day", "day.fbx", "day.txt"])
def test_a_recorder_refuses_a_file_that_it_could_not_write(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=naming(f"{name} .mocp .bvh")):
        Recorder(name, None, force=False)
    assert not list(tmp_path.iterdir())


def test_a_spool_that_another_recorder_writes_is_left_alone(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    first = Recorder("day.mocp", None, force=False)
    take = record(first, "anna", walk(0.1), end=False)
    second = Recorder("day.mocp", None, force=False)
    record(second, "anna", walk(0.1))
    assert second.finish()
    assert (tmp_path / "day-anna.mocp.spool").exists()
    assert "killed" not in capfd.readouterr().err
    take(None)
    assert first.finish()


def test_a_disk_that_is_full_ends_a_recording_and_not_the_relay(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    recorder = Recorder("day.mocp", None, force=False)
    written = Spool._write
    count = iter(range(100))

    def fail(self, data):
        if next(count) >= 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        written(self, data)

    monkeypatch.setattr(Spool, "_write", fail)
    record(recorder, "anna", walk(0.5))
    assert recorder.finish()
    assert not recorder.is_complete
    assert capfd.readouterr().err.count(os.strerror(errno.ENOSPC)) == 1
    assert mocpack.decode((tmp_path / "day.mocp").read_bytes()).frame_count == 9


@pytest.fixture
def one_frame_per_part(monkeypatch):
    monkeypatch.setattr(
        "mocpack.live.commands.recorder.decode_clips",
        lambda hello, packets: decode_clips(hello, packets, max_joint_frames=1),
    )


@pytest.fixture
def few_open_files():
    """Allow fewer open files than a recording has parts."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len([*Path("/dev/fd").iterdir()]) + 50, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("one_frame_per_part", "few_open_files")
def test_a_recording_of_any_number_of_parts_is_written_completely(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clip = walk(4.2)
    recorder = Recorder("day.mocp", None, force=False)
    record(recorder, "anna", clip)
    assert recorder.finish()
    assert recorder.is_complete
    paths = [f"day-anna-part{part}.mocp" for part in range(2, clip.frame_count + 1)]
    assert clip.frame_count > 250
    assert list_folder() == sorted(["day-anna.mocp", *paths])
    last = mocpack.decode((tmp_path / paths[-1]).read_bytes())
    assert error_of(clip[-1:], last) <= 0.005 * (1 + 1e-6)


@pytest.mark.usefixtures("one_frame_per_part")
@pytest.mark.parametrize("suffix", [".mocp", ".bvh"])
def test_a_recording_that_cannot_be_written_keeps_its_spool(tmp_path, monkeypatch, capfd, suffix):
    """No part appears without the others, and the next recorder writes all of them."""
    monkeypatch.chdir(tmp_path)
    clip, taken = walk(0.1), tmp_path / f"day-anna-part5{suffix}"
    taken.write_text("of someone else")
    recorder = Recorder(f"day{suffix}", None, force=False)
    record(recorder, "anna", clip)
    record(recorder, "ben", clip[:1])
    assert recorder.finish()
    assert not recorder.is_complete
    assert names(capfd.readouterr().err, taken.name)
    assert list_folder() == sorted([f"day-anna{suffix}.spool", f"day{suffix}", taken.name])
    taken.unlink()
    Path(f"day{suffix}").unlink()
    again = Recorder(f"day{suffix}", None, force=False)
    assert again.finish()
    assert again.is_complete
    assert len(list_folder()) == clip.frame_count


@pytest.mark.usefixtures("one_frame_per_part")
def test_a_fault_while_writing_one_recording_does_not_stop_the_others(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    recorder = Recorder("day.mocp", None, force=False)
    write, calls = recorder._write_part, iter([ZeroDivisionError("a bug"), None])

    def fail_once(clip, path):
        if (error := next(calls)) is not None:
            raise error
        write(clip, path)

    monkeypatch.setattr(recorder, "_write_part", fail_once)
    for name in ("anna", "ben"):
        record(recorder, name, walk(0.1)[:1])
    assert recorder.finish()
    assert not recorder.is_complete
    assert names(capfd.readouterr().err, "day-anna.mocp.spool ZeroDivisionError")
    assert list_folder() == ["day-anna.mocp.spool", "day.mocp"]


def test_a_damaged_spool_is_kept_beside_the_frames_before_the_damage(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    recorder = Recorder("day.mocp", None, force=False)
    take = record(recorder, "anna", walk(0.5), end=False)
    spool = tmp_path / "day-anna.mocp.spool"
    data = bytearray(spool.read_bytes())
    data[-200] ^= 1
    spool.write_bytes(data)
    take(None)
    assert recorder.finish()
    assert not recorder.is_complete
    assert names(capfd.readouterr().err, "day-anna.mocp.spool.damaged")
    assert list_folder() == ["day-anna.mocp.spool.damaged", "day.mocp"]
    assert (tmp_path / "day-anna.mocp.spool.damaged").read_bytes() == data
    assert 0 < mocpack.decode((tmp_path / "day.mocp").read_bytes()).frame_count < 60


def test_a_performer_may_come_back_any_number_of_times(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clip = walk(0.1)[:1]
    sender = Sender(clip.header, 0.005)
    packet = sender.send(clip.rotations[0], clip.translations[0])
    recorder = Recorder("day.mocp", None, force=False)
    recorder._takes["anna"] = 1000
    for _ in range(2):
        take = recorder.begin("anna", sender.hello)
        take(packet)
        take(None)
    assert recorder.finish()
    assert recorder.is_complete
    assert list_folder() == ["day-anna-1000.mocp", "day-anna-1001.mocp"]


@pytest.mark.parametrize("command", ["serve", "receive"])
def test_the_exit_code_tells_that_a_recording_is_not_written(relay, tmp_path, command):
    process, address = relay
    with performing(address):
        if command == "receive":
            process = start("live", "receive", f"{address}/stage", "-o", "got.mocp", cwd=tmp_path)
            assert "recording anna" in process.stderr.readline()
        name = "day-anna.mocp" if command == "serve" else "got-anna.mocp"
        (tmp_path / name).mkdir()  # so that no file can get this name
        process.send_signal(signal.SIGTERM)
        printed, errors = process.communicate(timeout=60)
    assert (process.returncode, printed) == (2, ""), errors
    assert names(errors, f"{name}.spool")
    assert (tmp_path / f"{name}.spool").exists()


def test_recordings_make_an_archive(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    clip = walk(0.3)
    recorder = Recorder("day.mocps", None, force=False)
    for name in ("anna", "ben", "anna"):
        record(recorder, name, clip)
    assert recorder.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["day.mocps"]
    listed = start("corpus", "ls", "day.mocps", "--json", cwd=tmp_path).communicate(timeout=60)[0]
    assert sorted(re.findall(r'"(anna|ben|anna-2)"', listed)) == ["anna", "anna-2", "ben"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["live", "serve", "--host", "0.0.0.0"], "0.0.0.0 --tls --token-file"),
        (
            ["live", "send", "walk.bvh", "--to", "ws://example.org/stage/anna"],
            "wss:// ws://example.org/stage/anna",
        ),
        (
            ["live", "send", "walk.bvh", "--to", "ws://127.0.0.1:9/stage"],
            "ws://127.0.0.1:9/stage/anna",
        ),
        (["live", "send", "walk.bvh", "--to", "ftp://x/y"], "ws:// wss:// udp://"),
        (["live", "receive", "ws://127.0.0.1:9/stage/anna", "-o", "-"], "ws://127.0.0.1:9/stage"),
        (
            ["live", "receive", "ws://127.0.0.1:9/s", "-o", "a.bvh", "--max-error", "1mm"],
            "--max-error .mocp",
        ),
        (["live", "serve", "--tls", "walk.bvh"], "walk.bvh"),
        (["live", "send", "walk.bvh", "--to", "udp://192.0.2.1:9/stage/anna"], "--plain-udp"),
        (["live", "send", "walk.bvh", "--to", "udp://127.0.0.1:9/a/b/c"], "/stage/performer"),
        (
            ["live", "receive", "ws://127.0.0.1:9/s", "-o", "-", "--delay", "soon"],
            "--delay auto 'soon'",
        ),
    ],
)
def test_bad_requests_are_clear_errors(tmp_path, words, named):
    mocpack.write(walk(0.2), tmp_path / "walk.bvh")
    process = start(*words, cwd=tmp_path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert names(errors, named)
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    "words",
    [
        "live serve --port 99999",
        "live serve --port -5",
        "live serve --webtransport 99999",
        "view --port 99999",
        "live send walk.bvh --to ws://127.0.0.1:99999/stage/anna",
        "live send walk.bvh --to udp://127.0.0.1:99999/stage/anna",
        "live send walk.bvh --to udp://127.0.0.1:some",
        "live send walk.bvh --to ws://[::1/stage/anna",
        "live send vmc://:99999 --to udp://127.0.0.1:9000",
        "live send zmq://127.0.0.1:99999 --to udp://127.0.0.1:9000",
        "live send zmq://nowhere --to udp://127.0.0.1:9000",
        "live receive udp://:99999 -o got.mocp",
        "live receive ws://127.0.0.1:8420/stage -o vmc://127.0.0.1:99999",
        "live receive ws://127.0.0.1:8420/stage -o zmq://127.0.0.1",
    ],
)
def test_a_bad_address_is_a_clear_error(words, tmp_path):
    mocpack.write(walk(0.1), tmp_path / "walk.bvh")
    result = run(*words.split(), folder=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert re.fullmatch(r"mocpack: .*(\bport\b|address|65535).*\n", result.stderr), result.stderr


@pytest.mark.parametrize(
    "words", ["live send walk.bvh --to URL/anna", "live receive URL -o got.mocp"]
)
def test_without_a_relay_the_error_is_printed_and_the_connection_retried(words, tmp_path):
    mocpack.write(walk(0.1), tmp_path / "walk.bvh")
    with socket.socket() as taken:  # bound but not listening, so connections are refused
        taken.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{taken.getsockname()[1]}/stage"
        process = start(*words.replace("URL", url).split(), cwd=tmp_path)
        line = process.stderr.readline()
        given_up = process.poll() is not None
        process.kill()
        process.communicate()
    assert line.startswith(f"mocpack: {url}")
    assert not given_up


HOSTILE_TEXT = ["", "{", "[" * 2000, '{"ping": NaN}', '{"ping": 1e999}', '{"join": "\\ud800"}']
HOSTILE_TEXT += ['{"a":' * 500, json.dumps({"ping": 10**40}), '"\\udfff\\udfff"', "\x00" * 60]
HOSTILE_BYTES = [b"", b"\x00", b"mlh1", b"mlh1" + bytes(60), b"\xff" * 300, b"{}", b"\x21" * 40]
HOSTILE_REQUESTS = [
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "GET /\udc80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "GET /\x1b[31m HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ²\r\n\r\n",
    "POST /stage HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\n" + "X: y\r\n" * 500 + "\r\n",
    "\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
]


def hostile_datagrams(sender):
    """Joins with wrong types, a lone surrogate as proof, and messages after a valid join."""
    good = {"join": "/stage/anna", "role": "send", "challenge": "0" * 32, "proof": "x" * 64}
    wrong = ["\ud800", 10**3000, None, [], {}, 1e308, float("nan"), [[["\ud800"]]], "x" * 900]
    yield from (json.dumps({**good, key: value}).encode() for key in good for value in wrong)
    yield from HOSTILE_BYTES
    yield b'{"join": ' + b"[" * 1500 + b"]" * 1500 + b"}"
    yield sender.hello.to_bytes()


def test_no_input_from_the_network_prints_a_traceback(tmp_path, request):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"send {'s' * 20}\nwatch {'w' * 20}\n")
    process = start(
        "live", "serve", "--port", 0, "--no-page", "--token-file", "tokens", cwd=tmp_path
    )
    request.addfinalizer(process.kill)
    port = int(re.search(r":(\d+)", process.stdout.readline())[1])
    sender = Sender(walk(0.1).header, 0.005)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(20)
        for data in hostile_datagrams(sender):
            udp.sendto(data, ("127.0.0.1", port))
        asked = {"join": "/stage/anna", "role": "send", "challenge": "0" * 32, "proof": "x" * 64}
        udp.sendto(json.dumps(asked).encode(), ("127.0.0.1", port))
        while "challenge" not in (answer := json.loads(udp.recv(4096))):
            pass
        asked |= {"challenge": answer["challenge"], "proof": "\ud800"}
        udp.sendto(json.dumps(asked).encode(), ("127.0.0.1", port))
        while "refused" not in json.loads(udp.recv(4096)):  # the relay still runs
            pass
    for request in HOSTILE_REQUESTS:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
            one.sendall(request.encode("latin-1", "replace"))
    for role, token, path in (("send", "s", "/stage/anna"), ("watch", "w", "/stage")):
        for message in (*HOSTILE_TEXT, *HOSTILE_BYTES, sender.hello.to_bytes()):
            words = ["mocpack.live.2", f"role.{role}", f"token.{20 * token}"]
            with connect(f"ws://127.0.0.1:{port}{path}", subprotocols=words) as one:
                one.send(message)
                with suppress(ConnectionClosed):  # the relay may have closed it already
                    one.send(message)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode == 0
