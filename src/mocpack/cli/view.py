"""``mocpack view``: a motion and its error in the browser, in one file, picture or video."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mocpack.cli import files, options
from mocpack.cli.progress import counted, watched
from mocpack.errors import UsageError
from mocpack.units import format_size, parse_frame_range
from mocpack.viewing.export import export_page
from mocpack.viewing.motions import Selection, select
from mocpack.viewing.pictures import take_picture, take_video
from mocpack.viewing.server import PORT, open_server


class Layout(StrEnum):
    """What is on the stage."""

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
        typer.Argument(help="The motion to look at, .mocp or any other; without, drop one."),
    ] = None,
    original: Annotated[
        str | None, typer.Argument(help="What it was made from; its error is shown against it.")
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option("--with", help="Another version of the same clip, for the slider; repeat it."),
    ] = None,
    frames: Annotated[
        str | None, typer.Option(help="Only these frames of the original, like 1:.")
    ] = None,
    clip: options.ClipName = None,
    unit: options.Unit = None,
    skeleton: options.SkeletonFile = None,
    allow_outside: options.AllowOutside = False,
    port: Annotated[
        int,
        typer.Option(
            help="Of the local server; another if it is busy.", min=0, max=options.LAST_PORT
        ),
    ] = PORT,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    export: Annotated[
        str | None, typer.Option(help="Write the page with its data as one .html file.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Write a .png of one frame; drawn by Chromium.")
    ] = None,
    frame: Annotated[
        int | None, typer.Option(help="The frame of --image, or at which the page opens.")
    ] = None,
    video: Annotated[
        str | None, typer.Option(help="Write an .mp4 of the clip; by Chromium and ffmpeg.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Pictures a second of --video.")] = 30.0,
    size: Annotated[str, typer.Option(help="Of --image and --video.")] = "1280x720",
    layout: Annotated[Layout, typer.Option(help="What is shown.")] = Layout.overlay,
    theme: Annotated[
        Theme | None,
        typer.Option(help="Light or dark; the page asks the system, pictures are light."),
    ] = None,
    force: options.Force = False,
) -> int:
    """Play a packed motion in the browser beside its original, bones coloured by error."""
    outputs = [path for path in (export, image, video) if path]
    for path in outputs:
        files.check_free(path, force=force)
    pixels = _pixels(size)
    part = None if frames is None else parse_frame_range(frames)
    selection = Selection(())
    if file is not None:
        reading = {"unit": unit, "skeleton": skeleton, "allow_outside": allow_outside}
        selection = select(file, original, others or [], frames=part, clip=clip, **reading)
    elif outputs:
        raise UsageError(f"name the motion that {outputs[0]} is to show")
    start = _start(selection, layout, theme, frame)
    if export:
        page = watched(f"writing {export}", lambda: export_page(selection, start))
        files.write_output(page, export, force=force)
    if image:
        picture = watched(f"drawing {image}", lambda: take_picture(selection, pixels, start))
        files.write_output(picture, image, force=force)
    if video:
        _write_video(selection, Path(video), pixels, start, rate)
    for path in outputs:
        files.stdout().print(f"wrote {path}, {format_size(Path(path).stat().st_size)}")
    return 0 if outputs else _serve(selection, start, port, browser)


def _start(
    selection: Selection, layout: Layout, theme: Theme | None, frame: int | None
) -> dict[str, Any]:
    """Return how the page stands when it opens, as session.ts knows it."""
    count = selection.versions[0].clip.frame_count if selection.versions else 1
    if frame is not None and not 0 <= frame < count:
        raise UsageError(f"--frame must be in 0..{count - 1}, got {frame}")
    start = {"layout": layout.value, "theme": theme and theme.value, "frame": frame}
    return {name: value for name, value in start.items() if value is not None}


def _serve(selection: Selection, start: Mapping[str, Any], port: int, browser: bool) -> int:
    """Serve until Ctrl-C, which ends it as it should end."""
    shown = selection.versions
    name = shown[selection.chosen].name if shown else "what you drop on it"
    with open_server(selection, port, start) as server, suppress(KeyboardInterrupt):
        if port not in (0, server.port):
            files.stderr().print(f"port {port} is busy, taking {server.port}")
        files.stdout().print(f"{server.url} shows {name}; Ctrl-C ends")
        if browser and not webbrowser.open(server.url):
            files.stderr().print("no browser was found to open it")
        server.serve_forever(poll_interval=0.2)
    return 0


def _write_video(
    selection: Selection, path: Path, size: tuple[int, int], start: Mapping[str, Any], rate: float
) -> None:
    with counted() as bar:
        task = bar.add_task("drawing", total=None)
        take_video(
            selection,
            path,
            size,
            start,
            rate=rate,
            on_progress=lambda done, of: bar.update(task, completed=done, total=of),
        )


def _pixels(size: str) -> tuple[int, int]:
    """Read ``1280x720``; both even, as video asks."""
    width, cross, height = size.partition("x")
    if not (cross and width.isdigit() and height.isdigit()):
        raise UsageError(f"write the size like 1280x720, got {size!r}")
    pixels = int(width), int(height)
    if not all(64 <= side <= 4096 and side % 2 == 0 for side in pixels):
        raise UsageError(f"the sides of a picture are even and 64 to 4096, got {size}")
    return pixels
