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

/** Forward kinematics of every frame, with the scales of joints. */
export function worldPositions(skeleton: Skeleton, frames: Frames): WorldPositions {
  const jointCount = skeleton.parents.length;
  const endCount = skeleton.endJoints.length;
  const joints = new Float64Array(frames.count * jointCount * 3);
  const ends = new Float64Array(frames.count * endCount * 3);
  const { world, matrices } = room(skeleton, frames);
  for (let t = 0; t < frames.count; ++t) {
    const places = joints.subarray(t * jointCount * 3, (t + 1) * jointCount * 3);
    poseWorld(skeleton, frames, t, places, world, matrices);
    for (let e = 0; e < endCount; ++e) {
      const [to, carrier] = [3 * (t * endCount + e), skeleton.endJoints[e]];
      pointInto(ends, to, { places, world, matrices }, carrier, skeleton.endOffsets, 3 * e);
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
  const [a, b] = [room(skeleton, original), room(skeleton, decoded)];
  const shells = shellSizes(skeleton);
  for (let t = 0; t < original.count; ++t) {
    poseWorld(skeleton, original, t, a.places, a.world, a.matrices);
    poseWorld(skeleton, decoded, t, b.places, b.world, b.matrices);
    compareFrame(skeleton, shells, a, b, t, errors);
  }
  return errors;
}

interface Pose {
  places: Float64Array;
  world: Float64Array;
  /** 9J, row by row: with scales, where there are any. */
  matrices: Float64Array | undefined;
}

function room(skeleton: Skeleton, frames: Frames): Pose {
  const joints = skeleton.parents.length;
  return {
    places: new Float64Array(3 * joints),
    world: new Float64Array(4 * joints),
    matrices: frames.scales && new Float64Array(9 * joints),
  };
}

const MAX_SCALE_EXPONENT = 40; // of two, of scales

/** The distance (J) of the points that stand for the skin, in each joint's own frame. */
function shellSizes({ parents, scales }: Skeleton): Float64Array {
  const logs = new Float64Array(parents.length);
  return logs.map((_, j) => {
    if (!scales) return SHELL;
    for (let c = 0; c < 3; ++c) logs[j] += Math.log2(Math.abs(scales[3 * j + c]) || 1) / 3;
    if (parents[j] >= 0) logs[j] += logs[parents[j]];
    const exponent = Math.min(Math.max(Math.round(logs[j]), -MAX_SCALE_EXPONENT), MAX_SCALE_EXPONENT);
    return SHELL * 2 ** -exponent;
  });
}

const shellPoints = new Float64Array(9);

function compareFrame(
  skeleton: Skeleton,
  shells: Float64Array,
  a: Pose,
  b: Pose,
  t: number,
  errors: FrameErrors,
): void {
  const jointCount = skeleton.parents.length;
  let worst = 0;
  for (let j = 0, e = 0; j < jointCount; ++j) {
    const centre = distance(a.places, b.places, 3 * j);
    let largest = centre;
    for (let k = 0; k < 9; k += 3) {
      shellPoints[k + k / 3] = shells[j];
      largest = Math.max(largest, moved(a, b, j, shellPoints, k));
    }
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
  pointInto(pointA, 0, a, j, local, at);
  pointInto(pointB, 0, b, j, local, at);
  return distance(pointA, pointB, 0);
}

function distance(a: Float64Array, b: Float64Array, at: number): number {
  const x = a[at] - b[at];
  const y = a[at + 1] - b[at + 1];
  const z = a[at + 2] - b[at + 2];
  return Math.sqrt(x * x + y * y + z * z);
}

/** World places (3J) and rotations (4J) of frame t; rotations are without scales, which `matrices` (9J) has. */
export function poseWorld(
  skeleton: Skeleton,
  frames: Frames,
  t: number,
  places: Float64Array,
  world: Float64Array,
  matrices: Float64Array | undefined = frames.scales &&
    new Float64Array(9 * skeleton.parents.length),
): void {
  const { parents } = skeleton;
  const scales = frames.scales?.subarray(3 * t * parents.length);
  const turns = frames.rotations.subarray(4 * t * parents.length);
  const local = frames.translations.subarray(3 * t * parents.length);
  for (let j = 0; j < parents.length; ++j) {
    const parent = parents[j];
    if (parent < 0) {
      places.set(local.subarray(3 * j, 3 * j + 3), 3 * j);
      world.set(turns.subarray(4 * j, 4 * j + 4), 4 * j);
    } else {
      pointInto(places, 3 * j, { places, world, matrices }, parent, local, 3 * j);
      multiplyInto(world, 4 * j, world, 4 * parent, turns, 4 * j);
    }
    if (matrices && scales) scaledInto(matrices, j, parent, turns, scales);
  }
}

/** The matrix of joint j: its parent's, then its rotation, then its scales. */
function scaledInto(
  matrices: Float64Array,
  j: number,
  parent: number,
  turns: Float64Array,
  scales: Float64Array,
): void {
  const [x, y, z, w] = turns.subarray(4 * j, 4 * j + 4);
  const own = [
    ...[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    ...[2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    ...[2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ].map((value, i) => value * scales[3 * j + (i % 3)]);
  for (let i = 0; i < 9; ++i) {
    const [row, column] = [9 * parent + i - (i % 3), i % 3];
    matrices[9 * j + i] =
      parent < 0
        ? own[i]
        : matrices[row] * own[column] +
          matrices[row + 1] * own[3 + column] +
          matrices[row + 2] * own[6 + column];
  }
}

/** out[to…] = where joint j carries the point local[at…], scaled where the pose is. */
function pointInto(
  out: Float64Array,
  to: number,
  { places, world, matrices }: Pose,
  j: number,
  local: Float64Array,
  at: number,
): void {
  if (!matrices) return placeInto(out, to, places, world, j, local, at);
  const [x, y, z] = [local[at], local[at + 1], local[at + 2]];
  for (let c = 0; c < 3; ++c) {
    const row = 9 * j + 3 * c;
    out[to + c] =
      places[3 * j + c] + matrices[row] * x + matrices[row + 1] * y + matrices[row + 2] * z;
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
