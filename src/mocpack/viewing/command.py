"""``mocpack view``: play a motion in the browser, or export it as a page, picture or video."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.progress import make_progress_bar, run_with_progress
from mocpack.cli.reading import Reading
from mocpack.common.json_object import JsonObject
from mocpack.common.units import format_size, parse_frame_range
from mocpack.errors import UsageError
from mocpack.viewing.export import export_page
from mocpack.viewing.motions import Selection, select
from mocpack.viewing.pictures import take_picture, take_video
from mocpack.viewing.server import PORT, open_server


class Layout(StrEnum):
    """Which motions the page shows."""

    overlay = "overlay"
    side = "side"
    packed = "packed"
    original = "original"


class Theme(StrEnum):
    light = "light"
    dark = "dark"


def run(
    file: Annotated[
        str | None,
        typer.Argument(help="Motion file to play; without it, drop a file on the page."),
    ] = None,
    original: Annotated[
        str | None, typer.Argument(help="Original motion file, to show the error against it.")
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option("--with", help="Add another version of the clip to the slider; repeatable."),
    ] = None,
    frames: Annotated[
        str | None, typer.Option(help="Use only these frames of the original, like 1:.")
    ] = None,
    *,
    reading: Reading,
    port: Annotated[
        int,
        typer.Option(
            help="Set the port of the local server; if it is busy, another is chosen.",
            min=0,
            max=options.MAX_PORT,
        ),
    ] = PORT,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    export: Annotated[
        str | None, typer.Option(help="Write the page and its data to one .html file.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Write a .png picture of one frame; needs Chromium.")
    ] = None,
    frame: Annotated[
        int | None,
        typer.Option(help="Choose the frame of --image, or the first frame of the page."),
    ] = None,
    video: Annotated[
        str | None, typer.Option(help="Write an .mp4 video of the clip; needs Chromium and ffmpeg.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Set the frame rate of --video.")] = 30.0,
    size: Annotated[
        str, typer.Option(help="Set the size of --image and --video in pixels.")
    ] = "1280x720",
    layout: Annotated[
        Layout, typer.Option(help="Choose which motions to show, and how.")
    ] = Layout.overlay,
    theme: Annotated[
        Theme | None,
        typer.Option(
            help="Choose light or dark; the default is the system's for pages, light for pictures."
        ),
    ] = None,
    force: options.Force = False,
) -> int:
    """Play a compressed motion in the browser with its original; bones show the error."""
    outputs = [path for path in (export, image, video) if path]
    for path in outputs:
        files.check_output(path, force=force)
    for output, suffix in ((export, ".html"), (image, ".png"), (video, ".mp4")):
        if output and Path(output).suffix.lower() != suffix:
            raise UsageError(f"{output}: expected a {suffix} file")
    pixels = _parse_size(size)
    part = None if frames is None else parse_frame_range(frames)
    selection = Selection(())
    if file is not None:
        selection = select(file, original, others or [], frames=part, **reading.to_arguments())
    elif outputs:
        raise UsageError(f"name the motion file to write to {outputs[0]}")
    start = _initial_state(selection, layout, theme, frame)
    if export:
        page = run_with_progress(f"writing {export}", lambda: export_page(selection, start))
        files.write_output(page, export, force=force)
    if image:
        picture = run_with_progress(
            f"drawing {image}", lambda: take_picture(selection, pixels, start)
        )
        files.write_output(picture, image, force=force)
    if video:
        _write_video(selection, Path(video), pixels, start, rate)
    for path in outputs:
        files.stdout().print(f"wrote {path}, {format_size(Path(path).stat().st_size)}")
    return 0 if outputs else _serve(selection, start, port, browser)


def _initial_state(
    selection: Selection, layout: Layout, theme: Theme | None, frame: int | None
) -> JsonObject:
    """Return the initial state of the page, as viewer/src/session.ts reads it."""
    count = selection.versions[0].clip.frame_count if selection.versions else 1
    if frame is not None and not 0 <= frame < count:
        raise UsageError(f"--frame must be from 0 to {count - 1}, got {frame}")
    start = {"layout": layout.value, "theme": theme and theme.value, "frame": frame}
    return {name: value for name, value in start.items() if value is not None}


def _serve(selection: Selection, start: JsonObject, port: int, browser: bool) -> int:
    """Serve the page until Ctrl-C, which is not an error."""
    shown = selection.versions
    name = shown[selection.chosen].name if shown else "files that you drop on the page"
    with open_server(selection, port, start) as server, suppress(KeyboardInterrupt):
        if port not in (0, server.port):
            files.stderr().print(f"port {port} is busy; using {server.port}")
        files.stdout().print(f"{server.url} shows {name}; press Ctrl-C to stop")
        if browser and not webbrowser.open(server.url):
            files.stderr().print(f"found no browser; open {server.url} yourself")
        server.serve_forever(poll_interval=0.2)
    return 0


def _write_video(
    selection: Selection, path: Path, size: tuple[int, int], start: JsonObject, rate: float
) -> None:
    with make_progress_bar() as bar:
        task = bar.add_task("drawing", total=None)
        take_video(
            selection,
            path,
            size,
            start,
            rate=rate,
            on_progress=lambda done, of: bar.update(task, completed=done, total=of),
        )


def _parse_size(size: str) -> tuple[int, int]:
    """Parse ``1280x720``. Both sides must be even, because video codecs require it."""
    width, cross, height = size.partition("x")
    if not (cross and width.isdigit() and height.isdigit()):
        raise UsageError(f"--size must be WIDTHxHEIGHT, like 1280x720, got {size!r}")
    pixels = int(width), int(height)
    if not all(64 <= side <= 4096 and side % 2 == 0 for side in pixels):
        raise UsageError(f"--size must have even sides from 64 to 4096, got {size}")
    return pixels
