/** Forward kinematics, and the error between two motions. */

import type { Frames, Skeleton } from "./types.js";

const SHELL = 0.03; // meters from the joint to the points that stand for the skin

export interface WorldPositions {
  /** count · J · 3 */
  joints: Float64Array;
  /** count · E · 3 */
  ends: Float64Array;
}

export interface FrameErrors {
  /** count: largest displacement of joints, end sites and points 3 cm along each joint's axes. */
  promised: Float64Array;
  /** count · J: displacement of each joint's center. */
  joints: Float64Array;
  /** count · J: the same error as `promised`, per joint. */
  promisedByJoint: Float64Array;
}

/** Computes world positions of every frame, including joint scales. */
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

/** Computes the error of `decoded` against `original` per frame and joint, in meters. */
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
  /** 9J, row by row: rotation times scale, if joints are scaled. */
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

const MAX_SCALE_EXPONENT = 40; // of two

/** Returns the distance (J) of the skin points in each joint's own frame. */
function shellSizes({ parents, scales }: Skeleton): Float64Array {
  const logs = new Float64Array(parents.length);
  return logs.map((_, j) => {
    if (!scales) return SHELL;
    for (let c = 0; c < 3; ++c) logs[j] += Math.log2(Math.abs(scales[3 * j + c]) || 1) / 3;
    if (parents[j] >= 0) logs[j] += logs[parents[j]];
    const exponent = Math.min(
      Math.max(Math.round(logs[j]), -MAX_SCALE_EXPONENT),
      MAX_SCALE_EXPONENT,
    );
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
    const center = distance(a.places, b.places, 3 * j);
    let largest = center;
    for (let k = 0; k < 9; k += 3) {
      shellPoints[k + k / 3] = shells[j];
      largest = Math.max(largest, moved(a, b, j, shellPoints, k));
    }
    for (; e < skeleton.endJoints.length && skeleton.endJoints[e] === j; ++e)
      largest = Math.max(largest, moved(a, b, j, skeleton.endOffsets, 3 * e));
    errors.joints[t * jointCount + j] = center;
    errors.promisedByJoint[t * jointCount + j] = largest;
    worst = Math.max(worst, largest);
  }
  errors.promised[t] = worst;
}

const pointA = new Float64Array(3);
const pointB = new Float64Array(3);

/** Returns the distance between two poses of the point `local` in joint j's frame. */
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

/** Writes world positions (3J), rotations (4J) without scales, and `matrices` (9J) with scales, of frame t. */
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

/** Writes the matrix of joint j: parent matrix · rotation · scale. */
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

/** out[to…] = world position of the point local[at…] of joint j, including scales. */
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

/** out[to…] = position of joint j + its rotation · local[at…]. */
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
