// Estimates the size and position of a figure from some of its frames.

import { Vector3 } from "three";
import type { Skeleton } from "./decoder";
import type { Poses } from "./poses";
import type { Body } from "./stage";

/** Returns the joint that carries the body: the root, or its only child if the root only positions it. */
export function bodyJoint({ parents, translatedJoints }: Skeleton): 0 | 1 {
  const alone = parents.filter((parent) => parent === 0).length === 1;
  return alone && translatedJoints.includes(1) ? 1 : 0;
}

/** Measures frames `start` to `stop`, ignoring outliers such as T-poses and jumps. */
export function bodyOf(poses: Poses, start: number, stop: number, shown: number): Body {
  const joint = bodyJoint(poses.motion.skeleton);
  const frames = Array.from({ length: stop - start }, (_, t) => extent(poses.at(start + t), joint));
  const most = (of: (each: Extent) => number, share: number): number =>
    frames.map(of).sort((a, b) => a - b)[Math.floor(share * (frames.length - 1))];
  const ground = most((each) => each.low, 0.1);
  const first = (poses.at(shown) ?? poses.at(start) ?? new Float32Array(3)).subarray(3 * joint);
  return {
    ground,
    height: Math.max(most((each) => each.high, 0.7) - ground, 0.05),
    width: 2 * most((each) => each.reach, 0.7),
    root: new Vector3(
      first[0],
      most((each) => each.root, 0.5),
      first[2],
    ),
  };
}

/** Enlarges a body measured by its joints to include a mesh in one pose. */
export function grown(body: Body, points: Float32Array, joint: number, mesh: Vector3[]): Body {
  const bones = extent(points, joint);
  const root = new Vector3().fromArray(points, 3 * joint);
  const below = Math.max(0, bones.low - Math.min(...mesh.map(({ y }) => y)));
  const above = Math.max(0, Math.max(...mesh.map(({ y }) => y)) - bones.high);
  const reach = Math.max(...mesh.map(({ x, z }) => Math.hypot(x - root.x, z - root.z)));
  const width = body.width + 2 * Math.max(0, reach - bones.reach);
  return { ...body, ground: body.ground - below, height: body.height + below + above, width };
}

interface Extent {
  low: number;
  high: number;
  root: number;
  /** Largest horizontal distance from the body's first joint. */
  reach: number;
}

function extent(points: Float32Array | null, joint: number): Extent {
  const [x, y, z] = points?.subarray(3 * joint) ?? [0, 0, 0];
  const found = { low: y, high: y, root: y, reach: 0 };
  for (let k = 3 * joint; points && k < points.length; k += 3) {
    found.low = Math.min(found.low, points[k + 1]);
    found.high = Math.max(found.high, points[k + 1]);
    found.reach = Math.max(found.reach, Math.hypot(points[k] - x, points[k + 2] - z));
  }
  return found;
}
