"""The page of a scene: all clips, distinguishable, on one clock."""

import numpy as np
import pytest
from browsing import LOADED, looking, serving, until

import mocpack
from mocpack.model.scene import merge_clips, shift_start
from mocpack.testing import walk
from mocpack.viewing.export import export_page
from mocpack.viewing.motions import select
from takes import markers

WINDOW = {"viewport": {"width": 1280, "height": 800}}


@pytest.fixture(scope="module")
def duo(tmp_path_factory):
    """Two actors, the second half a second later, and three markers."""
    path = tmp_path_factory.mktemp("scene") / "duo.mocp"
    clips = {"anna": walk(1.0), "<b>ben</b>": shift_start(walk(0.5), 0.5), "box": markers(40, 3)}
    mocpack.write_scene(clips, path, max_error="1mm", effort="fast")
    return path


def test_every_clip_of_a_scene_is_shown_where_python_puts_it(chromium, duo):
    together = merge_clips(mocpack.read_scene(duo)).positions()
    with serving(select(str(duo))) as server, looking(chromium, server.url, **WINDOW) as tab:
        until(tab, LOADED)
        for frame in (0, 40, len(together) - 1):
            tab.evaluate(f"mocpack.show({frame})")
            found = np.reshape(tab.evaluate("mocpack.positions('packed')"), (-1, 3))
            np.testing.assert_allclose(found, together[frame], atol=1e-4)


def test_the_clips_are_listed_with_their_times_and_colors(chromium, duo):
    with serving(select(str(duo))) as server, looking(chromium, server.url, **WINDOW) as tab:
        until(tab, LOADED)
        assert tab.locator("#clip-list dt").all_inner_texts() == ["anna", "<b>ben</b>", "box"]
        assert tab.locator("#clip-list dd").all_inner_texts()[1].startswith("0.50 to 0.98 s")
        light = dots(tab)
        assert len(set(light)) == 3
        tab.keyboard.press("t")
        until(tab, "document.documentElement.dataset.theme === 'dark'")
        assert not set(dots(tab)) & set(light)


def dots(tab):
    script = "[...document.querySelectorAll('#clip-list i')].map(i => i.style.background)"
    return tab.evaluate(script)


def test_a_single_motion_has_no_list_of_clips(chromium, duo):
    alone = select(str(duo), clip="anna")
    with serving(alone) as server, looking(chromium, server.url, **WINDOW) as tab:
        until(tab, LOADED)
        assert tab.title() == "duo.mocp, anna · mocpack"
        assert not tab.locator("#clips").is_visible()


def test_a_scene_is_exported_as_one_file(chromium, duo, tmp_path):
    page = tmp_path / "scene.html"
    page.write_bytes(export_page(select(str(duo))))
    with looking(chromium, page.as_uri(), **WINDOW) as tab:
        until(tab, LOADED)
        assert tab.locator("#clip-list dt").count() == 3
