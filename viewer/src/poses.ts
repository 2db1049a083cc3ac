// World positions of one motion, stored in windows as they arrive.

import { Quaternion } from "three";
import { worldPositions, type Frames, type Motion } from "./decoder";

/** Frames per window. */
export const WINDOW = 128;

export type Point = readonly [number, number, number];

/**
 * World positions of joints, then of end sites, as float32 relative to an origin near the motion, so
 * that clips far from the world origin keep their precision.
 */
export class Poses {
  readonly pointCount: number;
  private readonly windows: (Float32Array | undefined)[];
  private readonly turns: (Float32Array | undefined)[] = [];

  /** `turning`: also keep joint rotations, which only meshes need. */
  constructor(
    readonly motion: Motion,
    readonly origin: Point,
    private readonly turning = false,
  ) {
    this.pointCount = motion.skeleton.names.length + motion.skeleton.endJoints.length;
    this.windows = new Array<Float32Array | undefined>(windowCount(motion.frameCount));
  }

  /** Returns the points of a frame (x, y, z each), or null if not loaded. */
  at(frame: number): Float32Array | null {
    const window = this.windows[Math.floor(frame / WINDOW)];
    if (!window) return null;
    const size = this.pointCount * 3;
    const at = (frame % WINDOW) * size;
    return window.subarray(at, at + size);
  }

  /** Returns the world rotations of a frame's joints (x, y, z, w each), if kept. */
  turnsAt(frame: number): Float32Array | null {
    const window = this.turns[Math.floor(frame / WINDOW)];
    if (!window) return null;
    const size = this.motion.skeleton.names.length * 4;
    const at = (frame % WINDOW) * size;
    return window.subarray(at, at + size);
  }

  put(frames: Frames): void {
    if (this.turning)
      this.turns[frames.start / WINDOW] = worldTurns(this.motion.skeleton.parents, frames);
    const { joints, ends } = worldPositions(this.motion.skeleton, frames);
    const jointSize = this.motion.skeleton.names.length * 3;
    const endSize = this.motion.skeleton.endJoints.length * 3;
    const window = new Float32Array(frames.count * (jointSize + endSize));
    for (let t = 0; t < frames.count; t++) {
      const at = t * (jointSize + endSize);
      this.copy(joints, t * jointSize, jointSize, window, at);
      this.copy(ends, t * endSize, endSize, window, at + jointSize);
    }
    this.windows[frames.start / WINDOW] = window;
  }

  private copy(
    from: Float64Array,
    start: number,
    count: number,
    to: Float32Array,
    at: number,
  ): void {
    for (let k = 0; k < count; k++) to[at + k] = from[start + k] - this.origin[k % 3];
  }
}

function worldTurns(parents: Int32Array, frames: Frames): Float32Array {
  const turns = new Float32Array(frames.rotations);
  const [above, own] = [new Quaternion(), new Quaternion()];
  for (let t = 0; t < frames.count; t++) {
    const at = 4 * t * parents.length;
    parents.forEach((parent, j) => {
      if (parent < 0) return;
      own.fromArray(turns, at + 4 * j);
      above
        .fromArray(turns, at + 4 * parent)
        .multiply(own)
        .toArray(turns, at + 4 * j);
    });
  }
  return turns;
}

export function windowCount(frames: number): number {
  return Math.ceil(frames / WINDOW);
}

/** Returns the initial position of the root, the origin of the scene. */
export async function originOf(motion: Motion): Promise<Point> {
  const first = await motion.frames(0, 1);
  const [x, y, z] = first.translations;
  return [x, y, z];
}
