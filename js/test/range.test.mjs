// Files over HTTP: which bytes are fetched when, and unusual servers.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";

import { MocpackError, open } from "../dist/index.js";
import { compiled, noFiles, read } from "./files.mjs";

const options = { wasm: compiled };
let server;
let visit = 0; // ignores late prefetch requests of earlier tests
let requests = []; // bytes of each request of this visit
let ranges = [];
let behave; // (request, range, file) => replaces the server's response, or undefined

function answer(request, response) {
  const [name, number] = request.url.slice(1).split("?");
  const file = read(name);
  const match = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
  const range = match && [Number(match[1]), Math.min(Number(match[2]), file.length - 1)];
  if (Number(number) === visit) {
    requests.push(range ? range[1] - range[0] + 1 : file.length);
    ranges.push(String(range));
  }
  const other = behave?.(request, range, file);
  const status = other?.status ?? (range ? 206 : 200);
  const body = other?.body ?? (range ? file.subarray(range[0], range[1] + 1) : file);
  const headers = { "Accept-Ranges": "bytes", ...other?.headers };
  if (status === 206 && !other?.headers)
    headers["Content-Range"] = `bytes ${range[0]}-${range[1]}/${file.length}`;
  response.writeHead(status, headers).end(body);
}

const kindIs = (kind) => (error) => error instanceof MocpackError && error.kind === kind;

describe("a file over HTTP", { skip: noFiles }, () => {
  let address;
  before(async () => {
    server = createServer(answer);
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    address = (name) => `http://127.0.0.1:${server.address().port}/${name}?${visit}`;
  });
  after(() => server.close());
  const fresh = (how) => {
    visit += 1;
    requests = [];
    ranges = [];
    behave = how;
  };
  const fetched = () => requests.reduce((sum, size) => sum + size, 0);

  it("plays its first frames after a fraction of its bytes", async () => {
    fresh();
    const motion = await open(address("long.mocp"), options);
    const frames = await motion.frames(0, 120);
    const size = read("long.mocp").length;
    assert.equal(motion.sizes.file, size);
    assert.ok(fetched() < 0.4 * size, `${fetched()} of ${size} bytes`);
    assert.ok(requests.length <= 6, `${requests.length} requests`);
    const local = await open(read("long.mocp"), options);
    assert.deepEqual(frames, await local.frames(0, 120));
    motion.close();
  });

  it("of codec raw plays its first frames after a fraction of its bytes", async () => {
    fresh();
    const motion = await open(address("raw.mocp"), options);
    const frames = await motion.frames(0, 60);
    assert.ok(fetched() < 0.3 * motion.sizes.file, `${fetched()} of ${motion.sizes.file} bytes`);
    const local = await open(read("raw.mocp"), options);
    assert.deepEqual(frames, await local.frames(0, 60));
    assert.deepEqual(
      await motion.frames(0, motion.frameCount),
      await local.frames(0, local.frameCount),
    );
    motion.close();
  });

  it("of any kind decodes as from memory", async () => {
    for (const [name, clip] of [["lossless"], ["scales"], ["tracks"], ["scene", "turns"]]) {
      fresh();
      const how = clip ? { ...options, clip } : options;
      const motion = await open(address(`${name}.mocp`), how);
      const local = await open(read(`${name}.mocp`), how);
      const all = [0, local.frameCount];
      assert.deepEqual(await motion.frames(...all), await local.frames(...all), name);
      assert.deepEqual(await motion.preview(), await local.preview(), name);
      for (const track of local.takeData.tracks)
        assert.deepEqual(await motion.track(track.name), await local.track(track.name));
      await assert.rejects(motion.track("no such track"), RangeError);
      motion.close();
    }
  });

  it("shows its key poses after a part of its bytes", async () => {
    fresh();
    const motion = await open(address("long.mocp"), options);
    const keys = await motion.preview();
    assert.ok(keys.count > 100);
    assert.ok(fetched() < 0.5 * motion.sizes.file, `${fetched()} of ${motion.sizes.file} bytes`);
    motion.close();
  });

  it("is fetched once, with adjacent blocks in one request", async () => {
    fresh();
    const motion = await open(address("long.mocp"), options);
    const all = await motion.frames(0, motion.frameCount);
    const size = read("long.mocp").length;
    assert.equal(fetched(), size);
    assert.ok(requests.length <= 5, `${requests.length} requests`);
    await motion.frames(0, motion.frameCount);
    await motion.sample(17.3);
    assert.equal(fetched(), size);
    assert.deepEqual(all, await (await open(read("long.mocp"), options)).frames(0, 7200));
  });

  it("shares pending requests", async () => {
    fresh();
    const motion = await open(address("long.mocp"), options);
    await Promise.all(Array.from({ length: 20 }, () => motion.frames(4000, 4060)));
    assert.equal(new Set(ranges).size, ranges.length);
    assert.ok(ranges.length <= 5, ranges.join(" "));
    motion.close();
  });

  it("is fetched as a whole from a server without ranges", async () => {
    fresh((_, __, file) => ({ status: 200, body: file }));
    const motion = await open(address("long.mocp"), options);
    assert.equal((await motion.frames(7000, 7100)).count, 100);
    assert.equal(requests.length, 1);
  });

  it("is fetched as a whole if the server does not send its size", async () => {
    fresh((_, range) => (range ? { status: 206, headers: { "X-Other": "1" } } : undefined));
    const motion = await open(address("walk.mocp"), options);
    assert.equal((await motion.frames(0, 45)).count, 45);
  });

  it("needs one request if it is small", async () => {
    fresh();
    await (await open(address("walk.mocp"), options)).frames(0, 45);
    assert.equal(requests.length, 1);
  });

  it("that is empty or missing gives the right kind of error", async () => {
    fresh(() => ({ status: 416, body: "" }));
    await assert.rejects(open(address("walk.mocp"), options), kindIs("truncated"));
    fresh(() => ({ status: 404, body: "" }));
    await assert.rejects(open(address("walk.mocp"), options), kindIs("network"));
    await assert.rejects(open("http://127.0.0.1:1/none", options), kindIs("network"));
  });

  it("that changes during playback is an error", async () => {
    const total = read("long.mocp").length;
    const tagged = (tag) => (_, range) => ({
      headers: { ETag: tag, "Content-Range": `bytes ${range[0]}-${range[1]}/${total}` },
    });
    fresh(tagged('"one"'));
    const motion = await open(address("long.mocp"), options);
    behave = tagged('"two"');
    await assert.rejects(motion.frames(5000, 5100), kindIs("network"));
  });

  it("is requested again after a failure", async () => {
    fresh();
    const motion = await open(address("long.mocp"), options);
    behave = () => ({ status: 503, body: "" });
    await assert.rejects(motion.frames(5000, 5100), kindIs("network"));
    behave = undefined;
    assert.equal((await motion.frames(5000, 5100)).count, 100);
  });

  it("damaged during transfer is corrupt", async () => {
    fresh((_, range, file) => {
      const body = file.slice(range[0], range[1] + 1);
      if (range[0] > 0) body.fill(0x55);
      return { body, headers: { "Content-Range": `bytes ${range[0]}-${range[1]}/${file.length}` } };
    });
    const motion = await open(address("long.mocp"), options);
    await assert.rejects(motion.frames(6000, 6100), kindIs("corrupt"));
  });

  it("stops when its signal is aborted", async () => {
    fresh();
    const control = new AbortController();
    const motion = await open(address("long.mocp"), { ...options, signal: control.signal });
    control.abort();
    await assert.rejects(motion.frames(6000, 6100), { name: "AbortError" });
  });
});
