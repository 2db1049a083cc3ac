"""A headless Chromium, controlled through a pipe with the DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Self

from mocpack.common.json_object import Json, JsonObject, get_member, is_object, parse_json
from mocpack.errors import UsageError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
# macOS applications are not on the path
MACOS_BROWSERS = tuple(
    f"/Applications/{name}.app/Contents/MacOS/{name}"
    for name in ("Chromium", "Google Chrome", "Microsoft Edge")
)
FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--enable-unsafe-swiftshader",  # draws without a graphics card
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--no-first-run",
    "--use-angle=swiftshader",
)


def find_chromium() -> str:
    """Return the path of Chromium: MOCPACK_CHROMIUM, else the first browser found."""
    named = os.environ.get("MOCPACK_CHROMIUM")
    for name in (named,) if named else (*BROWSERS, *MACOS_BROWSERS):
        path = shutil.which(name)
        if path:
            return path
    raise UsageError(
        f"pictures need Chromium, found {'no ' + named if named else 'none'}; install it, set "
        "MOCPACK_CHROMIUM to its path, or use `mocpack view --export`"
    )


class Browser:
    """A browser with one page; use it as a context manager."""

    def __init__(self, width: int, height: int) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="mocpack-", ignore_cleanup_errors=True)
        self._pid, self._read, self._write = _start(find_chromium(), self._profile.name)
        self._buffer = b""
        self._calls = 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = get_member(attached, "sessionId", str, "Target.attachToTarget")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def open(self, page: Path) -> None:
        """Open an exported page and wait until it has loaded its motions."""
        self.call("Page.enable")
        self.call("Page.navigate", url=page.resolve().as_uri())
        while self.evaluate("document.readyState === 'complete' && !!window.mocpack") is not True:
            pass
        self.evaluate("window.mocpack.ready")

    def wait_for_drawing(self) -> None:
        """Wait until the last drawing is on screen; a new canvas is empty at first."""
        self.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")

    def evaluate(self, expression: str) -> Json:
        """Evaluate a JavaScript expression in the page; wait for promises."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if is_object(details := answer.get("exceptionDetails")):
            exception = details.get("exception")
            described = exception.get("description") if is_object(exception) else None
            raise RuntimeError(described or details["text"])
        result = answer["result"]
        return result.get("value") if is_object(result) else None

    def screenshot(self, kind: str = "png") -> bytes:
        """Return a screenshot."""
        options = {"quality": 95} if kind == "jpeg" else {}
        answer = self.call("Page.captureScreenshot", format=kind, **options)
        return base64.b64decode(get_member(answer, "data", str, "Page.captureScreenshot"))

    def call(self, method: str, **params: Json) -> JsonObject:
        """Call a DevTools method and return its result; ignore events."""
        self._calls += 1
        request: JsonObject = {"id": self._calls, "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        _write_all(self._write, json.dumps(request).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._calls:
                if not is_object(result := answer.get("result")):
                    raise RuntimeError(f"{method}: {answer.get('error')}")
                return result

    def _receive(self) -> JsonObject:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            if not part:
                raise UsageError("Chromium exited before the picture was drawn")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        answer = parse_json(message)
        return answer if is_object(answer) else {}


def _start(chromium: str, profile: str) -> tuple[int, int, int]:
    """Start Chromium; return (process id, pipe to read, pipe to write), its descriptors 4 and 3."""
    if sys.platform == "win32":
        raise UsageError("pictures are not supported on Windows; use `mocpack view --export`")
    import fcntl  # does not exist on Windows

    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # numbers above 4, so that duplicating to 3 and 4 below overwrites neither
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]
    flags = [*FLAGS, f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium does not start as root without it
    pid = os.posix_spawn(
        chromium,
        [chromium, *flags],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, high[0], 3),
            (os.POSIX_SPAWN_DUP2, high[1], 4),
        ],
    )
    for fd in (theirs_in, theirs_out, *high):
        os.close(fd)
    return pid, ours_in, ours_out


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
