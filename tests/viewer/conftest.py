"""Fixtures for tests of the page: files to show, and a browser."""

import numpy as np
import pytest
from browsing import BAD_FRAME, LOADED, looking, open_context, serving, until

import mocpack
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.testing import walk
from mocpack.viewing import page as built
from mocpack.viewing.browser import FLAGS, find_chromium
from mocpack.viewing.motions import select


@pytest.fixture(scope="session")
def motion():
    return walk(2.5)


@pytest.fixture(scope="session")
def files(motion, tmp_path_factory):
    """One clip as source, packed in several ways, and once with a blow to one frame."""
    folder = tmp_path_factory.mktemp("motions")
    mocpack.write(motion, folder / "walk.bvh")
    for bound in ("20mm", "1mm"):
        data = mocpack.encode(motion, max_error=bound, effort="fast")
        (folder / f"walk-{bound}.mocp").write_bytes(data)
    layered = mocpack.encode(motion, "keysine:layers=3", max_error="2mm", effort="fast")
    (folder / "layered.mocp").write_bytes(layered)
    grid = mocpack.encode(motion, "keysine:mode=grid", max_error="0.2mm", effort="fast")
    (folder / "grid.mocp").write_bytes(grid)
    (folder / "raw.mocp").write_bytes(mocpack.encode(motion, "raw"))
    packed = mocpack.encode(struck(motion), max_error="0.5mm", effort="fast")
    (folder / "struck.mocp").write_bytes(packed)
    return folder


def struck(clip):
    """The clip with its arm bent by 20 degrees at one frame alone."""
    turns = clip.rotations.copy()
    joint = next(j for j, name in enumerate(clip.skeleton.names) if "Arm" in name)
    bend = np.array([0.0, 0.0, np.sin(np.pi / 18), np.cos(np.pi / 18)])
    turns[BAD_FRAME, joint] = rotations.multiply(turns[BAD_FRAME, joint], bend)
    return mocpack.Clip(clip.header, turns, clip.translations)


# Not of the session: the event loop of Playwright runs in this thread while the fixture lives, and
# tests of other folders, which a worker may run in between, call asyncio.run.
@pytest.fixture(scope="module")
def chromium(request):
    """A running headless Chromium, driven by Playwright.

    Modules whose pages play without a pause say so with `PLAYS = True`.
    """
    try:
        path = find_chromium()
    except UsageError:
        pytest.skip("Chromium is not installed")
    if not (built.FOLDER / built.INDEX).is_file():
        pytest.skip("the viewer's page is not built (make viewer; it needs node)")
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    # evil.example resolves to the loopback address (DNS rebinding)
    flags = ["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    flags += [flag for flag in FLAGS if "pipe" not in flag]
    flags.append("--renderer-process-limit=1")  # tabs share a process, which is slow to start
    if not getattr(request.module, "PLAYS", False):
        # SwiftShader composes a page slower than Skia, which must fetch each picture of a canvas
        flags.append("--disable-gpu-compositing")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        browser.shared_context = open_context(browser)
        browser.shared_context.new_page()  # the process ends with its last page
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def selection(files):
    names = {n: str(files / f"{n}.mocp") for n in ("walk-20mm", "walk-1mm", "raw", "struck")}
    return select(
        names["walk-1mm"],
        str(files / "walk.bvh"),
        [names["walk-20mm"], names["raw"], names["struck"]],
    )


@pytest.fixture
def own_tab(chromium, selection):
    """The page with four versions and their original, for tests that leave it changed."""
    with serving(selection) as server, looking(chromium, server.url) as tab:
        until(tab, LOADED)
        yield tab


@pytest.fixture(scope="module")
def shared_tab(chromium, selection):
    with serving(selection) as server, looking(chromium, server.url) as tab:
        until(tab, "mocpack.state().everythingLoaded")
        yield tab


@pytest.fixture
def tab(shared_tab):
    """The same page for many tests, each time as it was when it opened."""
    at = shared_tab.evaluate("mocpack.state().versions").index("walk-1mm.mocp")
    shared_tab.locator("#version").fill(str(at))
    shared_tab.get_by_role("button", name="Overlay", exact=True).click()
    if shared_tab.locator("#message").is_visible():
        shared_tab.locator("#message-close").click()
    shared_tab.evaluate("mocpack.show(0)")
    shared_tab.evaluate("document.activeElement.blur()")
    yield shared_tab
    assert shared_tab.errors == []
