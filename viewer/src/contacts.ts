// Detects ground contacts of feet as in docs/metrics.md.

import type { Skeleton } from "./decoder";
import type { Poses } from "./poses";

const FOOT = /foot|toe|ankle|heel|paw|hoof/i;
const FLOOR_QUANTILE = 0.05; // quantile of a joint's height that counts as its floor
const HEIGHT = 0.03; // meters above the joint's floor
const SPEED = 0.15; // meters per second
const SPAN = 0.05; // seconds before and after, over which speed is measured

export interface Contacts {
  /** Foot joints. */
  feet: number[];
  /** For each foot, 1 in the frames with ground contact. */
  planted: Uint8Array[];
}

/** Returns the ground contacts of each foot; all frames must be loaded. */
export function contactsOf(skeleton: Skeleton, poses: Poses, frameRate: number): Contacts {
  const feet = skeleton.names.flatMap((name, joint) => (FOOT.test(name) ? [joint] : []));
  return { feet, planted: feet.map((joint) => contactFrames(poses, joint, frameRate)) };
}

function contactFrames(poses: Poses, joint: number, frameRate: number): Uint8Array {
  const count = poses.motion.frameCount;
  const places = new Float32Array(3 * count);
  for (let t = 0; t < count; t++) {
    const points = poses.at(t);
    if (points) places.set(points.subarray(3 * joint, 3 * joint + 3), 3 * t);
  }
  const heights = Float32Array.from({ length: count }, (_, t) => places[3 * t + 1]).sort();
  const floor = heights[Math.floor(FLOOR_QUANTILE * (count - 1))];
  const span = Math.max(1, Math.round(SPAN * frameRate));
  return Uint8Array.from({ length: count }, (_, t) => {
    const [after, before] = [Math.min(t + span, count - 1), Math.max(t - span, 0)];
    const seconds = Math.max(after - before, 1) / frameRate;
    const low = places[3 * t + 1] - floor < HEIGHT;
    return low && apart(places, after, before) / seconds < SPEED ? 1 : 0;
  });
}

function apart(places: Float32Array, a: number, b: number): number {
  return Math.hypot(
    places[3 * a] - places[3 * b],
    places[3 * a + 1] - places[3 * b + 1],
    places[3 * a + 2] - places[3 * b + 2],
  );
}
