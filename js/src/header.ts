/** Copies the description of an open file from the reader's memory. */

import { MocpackError } from "./error.js";
import type { Hinge, JointBounds, Layer, Motion, Skeleton, TakeData, TrackInfo } from "./types.js";

/** Exports that describe a file; the order of numbers is that of bindings/wasm/boundary.cpp. */
export interface HeaderExports {
  memory: WebAssembly.Memory;
  describe(): number;
  describe_track(index: number): number;
  valid_mask(first: number, stop: number, out: number): number;
  key_frame(key: number): number;
  last_poses(): number;
}

export interface Header extends Pick<
  Motion,
  | "frameCount"
  | "frameTime"
  | "codec"
  | "parameters"
  | "sizes"
  | "declaredError"
  | "measured"
  | "angleErrors"
  | "metadata"
> {
  skeleton: Skeleton;
  takeData: TakeData;
  jointBounds: JointBounds[] | null;
  layers: Layer[];
  /** Layers that are complete; fewer than there are in a truncated file. */
  wholeLayers: number;
  /** The first frame of each group, and the last frame of the clip. */
  keyFrames: Float64Array;
  /** Maximum poses per call of the reader. */
  maxFrames: number;
}

const NUMBERS = [
  "frameCount",
  "frameTime",
  "startTime",
  "joints",
  "ends",
  "translated",
  "declaredError",
  "isMeasured",
  "max",
  "mean",
  "rms",
  "p99",
  "keys",
  "layerCount",
  "wholeLayers",
  "keysError",
  "loops",
  "isLeftHanded",
  "isInterpolated",
  "up",
  "hasGaps",
  "tracks",
  "fileBytes",
  "skeletonBytes",
  "metadataBytes",
  "timesAt",
  "namesAt",
  "parentsAt",
  "offsetsAt",
  "restAt",
  "endJointsAt",
  "endSitesAt",
  "translatedAt",
  "layersAt",
  "codecAt",
  "parametersAt",
  "metadataAt",
  "hinges",
  "hingesAt",
  "declaredAngle",
  "measuredAngle",
  "scalesAt",
  "scaled",
  "scaledAt",
  "boundsAt",
  "maxFrames",
] as const;
const TRACK_NUMBERS = [
  "nameAt",
  "unitAt",
  "kind",
  "hasTimes",
  "count",
  "frameTime",
  "startTime",
  "bound",
  "bytes",
] as const;
/** Numbers per sample, by kind. */
export const WIDTHS = { scalar: 1, flag: 1, label: 1, vec3: 3, quaternion: 4 } as const;
const KINDS = ["scalar", "flag", "label", "vec3", "quaternion"] as const;
const HINGE_BYTES = 56;
const LAYER_BYTES = 24;
const UP_AXES = ["y", "x", "z"] as const;

type Numbers<T extends readonly string[]> = Record<T[number], number>;

export function readHeader(core: HeaderExports, memoryLimit: number): Header {
  const found = numbersAt(core, core.describe(), NUMBERS);
  const { fileBytes, skeletonBytes, metadataBytes, max, mean, rms, p99 } = found;
  return {
    frameCount: found.frameCount,
    frameTime: found.frameTime,
    codec: textAt(core, found.codecAt),
    parameters: objectAt(core, found.parametersAt),
    metadata: objectAt(core, found.metadataAt),
    declaredError: found.declaredError < 0 ? null : found.declaredError,
    measured: found.isMeasured ? { max, mean, rms, p99 } : null,
    angleErrors:
      found.declaredAngle < 0
        ? null
        : { declared: found.declaredAngle, measured: found.measuredAngle },
    jointBounds: found.boundsAt ? readJointBounds(core, found.boundsAt, found.joints) : null,
    sizes: {
      file: fileBytes,
      payload: fileBytes - skeletonBytes - metadataBytes,
      skeleton: skeletonBytes,
      metadata: metadataBytes,
    },
    skeleton: readSkeleton(core, found),
    takeData: readTakeData(core, found, memoryLimit),
    layers: readLayers(core, found.layersAt, found.layerCount),
    wholeLayers: found.wholeLayers,
    keyFrames: Float64Array.from({ length: found.keys }, (_, key) => core.key_frame(key)),
    maxFrames: found.maxFrames,
  };
}

function readLayers(core: HeaderExports, at: number, count: number): Layer[] {
  const view = new DataView(core.memory.buffer);
  return Array.from({ length: count }, (_, i) => {
    const own = at + LAYER_BYTES * i;
    return {
      end: Number(view.getBigUint64(own, true)),
      maxError: view.getFloat64(own + 8, true) || null,
      meanError: view.getFloat64(own + 16, true) || null,
    };
  });
}

/** Reads `mocpack_JointBounds`, four doubles per joint. */
function readJointBounds(core: HeaderExports, at: number, joints: number): JointBounds[] {
  const numbers = doublesAt(core, at, 4 * joints);
  return Array.from({ length: joints }, (_, j) => {
    const [maxError, measuredError, declared, measured] = numbers.subarray(4 * j);
    return { maxError, measuredError, angle: declared < 0 ? null : { declared, measured } };
  });
}

