import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import * as browser from "../dist/index.js";
import { frameErrors, MocpackError, open, openScene, worldPositions } from "../dist/node.js";
import { compiled, noFiles, read, resealed, wasm } from "./files.mjs";

const rejects = (promise, kind, pattern) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof MocpackError, String(error));
    assert.equal(error.kind, kind, error.message);
    if (pattern) assert.match(error.message, pattern);
    return true;
  });

describe("the decoder", () => {
  it("imports only a function that reads the file", () =>
    assert.deepEqual(WebAssembly.Module.imports(compiled), [
      { module: "env", name: "read", kind: "function" },
    ]));
});

describe("open", { skip: noFiles }, () => {
  it("accepts bytes, buffers, blobs and file URLs", async () => {
    const bytes = read("walk.mocp");
    const path = pathToFileURL(`${process.env.MOCPACK_FIXTURES}/walk.mocp`);
    const expected = await (await open(bytes)).frames(0, 5);
    for (const source of [bytes.buffer.slice(0), new Blob([bytes]), path, String(path)]) {
      const motion = await open(source);
      assert.equal(motion.codec, "keysine");
      assert.deepEqual(await motion.frames(0, 5), expected);
    }
  });

  it("accepts the decoder as bytes, module or URL", async () => {
    const bytes = read("one_frame.mocp");
    for (const decoder of [
      readFileSync(wasm),
      new Uint8Array(readFileSync(wasm)).buffer,
      compiled,
    ]) {
      const motion = await browser.open(bytes, { wasm: decoder });
      assert.equal((await motion.frames(0, 1)).count, 1);
    }
    const address = `data:application/wasm;base64,${readFileSync(wasm).toString("base64")}`;
    assert.equal((await browser.open(bytes, { wasm: address })).frameCount, 1);
  });

  it("describes errors of a file", async () => {
    const bytes = read("walk.mocp");
    await rejects(open(new Uint8Array([1, 2, 3, 4, 5])), "format", /\.mocp/);
    await rejects(open(new Uint8Array(0)), "truncated");
    await rejects(open(bytes.slice(0, 3)), "truncated");
    await rejects(open(bytes.slice(0, -1)), "truncated", /'DATA'.* \d+ .*\d+/);
    const flipped = bytes.slice();
    flipped[bytes.length - 20] ^= 1;
    await rejects(open(flipped), "corrupt", /'DATA'/);
    const newer = bytes.slice();
    newer[4] = 2;
    await rejects(open(newer), "unsupported", /version 2/);
    const foreign = bytes.slice();
    foreign.set(new TextEncoder().encode("GRIP"), bytes.indexOf(0x53, 5));
    await rejects(open(resealed(foreign)), "unsupported", /'GRIP'/);
  });

  it("names an unsupported codec", async () => {
    await rejects(open(read("wavelet.mocp")), "unsupported", /'wavelet'/);
    await rejects(open(read("vertices.mocp")), "unsupported", /vertex.*'raw'/);
  });

  it("opens a clip of a scene by name", async () => {
    const bytes = read("scene.mocp");
    const scene = await openScene(bytes);
    assert.deepEqual(scene.clipNames, ["walk", "turns"]);
    const [whole, named] = [await scene.open("turns"), await open(bytes, { clip: "turns" })];
    assert.equal(whole.frameCount, named.frameCount);
    await assert.rejects(open(bytes), /"walk".*"turns"/);
    await rejects(open(bytes, { clip: "run" }), "clip");
    await rejects(scene.open("run"), "clip");
    await assert.rejects(open(read("walk.mocp"), { clip: "walk" }), /"walk"/);
    const single = await openScene(read("walk.mocp"));
    assert.deepEqual(single.clipNames, [""]);
    (await single.open("")).close();
  });

  it("rejects if the signal is already aborted", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(open(read("walk.mocp"), { signal }), /enough/);
  });
});

