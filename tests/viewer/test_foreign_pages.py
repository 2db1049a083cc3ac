"""Pages of other sites in a real browser: they read nothing from the viewer and change nothing."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browsing import serving

import mocpack
from mocpack.testing import walk
from mocpack.viewing.connections import ConnectionHandler
from mocpack.viewing.motions import select

# Each attack resolves to what it could read; null means nothing. `target` is the viewer's address,
# `bvh` a motion file.
ATTACKS = """async ([target, bvh]) => {
  const inner = (request) => request.replaceAll("\\n", "\\r\\n");
  const host = new URL(target).host;
  const read = inner(`GET /session.json HTTP/1.1\\nHost: ${host}\\n\\n`);
  const write = inner(
    `POST /dropped HTTP/1.1\\nHost: ${host}\\nX-Mocpack-File: inner.bvh\\n` +
    `Content-Length: ${bvh.length}\\n\\n`) + bvh;
  const quiet = (promise) => Promise.race([
    promise.catch(() => null), new Promise((go) => setTimeout(go, 1500, null))]);
  const text = async (path, options) => {
    const answer = await fetch(target + path, options);
    return (await answer.text()) || null;
  };
  const post = (body, more) => text("dropped", {method: "POST", body, ...more});
  const plain = {"Content-Type": "text/plain"};
  const add = (tag, fields) => new Promise((go) => {
    const element = Object.assign(document.createElement(tag), fields);
    element.onload = () => go(tag === "iframe" ? frameText(element) : `${tag} loaded`);
    element.onerror = () => go(null);
    document.body.append(element);
  });
  const frameText = (frame) => {
    try { return frame.contentDocument.body.textContent || null } catch { return null }
  };
  const form = (body) => new Promise((go) => {
    const frame = Object.assign(document.createElement("iframe"), {name: `f${Math.random()}`});
    document.body.append(frame);
    frame.onload = () => go(frameText(frame));
    const form = Object.assign(document.createElement("form"), {
      method: "post", enctype: "text/plain", action: target + "dropped", target: frame.name});
    form.append(Object.assign(document.createElement("textarea"), {name: "x", value: body}));
    document.body.append(form);
    form.submit();
  });
  const socket = () => new Promise((go) => {
    const link = new WebSocket(target.replace("http", "ws") + "session.json");
    link.onopen = () => go("WebSocket opened");
    link.onmessage = (event) => go(String(event.data));
    link.onerror = () => go(null);
  });
  const events = () => new Promise((go) => {
    const source = new EventSource(target + "session.json");
    source.onopen = () => go("EventSource opened");
    source.onerror = () => { source.close(); go(null) };
  });
  const attacks = {
    "fetch": text("session.json"),
    "fetch of frames": text("frames/0/0/3"),
    "fetch without CORS": text("session.json", {mode: "no-cors"}),
    "fetch with credentials": text("session.json", {credentials: "include"}),
    "work without CORS": text("packed/1/1000", {mode: "no-cors"}),
    "own header": post(bvh, {headers: {"X-Mocpack-File": "a.bvh"}}),
    "own header without CORS": post(bvh, {mode: "no-cors", headers: {"X-Mocpack-File": "a.bvh"}}),
    "PUT": text("dropped", {method: "PUT", body: bvh}),
    "smuggled read": post(read, {mode: "no-cors", headers: plain}),
    "smuggled write": post(write, {mode: "no-cors", headers: plain}),
    "smuggled write, twice": post(write + write, {mode: "no-cors", headers: plain}),
    "form, read": form(read),
    "form, write": form(write),
    "image": add("img", {src: target + "session.json"}),
    "image of work": add("img", {src: target + "packed/1/2000"}),
    "script": add("script", {src: target + "session.json"}),
    "script of the page": add("script", {src: target + "assets/page.js"}),
    "module": import(target + "assets/page.js").then(() => "module loaded"),
    "style": add("link", {rel: "stylesheet", href: target + "assets/index.css"}),
    "frame": add("iframe", {src: target}),
    "frame of data": add("iframe", {src: target + "session.json"}),
    "WebSocket": socket(),
    "EventSource": events(),
  };
  navigator.sendBeacon(target + "dropped", write);
  const found = {};
  for (const [name, promise] of Object.entries(attacks)) found[name] = await quiet(promise);
  return found;
}"""

SECRET = "a-private-name.bvh"


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A viewer that keeps a log of (request line, its headers, status)."""
    path = tmp_path / SECRET
    mocpack.write(walk(0.1), path)
    log = []

    def log_request(self, code="-", size="-"):
        log.append((self.requestline, dict(getattr(self, "headers", {}) or {}), int(code)))

    monkeypatch.setattr(ConnectionHandler, "log_request", log_request)
    with serving(select(str(path))) as server:
        server.log = log
        server.upload = path.read_text()
        # data derived from a dropped file is private too
        server.dropped.add("dropped.bvh", path.read_bytes())
        yield server


class _BlankPage(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>another site</title>")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def other_site():
    """Yield the port of an unrelated site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _BlankPage)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def assert_untouched(server, found):
    assert {name: said for name, said in found.items() if said and SECRET in said} == {}
    assert server.dropped.count == 1
    assert not server.dropped.packed
    answered = [entry for entry in server.log if entry[2] < 400]
    assert answered == []
    assert len(server.log) >= 10, "the attacks did not arrive"


@pytest.mark.parametrize("origin", ["127.0.0.1", "localhost", "evil.example"])
def test_page_of_another_origin_reads_and_changes_nothing(chromium, served, origin):
    with other_site() as port, contextlib.closing(chromium.new_context()) as context:
        tab = context.new_page()
        tab.goto(f"http://{origin}:{port}/")
        found = tab.evaluate(ATTACKS, [served.url, served.upload])
    # a browser shows a frame's error page as loaded; it holds nothing that can be read
    assert {name: said for name, said in found.items() if said} == {}
    assert_untouched(served, found)


def test_page_whose_name_points_at_the_loopback_reads_and_changes_nothing(chromium, served):
    """DNS rebinding: the attacker's page has the viewer's port and, by now, its address."""
    own = f"http://evil.example:{served.port}/"
    # the attacker's page brings no content security policy; the refusal that stands in for it does
    with contextlib.closing(chromium.new_context(bypass_csp=True)) as context:
        tab = context.new_page()
        tab.goto(own)
        for target in (own, served.url):
            served.log.clear()
            assert_untouched(served, tab.evaluate(ATTACKS, [target, served.upload]))


def test_site_that_opens_the_page_gets_no_hold_of_it(chromium, served):
    with other_site() as port, contextlib.closing(chromium.new_context()) as context:
        tab = context.new_page()
        tab.goto(f"http://127.0.0.1:{port}/")
        with context.expect_page() as opening:
            tab.evaluate("(url) => { window.held = window.open(url) }", served.url)
        opened = opening.value
        opened.wait_for_load_state()
        assert opened.evaluate("window.opener") is None
        assert tab.evaluate("window.held.closed") is True
        assert opened.url == served.url
