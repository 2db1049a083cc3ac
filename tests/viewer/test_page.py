"""The page in a real browser: display, measurements and errors."""

import base64
import re
from dataclasses import replace

import numpy as np
import pytest
from browsing import BAD_FRAME, LOADED, looking, serving, until

import mocpack
from mocpack import rate
from mocpack.metrics import contacts
from mocpack.model.clip import measure_error
from mocpack.testing import hard_clips, jump, walk
from mocpack.viewing.export import export_page
from mocpack.viewing.motions import Selection, select

CLOSE = 1e-4  # meters


def state(tab, key):
    return tab.evaluate(f"mocpack.state().{key}")


def positions(tab, which="packed"):
    return np.reshape(tab.evaluate(f"mocpack.positions('{which}')"), (-1, 3))


def decoded(files, name):
    return mocpack.decode((files / f"{name}.mocp").read_bytes())


def choose(tab, name):
    index = state(tab, "versions").index(f"{name}.mocp")
    tab.locator("#version").fill(str(index))
    until(tab, LOADED)


def drop(tab, *paths):
    """Drop files on the page as a reader would."""
    given = [(path.name, base64.b64encode(path.read_bytes()).decode()) for path in paths]
    tab.evaluate(
        """files => {
            const transfer = new DataTransfer();
            for (const [name, text] of files) {
                const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
                transfer.items.add(new File([bytes], name));
            }
            for (const kind of ["dragenter", "dragover", "drop"]) {
                const options = { dataTransfer: transfer, bubbles: true, cancelable: true };
                document.getElementById("stage").dispatchEvent(new DragEvent(kind, options));
            }
        }""",
        given,
    )


def message(tab):
    tab.locator("#message").wait_for(state="visible")
    return tab.locator("#message-text").inner_text()


def test_the_page_shows_the_named_file_and_its_facts(tab, files):
    size = (files / "walk-1mm.mocp").stat().st_size
    assert tab.title() == "walk-1mm.mocp · mocpack"
    assert tab.locator("#against").inner_text() == "against walk.bvh"
    until(tab, "document.getElementById('figures').innerText.includes('smaller than float32')")
    figures = tab.locator("#figures").inner_text()
    assert f"{size / 1000:.2f}".rstrip("0") + " kB" in figures
    raw = rate.raw_size(mocpack.read(files / "walk.bvh"))
    assert f"{raw / size:.1f}".removesuffix(".0") + "×" in figures
    assert "1 mm" in tab.locator("#facts").text_content()
    assert tab.locator("#joints tbody tr").count() == len(mocpack.read(files / "walk.bvh").skeleton)


@pytest.mark.parametrize("name", ["walk-1mm", "raw"])
def test_joints_stand_where_python_puts_them(tab, files, name):
    choose(tab, name)
    source = mocpack.read(files / "walk.bvh").positions()
    packed = decoded(files, name).positions()
    for frame in (0, 61, len(source) - 1):
        tab.evaluate(f"mocpack.show({frame})")
        np.testing.assert_allclose(positions(tab), packed[frame], atol=CLOSE)
        np.testing.assert_allclose(positions(tab, "original"), source[frame], atol=CLOSE)


def test_it_plays_and_pauses(tab):
    tab.evaluate("mocpack.show(0)")
    tab.locator("#play").click()
    until(tab, "mocpack.state().frame > 5")
    tab.locator("#play").click()
    frame = state(tab, "frame")
    assert not state(tab, "playing")
    tab.wait_for_timeout(100)
    assert state(tab, "frame") == frame


def test_it_stops_at_the_end_unless_it_loops(tab):
    tab.evaluate("mocpack.show(140)")
    tab.keyboard.press("l")
    tab.keyboard.press("Space")
    until(tab, "!mocpack.state().playing")
    assert state(tab, "frame") == state(tab, "frameCount") - 1
    tab.keyboard.press("l")
    tab.keyboard.press("Space")
    until(tab, "mocpack.state().frame < 100")