describe("frames", { skip: noFiles }, () => {
  it("do not depend on the requested range", async () => {
    const motion = await open(read("long.mocp"));
    const whole = await motion.frames(0, motion.frameCount);
    const joints = motion.skeleton.parents.length;
    const windows = [
      [0, 1],
      [59, 61],
      [100, 700],
      [3599, 3601],
      [7190, 7200],
      [7199, 7200],
      [5, 5],
    ];
    for (const [start, stop] of windows) {
      const part = await motion.frames(start, stop);
      assert.equal(part.start, start);
      assert.equal(part.count, stop - start);
      assert.deepEqual(
        part.rotations,
        whole.rotations.slice(4 * joints * start, 4 * joints * stop),
      );
      assert.deepEqual(
        part.translations,
        whole.translations.slice(3 * joints * start, 3 * joints * stop),
      );
    }
  });

  it("can be requested concurrently", async () => {
    const motion = await open(read("long.mocp"));
    const starts = [0, 3000, 6000, 0, 3000, 6000, 60, 119];
    const parts = await Promise.all(starts.map((start) => motion.frames(start, start + 70)));
    for (const [i, start] of starts.entries())
      assert.deepEqual(parts[i], await motion.frames(start, start + 70));
  });

  it("outside of the clip are rejected", async () => {
    const motion = await open(read("walk.mocp"));
    for (const [start, stop] of [
      [-1, 2],
      [0, 46],
      [3, 2],
      [0.5, 2],
      [NaN, 2],
      [0, Infinity],
    ])
      await assert.rejects(motion.frames(start, stop), RangeError);
    assert.equal(motion.frameCount, 45);
  });

  it("at a time that is no number are rejected", async () => {
    const uneven = new URL("../../tests/golden/keysine/v1-take-times/file.mocp", import.meta.url);
    for (const file of [read("walk.mocp"), uneven])
      await assert.rejects((await open(file)).sample(NaN), RangeError);
  });

  it("of a closed motion are rejected", async () => {
    const motion = await open(read("walk.mocp"));
    motion.close();
    await assert.rejects(motion.frames(0, 1), /closed/);
  });

  it("can be read after the decoder has crashed", async () => {
    const motion = await open(read("walk.mocp"));
    const expected = await motion.frames(0, 45);
    motion.decoder.running.core = { read_frames: () => wasmTrap() };
    await rejects(motion.frames(0, 45), "corrupt", /decoder/);
    assert.deepEqual(await motion.frames(0, 45), expected);
  });
});

function wasmTrap() {
  // (func unreachable) exported as "f"
  const bytes = "0061736d010000000104016000000302010007050101660000" + "0a05010300000b";
  const module = new WebAssembly.Module(Buffer.from(bytes, "hex"));
  new WebAssembly.Instance(module).exports.f();
}

describe("preview", { skip: noFiles }, () => {
  it("returns the same key poses as frames", async () => {
    for (const name of ["long", "walk", "one_frame", "layers", "grid", "roots"]) {
      const motion = await open(read(`${name}.mocp`));
      const joints = motion.skeleton.parents.length;
      const keys = await motion.preview();
      assert.equal(keys.count, keys.frames.length);
      assert.equal(keys.frames[0], 0);
      assert.equal(keys.frames.at(-1), motion.frameCount - 1);
      for (const [i, frame] of keys.frames.entries()) {
        const own = {
          start: frame,
          count: 1,
          rotations: keys.rotations.subarray(4 * joints * i, 4 * joints * (i + 1)),
          translations: keys.translations.subarray(3 * joints * i, 3 * joints * (i + 1)),
        };
        const whole = await motion.frames(frame, frame + 1);
        const { promised } = frameErrors(motion.skeleton, whole, own);
        assert.ok(promised[0] < 1e-9, `${name} ${frame}: ${promised[0]}`);
      }
      assert.ok(motion.layers.length >= 1);
      assert.ok(motion.layers.every(({ end }) => end <= motion.sizes.file));
    }
  });

  it("of a closed motion is rejected", async () => {
    const motion = await open(read("walk.mocp"));
    motion.close();
    await assert.rejects(motion.preview(), /closed/);
  });
});

describe("kinematics", () => {
  // a root that is turned by 90 degrees about z, one bone of 1 m along x, and an end 0.5 m further
  const skeleton = {
    names: ["root", "bone"],
    parents: Int32Array.of(-1, 0),
    offsets: Float64Array.of(0, 0, 0, 1, 0, 0),
    endJoints: Int32Array.of(1),
    endOffsets: Float64Array.of(0.5, 0, 0),
    translated: Int32Array.of(0),
  };
  const pose = (angle) => ({
    start: 0,
    count: 1,
    rotations: Float64Array.of(0, 0, Math.sin(angle / 2), Math.cos(angle / 2), 0, 0, 0, 1),
    translations: Float64Array.of(2, 0, 0, 1, 0, 0),
  });
  const near = (a, b) => a.forEach((value, i) => assert.ok(Math.abs(value - b[i]) < 1e-15, `${a}`));

  it("computes the positions computed by hand", () => {
    const { joints, ends } = worldPositions(skeleton, pose(Math.PI / 2));
    near(joints, [2, 0, 0, 2, 1, 0]);
    near(ends, [2, 1.5, 0]);
  });

  it("measures joints, ends and the shell", () => {
    const errors = frameErrors(skeleton, pose(0), pose(Math.PI));
    near(errors.joints, [0, 2]);
    near(errors.promisedByJoint, [0.06, 3]);
    near(errors.promised, [3]);
    const unequal = { ...pose(0), count: 2 };
    assert.throws(() => frameErrors(skeleton, pose(0), unequal), RangeError);
  });
});
