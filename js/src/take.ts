/** What a take holds beside its poses: rest rotations, when frames are, gaps, what tracks there are. */

import { MocpackError } from "./error.js";
import { FieldReader } from "./fields.js";
import { inflate } from "./inflate.js";
import type { Take, TrackHead } from "./types.js";

const MAX_NAME = 1024; // bytes
const MAX_RUNS = 1 << 24; // bytes, inflated
const MAX_DIGITS = 15;
const LATEST = 1e9; // seconds
const [DOUBLES, FLOATS, DECIMALS, GRID] = [0, 1, 2, 3];
const DEFLATED = 0;
const BYTES_A_TIME = 18; // its number, and at most ten bytes of its code
const KINDS = ["scalar", "flag", "label", "vec3", "quaternion"] as const;
const UP_AXES = ["y", "x", "z"] as const;
const [OWN_RATE, STARTS, HAS_TIMES, BOUNDED, HAS_UNIT] = [1, 2, 4, 8, 16];

/** A file's chunks by tag; those that may stand several times have several. */
export type Bodies = Map<string, Uint8Array[]>;

export function readTake(
  bodies: Bodies,
  frames: number,
  joints: number,
  memoryLimit: number,
): Take {
  const [time, play, valid] = ["TIME", "play", "vald"].map((tag) => bodies.get(tag)?.[0]);
  const needed = (time ? 2 * BYTES_A_TIME * frames : 0) + (valid ? frames * joints : 0);
  if (needed > memoryLimit)
    throw new MocpackError(
      "memory",
      `times and gaps of ${frames} frames of ${joints} joints take ${needed} bytes, more than ` +
        `memoryLimit, ${memoryLimit}; a larger one allows it`,
    );
  const take: Take = {
    startTime: 0,
    times: null,
    loop: false,
    up: "y",
    handedness: "right",
    valid: valid ? readValid(valid, frames, joints) : null,
    tracks: (bodies.get("trak") ?? []).map(readTrackHead),
  };
  if (time) readTimes(time, frames, take);
  if (play) readPlay(play, take);
  return take;
}

/** 4J: the local rotation of each joint at rest. */
export function readRest(body: Uint8Array, joints: number): Float64Array {
  const read = new FieldReader(body, "REST chunk");
  const bits = read.raw(Math.ceil(joints / 8));
  const turned = Array.from({ length: joints }, (_, j) => j).filter(
    (j) => (bits[j >> 3] >> (j & 7)) & 1,
  );
  const numbers = readNumbers(read, turned.length, 4, "REST chunk");
  const rest = new Float64Array(4 * joints);
  for (let j = 0; j < joints; ++j) rest[4 * j + 3] = 1;
  turned.forEach((j, i) => rest.set(numbers.subarray(4 * i, 4 * i + 4), 4 * j));
  return rest;
}

function readTimes(body: Uint8Array, frames: number, take: Take): void {
  const read = new FieldReader(body, "TIME chunk");
  const kind = read.u8();
  take.startTime = read.f64();
  if (kind > 1 || !(Math.abs(take.startTime) < LATEST)) throw read.corrupt("an unknown start");
  if (!kind) return read.end();
  const times = readNumbers(read, frames, 1, "TIME chunk");
  if (times[0] !== take.startTime) throw read.corrupt("times that begin elsewhere");
  for (let t = 1; t < frames; ++t)
    if (!(times[t] > times[t - 1])) throw read.corrupt("times that do not increase");
  take.times = times;
}

function readPlay(body: Uint8Array, take: Take): void {
  const read = new FieldReader(body, "play chunk");
  const flags = read.u8();
  read.end();
  const up = UP_AXES[(flags >> 1) & 3];
  if (flags > 15 || !up) throw read.corrupt(`unknown flags ${flags}`);
  take.loop = (flags & 1) === 1;
  take.up = up;
  take.handedness = flags & 8 ? "left" : "right";
}