def test_the_timeline_scrubs(tab):
    box = tab.locator("#timeline").bounding_box()
    tab.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 40)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 40)
    tab.mouse.up()
    last = state(tab, "frameCount") - 1
    assert abs(state(tab, "frame") - last / 2) < 2
    assert tab.locator("#frame").inner_text() == str(state(tab, "frame"))


def test_keys_move_frame_by_frame(tab):
    tab.evaluate("mocpack.show(50)")
    for key, frame in (
        ("ArrowRight", 51),
        ("Shift+ArrowRight", 61),
        ("ArrowLeft", 60),
        ("End", state(tab, "frameCount") - 1),
        ("ArrowRight", state(tab, "frameCount") - 1),
        ("Home", 0),
        ("ArrowLeft", 0),
    ):
        tab.keyboard.press(key)
        assert state(tab, "frame") == frame, key


def test_the_keys_are_listed(tab):
    tab.keyboard.press("?")
    assert tab.locator("#help").is_visible()
    assert "worst frame" in tab.locator("#keys").inner_text()
    tab.keyboard.press("Escape")
    assert not tab.locator("#help").is_visible()


def test_errors_are_those_that_python_measures(tab, files):
    source = mocpack.read(files / "walk.bvh")
    for name in ("walk-20mm", "raw", "struck"):
        choose(tab, name)
        error = measure_error(source, decoded(files, name))
        np.testing.assert_allclose(tab.evaluate("mocpack.errors()"), error.frames, atol=1e-7)
        assert state(tab, "worstFrame") == error.worst_frame
        np.testing.assert_allclose(state(tab, "largestError"), error.max, rtol=1e-5)


def test_an_error_in_one_frame_is_shown_and_one_click_away(tab, files):
    choose(tab, "struck")
    tab.locator("#worst").click()
    assert state(tab, "frame") == BAD_FRAME
    error = measure_error(mocpack.read(files / "walk.bvh"), decoded(files, "struck"))
    shown = tab.locator("#here-error").inner_text()
    value, unit = shown.split()
    assert float(value) * {"mm": 1e-3, "cm": 1e-2}[unit] == pytest.approx(error.max, rel=5e-3)
    joint = tab.locator("#here-joint").inner_text()
    assert joint == mocpack.read(files / "walk.bvh").skeleton.names[error.worst_joint]
    assert "exceeded" in tab.locator("#facts").text_content()


def test_a_joint_of_the_table_leads_to_its_worst_frame(tab, files):
    choose(tab, "struck")
    tab.evaluate("mocpack.show(0)")
    tab.locator("#sort").click()
    row = tab.locator("#joints tbody tr").first
    row.click()
    assert state(tab, "frame") == BAD_FRAME
    row.click()  # let go, as the next tests expect
    assert state(tab, "joint") == -1


def test_the_slider_switches_between_versions(tab):
    names = ["raw.mocp", "struck.mocp", "walk-1mm.mocp", "walk-20mm.mocp"]
    assert sorted(state(tab, "versions")) == names
    tab.keyboard.press("]")
    assert state(tab, "name") == "walk-20mm.mocp"
    assert tab.locator("#title").inner_text() == "walk-20mm.mocp"
    assert "20 mm allowed" in tab.locator("#version-at").inner_text()


def test_layouts_can_be_chosen(tab):
    for title, layout in (
        ("Side by side", "side"),
        ("Original", "original"),
        ("Overlay", "overlay"),
    ):
        tab.get_by_role("button", name=title, exact=True).click()
        assert state(tab, "layout") == layout


def test_the_theme_follows_the_system_until_the_reader_chooses(chromium, selection):
    with serving(selection) as server, looking(chromium, server.url, color_scheme="dark") as tab:
        theme = "document.documentElement.dataset.theme"
        assert tab.evaluate(theme) == "dark"
        tab.keyboard.press("t")
        assert tab.evaluate(theme) == "light"
        tab.reload()
        until(tab, f"{theme} === 'light'")


def test_a_packed_file_is_fetched_by_range(chromium, selection):
    ranges = []

    def listen(page):
        page.on("request", lambda r: "/files/" in r.url and ranges.append(r.headers.get("range")))

    with serving(selection) as server, looking(chromium, server.url, listen) as page:
        until(page, LOADED)
    assert ranges
    assert all(re.fullmatch(r"bytes=\d+-\d+", wanted or "") for wanted in ranges)


