// The package in a worker: it decodes there and transfers the poses.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";

import { open } from "../dist/node.js";
import { noFiles, read } from "./files.mjs";

/** Runs a module in a worker and returns its message. */
function posted(code, data) {
  const url = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const worker = new Worker(url, { workerData: data });
  return new Promise((done, failed) => {
    worker.once("message", done);
    worker.once("error", failed);
  }).finally(() => worker.terminate());
}

const CODE = `
  import { parentPort, workerData } from "node:worker_threads";
  const { open, MocpackError } = await import(workerData.library);
  try {
    const motion = await open(workerData.bytes);
    const frames = await motion.frames(0, motion.frameCount);
    parentPort.postMessage(frames, [frames.rotations.buffer, frames.translations.buffer]);
  } catch (error) {
    parentPort.postMessage({ kind: error instanceof MocpackError && error.kind });
  }
`;

describe("in a worker", { skip: noFiles }, () => {
  const library = new URL("../dist/node.js", import.meta.url).href;

  it("frames equal those of the page and are transferred without a copy", async () => {
    const bytes = read("walk.mocp");
    const motion = await open(bytes);
    const expected = await motion.frames(0, motion.frameCount);
    assert.deepEqual(await posted(CODE, { library, bytes }), expected);
  });

  it("errors keep their kind", async () => {
    const found = await posted(CODE, { library, bytes: new Uint8Array([1, 2, 3, 4, 5]) });
    assert.deepEqual(found, { kind: "format" });
  });
});
