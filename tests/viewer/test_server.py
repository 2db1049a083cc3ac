"""The local server without a browser, with hostile clients."""

import http.client
import json
import signal
import socket
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest

import child_processes
import mocpack
from mocpack import rate
from mocpack.cli import main
from mocpack.errors import UsageError
from mocpack.testing import walk
from mocpack.viewing import server as serving
from mocpack.viewing.motions import select
from mocpack.viewing.ranges import UnsatisfiableRangeError, parse_range
from naming import names, naming

PAGE = {"index.html": b"<!doctype html>page", "assets/page.js": b"code", "assets/x.wasm": b"\0asm"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    clip = walk(0.5)
    mocpack.write(clip, folder / "walk.bvh")
    (folder / "walk.mocp").write_bytes(mocpack.encode(clip, max_error="5mm"))
    (folder / "raw.mocp").write_bytes(mocpack.encode(clip, "raw"))
    (folder / "secret.txt").write_text("not for you")
    return folder


@pytest.fixture(scope="module")
def hostile(folder):
    data = (folder / "walk.mocp").read_bytes()
    (folder / "cut.mocp").write_bytes(data[:-40])
    (folder / "bad.mocp").write_bytes(data[:-40] + bytes(40))
    mocpack.write(walk(0.5).frames(0, 20), folder / "short.bvh")
    chain = mocpack.Clip.build(
        mocpack.Skeleton(("a", "b"), (-1, 0), np.zeros((2, 3))),
        np.tile([0.0, 0, 0, 1], (30, 2, 1)),
        np.zeros((30, 3)),
        frame_rate=walk(0.5).frame_rate,
    )
    (folder / "chain.mocp").write_bytes(mocpack.encode(chain, "raw"))
    np.savez(folder / "mesh.npz", vertices=np.zeros((2, 4, 3)), faces=np.array([[0, 1, 2]]))
    return folder


@pytest.fixture(scope="module")
def served(folder):
    """A running server of one packed file, one of another codec, and the original."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "page_files", lambda: PAGE)
        names = [str(folder / name) for name in ("walk.mocp", "walk.bvh", "raw.mocp")]
        server = serving.open_server(select(names[0], names[1], [names[2]]), 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def ask(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=given)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def packed_id(server):
    return next(i for i, m in enumerate(server.selection.motions) if m.data is not None)


def frames_id(server, name):
    return next(i for i, m in enumerate(server.selection.motions) if m.name == name)


def test_the_server_is_on_the_loopback_address_only(served):
    assert served.server_address[0] == "127.0.0.1"


def test_the_page_and_its_assets_are_served_with_their_types(served):
    for path, data, kind in (
        ("/", PAGE["index.html"], "text/html; charset=utf-8"),
        ("/assets/page.js", b"code", "text/javascript; charset=utf-8"),
        ("/assets/x.wasm", b"\0asm", "application/wasm"),
    ):
        answer, body = ask(served, path)
        assert (answer.status, body, answer.headers["Content-Type"]) == (200, data, kind)
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_the_session_lists_the_files_largest_first(served, folder):
    answer, body = ask(served, "/session.json")
    session = json.loads(body)
    assert answer.status == 200
    assert [m["name"] for m in session["motions"]] == ["raw.mocp", "walk.mocp", "walk.bvh"]
    assert [m["role"] for m in session["motions"]] == ["packed", "packed", "original"]
    assert [m["kind"] for m in session["motions"]] == ["frames", "file", "frames"]
    assert session["chosen"] == 1
    assert session["rawBytes"] is None  # told by ratio.json, so that the page need not wait
    raw = json.loads(ask(served, "/ratio.json")[1])["rawBytes"]
    assert raw == rate.raw_size(mocpack.read(folder / "walk.bvh"))
    head = session["motions"][0]["head"]
    assert head["bytes"]["file"] == (folder / "raw.mocp").stat().st_size
    assert head["codec"] == "raw"
    assert head["skeleton"]["parents"][0] == -1


def test_a_packed_file_comes_whole_or_by_range(served, folder):
    path, data = f"/files/{packed_id(served)}", (folder / "walk.mocp").read_bytes()
    answer, body = ask(served, path)
    assert (answer.status, body) == (200, data)
    assert answer.headers["Accept-Ranges"] == "bytes"
    for wanted, start, stop in (
        ("bytes=0-4", 0, 5),
        ("bytes=10-", 10, len(data)),
        ("bytes=-7", len(data) - 7, len(data)),
        (f"bytes=5-{len(data) + 99}", 5, len(data)),
    ):
        answer, body = ask(served, path, Range=wanted)
        assert answer.status == 206
        assert body == data[start:stop]
        assert answer.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(data)}"


def test_bytes_past_the_end_are_answered_with_416(served, folder):
    size = (folder / "walk.mocp").stat().st_size
    answer, _ = ask(served, f"/files/{packed_id(served)}", Range=f"bytes={size}-")
    assert answer.status == 416
    assert answer.headers["Content-Range"] == f"bytes */{size}"


def test_head_has_the_headers_and_no_body(served, folder):
    answer, body = ask(served, f"/files/{packed_id(served)}", "HEAD", Range="bytes=0-9")
    assert (answer.status, body) == (206, b"")
    assert answer.headers["Content-Length"] == "10"


def test_a_range_of_another_version_of_the_file_is_not_mixed_in(served, folder):
    path = f"/files/{packed_id(served)}"
    etag = ask(served, path)[0].headers["ETag"]
    assert ask(served, path, Range="bytes=0-9", If_Range=etag)[0].status == 206
    assert ask(served, path, Range="bytes=0-9", If_Range='"other"')[0].status == 200


def test_frames_of_other_codecs_are_decoded_here_exactly(served, folder):
    clip = mocpack.decode((folder / "raw.mocp").read_bytes())
    answer, body = ask(served, f"/frames/{frames_id(served, 'raw.mocp')}/7/19")
    assert answer.status == 200
    magic, version, width, zero, start, count, joints, moving = struct.unpack_from(
        "<4sBBHIIII", body
    )
    assert (magic, version, width, zero, start, count) == (b"MOCF", 1, 8, 0, 7, 12)
    rotations = np.frombuffer(body, "<f8", count * joints * 4, 24).reshape(count, joints, 4)
    translations = np.frombuffer(body, "<f8", offset=24 + rotations.nbytes)
    np.testing.assert_array_equal(rotations, clip.rotations[7:19])
    np.testing.assert_array_equal(translations.reshape(count, moving, 3), clip.translations[7:19])


def test_the_page_decodes_keysine_itself_in_either_mode(folder):
    path = folder / "tight.mocp"
    path.write_bytes(mocpack.encode(walk(0.5), "keysine:mode=grid", max_error="0.2mm"))
    for name in ("tight.mocp", "walk.mocp"):
        shown = select(str(folder / name)).versions[0]
        assert (shown.codec, shown.data is None) == ("keysine", False)


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/assets/..\\..\\secret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/secret.txt",
        "/walk.mocp",
        "/files/../secret.txt",
        "/files/walk.mocp",
        "/files/99",
        "/files/-1",
        "/files/1/",
        "/files/٣",
        "/frames/0/5/5",
        "/frames/0/9/3",
        "/frames/0/0/99999",
        "/frames/99/0/1",
        "/frames/0/0/1e3",
        "/index.html%00",
        "http://127.0.0.1/secret.txt",
    ],
)
def test_nothing_else_can_be_requested(served, path):
    # sent by hand: clients tidy such paths before they go out
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as wire:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n\r\n"
        wire.sendall(head.encode())
        answer = b"".join(iter(lambda: wire.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"not for you" not in answer
    assert b"root:" not in answer


def test_frames_of_a_file_that_the_page_decodes_itself_are_not_sent(served):
    assert ask(served, f"/frames/{packed_id(served)}/0/5")[0].status == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""]
)
def test_a_foreign_host_name_is_refused(served, host):
    for path in ("/", "/session.json", f"/files/{packed_id(served)}"):
        answer, body = ask(served, path, Host=host)
        assert answer.status == 403
        assert f"127.0.0.1:{served.port}".encode() in body


def test_localhost_is_a_good_name(served):
    assert ask(served, "/session.json", Host=f"localhost:{served.port}")[0].status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "CONNECT"])
def test_nothing_can_be_written(served, method):
    assert ask(served, "/session.json", method)[0].status == 501


@pytest.mark.parametrize(
    "headers",
    [
        {},  # a form of another site can post, but sends no header of its own
        {"X-Mocpack-File": "a.bvh", "Host": "elsewhere.example"},
    ],
)
def test_only_the_own_page_may_drop_files(served, headers):
    answer, _ = ask(served, "/dropped", "POST", **{"Content-Length": "0", **headers})
    assert answer.status == 403


def test_a_drop_of_too_many_bytes_is_refused_before_it_is_read(served):
    headers = {"X-Mocpack-File": "a.bvh", "Content-Length": str(1 << 31)}
    assert ask(served, "/dropped", "POST", **headers)[0].status == 413


@pytest.mark.parametrize("path", ["/packed/1/1000", "/packed/1/5", "/dropped/1/0/1"])
def test_files_that_were_not_dropped_cannot_be_fetched(served, path):
    assert ask(served, path)[0].status == 404


def test_a_busy_port_is_answered_by_taking_another(served, monkeypatch):
    monkeypatch.setattr(serving, "page_files", lambda: PAGE)
    other = serving.open_server(served.selection, served.port)
    assert other.port != served.port
    other.server_close()


@pytest.mark.parametrize(
    "header",
    [None, "", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,4-5", "lines=0-1", "bytes=a-b"],
)
def test_a_range_that_makes_no_sense_is_ignored(header):
    assert parse_range(header, 10) is None


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_outside_is_unsatisfiable(header):
    with pytest.raises(UnsatisfiableRangeError):
        parse_range(header, 10)


def view(*words):
    """Run the command in this process; a process each would cost seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mocpack", "view", *map(str, words)])
        with pytest.raises(SystemExit) as leaving:
            main()
    return leaving.value.code


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["nope.mocp"], "nope.mocp:"),
        (["cut.mocp"], "cut.mocp: 'DATA'"),
        (["bad.mocp"], "bad.mocp:"),
        (["secret.txt"], "secret.txt: .bvh"),
        (["mesh.npz"], "mesh.npz:"),
        (["walk.mocp", "short.bvh"], "20 30 --frames"),
        (["walk.mocp", "--with", "chain.mocp"], "joints"),
        (["walk.mocp", "--image", "x.png", "--size", "big"], "1280x720 'big'"),
        (["walk.mocp", "--image", "x.png", "--size", "1281x720"], "1281x720"),
        (["walk.mocp", "walk.bvh", "--frames", "3"], "1: '3'"),
        (["walk.mocp", "--export", "secret.txt"], "secret.txt -f"),
        (["walk.mocp", "--export", "x.gif"], "x.gif .html"),
        (["walk.mocp", "--image", "x.gif"], "x.gif .png"),
        (["walk.mocp", "--video", "x.gif"], "x.gif .mp4"),
    ],
)
def test_bad_files_and_words_are_clear_errors_and_exit_code_2(
    hostile, words, named, monkeypatch, capsys
):
    monkeypatch.chdir(hostile)
    assert view(*words, "--no-browser") == 2
    message = capsys.readouterr().err
    assert names(message, named)
    assert len(message.splitlines()) == 1


def test_without_a_built_page_one_sentence_says_how_to_build_it(folder, monkeypatch, tmp_path):
    monkeypatch.setattr("mocpack.viewing.page.FOLDER", tmp_path)
    with pytest.raises(UsageError, match=naming("`make viewer`")):
        serving.open_server(select(str(folder / "walk.mocp")), 0)


def test_ctrl_c_ends_the_command_quietly_and_well(folder):
    # a page of our own, so that this runs where node is missing
    code = (
        "import sys; from mocpack.viewing import server; "
        "server.page_files = lambda: {'index.html': b'page'}; "
        "from mocpack.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "view", "walk.mocp", "--no-browser", "--port", "0"]
    process = child_processes.start(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    assert line.startswith("http://127.0.0.1:")
    assert "walk.mocp; press Ctrl-C" in line
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    assert (process.returncode, out, errors) == (0, "", "")
