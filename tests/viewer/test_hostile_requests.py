"""Requests over raw sockets that no browser sends by itself."""

import contextlib
import json
import os
import random
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from browsing import serving

import mocpack
from mocpack.errors import UsageError
from mocpack.testing import walk
from mocpack.viewing import connections
from mocpack.viewing import server as module
from mocpack.viewing.motions import select

SECRET = "a-private-name.bvh"
SEEDS = int(os.environ.get("MOCPACK_FUZZ", "100"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server whose session holds a name that must not leak."""
    path = tmp_path_factory.mktemp("hostile") / SECRET
    mocpack.write(walk(0.1), path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "page_files", lambda: {"index.html": b"page"})
        with serving(select(str(path))) as server:
            server.upload = path.read_bytes()
            yield server


def exchange(server, sent):
    """Send bytes, end the sending direction, and return everything that comes back."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as wire:
        with contextlib.suppress(OSError):  # the server may have closed the connection already
            wire.sendall(sent)
            wire.shutdown(socket.SHUT_WR)
        received = b""
        with contextlib.suppress(ConnectionError):
            while part := wire.recv(1 << 16):
                received += part
        return received


def head(server, line="GET /session.json HTTP/1.1", *fields, host=None):
    """Return a request's head; the fields are lines without their ends."""
    host = f"127.0.0.1:{server.port}" if host is None else host
    lines = [line, *([f"Host: {host}"] if host else []), *fields]
    return "".join(f"{text}\r\n" for text in lines).encode("latin-1") + b"\r\n"


def drop(server, *fields, **options):
    """Return a request that drops a real file on the page."""
    size = f"Content-Length: {len(server.upload)}"
    name = "X-Mocpack-File: inner.bvh"
    return head(server, "POST /dropped HTTP/1.1", name, size, *fields, **options) + server.upload


def inner_requests(server):
    return {"read": head(server), "write": drop(server)}


def chunked(data):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)


def outer_requests(server, inner):
    """Return requests that must not let a request in their body through, by name."""
    size = f"Content-Length: {len(inner)}"
    own = "X-Mocpack-File: a.bvh"
    encoded = "Transfer-Encoding: chunked"
    post = "POST /dropped HTTP/1.1"
    foreign = f"evil.example:{server.port}"
    return {
        "text/plain form": head(server, post, size, "Content-Type: text/plain") + inner,
        "foreign host": head(server, post, own, size, host=foreign) + inner,
        "foreign host, GET": head(server, host=foreign) + inner,
        "foreign origin": head(server, post, own, size, "Origin: http://evil.example") + inner,
        "origin of another port": head(server, post, own, size, "Origin: http://127.0.0.1:1")
        + inner,
        "origin of a sandboxed frame": head(server, post, own, size, "Origin: null") + inner,
        "no host": head(server, post, own, size, host="") + inner,
        "two hosts": head(server, post, own, size, f"Host: {foreign}") + inner,
        "two lengths": head(server, post, own, "Content-Length: 0", size) + inner,
        "a list of lengths": head(server, post, own, f"Content-Length: 0, {len(inner)}") + inner,
        "length and chunks": head(server, post, own, "Content-Length: 3", encoded) + chunked(inner),
        "chunks": head(server, post, own, encoded) + chunked(inner),
        "chunks, misspelled": head(server, post, own, "Transfer-Encoding: xchunked") + inner,
        "no length": head(server, post, own) + inner,
        "negative length": head(server, post, own, "Content-Length: -1") + inner,
        "plus sign": head(server, post, own, "Content-Length: +0") + inner,
        "superscript length": head(server, post, own, "Content-Length: ²") + inner,
        "hexadecimal length": head(server, post, own, "Content-Length: 0x0") + inner,
        "underscored length": head(server, post, own, "Content-Length: 1_0") + inner,
        "empty length": head(server, post, own, "Content-Length:") + inner,
        "length of 2 GB": head(server, post, own, f"Content-Length: {1 << 31}") + inner,
        "length of 5,000 digits": head(server, post, own, f"Content-Length: {'9' * 5000}") + inner,
        "short length": head(server, post, own, "Content-Length: 4") + b"xxxx" + inner,
        "another path": head(server, "POST /session HTTP/1.1", own, size) + inner,
        "absolute form": head(server, "POST http://evil.example/dropped HTTP/1.1", own, size)
        + inner,
        "GET with a body": head(server, "GET /nothing HTTP/1.1", size) + inner,
        "HEAD with a body": head(server, "HEAD /nothing HTTP/1.1", size) + inner,
        "PUT": head(server, "PUT /dropped HTTP/1.1", own, size) + inner,
        "OPTIONS": head(server, "OPTIONS /dropped HTTP/1.1", size) + inner,
        "CONNECT": head(server, f"CONNECT {foreign} HTTP/1.1") + inner,
        "unknown method": head(server, "get / HTTP/1.1", size) + inner,
        "HTTP/0.9": b"GET /nothing\r\n\r\n" + inner,
        "HTTP/2.0": head(server, "GET /nothing HTTP/2.0") + inner,
        "HTTP/1.17": head(server, "GET /nothing HTTP/1.17") + inner,
        "no version number": head(server, "GET /nothing HTTP/²") + inner,
        "keep-alive": head(server, post, "Connection: keep-alive", size, host=foreign) + inner,
        "upgrade": head(server, "GET /nothing HTTP/1.1", "Connection: Upgrade", "Upgrade: h2c")
        + inner,
        "expect": head(server, post, "Expect: 100-continue", size, host=foreign) + inner,
        "folded field": head(server, post, own, "X-A: b", " c", size) + inner,
        "space before colon": head(server, post, own, f"Content-Length : {len(inner)}") + inner,
        "line without colon": head(server, post, own, "nonsense", size) + inner,
        "NUL in a field": head(server, post, own, "X-A: \0", size) + inner,
        "many fields": head(server, post, *(f"X-{i}: y" for i in range(500)), size) + inner,
        "large fields": head(server, post, *[f"X: {'y' * 30000}"] * 50, size) + inner,
        "long field": head(server, post, f"X: {'y' * 70000}", size) + inner,
        "long target": head(server, f"GET /{'y' * 70000} HTTP/1.1") + inner,
        "bytes": bytes(range(256)) + b"\r\n\r\n" + inner,
        "line ends alone": b"\r\n\r\n\r\n" + inner,
    }


def outer_names():
    class Nowhere:
        port, upload = 1, b""

    return list(outer_requests(Nowhere, b""))


@pytest.mark.parametrize("name", outer_names())
@pytest.mark.parametrize("kind", ["read", "write"])
def test_body_of_a_refused_request_is_never_taken_for_a_request(served, name, kind, capfd):
    dropped = served.dropped.count
    answer = exchange(served, outer_requests(served, inner_requests(served)[kind])[name])
    assert answer.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"").count(b"HTTP/1.") <= 1
    assert answer == b"" or int(answer.split()[1]) >= 400 or answer.startswith(b"HTTP/1.1 100 ")
    assert SECRET.encode() not in answer
    assert served.dropped.count == dropped
    assert capfd.readouterr().err == ""


