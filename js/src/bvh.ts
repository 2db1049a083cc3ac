/** BVH files: text with one hierarchy and one line of numbers per frame. */

import { BvhParser } from "./bvh_parser.js";
import { MocpackError } from "./error.js";
import { interpolateFrames, locate } from "./sampling.js";
import type { Frames, Motion, Skeleton } from "./types.js";
import { axisOf, guessUnit, isPosition, type Tree } from "./unit.js";

const MAX_OFFSET_M = 1e6;

export interface BvhOptions {
  /** Meters per unit of the file; guessed from the skeleton's size if absent. */
  unit?: number;
}

/** Parses a BVH file. Poses are computed on request. */
export function parseBvh(text: string, options: BvhOptions = {}): Motion {
  const parser = new BvhParser(text);
  const tree = parser.hierarchy();
  const { frameCount, frameTime } = parser.motionHead();
  const columns = tree.channels.reduce((sum, channels) => sum + channels.length, 0);
  const numbers = parser.numbers(frameCount, columns);
  const [unit, guessed] = options.unit
    ? [options.unit, null]
    : guessUnit(tree, numbers.subarray(0, columns));
  return new BvhMotion({
    skeleton: skeletonOf(tree, unit),
    frameCount,
    frameTime,
    columns: columnsOf(tree),
    numbers,
    unit,
    size: new TextEncoder().encode(text).length,
    metadata: guessed ? { source: "bvh", unit_guessed: guessed } : { source: "bvh" },
  });
}

interface Source {
  skeleton: Skeleton;
  frameCount: number;
  frameTime: number;
  columns: Column[];
  /** frameCount · columns, in the file's units and degrees. */
  numbers: Float64Array;
  unit: number;
  size: number;
  metadata: unknown;
}

class BvhMotion implements Motion {
  readonly codec = "bvh";
  readonly parameters = {};
  readonly declaredError = null;
  readonly measured = null;
  readonly angleErrors = null;
  readonly skeleton;
  readonly frameCount;
  readonly frameTime;
  readonly sizes;
  readonly metadata;

  constructor(private readonly source: Source) {
    this.skeleton = source.skeleton;
    this.frameCount = source.frameCount;
    this.frameTime = source.frameTime;
    this.sizes = { file: source.size, payload: source.size, skeleton: 0, metadata: 0 };
    this.metadata = source.metadata;
  }

  async frames(start: number, stop: number): Promise<Frames> {
    return this.framesNow(start, stop);
  }

  async sample(seconds: number): Promise<Frames> {
    const { frame, fraction } = locate(seconds, this.frameTime, this.frameCount);
    return interpolateFrames(this.framesNow(frame, Math.min(frame + 2, this.frameCount)), fraction);
  }

  close(): void {
    this.source.numbers = new Float64Array(0);
  }

  private framesNow(start: number, stop: number): Frames {
    const joints = this.skeleton.parents.length;
    const count = stop - start;
    if (!(Number.isInteger(start) && Number.isInteger(stop) && 0 <= start && count >= 0))
      throw new RangeError(`expected frames start <= stop, got ${start} and ${stop}`);
    if (stop > this.frameCount)
      throw new RangeError(`the clip has ${this.frameCount} frames, requested up to ${stop}`);
    if (!this.source.numbers.length) throw new Error("the motion is closed");
    const rotations = new Float64Array(4 * count * joints);
    const translations = new Float64Array(3 * count * joints);
    for (let t = 0; t < count; ++t) {
      translations.set(this.skeleton.offsets, 3 * t * joints);
      const turns = rotations.subarray(4 * t * joints, 4 * (t + 1) * joints);
      const places = translations.subarray(3 * t * joints, 3 * (t + 1) * joints);
      pose(this.source, start + t, turns, places);
    }
    alignSigns(rotations, 4 * joints);
    return { start, count, rotations, translations };
  }
}

function skeletonOf(tree: Tree & { names: string[] }, unit: number): Skeleton {
  const meters = (points: number[][]): Float64Array => {
    const flat = Float64Array.from(points.flat(), (value) => value * unit);
    if (!flat.every((value) => Math.abs(value) <= MAX_OFFSET_M))
      throw new MocpackError("corrupt", `offsets must be at most ${MAX_OFFSET_M} meters`);
    return flat;
  };
  const moving = tree.channels.flatMap((names, j) => (names.some(isPosition) ? [j] : []));
  return {
    names: tree.names,
    parents: Int32Array.from(tree.parents),
    offsets: meters(tree.offsets),
    endJoints: Int32Array.from(tree.endJoints),
    endOffsets: meters(tree.endSites),
    translatedJoints: Int32Array.from(moving),
  };
}

/** The joint of each column and its kind: 0 to 2 for positions, 3 to 5 for rotations. */
interface Column {
  joint: number;
  kind: number;
}

function columnsOf(tree: Tree): Column[] {
  return tree.channels.flatMap((names, joint) =>
    names.map((name) => ({ joint, kind: axisOf(name) + (isPosition(name) ? 0 : 3) })),
  );
}

/** One frame: position channels replace the offset, rotations follow each other, first outermost. */
function pose(
  source: Source,
  frame: number,
  rotations: Float64Array,
  translations: Float64Array,
): void {
  const { columns, numbers, unit } = source;
  for (let i = 3; i < rotations.length; i += 4) rotations[i] = 1;
  for (let c = 0, at = frame * columns.length; c < columns.length; ++c, ++at) {
    const { joint, kind } = columns[c];
    if (kind < 3) translations[3 * joint + kind] = numbers[at] * unit;
    else turn(rotations, 4 * joint, kind - 3, numbers[at] * (Math.PI / 180));
  }
}

/** q[i…] becomes q · the rotation by `angle` about an axis. */
function turn(q: Float64Array, i: number, axis: number, angle: number): void {
  const c = Math.cos(angle / 2);
  const s = Math.sin(angle / 2);
  const a = i + axis;
  const b = i + ((axis + 1) % 3);
  const d = i + ((axis + 2) % 3);
  const qa = q[a];
  const qb = q[b];
  const qd = q[d];
  const qw = q[i + 3];
  q[a] = qa * c + qw * s;
  q[b] = qb * c + qd * s;
  q[d] = qd * c - qb * s;
  q[i + 3] = qw * c - qa * s;
}

/** Gives each quaternion the sign nearest to the frame before, so that differences in time are small. */
function alignSigns(rotations: Float64Array, width: number): void {
  for (let i = width; i < rotations.length; i += 4) {
    let dot = 0;
    for (let c = 0; c < 4; ++c) dot += rotations[i + c] * rotations[i + c - width];
    if (dot < 0) for (let c = 0; c < 4; ++c) rotations[i + c] *= -1;
  }
}
