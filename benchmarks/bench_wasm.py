"""Measure the browser decoder: its size, and frames per second against node and native.

    python benchmarks/bench_wasm.py [CHROMIUM]

Each decodes a whole clip of CMU with 31 joints, within 5 mm, on one thread; the best of many runs
counts.
"""

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import mocpack
from mocpack.bench.datasets import CHECKOUT, load_clip
from mocpack.codecs.keysine import Keysine
from mocpack.container import unpack

CLIP = "cmu/49_02"
RUNS = 150
PATIENCE = 120  # seconds
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
)

# the same script measures in node and in the browser
MEASURE = """
export async function measure(open, bytes, runs) {
  const seconds = [];
  let frames = 0;
  for (let run = 0; run < runs; ++run) {
    const start = performance.now();
    const motion = await open(bytes);
    frames = motion.frameCount;
    await motion.frames(0, frames);
    seconds.push((performance.now() - start) / 1000);
    motion.close();
  }
  return { frames, seconds };
}
"""

PAGE = """<!doctype html><script type="module">
import { open } from "/js/dist/index.js";
import { measure } from "/measure.mjs";
const bytes = await (await fetch("/clip.mocp")).arrayBuffer();
const body = await measure(open, bytes, RUNS).catch((error) => ({ error: String(error) }));
await fetch("/result", { method: "POST", body: JSON.stringify(body) });
</script>"""

NODE = """
import { readFileSync } from "node:fs";
import { open } from "./js/dist/node.js";
import { measure } from "./measure.mjs";
const found = await measure(open, new Uint8Array(readFileSync("clip.mocp")), RUNS);
console.log(JSON.stringify(found));
"""


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder, and takes the page's result."""

    def do_POST(self):
        self.server.result = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.done.set()

    def log_message(self, *_):
        pass


def in_python(clip, payload):
    codec, seconds = Keysine(threads=1), []
    for _ in range(RUNS):
        start = time.perf_counter()
        codec.decode(payload, clip.header)
        seconds.append(time.perf_counter() - start)
    return seconds


def in_node(folder):
    command = ["node", str(folder / "node.mjs")]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(found.stdout)["seconds"]


def in_chromium(folder, program):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    server.done, server.result = threading.Event(), None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/page.html"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, *QUIET, f"--user-data-dir={profile}", address]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not server.done.wait(PATIENCE):
                raise SystemExit(f"{program} gave no result within {PATIENCE} s")
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
    if "error" in server.result:
        raise SystemExit(f"in {program}: {server.result['error']}")
    return server.result["seconds"]


def write_folder(folder, package, data):
    (folder / "js").symlink_to(package)
    (folder / "clip.mocp").write_bytes(data)
    (folder / "measure.mjs").write_text(MEASURE)
    (folder / "page.html").write_text(PAGE.replace("RUNS", str(RUNS)))
    (folder / "node.mjs").write_text(NODE.replace("RUNS", str(RUNS)))


def report(name, frames, seconds):
    best, middle = frames / min(seconds), frames / sorted(seconds)[len(seconds) // 2]
    print(f"  {name:<9} {best:10,.0f} frames per second, median {middle:10,.0f}", flush=True)
    return best


def main():
    package = CHECKOUT / "js"
    wasm = package / "dist" / "mocpack.wasm"
    if not wasm.exists():
        print("the JavaScript package is not built, so it is not measured; `make js` builds it")
        return
    size, packed = wasm.stat().st_size, len(gzip.compress(wasm.read_bytes(), 9))
    print(f"mocpack.wasm: {size:,} bytes, {packed:,} gzipped")
    clip = load_clip(CLIP)
    data = mocpack.encode(clip, "keysine:max_error=5mm")
    print(f"{CLIP}: {clip.frame_count} frames of {len(clip.skeleton)} joints in {len(data)} bytes")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_folder(folder, package, data)
        report("native", clip.frame_count, in_python(clip, unpack(data).payload))
        if shutil.which("node"):
            report("node", clip.frame_count, in_node(folder))
        program = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium")
        if program is None:
            print("  chromium is not installed: not measured")
            return
        report("chromium", clip.frame_count, in_chromium(folder, program))


if __name__ == "__main__":
    main()