def test_second_request_on_a_connection_is_not_answered(served):
    answer = exchange(served, head(served, "GET / HTTP/1.1") + head(served))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nConnection: close\r\n" in answer
    assert SECRET.encode() not in answer


def test_generated_requests_leak_nothing_and_print_nothing(served, capfd):
    """Pieces of good and bad requests in random order, with random bytes changed."""
    dropped = served.dropped.count
    for seed in range(SEEDS):
        chance = random.Random(seed)
        sent = generated(served, chance)
        answer = exchange(served, sent)
        assert answer.count(b"HTTP/1.1 ") <= 1 + answer.count(b"HTTP/1.1 100 "), (seed, sent)
        assert SECRET.encode() not in answer, (seed, sent)
        assert served.dropped.count == dropped, (seed, sent)
    assert capfd.readouterr().err == ""
    assert exchange(served, head(served)).startswith(b"HTTP/1.1 200 ")


def generated(server, chance):
    """Return a request that must be refused, followed by one that would be answered."""
    outer = outer_requests(server, inner_requests(server)[chance.choice(("read", "write"))])
    sent = mutated(chance.choice(list(outer.values())), chance)
    # the first head must stay one that is refused: without a good host, everything is
    first = sent.split(b"\r\n\r\n", 1)
    first[0] = first[0].replace(f"127.0.0.1:{server.port}".encode(), b"evil.example")
    return b"\r\n\r\n".join(first)


def mutated(sent, chance):
    """Return a request with up to three changes in its head."""
    changed = bytearray(sent)
    end = changed.find(b"\r\n\r\n") % len(changed)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(end + 1)
        piece = chance.choice((b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b"\xff", b"%00"))
        if chance.random() < 0.5:
            changed[at:at] = piece
        else:
            changed[at] = chance.randrange(256)
    return bytes(changed)


def test_good_requests_with_errors_get_one_answer_and_print_nothing(served, capfd):
    good = [
        head(served, "GET /frames/0/0/3 HTTP/1.1", "Range: bytes=0-7"),
        head(served, "GET /packed/1/1000 HTTP/1.1", "If-Range: x", "Range: bytes=-1"),
        head(served, "HEAD / HTTP/1.1", "Content-Length: 0"),
        drop(served),
    ]
    for seed in range(SEEDS):
        chance = random.Random(seed)
        sent = mutated(chance.choice(good), chance)
        answer = exchange(served, sent)
        assert answer.count(b"HTTP/1.1 ") <= 1, (seed, sent)
        assert not answer.startswith(b"HTTP/1.1 500"), (seed, sent)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/session.json", "/frames/0/0/1", "/packed/1/1000"])
