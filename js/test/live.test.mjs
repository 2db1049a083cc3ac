import assert from "node:assert/strict";
import { it } from "node:test";

import { Player } from "../dist/live/index.js";

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
