// Where the joints of one motion are, window by window as they come.

import { worldPositions, type Frames, type Motion } from "./decoder";

/** Frames that are asked for, decoded and kept together. */
export const WINDOW = 128;

export type Point = readonly [number, number, number];

/**
 * World positions of joints, then of bone ends, as float32 relative to an origin near the motion:
 * a clip a kilometre away is drawn as finely as one at home.
 */
export class Poses {
  readonly pointCount: number;
  private readonly windows: (Float32Array | undefined)[];

  constructor(
    readonly motion: Motion,
    readonly origin: Point,
  ) {
    this.pointCount = motion.skeleton.names.length + motion.skeleton.endJoints.length;
    this.windows = new Array<Float32Array | undefined>(windowCount(motion.frameCount));
  }

  /** Return the points of a frame (x, y, z each), or null while they have not come. */
  at(frame: number): Float32Array | null {
    const window = this.windows[Math.floor(frame / WINDOW)];
    if (!window) return null;
    const size = this.pointCount * 3;
    const at = (frame % WINDOW) * size;
    return window.subarray(at, at + size);
  }

  put(frames: Frames): void {
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

export function windowCount(frames: number): number {
  return Math.ceil(frames / WINDOW);
}

/** Return where the root stands at first: the origin of everything drawn with it. */
export async function originOf(motion: Motion): Promise<Point> {
  const first = await motion.frames(0, 1);
  const [x, y, z] = first.translations;
  return [x, y, z];
}
