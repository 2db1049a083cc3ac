"""Serve the example page, after `make js`.

    python examples/web/serve.py [FILE.mocp] [--rate BYTES_PER_SECOND]

Byte ranges are answered, which Python's own server does not do: the motion plays as it arrives.
With a low rate, a file with quality layers appears coarse and is refined.
"""

import argparse
import http.server
import re
import time
from pathlib import Path

import mocpack
from mocpack import samples

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = "/examples/web/"


class Handler(http.server.SimpleHTTPRequestHandler):
    """The checkout's files, and `/motion.mocp`, the motion that the server was given."""

    protocol_version = "HTTP/1.1"
    extensions_map = {  # noqa: RUF012 - as the class it comes from has it
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript",
        ".wasm": "application/wasm",
        "": "application/octet-stream",
    }

    def __init__(self, *args, **options):
        super().__init__(*args, directory=str(CHECKOUT), **options)

    def do_GET(self):
        if self.path.split("?")[0] != "/motion.mocp":
            super().do_GET()
            return
        data = self.server.motion
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        start, stop = (int(asked[1]), int(asked[2]) + 1) if asked else (0, len(data))
        body = data[start:stop]
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(data)}")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        at = start
        while at < start + len(body):
            end = min(start + len(body), self.server.wait_for(at))
            if end <= at:  # the connection breaks
                self.close_connection = True
                return
            self.wfile.write(data[at:end])
            at = end

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    """A server that only this machine can reach; `serve_forever` runs it."""

    daemon_threads = True

    def __init__(self, motion: bytes, port: int = 0):
        super().__init__(("127.0.0.1", port), Handler)
        self.motion = motion
        self.url = f"http://127.0.0.1:{self.server_port}{PAGE}"

    def wait_for(self, at: int) -> int:
        """Wait until byte `at` of the motion may be sent; return the end of the bytes that may."""
        return len(self.motion)


class SlowServer(Server):
    """Sends the motion at a rate in bytes per second, counted from the first request."""

    def __init__(self, motion: bytes, port: int, rate: float):
        super().__init__(motion, port)
        self.rate = rate
        self.start = 0.0

    def wait_for(self, at: int) -> int:
        self.start = self.start or time.monotonic()
        time.sleep(max(0.0, self.start + at / self.rate - time.monotonic()))
        return at + max(1, int(self.rate / 20))


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the example page.")
    parser.add_argument("file", nargs="?", type=Path, help="a .mocp file; a jump by default")
    parser.add_argument("--rate", type=float, help="bytes of the motion per second")
    given = parser.parse_args()
    motion = given.file.read_bytes() if given.file else encode_jump()
    with SlowServer(motion, 8000, given.rate) if given.rate else Server(motion, 8000) as server:
        print(f"{server.url}  (Ctrl-C ends it)")
        server.serve_forever()


def encode_jump() -> bytes:
    return mocpack.encode(mocpack.read(samples.JUMP), "keysine:layers=8", max_error="2mm")


if __name__ == "__main__":
    main()