def test_a_long_clip_plays_before_it_has_arrived(chromium, tmp_path):
    path = tmp_path / "long.mocp"
    path.write_bytes(mocpack.encode(walk(90.0), max_error="1mm", effort="fast"))
    assert path.stat().st_size > 60_000
    held = []

    def hold_the_rest(route):
        start = int(route.request.headers["range"].split("=")[1].split("-")[0])
        if start < 32_768:
            route.continue_()
        else:
            held.append(route)

    with (
        serving(select(str(path))) as server,
        looking(chromium, server.url, lambda page: page.route("**/files/*", hold_the_rest)) as page,
    ):
        page.evaluate("mocpack.show(20)")
        expected = mocpack.decode(path.read_bytes()).positions()[20]
        np.testing.assert_allclose(positions(page), expected, atol=CLOSE)
        page.keyboard.press("Space")
        until(page, "mocpack.state().frame > 25")
        for _ in range(1000):
            if held:
                break
            page.wait_for_timeout(15)
        assert held
        assert state(page, "loaded") < state(page, "windows")


def test_it_goes_on_without_network_once_loaded(chromium, selection, files):
    with serving(selection) as server, looking(chromium, server.url, offline=False) as tab:
        until(tab, "mocpack.state().everythingLoaded")
        tab.context.set_offline(True)
        tab.keyboard.press("]")
        tab.evaluate("mocpack.show(120)")
        np.testing.assert_allclose(
            positions(tab), decoded(files, "walk-20mm").positions()[120], atol=CLOSE
        )
        drop(tab, files / "walk-1mm.mocp")
        until(tab, "mocpack.state().versions.length === 5")


def test_a_network_that_recovers_is_noticed(chromium, files):
    with serving(select(str(files / "raw.mocp"))) as server:
        page = chromium.shared_context.new_page()
        page.route("**/frames/0/128/150", lambda route: route.abort())
        page.goto(server.url)
        assert "raw.mocp" in message(page)
        until(page, "mocpack.state().loaded === 1")
        page.unroute_all()
        until(page, LOADED)
        assert page.locator("#message").is_hidden()
        page.close()


def test_a_phone_needs_no_sideways_scrolling(chromium, selection):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with serving(selection) as server, looking(chromium, server.url, **phone) as tab:
        until(tab, LOADED)
        assert tab.evaluate("document.scrollingElement.scrollWidth") == 390
        assert tab.evaluate("document.scrollingElement.scrollHeight") > 844
        for element in ("#play", "#worst", "#speed", "#loop", "#layouts", "#legend", "#version"):
            box = tab.locator(element).bounding_box()
            assert box["x"] >= 0, element
            assert box["x"] + box["width"] <= 390, element


def test_motions_are_dropped_on_an_empty_page(chromium, files, selection):
    with serving(selection) as server:
        # a page without a session, as a static host would serve it
        del server.resources["/session.json"]
        page = chromium.shared_context.new_page()
        page.goto(server.url)
        until(page, "!!window.mocpack")
        assert page.locator("#welcome").is_visible()
        drop(page, files / "walk-1mm.mocp")
        until(page, "mocpack.state().name === 'walk-1mm.mocp'")
        assert page.locator("#welcome").is_hidden()
        assert state(page, "original") is None
        drop(page, files / "walk.bvh")
        until(page, "mocpack.state().original === 'walk.bvh'")
        until(page, LOADED)
        error = measure_error(mocpack.read(files / "walk.bvh"), decoded(files, "walk-1mm"))
        assert state(page, "worstFrame") == error.worst_frame
        drop(page, files / "walk-20mm.mocp")
        until(page, "mocpack.state().versions.length === 2")
        assert state(page, "name") == "walk-20mm.mocp"
        page.close()


