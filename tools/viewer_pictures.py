"""Write the pictures of the viewer and of the example page for README and docs.

python tools/viewer_pictures.py docs/pictures
"""

from __future__ import annotations

import importlib.util
import io
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from mocpack import _api
from mocpack.common.json_object import JsonObject
from mocpack.model.clip import measure_error
from mocpack.samples import JUMP
from mocpack.viewing.browser import Browser
from mocpack.viewing.export import export_page
from mocpack.viewing.motions import Selection, select

EXAMPLE = Path(__file__).parents[1] / "examples/web/serve.py"
FOX = Path(__file__).parents[1] / "tests/samples/Fox.glb"
BOUNDS = ("20mm", "5mm", "1mm")
LAYERS_TIME = 1.2  # seconds
ANIMATION_SIZE, ANIMATION_RATE = (720, 400), 12  # pixels; frames per second
# name: width, height, initial state of the page
PICTURES = {
    "viewer-light.png": (1180, 740, {"theme": "light", "layout": "overlay"}),
    "viewer-dark.png": (1180, 740, {"theme": "dark", "layout": "side"}),
    "viewer-phone.png": (390, 844, {"theme": "light", "layout": "overlay"}),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        selection = _selection(Path(scratch))
        original = selection.original
        assert original is not None
        worst = measure_error(original.clip, selection.versions[selection.chosen].clip).worst_frame
        for name, (width, height, start) in PICTURES.items():
            page = Path(scratch) / "view.html"
            page.write_bytes(export_page(selection, {**start, "frame": worst}))
            with Browser(width, height) as browser:
                browser.open(page)
                browser.evaluate(f"window.mocpack.show({worst})")
                while not browser.evaluate("mocpack.errors().every((error) => error !== null)"):
                    pass
                (folder / name).write_bytes(_reduce_colors(browser.screenshot()))
            print(f"{folder / name}: {(folder / name).stat().st_size} bytes")
        _write_animation(selection, Path(scratch) / "view.html", folder / "viewer.webp")
        _write_mesh_picture(Path(scratch), folder / "viewer-mesh.png")
    _write_example_picture(folder / "web-example.png")
    _write_layers_picture(folder / "web-layers.png")


def _write_mesh_picture(scratch: Path, path: Path) -> None:
    """Write a picture of a compressed character with its mesh and its original."""
    clip = _api.read(FOX)
    packed = scratch / "fox.mocp"
    packed.write_bytes(
        _api.encode(clip, max_error="1.5m")
    )  # the fox is modeled 100 times too large
    page = scratch / "view.html"
    page.write_bytes(export_page(select(str(packed), str(FOX)), {"theme": "light"}))
    with Browser(1180, 740) as browser:
        browser.open(page)
        browser.evaluate(f"window.mocpack.show({len(clip) // 2})")
        while not browser.evaluate("mocpack.errors().every((error) => error !== null)"):
            pass
        browser.evaluate(f"window.mocpack.show({len(clip) // 2})")
        path.write_bytes(_reduce_colors(browser.screenshot()))
    print(f"{path}: {path.stat().st_size} bytes")


def _write_animation(selection: Selection, page: Path, path: Path) -> None:
    """Write an animation of the original and the compressed clip side by side."""
    start: JsonObject = {"theme": "light", "layout": "side", "bare": True, "frame": 0}
    page.write_bytes(export_page(selection, start))
    clip = selection.versions[0].clip
    pictures = []
    with Browser(*ANIMATION_SIZE) as browser:
        browser.open(page)
        while not browser.evaluate("mocpack.errors().every((error) => error !== null)"):
            pass
        for time in np.arange(0, clip.duration, 1 / ANIMATION_RATE):
            browser.evaluate(f"window.mocpack.show({int(time * clip.fps)})")
            pictures.append(Image.open(io.BytesIO(browser.screenshot())).convert("RGB"))
    pictures[0].save(
        path,
        save_all=True,
        append_images=pictures[1:],
        duration=round(1000 / ANIMATION_RATE),
        loop=0,
        quality=40,
        method=4,
    )
    print(f"{path}: {path.stat().st_size} bytes")


def _load_server() -> Any:
    spec = importlib.util.spec_from_file_location("serve", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    serve = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(serve)
    return serve


def _write_example_picture(path: Path) -> None:
    server = _load_server().Server(_api.encode(_api.read(JUMP), max_error="2mm"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Browser(900, 560) as browser:
        browser.call("Page.navigate", url=server.url)
        while not browser.evaluate("!!window.example"):
            pass
        browser.evaluate("example.ready")
        browser.evaluate("example.show(1.1)")
        path.write_bytes(_reduce_colors(browser.screenshot()))
    server.shutdown()
    print(f"{path}: {path.stat().st_size} bytes")


def _write_layers_picture(path: Path) -> None:
    """Write the example page after the first layer, after the third, and after the whole file."""
    serve = _load_server()
    motion = serve.encode_jump()
    layers = _api.open(motion).layers
    panels = []
    for count in (1, 3, len(layers)):
        end = layers[count - 1].end

        class Cut(serve.Server):  # type: ignore[misc, name-defined]
            """Sends the first layers, then nothing."""

            def wait_for(self, at: int, end: int = end) -> int:
                return end if at < end else threading.Event().wait() or end

        server = Cut(motion)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Browser(430, 420) as browser:
            browser.call("Page.navigate", url=server.url)
            while not browser.evaluate("!!window.example"):
                pass
            browser.evaluate("example.ready")
            browser.evaluate(f"example.show({LAYERS_TIME})")
            while browser.evaluate("example.state().layers") != count:
                pass
            browser.evaluate(f"example.show({LAYERS_TIME})")
            label = f"{end} of {len(motion)} bytes"
            browser.evaluate(f"document.getElementById('facts').textContent = '{label}'")
            browser.wait_for_drawing()
            panels.append(np.asarray(Image.open(io.BytesIO(browser.screenshot())).convert("RGB")))
        server.shutdown()
    out = io.BytesIO()
    Image.fromarray(np.concatenate(panels, axis=1)).save(out, "PNG")
    path.write_bytes(_reduce_colors(out.getvalue()))
    print(f"{path}: {path.stat().st_size} bytes")


def _selection(folder: Path) -> Selection:
    clip = _api.read(JUMP)
    for bound in BOUNDS:
        (folder / f"jump-{bound}.mocp").write_bytes(_api.encode(clip, max_error=bound))
    first, *others = (str(folder / f"jump-{bound}.mocp") for bound in BOUNDS)
    return select(first, str(JUMP), others)


def _reduce_colors(png: bytes) -> bytes:
    """Return the picture with 256 colors, a third of the bytes.

    Most colors go to the bones; the gray background needs fewer.
    """
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    pixels = np.asarray(picture).reshape(-1, 3)
    vivid = np.ptp(pixels.astype(np.int16), axis=1) > 24
    colors = _palette(pixels[vivid], 176) + _palette(pixels[~vivid], 80)
    table = Image.new("P", (1, 1))
    table.putpalette(colors)
    out = io.BytesIO()
    few = picture.quantize(palette=table, dither=Image.Dither.NONE)
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def _palette(pixels: npt.NDArray[np.uint8], count: int) -> list[int]:
    """Return a palette of `count` colors (r, g, b) for these pixels."""
    palette = Image.fromarray(pixels[np.newaxis]).quantize(count).getpalette() or []
    return (palette + [0] * 3 * count)[: 3 * count]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