def test_requests_of_other_sites_are_refused(served, path, fields):
    lines = [f"{name}: {value}" for name, value in fields.items()]
    answer = exchange(served, head(served, f"GET {path} HTTP/1.1", *lines))
    assert answer.startswith(b"HTTP/1.1 403 ")


def test_link_on_another_site_opens_the_page_and_nothing_else(served):
    link = ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
    assert exchange(served, head(served, "GET / HTTP/1.1", *link)).startswith(b"HTTP/1.1 200 ")
    answer = exchange(served, head(served, "GET /session.json HTTP/1.1", *link))
    assert answer.startswith(b"HTTP/1.1 403 ")


def test_own_page_drops_a_file(served):
    own = f"Origin: http://127.0.0.1:{served.port}"
    answer = exchange(served, drop(served, own, "Sec-Fetch-Site: same-origin"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["motion"]["name"] == "inner.bvh"


@pytest.mark.parametrize(
    "name", ["%00.bvh", "..%2F..%2Fetc%2Fpasswd", "%ff%fe.bvh", "a.fbx", "%F0%9F%98%80.glb", "x"]
)
def test_hostile_file_names_and_contents_print_nothing(served, name, capfd):
    for data in (b"", b"\0" * 100, b"HIERARCHY\nROOT \xed\xa0\x80\n", b"{" * 2000):
        fields = (f"X-Mocpack-File: {name}", f"Content-Length: {len(data)}")
        answer = exchange(served, head(served, "POST /dropped HTTP/1.1", *fields) + data)
        assert answer.startswith(b"HTTP/1.1 422 "), answer
    assert capfd.readouterr().err == ""


def test_refusal_arrives_although_its_body_was_not_read(served):
    body = bytes(5_000_000)
    sent = head(served, "POST /dropped HTTP/1.1", f"Content-Length: {len(body)}") + body
    assert exchange(served, sent).startswith(b"HTTP/1.1 403 ")


def test_truncated_body_is_refused(served):
    answer = exchange(served, drop(served)[:-1])
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("part", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: 127", "body"])
def test_slow_requests_are_given_up(served, part, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_TIMEOUT_S", 0.05)
    monkeypatch.setattr(connections, "BODY_TIMEOUT_S", 0.05)
    sent = drop(served)[:-1] if part == "body" else part
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as wire:
        wire.sendall(sent)
        assert wire.recv(1 << 16) == b""


@pytest.mark.parametrize("part", ["nothing", "head", "body", "response"])
def test_idle_connections_do_not_lock_others_out(served, part, monkeypatch):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    sent = {
        "nothing": b"",
        "head": b"GET / HTTP/1.1\r\nHost: 127",
        "body": drop(served)[:-1],
        "response": head(served),  # which it then does not read
    }
    with contextlib.ExitStack() as stack:
        wires = []
        for _ in range(3):
            wires.append(socket.create_connection(("127.0.0.1", served.port), timeout=10))
            stack.enter_context(wires[-1])
            wires[-1].sendall(sent[part])
        while served.open_count < 3:
            pass
        for _ in range(4):
            assert exchange(served, head(served)).startswith(b"HTTP/1.1 200 ")
        if part != "response":
            assert wires[0].recv(1) == b""  # the oldest was closed


def test_connections_are_bounded(served, monkeypatch):
    """While the server works on all connections, it closes none of them for a new one."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    working, finished = threading.Semaphore(0), threading.Event()

    def work(*_):
        working.release()
        finished.wait(60)
        raise UsageError("it is no motion")

    monkeypatch.setattr(served.dropped, "add", work)
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(exchange, served, drop(served)) for _ in range(3)]
        for _ in range(3):
            assert working.acquire(timeout=60)
        assert exchange(served, head(served)) == b""
        finished.set()
        assert all(answer.result().startswith(b"HTTP/1.1 422 ") for answer in answers)
    assert exchange(served, head(served)).startswith(b"HTTP/1.1 200 ")


def test_unexpected_error_is_one_line_and_status_500(served, monkeypatch, capfd):
    def fail(*_):
        raise RuntimeError("\x1b[31mbroken\nhere")

    monkeypatch.setattr(served.dropped, "add", fail)
    answer = exchange(served, drop(served))
    assert answer.startswith(b"HTTP/1.1 500 ")
    said = capfd.readouterr().err
    assert "RuntimeError" in said
    assert len(said.splitlines()) == 1
    assert "\x1b" not in said
