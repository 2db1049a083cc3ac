"""``mocpack view``: a motion and its error in the browser, in one file, picture or video."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.errors import UsageError
from mocpack.units import format_size
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
    file: Annotated[str, typer.Argument(help="The motion to look at: .mocp or any other.")],
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
    unit: options.Unit = None,
    skeleton: options.SkeletonFile = None,
    port: Annotated[int, typer.Option(help="Of the local server; another if it is busy.")] = PORT,
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
    wanted = [
        (name, path)
        for name, path in (("export", export), ("image", image), ("video", video))
        if path
    ]
    for _, path in wanted:
        files.check_free(path, force=force)
    pixels = _pixels(size)
    part = None if frames is None else files.frame_slice(frames)
    selection = select(file, original, others or [], frames=part, unit=unit, skeleton=skeleton)
    start = {"layout": layout.value} | ({} if frame is None else {"frame": frame})
    look = {} if theme is None else {"theme": theme.value}
    picture_look = {"theme": (theme or Theme.light).value, **start}
    if export:
        files.write_output(export_page(selection, start | look), export, force=force)
    if image:
        files.write_output(
            take_picture(selection, frame or 0, pixels, picture_look), image, force=force
        )
    if video:
        _write_video(selection, Path(video), pixels, picture_look, rate)
    for _, path in wanted:
        files.stdout().print(f"wrote {path}, {format_size(Path(path).stat().st_size)}")
    return 0 if wanted else _serve(selection, port, browser)


def _serve(selection: Selection, port: int, browser: bool) -> int:
    """Serve until Ctrl-C, which ends it as it should end."""
    name = selection.versions[selection.chosen].name
    with open_server(selection, port) as server, suppress(KeyboardInterrupt):
        if port not in (0, server.port):
            files.stderr().print(f"port {port} is busy, taking {server.port}")
        files.stdout().print(f"{server.url} shows {name}; Ctrl-C ends")
        if browser and not webbrowser.open(server.url):
            files.stderr().print("no browser was found to open it")
        server.serve_forever(poll_interval=0.2)
    return 0


def _write_video(
    selection: Selection, path: Path, size: tuple[int, int], look: Mapping[str, object], rate: float
) -> None:
    with files.progress(2) as bar:
        task = bar.add_task("drawing", total=None)
        take_video(
            selection,
            path,
            size,
            look,
            rate=rate,
            progress=lambda done, of: bar.update(task, completed=done, total=of),
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
