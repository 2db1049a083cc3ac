"""The example page, `examples/web`: a character that plays a file by `mocpack/three`."""

import contextlib
import importlib.util
import io
import threading
from pathlib import Path

import numpy as np
import pytest
from browsing import PATIENCE, open_context, until
from in_node import find_package
from PIL import Image

import mocpack
from mocpack import samples
from naming import names

PLAYS = True  # for `chromium`
CHECKOUT = Path(__file__).parents[2]
EXAMPLE = CHECKOUT / "examples/web"
MILLIMETER = 1e-3


def load_server():
    spec = importlib.util.spec_from_file_location("example_serve", EXAMPLE / "serve.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serving(motion):
    return running(load_server().Server(motion))


@contextlib.contextmanager
def running(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def looking(browser, url, allowed="GPU stall"):
    """Open the page in a browser; fail on any error in its console without the text `allowed`."""
    context = open_context(browser, viewport={"width": 720, "height": 480})
    tab = context.new_page()
    tab.set_default_timeout(1000 * PATIENCE)
    errors = []
    tab.on(
        "console",
        lambda note: errors.append(note.text) if note.type in ("error", "warning") else None,
    )
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(url)
    until(tab, "!!window.example")
    yield tab
    context.close()
    assert [text for text in errors if "GPU stall" not in text and allowed not in text] == []


@pytest.fixture(scope="module")
def clip():
    return mocpack.read(samples.JUMP)


@pytest.fixture(scope="module")
def page(chromium, clip):
    find_package()
    if not (CHECKOUT / "js/node_modules/three").is_dir():
        pytest.skip("three.js is not installed; `make js` installs it")
    motion = mocpack.encode(clip, max_error="1mm", effort="fast")
    with serving(motion) as server, looking(chromium, server.url) as tab:
        tab.evaluate("example.ready")
        yield tab


def picture(tab):
    data = tab.screenshot(clip={"x": 120, "y": 40, "width": 480, "height": 380})
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), np.float64)


def test_the_character_goes_where_the_motion_goes(page, clip):
    names = clip.skeleton.names
    places = clip.positions()
    frames = (0, 150, 300, len(places) - 5)
    found = [page.evaluate(f"example.show({frame * clip.frame_time})") for frame in frames]
    hips = np.array([f["mixamorigHips"] for f in found])
    ours = places[list(frames), names.index("Hips")]
    # the same way, at another size
    scale = np.linalg.norm(hips[2] - hips[0]) / np.linalg.norm(ours[2] - ours[0])
    assert 0.6 < scale < 1.1
    np.testing.assert_allclose(hips, scale * ours, rtol=0, atol=2 * MILLIMETER)
    # bones point where joints do, whatever their lengths are
    for bone, child in (("LeftLeg", "LeftFoot"), ("RightArm", "RightForeArm")):
        ends = [np.array([f[f"mixamorig{name}"] for f in found]) for name in (bone, child)]
        own = [places[list(frames), names.index(name)] for name in (bone, child)]
        theirs, ours = ends[1] - ends[0], own[1] - own[0]
        cosines = (theirs * ours).sum(-1)
        cosines /= np.linalg.norm(theirs, axis=-1) * np.linalg.norm(ours, axis=-1)
        assert cosines.min() > 0.9999


def test_the_page_says_what_did_not_match(page):
    state = page.evaluate("example.state()")
    assert "LHipJoint" in state["unmatchedJoints"]
    assert state["unmatchedBones"] == []
    assert "LHipJoint" in page.locator("#facts").inner_text()


def test_the_character_is_seen_and_moves(page):
    page.evaluate("example.show(0.5)")
    first = picture(page)
    page.evaluate("example.show(1.6)")
    second = picture(page)
    blue = (first[..., 2] > first[..., 0] + 40).mean()
    assert blue > 0.01  # its suit
    assert (np.abs(first - second).max(axis=-1) > 40).mean() > 0.02


def test_it_plays_on_by_itself(page):
    page.evaluate("example.show(0.2)")
    page.locator("#play").click()
    until(page, "example.state().seconds > 0.5")
    assert not page.evaluate("example.state().stalled")


def test_a_broken_file_is_a_clear_error(chromium):
    find_package()
    with serving(b"HIERARCHY") as server, looking(chromium, server.url) as tab:
        tab.evaluate("example.ready.catch(() => {})")
        assert names(tab.locator("#facts").inner_text(), ".mocp")


IN_WORKER = """async ([page, motion]) => {
    const code = `
        import { open, worldPositions } from "${page}/js/dist/index.js";
        const motion = await open("${motion}");
        const frames = await motion.frames(0, 10);
        postMessage(Array.from(worldPositions(motion.skeleton, frames).joints));
    `;
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const worker = new Worker(url, { type: "module" });
    return new Promise((done, failed) => {
        worker.onmessage = ({ data }) => done(data);
        worker.onerror = (event) => failed(new Error(event.message));
    });
}"""


def test_a_browsers_worker_plays_files_with_nothing_but_the_package(page, clip):
    origin = page.evaluate("location.origin")
    found = page.evaluate(IN_WORKER, [origin, f"{origin}/motion.mocp"])
    joints = np.reshape(found, (10, len(clip.skeleton), 3))
    assert np.abs(joints - clip.positions()[:10]).max() < 1.001 * MILLIMETER
