// Files with quality layers over a slow connection: what plays when, and what a broken connection leaves.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";

import * as THREE from "three";

import { MocpackError, open } from "../dist/node.js";
import { MocpackLoader, rootBones } from "../dist/three/index.js";
import { noFiles, read } from "./files.mjs";

const PIECE = 200; // bytes per write of the server

/** Sends the first `limit` bytes of its files, and more when `allow` permits. */
class SlowServer {
  limit = Infinity;
  broken = false;
  hasRanges = true;
  statesSize = true;
  ranges = [];
  #waiting = [];
  #server = createServer((request, response) => void this.#answer(request, response));

  async start() {
    await new Promise((done) => this.#server.listen(0, "127.0.0.1", done));
    this.base = `http://127.0.0.1:${this.#server.address().port}/`;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  allow(limit, { broken = false } = {}) {
    Object.assign(this, { limit, broken });
    for (const go of this.#waiting.splice(0)) go();
  }

  async #answer(request, response) {
    const file = read(request.url.slice(1));
    const range = this.hasRanges && /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    const [start, stop] = range
      ? [Number(range[1]), Math.min(Number(range[2]) + 1, file.length)]
      : [0, file.length];
    this.ranges.push([start, stop]);
    const headers = range ? { "Content-Range": `bytes ${start}-${stop - 1}/${file.length}` } : {};
    if (this.statesSize) headers["Content-Length"] = stop - start;
    response.writeHead(range ? 206 : 200, headers);
    response.flushHeaders();
    for (let at = start; at < stop;) {
      const end = Math.min(stop, at + PIECE, this.limit);
      if (at < end) response.write(file.subarray(at, end));
      else if (this.broken) return void response.destroy();
      else await new Promise((go) => this.#waiting.push(go));
      at = Math.max(at, end);
    }
    response.end();
  }
}

const floats = (name) => new Float64Array(read(name).buffer.slice(0));
const near = (found, expected) => {
  assert.equal(found.length, expected.length);
  assert.ok(found.every((value, i) => Math.abs(value - expected[i]) < 1e-12));
};
const isNetworkError = (error) => error instanceof MocpackError && error.kind === "network";

describe("a file with layers over a slow connection", { skip: noFiles }, () => {
  const server = new SlowServer();
  let all; // frames of the whole file
  let ends; // of its layers
  let count;
  before(async () => {
    await server.start();
    const motion = await open(read("layers.mocp"));
    ends = motion.layers.map(({ end }) => end);
    count = motion.frameCount;
    all = await motion.frames(0, count);
  });
  after(() => server.stop());
  const fresh = (limit, changes = {}) => {
    Object.assign(server, { hasRanges: true, statesSize: true, ranges: [] }, changes);
    server.allow(limit);
    return server.base;
  };

  it("plays each layer as soon as it has arrived", async () => {
    for (const hasRanges of [true, false]) {
      const motion = await open(`${fresh(ends[0], { hasRanges })}layers.mocp`);
      const layers = [];
      for await (const frames of motion.refine(0, count)) {
        layers.push(frames.layers);
        near(frames.rotations, floats(`layers-${frames.layers}.rotations`));
        server.allow(ends[frames.layers]);
      }
      assert.deepEqual(layers, [1, 2, 3]);
      assert.deepEqual(await motion.frames(0, count), all);
      assert.equal(server.ranges.length, 1);
      motion.close();
    }
  });

  it("skips layers if finer ones have arrived", async () => {
    fresh(Infinity);
    for (const source of [read("layers.mocp"), `${server.base}layers.mocp`]) {
      const motion = await open(source);
      await motion.frames(0, count);
      const found = [];
      for await (const frames of motion.refine(5, 40)) found.push(frames.layers);
      assert.deepEqual(found, [3]);
      motion.close();
    }
  });

  it("loads as a whole if the server does not state its size", async () => {
    const motion = await open(
      `${fresh(Infinity, { hasRanges: false, statesSize: false })}layers.mocp`,
    );
    assert.deepEqual(await motion.frames(0, count), all);
  });

  it("keeps what has arrived if the connection breaks, and continues there", async () => {
    for (const hasRanges of [true, false]) {
      const motion = await open(`${fresh(ends[0], { hasRanges })}layers.mocp`);
      const refined = motion.refine(0, count);
      assert.equal((await refined.next()).value.layers, 1);
      server.allow(ends[0] + 10, { broken: true });
      await assert.rejects(refined.next(), isNetworkError);
      const again = motion.refine(0, count);
      const { layers, rotations } = (await again.next()).value;
      assert.equal(layers, 1);
      near(rotations, floats("layers-1.rotations"));
      server.ranges = [];
      server.allow(Infinity);
      assert.deepEqual(await motion.frames(0, count), all);
      const [[start]] = server.ranges;
      assert.equal(server.ranges.length, 1);
      assert.ok(hasRanges ? start >= ends[0] : start === 0, `continues at ${start}`);
      motion.close();
    }
  });

  it("without layers is refined once", async () => {
    fresh(Infinity);
    for (const name of ["walk", "raw", "lossless"]) {
      const motion = await open(`${server.base}${name}.mocp`);
      const found = [];
      for await (const frames of motion.refine(0, 5)) found.push(frames);
      assert.deepEqual(found, [{ ...(await motion.frames(0, 5)), layers: 1 }]);
      motion.close();
    }
  });

  it("that is closed cannot be refined", async () => {
    const motion = await open(read("layers.mocp"));
    const refined = motion.refine(0, count);
    motion.close();
    await assert.rejects(refined.next(), /closed/);
  });

  it("from many requests is coarse first", async () => {
    const file = read("long_layers.mocp");
    const motion = await open(`${fresh(Infinity)}long_layers.mocp`);
    const found = [];
    for await (const frames of motion.refine(3000, 3060)) found.push(frames);
    assert.equal(found[0].layers, 1);
    const whole = await open(file);
    assert.deepEqual(found.at(-1), { ...(await whole.frames(3000, 3060)), layers: 4 });
    motion.close();
  });

  describe("in three.js", () => {
    /** Loads the file after its first layer; returns its parts and a function that poses the bones. */
    async function shown() {
      const loader = new MocpackLoader().setPath(fresh(ends[0]));
      const { motion, skeleton, clip } = await loader.loadAsync("layers.mocp");
      const root = new THREE.Object3D().add(...rootBones(skeleton));
      const mixer = new THREE.AnimationMixer(root);
      mixer.clipAction(clip).play();
      const events = [];
      for (const type of ["loaded", "error"])
        clip.stream.addEventListener(type, (event) => events.push(event));
      const turns = () => {
        mixer.update(0);
        return skeleton.bones.flatMap((bone) => bone.quaternion.toArray());
      };
      mixer.update(0.25);
      await clip.stream.ready(0.25);
      const next = (type) =>
        new Promise((done) => clip.stream.addEventListener(type, done, { once: true }));
      const loaded = async (layers) => {
        while ((await next("loaded")).layers < layers);
      };
      return { motion, clip, events, turns, next, loaded };
    }

    async function close(found, frames) {
      const file = await open(read("layers.mocp"));
      const frame = Math.round(0.25 / file.frameTime);
      const size = found.length;
      const wanted = frames.subarray(frame * size, (frame + 1) * size);
      return Math.max(...found.map((turn, i) => Math.abs(Math.abs(turn) - Math.abs(wanted[i]))));
    }

    it("shows the coarse pose and refines it in place", async () => {
      const { motion, clip, events, turns, next } = await shown();
      assert.ok((await close(turns(), floats("layers-1.rotations"))) < 1e-6);
      assert.ok((await close(turns(), all.rotations)) > 1e-4);
      assert.equal(clip.stream.layers, 1);
      assert.equal(clip.stream.stalled, false);
      const refined = next("loaded");
      server.allow(ends[1]);
      assert.equal((await refined).layers, 2);
      assert.ok((await close(turns(), floats("layers-2.rotations"))) < 1e-6);
      const final = next("loaded");
      server.allow(Infinity);
      assert.equal((await final).layers, 3);
      assert.ok((await close(turns(), all.rotations)) < 1e-6);
      assert.equal(clip.stream.layers, motion.layers.length);
      assert.deepEqual(
        events.map(({ type, layers }) => [type, layers]),
        [
          ["loaded", 1],
          ["loaded", 2],
          ["loaded", 3],
        ],
      );
      motion.close();
    });

    it("keeps the coarse pose and reports an error if the connection breaks", async () => {
      const { motion, clip, turns, next, loaded } = await shown();
      const before = turns();
      const failed = next("error");
      server.allow(ends[0] + 10, { broken: true });
      assert.ok(isNetworkError((await failed).error));
      assert.deepEqual(turns(), before);
      assert.equal(clip.stream.layers, 1);
      assert.equal(clip.stream.stalled, false);
      const final = loaded(3);
      server.allow(Infinity);
      await clip.stream.ready(0.25); // retries at once
      await final;
      assert.ok((await close(turns(), all.rotations)) < 1e-6);
      motion.close();
    });
  });
});
