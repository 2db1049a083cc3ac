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
from typing import Any, Self

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
        self._session = attached["sessionId"]
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

    def evaluate(self, expression: str) -> Any:
        """Evaluate a JavaScript expression in the page; wait for promises."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def screenshot(self, kind: str = "png") -> bytes:
        """Return a screenshot."""
        options = {"quality": 95} if kind == "jpeg" else {}
        found = self.call("Page.captureScreenshot", format=kind, **options)
        return base64.b64decode(found["data"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a DevTools method and return its result; ignore events."""
        self._calls += 1
        request: dict[str, Any] = {"id": self._calls, "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        _write_all(self._write, json.dumps(request).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._calls:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            if not part:
                raise UsageError("Chromium exited before the picture was drawn")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found


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
