import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { MocpackError, parseBvh, worldPositions } from "../dist/index.js";

const FILE = `HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Upper Leg
  {
    OFFSET 0 100 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 100 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.5
10 20 30 90 0 0 0 0 0
10 20 30 0 0 0 90 0 0
`;

const fails = (text, kind, pattern) =>
  assert.throws(
    () => parseBvh(text),
    (error) => error instanceof MocpackError && error.kind === kind && pattern.test(error.message),
  );

describe("a BVH", () => {
  it("has the positions computed by hand", async () => {
    const motion = parseBvh(FILE);
    assert.equal(motion.codec, "bvh");
    assert.deepEqual(motion.skeleton.names, ["Hips", "Upper Leg"]);
    assert.deepEqual(motion.metadata, { source: "bvh", unit_guessed: "cm" });
    const { joints, ends } = worldPositions(motion.skeleton, await motion.frames(0, 2));
    const expected = [0.1, 0.2, 0.3, -0.9, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 1.2, 0.3];
    joints.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-15));
    [-1.9, 0.2, 0.3, -0.9, 1.2, 0.3].forEach((x, i) => assert.ok(Math.abs(ends[i] - x) < 1e-15));
  });

  it("uses the given unit", async () => {
    const motion = parseBvh(FILE, { unit: 0.001 });
    assert.equal(motion.skeleton.offsets[4], 0.1);
    assert.deepEqual(motion.metadata, { source: "bvh" });
  });

  it("is interpolated between frames", async () => {
    const motion = parseBvh(FILE);
    const { rotations } = await motion.sample(0.25);
    const eighth = Math.PI / 8;
    assert.ok(Math.abs(rotations[2] - Math.sin(eighth)) < 1e-15);
    assert.ok(Math.abs(rotations[3] - Math.cos(eighth)) < 1e-15);
  });

  it("with an error is rejected with the line number", () => {
    fails("BVH", "format", /BVH/);
    fails(FILE.replace("Xrotation", "Wrotation"), "corrupt", /line 5: .*Wrotation/);
    fails(FILE.replace("Frames: 2", "Frames: 3"), "truncated", /line \d+/);
    fails(FILE.replace("Frames: 2", "Frames: 9999999"), "truncated", /line 17/);
    fails(FILE.replace("Frames: 2", "Frames: 1"), "corrupt", /line \d+/);
    fails(FILE.replace("0 0 0 90 0 0", "0 0 nan 90 0 0"), "corrupt", /line 20: .*nan/);
    fails(FILE.replace("OFFSET 0 100 0", "OFFSET 0 1x 0"), "corrupt", /line 8: .*1x/);
    fails(FILE.slice(0, 150), "truncated", /line \d+/);
  });
});
