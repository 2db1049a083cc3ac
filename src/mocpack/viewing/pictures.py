"""Pictures and videos of the page, drawn in a headless browser."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mocpack.common.json_object import JsonObject
from mocpack.errors import UsageError
from mocpack.io.atomic import write_atomically
from mocpack.viewing.browser import Browser, find_chromium
from mocpack.viewing.export import export_page
from mocpack.viewing.motions import Selection

MAX_VIDEO_FPS = 60.0


def take_picture(selection: Selection, size: tuple[int, int], start: JsonObject) -> bytes:
    """Return a PNG of the frame in `start`; default: the first."""
    with _open_page(selection, size, start) as browser:
        browser.evaluate(f"window.mocpack.show({start.get('frame', 0)})")
        browser.wait_for_drawing()
        return browser.screenshot()


def find_ffmpeg() -> str:
    path = shutil.which("ffmpeg")
    if path is None:
        raise UsageError("videos need ffmpeg, which is not installed")
    return path


def take_video(
    selection: Selection,
    path: Path,
    size: tuple[int, int],
    start: JsonObject,
    *,
    rate: float = 30.0,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> None:
    """Write an MP4 of the whole clip at its own speed.

    Parameters
    ----------
    rate : float
        Frames per second of the video; each shows the clip's frame at its time.
    on_progress : callable
        Called with the number of pictures drawn and the total.
    """
    ffmpeg, _ = find_ffmpeg(), find_chromium()
    frames = video_frames(selection, rate)
    with _open_page(selection, size, start) as browser, _start_ffmpeg(ffmpeg, path, rate) as pipe:
        for done, frame in enumerate(frames, 1):
            browser.evaluate(f"window.mocpack.show({frame})")
            if done == 1:
                browser.wait_for_drawing()
            pipe.write(browser.screenshot("jpeg"))
            on_progress(done, len(frames))


def video_frames(selection: Selection, rate: float) -> list[int]:
    """Return the clip's frame for each picture of a video."""
    if not 1 <= rate <= MAX_VIDEO_FPS:
        raise UsageError(
            f"video rate must be 1 to {MAX_VIDEO_FPS:.0f} frames per second, got {rate:g}"
        )
    header = selection.versions[0].clip.header
    count = max(1, round(header.frame_count * header.frame_time * rate))
    last = header.frame_count - 1
    return [min(last, int(k / rate / header.frame_time + 1e-6)) for k in range(count)]


@contextmanager
def _open_page(selection: Selection, size: tuple[int, int], start: JsonObject) -> Iterator[Browser]:
    """Yield a browser that shows the exported page without its panels."""
    find_chromium()
    with tempfile.TemporaryDirectory(prefix="mocpack-") as folder:
        page = Path(folder) / "view.html"
        write_atomically(export_page(selection, {"theme": "light", **start, "bare": True}), page)
        with Browser(*size) as browser:
            browser.open(page)
            yield browser


@contextmanager
def _start_ffmpeg(ffmpeg: str, path: Path, rate: float) -> Iterator[IO[bytes]]:
    """Yield a pipe that takes pictures; the video appears when it is complete."""
    whole = path.with_name(f".{path.name}.part.mp4")
    command = [ffmpeg, "-y", "-loglevel", "error", "-f", "image2pipe", "-framerate", f"{rate:g}"]
    command += ["-c:v", "mjpeg", "-i", "-", "-c:v", "libx264", "-pix_fmt", "yuv420p"]
    command += ["-crf", "18", "-movflags", "+faststart", str(whole)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    try:
        with suppress(BrokenPipeError):  # ffmpeg ended early
            yield process.stdin
        _, message = process.communicate()
        if process.returncode != 0:
            raise UsageError(f"{path}: ffmpeg: {message.decode(errors='replace').strip()[-200:]}")
        whole.replace(path)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        whole.unlink(missing_ok=True)
