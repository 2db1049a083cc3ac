/** The SKEL chunk: names, tree, offsets; what the source's channels were is checked and left aside. */

import { FieldReader } from "./fields.js";
import { inflate } from "./inflate.js";
import type { Skeleton } from "./types.js";

export const MAX_JOINTS = 65_535;
export const MAX_NAME = 255; // bytes
const MAX_SKELETON = 1 << 24; // bytes, inflated
const FARTHEST = 1e6; // metres
const CHANNELS = 12; // kinds of channel that there are
const UNITS = [1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45];
const OTHER_UNIT = 255;
const AS_FLOATS = 255;
const MAX_DIGITS = 9;

// part of the format, so it never changes: the joint names of common skeletons, lengths before them
const DICTIONARY_TEXT =
  "Thumb1Thumb2Thumb3Index1Index2Index3Middle1Middle2Middle3Ring1Ring2Ring3Pinky1Pinky2Pinky3lclavicle" +
  "\x08lhumerus\x07lradius\x06lwrist\x05lhand\x08lfingers\x06lthumbrclavicle\x08rhumerus" +
  "\x07rradius\x06rwrist\x05rhand\x08rfingers\x06rthumb\x04root\x09lhipjoint\x06lfemur\x06ltibia" +
  "\x05lfoot\x05ltoes\x09rhipjoint\x06rfemur\x06rtibia\x05rfoot\x05rtoes\x09lowerback\x09upperback" +
  "\x06thorax\x09lowerneck\x09upperneck\x04head\x08UpperLeg\x08LowerLeg\x08UpperArm\x08LowerArm" +
  "\x05Chest\x08Shoulder\x04Hand\x04Foot\x04Toes_L_R\x04Hips\x09LHipJoint\x09LeftUpLeg\x07LeftLeg" +
  "\x08LeftFoot\x0bLeftToeBase\x09RHipJoint\x0aRightUpLeg\x08RightLeg\x09RightFoot\x0cRightToeBase" +
  "\x09LowerBack\x05Spine\x06Spine1\x06Spine2\x04Neck\x05Neck1\x04Head\x0cLeftShoulder\x07LeftArm" +
  "\x0bLeftForeArm\x08LeftHand\x0eLeftFingerBase\x10LeftHandIndex1\x06LThumb\x0dRightShoulder" +
  "\x08RightArm\x0cRightForeArm\x09RightHand\x0fRightFingerBase\x11RightHandIndex1\x06RThumb";

export const DICTIONARY = Uint8Array.from(DICTIONARY_TEXT, (letter) => letter.charCodeAt(0));

export function readSkeleton(body: Uint8Array): Skeleton {
  const read = new FieldReader(inflate(body, MAX_SKELETON, "SKEL chunk", DICTIONARY), "SKEL chunk");
  const joints = read.varint(MAX_JOINTS);
  if (joints < 1) throw read.corrupt("a skeleton has at least one joint");
  const names = Array.from({ length: joints }, () => read.text(MAX_NAME));
  const parents = new Int32Array(joints).fill(-1);
  for (let j = 1; j < joints; ++j) parents[j] = j - 1 - read.varint(j); // one more is a root
  skipLayouts(read, joints);
  const translated = readIndices(read, joints, joints, true);
  const endJoints = readIndices(read, MAX_JOINTS, joints, false);
  const points = readPoints(read, joints + endJoints.length, readUnit(read));
  skipAxes(read, joints);
  read.end();
  const offsets = points.slice(0, 3 * joints);
  return { names, parents, offsets, endJoints, endOffsets: points.slice(3 * joints), translated };
}

function skipLayouts(read: FieldReader, joints: number): void {
  const layouts = read.varint(joints);
  for (let i = 0; i < layouts; ++i)
    if (read.sized(CHANNELS).some((code) => code >= CHANNELS))
      throw read.corrupt("unknown channel");
  for (let j = 0; j < joints; ++j) read.varint(layouts - 1);
}

/** Joint numbers, as their count and differences. */
function readIndices(
  read: FieldReader,
  limit: number,
  joints: number,
  strictly: boolean,
): Int32Array {
  const indices = new Int32Array(read.varint(limit));
  for (let i = 0, at = 0; i < indices.length; ++i) {
    const step = read.varint(MAX_JOINTS);
    at += step;
    if (at >= joints || (strictly && i > 0 && step === 0)) throw read.corrupt("no such joint");
    indices[i] = at;
  }
  return indices;
}

function readUnit(read: FieldReader): number {
  const code = read.u8();
  const unit = code === OTHER_UNIT ? read.f64() : UNITS[code];
  if (!(unit >= 1e-9 && unit <= 1e9)) throw read.corrupt("unknown unit");
  return unit;
}

function readPoints(read: FieldReader, count: number, unit: number): Float64Array {
  const digits = read.u8();
  if (digits > MAX_DIGITS && digits !== AS_FLOATS) throw read.corrupt(`${digits} digits`);
  const scale = 10 ** digits;
  const points = new Float64Array(3 * count);
  for (let i = 0; i < points.length; ++i) {
    // in this order, so that decimals come back bit for bit
    points[i] = digits === AS_FLOATS ? read.f64() : (read.signed() / scale) * unit;
    if (!(Math.abs(points[i]) <= FARTHEST)) throw read.corrupt("a point that is not near");
  }
  return points;
}

function skipAxes(read: FieldReader, joints: number): void {
  const kind = read.u8();
  if (kind === 1) read.raw(32 * joints);
  if (kind > 2 || (kind === 2 && read.u8() > MAX_DIGITS)) throw read.corrupt("unknown axes");
  if (kind === 2) for (let i = 0; i < 3 * joints; ++i) read.signed();
}

/** The skeleton as one tree: itself, or all of it below a joint at the origin before it. */
export function rooted(skeleton: Skeleton): Skeleton {
  const { names, parents, offsets, endJoints, endOffsets, translated } = skeleton;
  if (parents.indexOf(-1, 1) < 0) return skeleton;
  return {
    names: ["", ...names],
    parents: Int32Array.of(-1, ...parents.map((parent) => parent + 1)),
    offsets: Float64Array.of(0, 0, 0, ...offsets),
    endJoints: endJoints.map((joint) => joint + 1),
    endOffsets,
    translated: translated.map((joint) => joint + 1),
  };
}
