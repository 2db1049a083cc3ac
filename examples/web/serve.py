"""Serve the example page: python examples/web/serve.py [FILE.mocp], after `make js`.

Byte ranges are answered, which Python's own server does not do: the motion plays as it arrives.
"""

import http.server
import re
import sys
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
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def open_server(motion: bytes, port: int = 0) -> http.server.ThreadingHTTPServer:
    """Return a server that only this machine can reach; `serve_forever` runs it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    server.motion = motion
    server.url = f"http://127.0.0.1:{server.server_port}{PAGE}"
    return server


def main() -> None:
    given = sys.argv[1:]
    jump = mocpack.read(samples.JUMP)
    motion = Path(given[0]).read_bytes() if given else mocpack.encode(jump, max_error="2mm")
    with open_server(motion, 8000) as server:
        print(f"{server.url}  (Ctrl-C ends it)")
        server.serve_forever()


if __name__ == "__main__":
    main()
