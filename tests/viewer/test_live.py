"""A sender, a relay and its page in Chromium: what the scene shows is what was sent."""

import asyncio
import threading
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from mocpack import Clip, rotations
from mocpack.cli.serve import stage_pages
from mocpack.live import Hello, Sender
from mocpack.live.client import perform
from mocpack.live.relay import Relay
from mocpack.live.stage import Tokens
from mocpack.testing import walk
from mocpack.viewing import page as built

pytest.importorskip("websockets")
CLIP = walk(2.0)
BOUND = 0.005
SHOWN = "() => window.mocpackStage.shown()"
TOKENS = Tokens({"send": ("s" * 20,), "watch": ("w" * 20,)})


class Theatre:
    """A relay in a thread of its own, on which `names` perform the clip again and again."""

    def __init__(self, names, tokens=None):
        self._names, self._tokens = names, tokens or Tokens()
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self.relay = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._play(),))

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(30)
        self._loop.close()

    @property
    def url(self):
        return self.relay.url.replace("ws", "http", 1)

    async def _play(self):
        self._done = asyncio.Event()
        self.relay = Relay(pages=stage_pages(), tokens=self._tokens)
        await self.relay.start()
        token = self._tokens.by_role.get("send", (None,))[0]
        acts = [
            asyncio.ensure_future(self._act(name, k, token)) for k, name in enumerate(self._names)
        ]
        self._ready.set()
        await self._done.wait()
        for act in acts:
            act.cancel()
        await asyncio.gather(*acts, return_exceptions=True)
        await self.relay.stop()
        await self._loop.shutdown_asyncgens()

    async def _act(self, name, k, token):
        async def frames():
            start = self._loop.time()
            for number in count():
                t = number % CLIP.frame_count
                await asyncio.sleep(max(0.0, start + number / 60 - self._loop.time()))
                yield number / 60, CLIP.rotations[t], CLIP.translations[t] + [k, 0, 0]

        sender = Sender(Hello(CLIP.header, BOUND, k + 1))
        await perform(f"{self.relay.url}/stage/{name}", sender, frames(), token=token)


@pytest.fixture
def page(chromium):
    if not (built.FOLDER / "stage.html").is_file():
        pytest.skip("the stage's page is not built (make viewer; it needs node)")
    context = chromium.new_context(viewport={"width": 900, "height": 600})
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda m: m.type == "error" and page.errors.append(m.text))
    yield page
    context.close()


def off(shown, shift):
    """Return how far the scene's joints are from where the clip's are at that time, in metres.

    None where the clip begins again in between.
    """
    at = 60 * shown["time"] % CLIP.frame_count
    t = int(at)
    if t + 1 >= CLIP.frame_count:
        return None
    pair = CLIP.frames(t, t + 2)
    turns = rotations.slerp(pair.rotations[0], pair.rotations[1], at - t)
    places = pair.translations[0] + (at - t) * (pair.translations[1] - pair.translations[0])
    true = Clip(replace(CLIP.header, frame_count=1), turns[np.newaxis], places[np.newaxis])
    joints = np.array(shown["joints"]).reshape(-1, 3)
    return np.linalg.norm(joints - true.world()[0][0] - [shift, 0, 0], axis=1).max()


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
        page.wait_for_function(f"() => ({own})().bits() > 1000")


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


def test_who_leaves_leaves_the_scene(page):
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
        page.get_by_text("does not take this token").wait_for()
        page.locator("#token").fill("w" * 20)
        page.locator("#way-in button").click()
        page.wait_for_function("() => window.mocpackStage.shown().anna")
        assert page.locator("#way-in").is_hidden()
