"""Characters with their mesh, skinned by the clip and by its compressed version."""

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from browsing import LOADED, looking, serving, until

import mocpack
from mocpack.io.gltf_skin import read_skin
from mocpack.model import rotations
from mocpack.viewing.export import export_page
from mocpack.viewing.motions import Selection, select
from naming import names

FOX = Path(__file__).parents[1] / "samples/Fox.glb"
FRAME = 20
CLOSE = 2e-4  # of the fox's 100 units


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    path = tmp_path_factory.mktemp("fox") / "fox.mocp"
    # the fox is as many meters long as foxes are centimeters
    path.write_bytes(mocpack.encode(mocpack.read(FOX), max_error="3m", effort="fast"))
    return path


@pytest.fixture(scope="module")
def skin():
    return read_skin(FOX.read_bytes(), mocpack.read(FOX))


def vertex(skin, clip, frame, number):
    """The position of a vertex as computed by Python."""
    places, turns = clip[frame].world()
    matrices = rotations.as_matrix(turns[0])[skin.joints] @ skin.matrices
    matrices[:, :, 3] += places[0][skin.joints]
    corner = np.append(skin.vertices[number], 1.0)
    return skin.weights[number] @ (matrices[skin.binds[number]] @ corner)


def seen(tab, number, which="packed"):
    return np.array(tab.evaluate(f"mocpack.vertex({number}, '{which}')"))


def test_the_mesh_follows_the_packed_clip_and_its_original_each(chromium, packed, skin):
    source, decoded = mocpack.read(FOX), mocpack.read(packed)
    with (
        serving(select(str(packed), str(FOX))) as server,
        looking(chromium, server.url) as tab,
    ):
        until(tab, LOADED)
        tab.evaluate(f"mocpack.show({FRAME})")
        assert tab.evaluate("mocpack.state().mesh") is True
        assert tab.evaluate("mocpack.state().vertices") == 1728
        apart = []
        for number in (0, 555, 1727):
            there = seen(tab, number), seen(tab, number, "original")
            np.testing.assert_allclose(there[0], vertex(skin, decoded, FRAME, number), atol=CLOSE)
            np.testing.assert_allclose(there[1], vertex(skin, source, FRAME, number), atol=CLOSE)
            apart.append(np.linalg.norm(there[0] - there[1]))
        assert max(apart) > 0.1


def test_a_glb_alone_is_shown_with_its_mesh_and_m_shows_its_bones(chromium):
    with serving(select(str(FOX))) as server, looking(chromium, server.url) as tab:
        until(tab, LOADED)
        tab.evaluate(f"mocpack.show({FRAME})")
        button = tab.locator("#mesh")
        assert button.is_visible()
        dressed = still_picture(tab)
        tab.keyboard.press("m")
        tab.evaluate(f"mocpack.show({FRAME})")
        assert button.get_attribute("aria-pressed") == "false"
        assert tab.evaluate("mocpack.state().mesh") is False
        bones = still_picture(tab)
        button.click()
        tab.evaluate(f"mocpack.show({FRAME})")
        again = still_picture(tab)
    # pytest would take minutes to print the difference of two pictures
    is_same = (bones == dressed, again == dressed)
    assert is_same == (False, True)


def still_picture(tab):
    """Return the picture of the scene once it no longer changes, as when a texture has arrived."""
    before, picture = None, tab.locator("#view").screenshot()
    while picture != before:
        before, picture = picture, tab.locator("#view").screenshot()
    return picture


def test_a_dropped_glb_is_packed_and_keeps_its_mesh(chromium, skin):
    with serving(Selection(())) as server, looking(chromium, server.url) as tab:
        text = base64.b64encode(FOX.read_bytes()).decode()
        tab.evaluate(
            """text => {
                const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
                const transfer = new DataTransfer();
                transfer.items.add(new File([bytes], "Fox.glb"));
                const options = { dataTransfer: transfer, bubbles: true, cancelable: true };
                document.getElementById("stage").dispatchEvent(new DragEvent("drop", options));
            }""",
            text,
        )
        until(tab, LOADED)
        assert tab.evaluate("mocpack.state().name") == "Fox.mocp"
        tab.evaluate(f"mocpack.show({FRAME})")
        source = mocpack.read(FOX)
        there = seen(tab, 100, "original")
        np.testing.assert_allclose(there, vertex(skin, source, FRAME, 100), atol=CLOSE)
        assert np.linalg.norm(seen(tab, 100) - there) < 0.02 * 100


def test_a_page_of_one_file_has_the_mesh_in_it(chromium, packed, skin, tmp_path):
    page = tmp_path / "fox.html"
    page.write_bytes(export_page(select(str(packed), str(FOX))))
    with looking(chromium, page.as_uri()) as tab:
        until(tab, LOADED)
        tab.evaluate(f"mocpack.show({FRAME})")
        expected = vertex(skin, mocpack.read(packed), FRAME, 9)
        np.testing.assert_allclose(seen(tab, 9), expected, atol=1e-3)


def test_a_motion_without_a_mesh_has_no_button_for_one(tab):
    assert not tab.locator("#mesh").is_visible()
    assert tab.evaluate("mocpack.state().mesh") is None


def with_draco(data):
    """The fox with a mesh in an unsupported compression."""
    size = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20 : 20 + size])
    document["meshes"][0]["primitives"][0]["extensions"] = {"KHR_draco_mesh_compression": {}}
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    rest = struct.pack("<I4s", len(text), b"JSON") + text + data[20 + size :]
    return struct.pack("<4sII", b"glTF", 2, 12 + len(rest)) + rest


def test_an_unreadable_mesh_is_reported_and_the_bones_are_shown(chromium, tmp_path):
    path = tmp_path / "draco.glb"
    path.write_bytes(with_draco(FOX.read_bytes()))
    with serving(select(str(path))) as server, looking(chromium, server.url) as tab:
        until(tab, LOADED)
        said = tab.locator("#message-text").inner_text()
        assert names(said, "draco.glb: KHR_draco_mesh_compression")
        assert not tab.locator("#mesh").is_visible()
        assert len(tab.evaluate("mocpack.positions()")) == 3 * len(mocpack.read(FOX).skeleton)
