/** Where joints are in the world, and how far one motion is from another. */

import type { Frames, Skeleton } from "./types.js";

const SHELL = 0.03; // metres: the points that stand for the skin

export interface WorldPositions {
  /** count · J · 3 */
  joints: Float64Array;
  /** count · E · 3 */
  ends: Float64Array;
}

export interface FrameErrors {
  /** count: the largest displacement of joints, ends and the points 3 cm along each joint's axes. */
  promised: Float64Array;
  /** count · J: displacement of each joint's centre. */
  joints: Float64Array;
  /** count · J: the promised error of each joint. */
  promisedByJoint: Float64Array;
}

/** Forward kinematics of every frame. */
export function worldPositions(skeleton: Skeleton, frames: Frames): WorldPositions {
  const jointCount = skeleton.parents.length;
  const endCount = skeleton.endJoints.length;
  const joints = new Float64Array(frames.count * jointCount * 3);
  const ends = new Float64Array(frames.count * endCount * 3);
  const world = new Float64Array(jointCount * 4);
  for (let t = 0; t < frames.count; ++t) {
    const places = joints.subarray(t * jointCount * 3, (t + 1) * jointCount * 3);
    poseWorld(skeleton, frames, t, places, world);
    for (let e = 0; e < endCount; ++e) {
      const carrier = skeleton.endJoints[e];
      placeInto(ends, 3 * (t * endCount + e), places, world, carrier, skeleton.endOffsets, 3 * e);
    }
  }
  return { joints, ends };
}

/** How far `decoded` is from `original`, frame by frame and joint by joint, in metres. */
export function frameErrors(skeleton: Skeleton, original: Frames, decoded: Frames): FrameErrors {
  if (original.count !== decoded.count)
    throw new RangeError(`expected ${original.count} decoded frames, got ${decoded.count}`);
  const jointCount = skeleton.parents.length;
  const errors = {
    promised: new Float64Array(original.count),
    joints: new Float64Array(original.count * jointCount),
    promisedByJoint: new Float64Array(original.count * jointCount),
  };
  const scratch = [0, 1].map(() => ({
    places: new Float64Array(jointCount * 3),
    world: new Float64Array(jointCount * 4),
  }));
  for (let t = 0; t < original.count; ++t) {
    poseWorld(skeleton, original, t, scratch[0].places, scratch[0].world);
    poseWorld(skeleton, decoded, t, scratch[1].places, scratch[1].world);
    compareFrame(skeleton, scratch[0], scratch[1], t, errors);
  }
  return errors;
}

interface Pose {
  places: Float64Array;
  world: Float64Array;
}

const SHELL_POINTS = new Float64Array([SHELL, 0, 0, 0, SHELL, 0, 0, 0, SHELL]);

function compareFrame(skeleton: Skeleton, a: Pose, b: Pose, t: number, errors: FrameErrors): void {
  const jointCount = skeleton.parents.length;
  let worst = 0;
  for (let j = 0, e = 0; j < jointCount; ++j) {
    const centre = distance(a.places, b.places, 3 * j);
    let largest = centre;
    for (let k = 0; k < 9; k += 3) largest = Math.max(largest, moved(a, b, j, SHELL_POINTS, k));
    for (; e < skeleton.endJoints.length && skeleton.endJoints[e] === j; ++e)
      largest = Math.max(largest, moved(a, b, j, skeleton.endOffsets, 3 * e));
    errors.joints[t * jointCount + j] = centre;
    errors.promisedByJoint[t * jointCount + j] = largest;
    worst = Math.max(worst, largest);
  }
  errors.promised[t] = worst;
}

const pointA = new Float64Array(3);
const pointB = new Float64Array(3);

/** How far the point at `local` in joint j's frame is apart in two poses. */
function moved(a: Pose, b: Pose, j: number, local: Float64Array, at: number): number {
  placeInto(pointA, 0, a.places, a.world, j, local, at);
  placeInto(pointB, 0, b.places, b.world, j, local, at);
  return distance(pointA, pointB, 0);
}

function distance(a: Float64Array, b: Float64Array, at: number): number {
  const x = a[at] - b[at];
  const y = a[at + 1] - b[at + 1];
  const z = a[at + 2] - b[at + 2];
  return Math.sqrt(x * x + y * y + z * z);
}

/** World places (3J) and rotations (4J) of frame t. */
export function poseWorld(
  skeleton: Skeleton,
  frames: Frames,
  t: number,
  places: Float64Array,
  world: Float64Array,
): void {
  const { parents } = skeleton;
  const turns = frames.rotations.subarray(4 * t * parents.length);
  const local = frames.translations.subarray(3 * t * parents.length);
  for (let j = 0; j < parents.length; ++j) {
    const parent = parents[j];
    if (parent < 0) {
      places.set(local.subarray(3 * j, 3 * j + 3), 3 * j);
      world.set(turns.subarray(4 * j, 4 * j + 4), 4 * j);
    } else {
      placeInto(places, 3 * j, places, world, parent, local, 3 * j);
      multiplyInto(world, 4 * j, world, 4 * parent, turns, 4 * j);
    }
  }
}

/** out[to…] = place of joint j + its rotation · local[at…]. */
export function placeInto(
  out: Float64Array,
  to: number,
  places: Float64Array,
  world: Float64Array,
  j: number,
  local: Float64Array,
  at: number,
): void {
  const qx = world[4 * j];
  const qy = world[4 * j + 1];
  const qz = world[4 * j + 2];
  const qw = world[4 * j + 3];
  const x = local[at];
  const y = local[at + 1];
  const z = local[at + 2];
  const tx = 2 * (qy * z - qz * y);
  const ty = 2 * (qz * x - qx * z);
  const tz = 2 * (qx * y - qy * x);
  out[to] = places[3 * j] + x + qw * tx + (qy * tz - qz * ty);
  out[to + 1] = places[3 * j + 1] + y + qw * ty + (qz * tx - qx * tz);
  out[to + 2] = places[3 * j + 2] + z + qw * tz + (qx * ty - qy * tx);
}

export function multiplyInto(
  out: Float64Array,
  to: number,
  a: Float64Array,
  i: number,
  b: Float64Array,
  k: number,
): void {
  const ax = a[i];
  const ay = a[i + 1];
  const az = a[i + 2];
  const aw = a[i + 3];
  const bx = b[k];
  const by = b[k + 1];
  const bz = b[k + 2];
  const bw = b[k + 3];
  out[to] = aw * bx + ax * bw + ay * bz - az * by;
  out[to + 1] = aw * by - ax * bz + ay * bw + az * bx;
  out[to + 2] = aw * bz + ax * by - ay * bx + az * bw;
  out[to + 3] = aw * bw - ax * bx - ay * by - az * bz;
}