def test_a_source_of_another_clip_opens_as_a_clip_of_its_own(own_tab, tmp_path):
    mocpack.write(walk(1.0), tmp_path / "short.bvh")
    drop(own_tab, tmp_path / "short.bvh")
    until(own_tab, "mocpack.state().original === 'short.bvh'")
    assert state(own_tab, "name") == "short.mocp"
    assert state(own_tab, "frameCount") == 60


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-100],
        lambda data: data[:60],
        lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
        lambda data: b"GIF89a" + data,
        lambda data: b"",
    ],
)
def test_a_broken_file_gives_a_clear_error_and_the_page_goes_on(tab, files, tmp_path, change):
    broken = tmp_path / "broken.mocp"
    broken.write_bytes(change((files / "walk-1mm.mocp").read_bytes()))
    drop(tab, broken)
    assert "broken.mocp" in message(tab)
    assert state(tab, "name") == "walk-1mm.mocp"
    tab.locator("#message-close").click()
    assert tab.locator("#message").is_hidden()
    tab.evaluate("mocpack.show(33)")
    np.testing.assert_allclose(
        positions(tab), decoded(files, "walk-1mm").positions()[33], atol=CLOSE
    )


def test_truncated_damaged_and_foreign_files_get_different_errors(tab, files, tmp_path):
    whole = (files / "walk-1mm.mocp").read_bytes()
    damaged = whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]
    said = []
    for data in (whole[:-100], whole[:60], damaged, b"GIF89a" + whole):
        (tmp_path / "broken.mocp").write_bytes(data)
        drop(tab, tmp_path / "broken.mocp")
        said.append(message(tab).partition(":")[0])  # before the details
        tab.locator("#message-close").click()
    assert said[0] == said[1]
    assert len(set(said)) == 3


def test_another_codec_that_is_dropped_is_sent_to_the_command(tab, motion, tmp_path):
    path = tmp_path / "other.mocp"
    path.write_bytes(mocpack.encode(motion, "dwt97"))
    drop(tab, path)
    assert "mocpack view other.mocp" in message(tab)


def test_damage_inside_a_served_file_costs_only_its_frames(chromium, tmp_path):
    path = tmp_path / "long.mocp"
    path.write_bytes(mocpack.encode(walk(4.0), max_error="20mm", effort="fast"))
    selection = select(str(path))
    data = bytearray(selection.versions[0].data)
    data[-20] ^= 0xFF  # in the last group; its own checksum notices
    object.__setattr__(selection.versions[0], "data", bytes(data))
    with serving(selection) as server, looking(chromium, server.url) as tab:
        assert "long.mocp is damaged" in message(tab)
        tab.evaluate("mocpack.show(0)")
        whole = mocpack.decode(path.read_bytes()).positions()
        np.testing.assert_allclose(positions(tab), whole[0], atol=CLOSE)


def test_every_hard_clip_can_be_dropped_and_matches_python(own_tab, tmp_path):
    for name, clip in hard_clips().items():
        path = tmp_path / f"{name}.mocp"
        path.write_bytes(mocpack.encode(clip, max_error="5mm", effort="fast"))
        drop(own_tab, path)
        until(own_tab, f"mocpack.state().name === {path.name!r}")
        last = clip.frame_count - 1
        own_tab.evaluate(f"mocpack.show({last})")
        expected = mocpack.decode(path.read_bytes()).positions()[last]
        np.testing.assert_allclose(positions(own_tab), expected, atol=CLOSE, err_msg=name)


@pytest.mark.parametrize("name", ["layered", "grid"])
def test_every_mode_of_keysine_is_decoded_in_the_page(own_tab, files, name):
    drop(own_tab, files / f"{name}.mocp")
    until(own_tab, f"mocpack.state().name === '{name}.mocp'")
    own_tab.evaluate("mocpack.show(71)")
    expected = decoded(files, name).positions()[71]
    np.testing.assert_allclose(positions(own_tab), expected, atol=CLOSE)
    assert select(str(files / f"{name}.mocp")).versions[0].data is not None


def test_a_source_by_itself_has_neither_ratio_nor_error(chromium, motion, tmp_path):
    mocpack.write(motion, tmp_path / "walk.amc")
    selection = select(str(tmp_path / "walk.amc"))
    with serving(selection) as server, looking(chromium, server.url) as tab:
        until(tab, LOADED)
        tab.evaluate("mocpack.show(99)")
        np.testing.assert_allclose(
            positions(tab), mocpack.read(tmp_path / "walk.amc").positions()[99], atol=CLOSE
        )
        assert "smaller" not in tab.locator("#figures").inner_text()
        for element in ("#worst", "#layouts", "#legend", "#readout", "#versions"):
            assert tab.locator(element).is_hidden()


