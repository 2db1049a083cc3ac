"""A headless Chromium, driven through a pipe by its DevTools protocol: no window, no port."""

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
# where macOS has them: an application is on nobody's path there
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
    "--enable-unsafe-swiftshader",  # where there is no graphics card, draw all the same
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--no-first-run",
    "--use-angle=swiftshader",
)


def find_chromium() -> str:
    """Return the browser's path: what MOCPACK_CHROMIUM names, else the first that is installed."""
    named = os.environ.get("MOCPACK_CHROMIUM")
    for name in (named,) if named else (*BROWSERS, *MACOS_BROWSERS):
        path = shutil.which(name)
        if path:
            return path
    raise UsageError(
        f"pictures are drawn by Chromium, and {named or 'none'} is installed; install it, name it "
        "in MOCPACK_CHROMIUM, or use `mocpack view --export` and a browser"
    )


class Browser:
    """One page of one browser; use as a context manager."""

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
        """Open a file and wait until the viewer in it has its motions."""
        self.call("Page.enable")
        self.call("Page.navigate", url=page.resolve().as_uri())
        while self.evaluate("document.readyState === 'complete' && !!window.mocpack") is not True:
            pass
        self.evaluate("window.mocpack.ready")

    def wait_for_drawing(self) -> None:
        """Wait until what the page drew last is on its screen, where a new canvas is empty."""
        self.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of the page, a promise's once it settles."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def screenshot(self, kind: str = "png") -> bytes:
        """Return what the page looks like."""
        options = {"quality": 95} if kind == "jpeg" else {}
        found = self.call("Page.captureScreenshot", format=kind, **options)
        return base64.b64decode(found["data"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its result; events are passed over."""
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
                raise UsageError("Chromium ended before the picture was drawn")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found


def _start(chromium: str, profile: str) -> tuple[int, int, int]:
    """Return (process, pipe to read, pipe to write); the browser has them as files 4 and 3."""
    if sys.platform == "win32":
        raise UsageError("pictures cannot be drawn on Windows; `mocpack view --export` can be used")
    import fcntl  # which Windows does not have, while the rest of this package works there

    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # above 3 and 4, so that neither copy below overwrites the other's source
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]
    flags = [*FLAGS, f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium refuses to start as root otherwise
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