/** frames · J: 1 where a joint was seen. */
function readValid(body: Uint8Array, frames: number, joints: number): Uint8Array {
  const read = new FieldReader(inflate(body, MAX_RUNS, "vald chunk"), "vald chunk");
  const valid = new Uint8Array(frames * joints).fill(1);
  const gapped = new Int32Array(read.varint(joints));
  for (let i = 0, joint = 0; i < gapped.length; ++i) gapped[i] = joint += read.varint(joints);
  for (const joint of gapped) {
    let value = read.u8();
    if (joint >= joints || value > 1) throw read.corrupt("no such joint or flag");
    let at = 0;
    for (let runs = read.varint(frames - 1); runs >= 0; --runs) {
      const stop = runs ? at + read.varint(frames) + 1 : frames;
      if (runs && stop >= frames) throw read.corrupt("runs reach beyond the frames");
      for (; at < stop; ++at) valid[at * joints + joint] = value;
      value = 1 - value;
    }
  }
  read.end();
  return valid;
}

function readTrackHead(body: Uint8Array): TrackHead {
  const read = new FieldReader(body, "trak chunk");
  const name = read.text(MAX_NAME);
  const kind = KINDS[read.u8()];
  const flags = read.u8();
  if (!kind || flags >= 2 * HAS_UNIT) throw read.corrupt("an unknown kind or flag");
  const count = read.varint();
  const frameTime = flags & OWN_RATE ? read.shortNumber() : null;
  const startTime = flags & STARTS ? read.shortNumber() : 0;
  const bound = flags & BOUNDED ? read.shortNumber() : 0;
  const unit = flags & HAS_UNIT ? read.text(MAX_NAME) : "";
  const even = (flags & HAS_TIMES) === 0;
  return { name, kind, count, frameTime, startTime, even, bound, unit, bytes: body.length };
}

/** Numbers (rows, columns), row after row, up to the end of the chunk. */
function readNumbers(read: FieldReader, rows: number, columns: number, what: string): Float64Array {
  if (!rows) {
    read.end();
    return new Float64Array(0);
  }
  const form = read.u8();
  if (form === DOUBLES || form === FLOATS)
    return readFloats(read.rest(), rows, columns, form === DOUBLES ? 8 : 4, what);
  if (form !== DECIMALS && form !== GRID) throw read.corrupt(`unknown form of numbers ${form}`);
  const digits = form === DECIMALS ? read.u8() : 0;
  const step = form === GRID ? read.f32() : 1;
  if (digits > MAX_DIGITS || !(step > 0 && step < Infinity)) throw read.corrupt("an unknown scale");
  const numbers = readWhole(read, rows, columns, what);
  for (let i = 0; i < numbers.length; ++i)
    numbers[i] = form === DECIMALS ? numbers[i] / 10 ** digits : numbers[i] * step;
  return numbers;
}

/** Whole numbers: the first row, then differences from row to row. */
function readWhole(read: FieldReader, rows: number, columns: number, what: string): Float64Array {
  const numbers = new Float64Array(rows * columns);
  for (let c = 0; c < columns; ++c) numbers[c] = read.signed();
  const coder = read.u8();
  if (coder !== DEFLATED)
    throw new MocpackError("unsupported", `${what}: coder ${coder} of numbers is not read here`);
  const body = read.rest();
  const steps = body.length
    ? new FieldReader(inflate(body, 10 * (rows - 1) * columns, what), what)
    : null;
  for (let i = columns; i < numbers.length; ++i)
    numbers[i] = numbers[i - columns] + (steps ? steps.signed() : 0);
  steps?.end();
  return numbers;
}

/** Floats as bytes, highest first, each column by itself, each xor the one of the row before. */
function readFloats(
  body: Uint8Array,
  rows: number,
  columns: number,
  width: number,
  what: string,
): Float64Array {
  const count = rows * columns;
  const bytes = inflate(body, width * count, what);
  if (bytes.length !== width * count) throw new MocpackError("truncated", `${what} ends too early`);
  const value = new DataView(new ArrayBuffer(8));
  const numbers = new Float64Array(count);
  for (let c = 0; c < columns; ++c) {
    for (let b = 0; b < 8; ++b) value.setUint8(b, 0);
    for (let t = 0; t < rows; ++t) {
      for (let b = 0; b < width; ++b)
        value.setUint8(b, value.getUint8(b) ^ bytes[b * count + c * rows + t]);
      numbers[t * columns + c] = width === 8 ? value.getFloat64(0) : value.getFloat32(0);
      if (!Number.isFinite(numbers[t * columns + c]))
        throw new MocpackError("corrupt", `${what}: numbers that are not finite`);
    }
  }
  return numbers;
}