def test_names_from_files_are_never_read_as_html(chromium, tmp_path):
    clip = walk(0.3)
    names = ('<!--<script><img src=x onerror="alert(1)"></script>', *clip.skeleton.names[1:])
    skeleton = mocpack.Skeleton(
        names, clip.skeleton.parents, clip.skeleton.offsets, channels=clip.skeleton.channels
    )
    strange = mocpack.Clip.build(skeleton, clip.rotations, clip.translations, frame_rate=60)
    path = tmp_path / "<b>x.mocp"
    path.write_bytes(mocpack.encode(strange, "raw"))
    with serving(select(str(path))) as server, looking(chromium, server.url) as tab:
        until(tab, LOADED)
        assert names[0] in tab.locator("#joints").inner_text()
        assert tab.locator("img, b:not([id])").count() == 0
    page = tmp_path / "strange.html"
    page.write_bytes(export_page(select(str(path))))
    with looking(chromium, page.as_uri()) as tab:
        until(tab, LOADED)
        assert tab.locator("#title").inner_text() == path.name
        assert tab.locator("img, b:not([id])").count() == 0


def test_an_exported_file_needs_neither_server_nor_network(chromium, selection, files, tmp_path):
    path = tmp_path / "walk.html"
    path.write_bytes(export_page(selection, {"frame": 40, "layout": "side"}))
    asked = []
    with looking(chromium, path.as_uri(), offline=True) as tab:
        tab.on("request", lambda request: asked.append(request.url))
        until(tab, LOADED)
        assert (state(tab, "frame"), state(tab, "layout")) == (40, "side")
        assert state(tab, "original") == "walk.bvh"
        for name in ("walk-1mm", "raw"):
            choose(tab, name)
            tab.evaluate("mocpack.show(77)")
            np.testing.assert_allclose(
                positions(tab), decoded(files, name).positions()[77], atol=CLOSE
            )
    assert asked == []


def test_it_opens_playing(chromium, selection):
    with serving(selection) as server, looking(chromium, server.url, playing=True) as tab:
        until(tab, "mocpack.state().frame > 2")
        assert state(tab, "playing")


def test_colors_end_at_the_bound_of_the_shown_version_by_default(tab):
    names = state(tab, "versions")
    tab.locator("#scale").select_option("own")
    tab.locator("#version").fill(str(names.index("walk-1mm.mocp")))
    assert state(tab, "hotEnd") == pytest.approx(0.001, rel=1e-3)
    tab.locator("#scale").select_option("common")
    ends = set()
    for at in range(len(names)):
        tab.locator("#version").fill(str(at))
        ends.add(state(tab, "hotEnd"))
    assert len(ends) == 1
    assert tab.locator("#legend-full").inner_text() == "20 mm"
    tab.locator("#scale").select_option("5mm")
    assert tab.locator("#legend-full").inner_text() == "5 mm"
    tab.locator("#scale").select_option("own")


@pytest.mark.parametrize("measure", ["largest", "mean", "velocity", "skate", "joint"])
def test_the_curve_shows_what_python_measures(tab, files, measure):
    tab.locator("#measure").select_option(measure)
    found = np.array(tab.evaluate("mocpack.curve()"), float)
    tab.locator("#measure").select_option("largest")
    original = mocpack.read(files / "walk.bvh")
    decoded = mocpack.decode((files / "walk-1mm.mocp").read_bytes())
    np.testing.assert_allclose(found, curve(measure, original, decoded), rtol=2e-3, atol=2e-5)


