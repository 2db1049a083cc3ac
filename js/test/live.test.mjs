import assert from "node:assert/strict";
import { it } from "node:test";

import { Player } from "../dist/live/index.js";
import { live, loadReceiver } from "mocpack/live";

it("keeps a bounded number of poses, whatever times a sender stamps on them", () => {
  const receiver = { frameStep: 1, hello: { frameTime: 1 / 120 }, predict: () => null };
  const player = new Player(receiver);
  for (const time of [0, 0, 1e12, 0, -1]) {
    const pose = {
      time,
      isExact: true,
      rotations: new Float64Array(4),
      translations: new Float64Array(3),
    };
    const poses = Array.from({ length: 3000 }, (_, frameNumber) => ({ ...pose, frameNumber }));
    player.addPoses(poses, 1);
    assert.ok(player.poses.length <= 4096);
    assert.ok(player.at(1));
  }
});

it("loads its receiver in node, from the package and from file: URLs", async () => {
  const file = new URL("../dist/live.wasm", import.meta.url);
  for (const wasm of [undefined, file, String(file)])
    assert.ok((await loadReceiver(wasm)) instanceof WebAssembly.Module);
});

it("opens a socket in node once the receiver is loaded", async () => {
  class Opened extends Error {}
  class Socket {
    constructor() {
      throw new Opened();
    }
  }
  await assert.rejects(live("ws://127.0.0.1:9/stage", { WebSocket: Socket }), Opened);
});

it("names the option that node before 22 needs", async () => {
  const own = globalThis.WebSocket;
  globalThis.WebSocket = undefined;
  try {
    await assert.rejects(live("ws://127.0.0.1:9/stage"), {
      name: "MocpackError",
      kind: "unsupported",
      message: /WebSocket/,
    });
  } finally {
    globalThis.WebSocket = own;
  }
});
