"""A sender, a relay and its page in Chromium: the scene shows the sent poses."""

import pytest
from browsing import open_context
from theatre import BOUND, SHOWN, Theatre, off

from mocpack.live.stage import Tokens
from mocpack.viewing import page as built
from mocpack.viewing.browser import FLAGS, find_chromium

pytest.importorskip("websockets")
PLAYS = True  # for `chromium`
TOKENS = Tokens({"send": ("s" * 20,), "watch": ("w" * 20,)})


@pytest.fixture
def page(chromium):
    if not (built.FOLDER / "stage.html").is_file():
        pytest.skip("the stage's page is not built (make viewer; it needs node)")
    context = open_context(chromium, viewport={"width": 900, "height": 600})
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda m: m.type == "error" and page.errors.append(m.text))
    yield page
    context.close()


@pytest.mark.parametrize("buffer", ["auto", "0", "0.1"])
def test_the_scene_shows_what_was_sent_within_the_bound(page, buffer):
    with Theatre(["anna", "ben"]) as theatre:
        page.goto(f"{theatre.url}/?stage=stage")
        page.locator("#delay").select_option(buffer)
        page.wait_for_function("() => Object.keys(window.mocpackStage.shown()).length === 2")
        seen, measured = set(), 0
        for _ in range(8):
            before = page.evaluate(SHOWN)
            for shift, name in enumerate(("anna", "ben")):
                apart = off(before[name], shift) if before[name]["certain"] else None
                measured += apart is not None
                assert apart is None or apart <= BOUND * 1.01 + 1e-6
            seen.add(before["anna"]["number"])
            page.wait_for_function(
                "n => window.mocpackStage.shown().anna.number > n + 5",
                arg=before["anna"]["number"],
            )
        assert len(seen) == 8
        assert measured >= 4
        page.wait_for_function("() => document.querySelector('tbody td + td')?.textContent > '0'")
        rows = page.locator("#performers tbody tr")
        assert rows.count() == 2
        assert "5.0 mm" in rows.first.inner_text()
        assert page.errors == []


def test_the_page_says_how_far_behind_it_is(page):
    with Theatre(["anna"]) as theatre:
        page.goto(theatre.url)
        page.wait_for_function("() => window.mocpackStage.shown().anna")
        page.locator("#delay").select_option("0.25")
        cell = page.locator("#performers tbody tr td").nth(3)
        page.wait_for_function(
            "cell => parseFloat(cell.textContent) >= 250", arg=cell.element_handle()
        )
        page.locator("#delay").select_option("0")
        page.wait_for_function(
            "cell => parseFloat(cell.textContent) < 100", arg=cell.element_handle()
        )
        own = "() => window.mocpackStage.stage.performers.get('anna')"
        assert page.evaluate(f"() => ({own})().player.delay") == 0
        page.wait_for_function(f"() => ({own})().bitRate() > 1000")


def test_three_performers_fit_a_small_screen(page):
    page.set_viewport_size({"width": 390, "height": 844})
    with Theatre(["anna", "ben", "charlotte"]) as theatre:
        page.goto(theatre.url)
        page.wait_for_function("() => Object.keys(window.mocpackStage.shown()).length === 3")
        page.wait_for_function(
            "() => [...document.querySelectorAll('tbody td')].every((cell) => cell.textContent)"
        )
        box = page.locator("#performers").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert page.locator("#buffer").bounding_box()["width"] <= 390


def test_a_performer_that_leaves_disappears_from_the_scene(page):
    with Theatre(["anna"]) as theatre:
        page.goto(theatre.url)
        page.wait_for_function("() => window.mocpackStage.shown().anna")
    page.wait_for_function("() => !window.mocpackStage.shown().anna")
    assert page.locator("#performers").is_hidden()


def test_a_relay_with_tokens_asks_for_one(page):
    with Theatre(["anna"], TOKENS) as theatre:
        page.goto(theatre.url)
        page.locator("#token").fill("wrong-wrong-wrong")
        page.locator("#way-in button").click()
        page.wait_for_function(
            "() => document.querySelector('#message').textContent.includes('token')"
        )
        page.locator("#token").fill("w" * 20)
        page.locator("#way-in button").click()
        page.wait_for_function("() => window.mocpackStage.shown().anna")
        assert page.locator("#way-in").is_hidden()


ATTACK = """async (urls) => {
  const open = (url) => new Promise((resolve) => {
    const socket = new WebSocket(url, ["mocpack.live.2", "role.watch"]);
    socket.onopen = () => (socket.close(), resolve("open"));
    socket.onerror = () => resolve("refused");
  });
  const read = (url) =>
    fetch(url).then(async (r) => `${r.status}`).catch(() => "refused");
  return Promise.all(urls.map((url) => (url.startsWith("ws") ? open(url) : read(url))));
}"""


@pytest.fixture
def rebinding_page(chromium):
    """A page of a browser for which the names of evil.test lead to this machine."""
    rules = "--host-resolver-rules=MAP evil.test 127.0.0.1, MAP *.evil.test 127.0.0.1"
    flags = [flag for flag in FLAGS if "pipe" not in flag] + ["--no-sandbox", rules]
    browser = chromium.browser_type.launch(executable_path=find_chromium(), args=flags)
    yield browser.new_page()
    browser.close()


def test_a_page_of_another_origin_reaches_nothing(page):
    with Theatre(["anna"]) as theatre, Theatre([]) as other:
        port = theatre.relay.port
        page.goto(f"{other.url}/nothing")  # of another origin, and without a policy
        urls = [f"{scheme}://{host}:{port}" for host in ("127.0.0.1", "localhost", "0.0.0.0")
                for scheme in ("ws", "http")]  # fmt: skip
        tried = [f"{url}/stage" if url[0] == "w" else f"{url}/webtransport.json" for url in urls]
        assert set(page.evaluate(ATTACK, tried)) == {"refused"}
        page.goto("about:blank")
        assert set(page.evaluate(ATTACK, tried)) == {"refused"}
        assert not theatre.relay._watchers


@pytest.mark.parametrize("name", ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test"])
def test_dns_rebinding_reaches_nothing(rebinding_page, name):
    with Theatre(["anna"]) as theatre:
        base = f"{name}:{theatre.relay.port}"
        answer = rebinding_page.goto(f"http://{base}/")
        assert answer.status == 403
        tried = [f"ws://{base}/stage", f"ws://127.0.0.1:{theatre.relay.port}/stage"]
        assert rebinding_page.evaluate(ATTACK, tried) == ["refused", "refused"]
        assert rebinding_page.evaluate(ATTACK, [f"http://{base}/webtransport.json"]) == ["403"]
        assert not theatre.relay._watchers


def test_the_page_cannot_be_framed(page):
    with Theatre(["anna"]) as theatre, Theatre([]) as other:
        page.goto(f"{other.url}/nothing")
        page.evaluate(
            "url => { document.body.innerHTML = ''; const f = document.createElement('iframe');"
            " f.src = url; document.body.append(f);"
            " return new Promise(done => (f.onload = done)); }",
            theatre.url,
        )
        assert not theatre.relay._watchers
        assert any("frame-ancestors" in error for error in page.errors)