def curve(measure, original, decoded):
    """A metric of each frame, computed by numpy; NaN where it is undefined."""
    a, b = original.positions(), decoded.positions()
    error = measure_error(original, decoded)
    if measure == "largest":
        return error.frames
    if measure == "mean":
        return np.linalg.norm(a - b, axis=-1).mean(1)
    first = np.full(1, np.nan)
    if measure == "velocity":
        apart = np.linalg.norm(np.diff(a - b, axis=0), axis=-1).mean(1)
        return np.concatenate([first, apart / original.frame_time])
    if measure == "joint":
        alone = [measure_error(original[t], decoded[t]).joints[0] for t in range(len(original))]
        return np.array(alone)
    joints = contacts.find_feet(original.skeleton, a)
    on = contacts.find_planted(a[:, joints], original.fps)
    slides = np.linalg.norm(np.diff(b[:, joints][..., [0, 2]], axis=0), axis=-1) * original.fps
    slides = np.where(on[1:] & on[:-1], slides, np.nan)
    empty = np.isnan(slides).all(1)
    return np.concatenate([first, np.where(empty, np.nan, np.nanmax(np.nan_to_num(slides), 1))])


def test_a_chosen_joint_has_curves_of_its_place_and_rotation(tab):
    row = tab.locator("#joints tbody tr").filter(has_text="Head")  # in whatever order they stand
    row.click()
    assert tab.locator("#joint-curves").is_visible()
    assert tab.locator("#joint-name").inner_text() == "Head"
    for shown in ("rotation", "position"):
        tab.locator("#joint-shown").select_option(shown)
        until(tab, "mocpack.inked('joint-canvas') > 500")
    row.click()
    assert not tab.locator("#joint-curves").is_visible()


def test_the_figure_is_seen_from_where_one_asks_with_its_trails_and_contacts(tab):
    pictures = set()  # of a frame in which a foot is planted
    for view in ("Front", "Side", "Top"):
        tab.get_by_role("button", name=view, exact=True).click()
        tab.evaluate("mocpack.show(101)")
        pictures.add(tab.locator("#view").screenshot())
    for name in ("Trails", "Contacts"):
        tab.get_by_role("button", name=name, exact=True).click()
        tab.evaluate("mocpack.show(101)")
        pictures.add(tab.locator("#view").screenshot())
    assert len(pictures) == 5
    tab.get_by_role("button", name="Trails", exact=True).click()
    tab.get_by_role("button", name="Contacts", exact=True).click()


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_the_joints_and_the_buttons_have_room(chromium, selection, size):
    screen = {"width": size[0], "height": size[1]}
    with serving(selection) as server, looking(chromium, server.url, viewport=screen) as tab:
        until(tab, LOADED)
        rows = tab.locator("#joints tbody tr")
        seen = [rows.nth(k).bounding_box()["y"] < size[1] for k in range(rows.count())]
        assert sum(seen) >= 12
        stage, tools = (tab.locator(w).bounding_box() for w in ("#stage", ".tools"))
        assert tools["y"] + tools["height"] <= stage["y"] + 1
        assert tab.evaluate(
            "(() => { const e = document.querySelector('.tools');"
            " return e.scrollWidth <= e.clientWidth })()"
        )


@pytest.fixture
def empty_tab(chromium):
    """The page of `mocpack view` without a file."""
    with serving(Selection(())) as server, looking(chromium, server.url) as tab:
        yield tab


def test_a_page_without_motions_takes_drops_and_packs_them(empty_tab, motion, tmp_path):
    assert empty_tab.locator("#welcome").is_visible()
    mocpack.write(motion, tmp_path / "dropped.glb")
    drop(empty_tab, tmp_path / "dropped.glb")
    until(empty_tab, LOADED)
    assert state(empty_tab, "original") == "dropped.glb"
    assert state(empty_tab, "playing")
    sizes = {}
    for place, bound in (("20", 0.00023), ("70", 0.01)):
        empty_tab.locator("#bound").fill(place)
        until(empty_tab, f"Math.abs(mocpack.state().declaredError - {bound}) < 1e-6")
        until(empty_tab, LOADED)
        assert state(empty_tab, "largestError") <= bound + 1e-6
        sizes[bound] = state(empty_tab, "bytes")
    assert sizes[0.01] < sizes[0.00023] / 2
    with empty_tab.expect_download() as saving:
        empty_tab.locator("#save").click()
    assert saving.value.suggested_filename == "dropped.mocp"
    saved = mocpack.read(saving.value.path())
    assert measure_error(motion, saved).max <= 0.01 + 1e-4  # and what float32 of the .glb loses


