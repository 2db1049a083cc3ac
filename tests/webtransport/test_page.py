"""The stage page over WebTransport in Chromium: `make test-webtransport`."""

import json
import urllib.request
from dataclasses import replace

import numpy as np
import pytest
from theatre import BOUND, CLIP, SHOWN, Theatre, off

from mocpack import Clip
from mocpack.errors import UsageError
from mocpack.live.stage import Tokens
from mocpack.live.webtransport import MAX_DATAGRAM_BYTES, WebTransportEndpoint
from mocpack.viewing.browser import FLAGS, find_chromium

TOKENS = Tokens({"send": ("s" * 20,), "watch": ("w" * 20,)})
WAY = "() => document.getElementById('way').textContent"


@pytest.fixture(scope="session")
def chromium():
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    try:
        path = find_chromium()
    except UsageError:
        pytest.skip("Chromium is not installed")
    flags = [flag for flag in FLAGS if "pipe" not in flag] + ["--no-sandbox"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 900, "height": 600})
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda m: m.type == "error" and page.errors.append(m.text))
    yield page
    context.close()


def test_datagrams_deliver_poses_within_the_bound(page):
    with Theatre(["anna", "ben"], endpoints=[WebTransportEndpoint]) as theatre:
        page.goto(theatre.url)
        page.wait_for_function("() => Object.keys(window.mocpackStage.shown()).length === 2")
        page.wait_for_function(f"() => ({WAY})() === 'by WebTransport'")
        measured = 0
        for _ in range(8):
            shown = page.evaluate(SHOWN)
            for shift, name in enumerate(("anna", "ben")):
                apart = off(shown[name], shift) if shown[name]["certain"] else None
                measured += apart is not None
                assert apart is None or apart <= BOUND * 1.01 + 1e-6
            page.wait_for_function(
                "n => window.mocpackStage.shown().anna.number > n + 5", arg=shown["anna"]["number"]
            )
        assert measured >= 4
        assert len(theatre.relay._watchers) == 0
        assert page.errors == []


def test_who_leaves_leaves_the_scene_and_who_closes_the_page_the_relay(page):
    with Theatre(["anna"], endpoints=[WebTransportEndpoint]) as theatre:
        page.goto(theatre.url)
        page.wait_for_function("() => window.mocpackStage.shown().anna")
        endpoint = theatre.relay.endpoints[0]
        assert len(endpoint) == 1
        page.evaluate("() => window.mocpackStage.stage.close()")
        page.wait_for_function("() => !window.mocpackStage.shown().anna")
        for _ in range(50):
            if not len(endpoint):
                break
            page.wait_for_timeout(100)
        assert not len(endpoint)


def test_a_token_is_requested(page):
    with Theatre(["anna"], TOKENS, endpoints=[WebTransportEndpoint]) as theatre:
        page.goto(theatre.url)
        page.locator("#token").fill("wrong-wrong-wrong")
        page.locator("#way-in button").click()
        page.wait_for_function(
            "() => document.querySelector('#message').textContent.includes('token')"
        )
        page.locator("#token").fill("w" * 20)
        page.locator("#way-in button").click()
        page.wait_for_function("() => window.mocpackStage.shown().anna")
        page.wait_for_function(f"() => ({WAY})() === 'by WebTransport'")


def test_a_page_of_another_site_cannot_watch(page):
    """It knows the public hash, but its origin is rejected."""
    with Theatre(["anna"], endpoints=[WebTransportEndpoint]) as theatre, Theatre([]) as other:
        with urllib.request.urlopen(f"{theatre.url}/webtransport.json") as answer:
            told = json.load(answer)
        page.goto(f"{other.url}/webtransport.json")  # nothing here: a page without a policy
        outcome = page.evaluate(
            """async ({ port, sha256 }) => {
              const value = Uint8Array.from(sha256.match(/../g), (byte) => parseInt(byte, 16));
              const transport = new WebTransport(`https://127.0.0.1:${port}/stage`, {
                serverCertificateHashes: [{ algorithm: "sha-256", value }],
              });
              return transport.ready.then(() => "open", () => "refused");
            }""",
            told,
        )
        assert outcome == "refused"
        assert len(theatre.relay.endpoints[0]) == 0


def with_long_names(clip):
    """Return a clip whose joint names do not compress, so that its hello exceeds a datagram."""
    rng = np.random.default_rng(7)
    skeleton = replace(clip.skeleton, names=[rng.bytes(60).hex() for _ in clip.skeleton.names])
    return Clip.build(skeleton, clip.rotations, clip.translations, frame_time=clip.frame_time)


def test_messages_larger_than_a_datagram_use_a_stream(page):
    with Theatre(["anna"], endpoints=[WebTransportEndpoint], clip=with_long_names(CLIP)) as theatre:
        page.goto(theatre.url)
        page.wait_for_function("() => window.mocpackStage.shown().anna?.number > 60")
        assert len(theatre.relay.list_performers("stage")[0].hello) > MAX_DATAGRAM_BYTES
        page.reload()  # joins late
        page.wait_for_function("() => window.mocpackStage.shown().anna?.number > 60")
        page.wait_for_function(f"() => ({WAY})() === 'by WebTransport'")