function readSkeleton(core: HeaderExports, found: Numbers<typeof NUMBERS>): Skeleton {
  const { joints, ends, translated } = found;
  const skeleton: Skeleton = {
    names: Array.from({ length: joints }, (_, j) => textAt(core, found.namesAt + 8 * j)),
    parents: integersAt(core, found.parentsAt, joints),
    offsets: doublesAt(core, found.offsetsAt, 3 * joints),
    endJoints: integersAt(core, found.endJointsAt, ends),
    endOffsets: doublesAt(core, found.endSitesAt, 3 * ends),
    translatedJoints: integersAt(core, found.translatedAt, translated),
  };
  if (found.scalesAt) skeleton.scales = doublesAt(core, found.scalesAt, 3 * joints);
  if (found.scaled) skeleton.scaledJoints = integersAt(core, found.scaledAt, found.scaled);
  if (found.restAt) skeleton.restRotations = doublesAt(core, found.restAt, 4 * joints);
  if (found.hinges)
    skeleton.hinges = Array.from({ length: found.hinges }, (_, h) =>
      readHinge(core, found.hingesAt + HINGE_BYTES * h),
    );
  return skeleton;
}

/** Reads a `mocpack_Hinge`. */
function readHinge(core: HeaderExports, at: number): Hinge {
  const [joint, slides] = new Int32Array(core.memory.buffer, at + 8, 2);
  const [x, y, z, lowerLimit, upperLimit] = new Float64Array(core.memory.buffer, at + 16, 5);
  return {
    name: textAt(core, at),
    joint,
    slides: slides === 1,
    axis: [x, y, z],
    lowerLimit,
    upperLimit,
  };
}

function readTakeData(
  core: HeaderExports,
  found: Numbers<typeof NUMBERS>,
  memoryLimit: number,
): TakeData {
  return {
    startTime: found.startTime,
    times: found.timesAt ? doublesAt(core, found.timesAt, found.frameCount) : null,
    loop: found.loops === 1,
    up: UP_AXES[found.up],
    handedness: found.isLeftHanded ? "left" : "right",
    interpolated: found.isInterpolated === 1,
    valid: found.hasGaps ? readValidMask(core, found, memoryLimit) : null,
    tracks: Array.from({ length: found.tracks }, (_, i) => readTrack(core, i)),
  };
}

/** frames · J: 1 if the joint was captured. */
function readValidMask(
  core: HeaderExports,
  { frameCount, joints, maxFrames }: Numbers<typeof NUMBERS>,
  memoryLimit: number,
): Uint8Array {
  const needed = frameCount * joints;
  if (needed > memoryLimit)
    throw new MocpackError(
      "memory",
      `the valid mask of ${frameCount} frames × ${joints} joints needs ${needed} bytes, more than ` +
        `memoryLimit = ${memoryLimit}`,
    );
  const valid = new Uint8Array(needed);
  const [room] = addressesAt(core, core.last_poses(), 1); // the pose buffer is large enough
  for (let at = 0; at < frameCount; at += maxFrames) {
    const stop = Math.min(at + maxFrames, frameCount);
    core.valid_mask(at, stop, room);
    valid.set(new Uint8Array(core.memory.buffer, room, (stop - at) * joints), at * joints);
  }
  return valid;
}

function readTrack(core: HeaderExports, index: number): TrackInfo {
  const found = numbersAt(core, core.describe_track(index), TRACK_NUMBERS);
  return {
    name: textAt(core, found.nameAt),
    kind: KINDS[found.kind],
    count: found.count,
    frameTime: found.frameTime || null,
    startTime: found.startTime,
    isEvenlySpaced: !found.hasTimes,
    bound: found.bound,
    unit: textAt(core, found.unitAt),
    bytes: found.bytes,
  };
}

function numbersAt<T extends readonly string[]>(
  core: HeaderExports,
  at: number,
  names: T,
): Numbers<T> {
  const numbers = new Float64Array(core.memory.buffer, at, names.length);
  return Object.fromEntries(names.map((name, i) => [name, numbers[i]])) as Numbers<T>;
}

export function doublesAt(
  core: Pick<HeaderExports, "memory">,
  at: number,
  count: number,
): Float64Array {
  return count ? new Float64Array(core.memory.buffer, at, count).slice() : new Float64Array(0);
}

function integersAt(core: HeaderExports, at: number, count: number): Int32Array {
  return count ? new Int32Array(core.memory.buffer, at, count).slice() : new Int32Array(0);
}

/** Reads pointers, and other 32-bit numbers. */
export function addressesAt(
  core: Pick<HeaderExports, "memory">,
  at: number,
  count: number,
): Uint32Array {
  return new Uint32Array(core.memory.buffer, at, count);
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns a view of the bytes whose address and size are stored at `at`. */
export function bytesAt(core: Pick<HeaderExports, "memory">, at: number): Uint8Array {
  const [bytes, size] = addressesAt(core, at, 2);
  return new Uint8Array(core.memory.buffer, bytes, size);
}

/** Reads the text whose address and size are stored at `at`. */
export function textAt(core: Pick<HeaderExports, "memory">, at: number): string {
  return utf8.decode(bytesAt(core, at));
}

/** Parses a JSON object that the reader has validated; empty text is an empty object. */
function objectAt(core: HeaderExports, at: number): Record<string, unknown> {
  return JSON.parse(textAt(core, at) || "{}") as Record<string, unknown>;
}