def test_a_second_clip_opens_in_the_place_of_the_first(empty_tab, motion, tmp_path):
    for name, clip in (("first", motion), ("second", jump(1.0))):
        mocpack.write(clip, tmp_path / f"{name}.bvh")
        drop(empty_tab, tmp_path / f"{name}.bvh")
        until(empty_tab, f"mocpack.state().original === '{name}.bvh'")
    assert state(empty_tab, "frameCount") == 60


def test_a_file_that_cannot_be_packed_is_a_clear_error(empty_tab, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    drop(empty_tab, tmp_path / "notes.txt")
    until(empty_tab, "!document.getElementById('message').hidden")
    assert "notes.txt" in empty_tab.locator("#message-text").inner_text()
    empty_tab.errors.clear()  # the browser notes the refusal


def test_a_bound_on_angles_is_shown_with_the_measured_error(chromium, motion, tmp_path):
    path = tmp_path / "walk.mocp"
    angle = mocpack.deg(0.5)
    path.write_bytes(mocpack.encode(motion, max_error="5mm", max_angle=angle, effort="fast"))
    with mocpack.open(path) as opened:
        measured = np.degrees(opened.errors.max_angle)
    page = tmp_path / "walk.html"
    page.write_bytes(export_page(select(str(path))))
    for shown in (None, page):
        with (
            serving(select(str(path))) as server,
            looking(chromium, server.url if shown is None else page.as_uri()) as tab,
        ):
            until(tab, LOADED)
            facts = tab.locator("#facts").text_content()
        allowed, found = map(float, re.findall(r"angle[^\d°]*([\d.]+)°", facts))
        assert allowed == 0.5
        assert found == pytest.approx(measured, rel=1e-2)
        assert found <= 0.5


def test_a_file_without_a_bound_on_angles_shows_none(tab):
    assert "angle allowed" not in tab.locator("#facts").text_content()


def test_the_camera_keeps_the_head_in_view_when_a_body_rises(chromium, tmp_path):
    clip = walk(4.0, frame_rate=60)
    higher = clip.translations.copy()
    higher[130:, 0, 1] += 1.5  # after the frames that the camera's distance is chosen from
    mocpack.write(clip.replace(translations=higher), tmp_path / "rise.bvh")
    with (
        serving(select(str(tmp_path / "rise.bvh"))) as server,
        looking(chromium, server.url) as tab,
    ):
        until(tab, LOADED)
        for frame in (0, 100, 131, 200):
            tab.evaluate(f"mocpack.show({frame})")
            assert state(tab, "head") < 1.0


def test_a_scaled_rig_has_the_error_and_ratio_of_the_command_line(chromium, tmp_path):
    clip = walk(1.0)
    scales = np.ones((len(clip.skeleton), 3))
    scales[0] = 0.01
    skeleton = replace(
        clip.skeleton, offsets=100 * clip.skeleton.offsets, end_sites=100 * clip.skeleton.end_sites
    )
    rig = clip.replace(skeleton=replace(skeleton, scales=scales))
    mocpack.write(rig, tmp_path / "rig.glb")
    original = mocpack.read(tmp_path / "rig.glb")
    assert original.header.is_scaled
    (tmp_path / "rig.mocp").write_bytes(mocpack.encode(original, preset="web"))
    expected = mocpack.compare(original, mocpack.read(tmp_path / "rig.mocp"))["max_error_mm"]
    shown = select(str(tmp_path / "rig.mocp"), str(tmp_path / "rig.glb"))
    assert shown.raw_bytes == rate.raw_size(original)
    with serving(shown) as server, looking(chromium, server.url) as tab:
        until(tab, LOADED)
        assert 1000 * state(tab, "largestError") == pytest.approx(expected, rel=1e-4)
        tab.evaluate("mocpack.show(20)")
        packed = mocpack.read(tmp_path / "rig.mocp").positions()
        np.testing.assert_allclose(positions(tab), packed[20], atol=1e-5)
