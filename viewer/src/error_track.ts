// Errors of a version per frame and joint, filled in as frames arrive.

import { frameErrors, type Frames, type Skeleton } from "./decoder";
import { WINDOW, windowCount } from "./poses";

export class ErrorTrack {
  /** Maximum error of each frame, in meters; NaN if not known yet. */
  readonly frames: Float32Array;
  /** Mean displacement of joint centers in each frame. */
  readonly means: Float32Array;
  /** Maximum error of each joint so far, and its frame. */
  readonly jointMax: Float32Array;
  readonly jointWorst: Int32Array;
  worstFrame = -1;
  known = 0;
  private readonly windows: (Float32Array | undefined)[];

  constructor(
    private readonly skeleton: Skeleton,
    readonly frameCount: number,
  ) {
    this.frames = new Float32Array(frameCount).fill(NaN);
    this.means = new Float32Array(frameCount).fill(NaN);
    this.jointMax = new Float32Array(skeleton.names.length);
    this.jointWorst = new Int32Array(skeleton.names.length);
    this.windows = new Array<Float32Array | undefined>(windowCount(frameCount));
  }

  get complete(): boolean {
    return this.known === this.frameCount;
  }

  get max(): number {
    return this.worstFrame < 0 ? 0 : this.frames[this.worstFrame];
  }

  /** Returns the error of each joint at a frame, or null if it has not arrived. */
  jointsAt(frame: number): Float32Array | null {
    const window = this.windows[Math.floor(frame / WINDOW)];
    const joints = this.jointMax.length;
    const at = (frame % WINDOW) * joints;
    return window ? window.subarray(at, at + joints) : null;
  }

  put(original: Frames, decoded: Frames): void {
    const found = frameErrors(this.skeleton, original, decoded);
    const joints = this.jointMax.length;
    for (let t = 0; t < decoded.count; t++) {
      const frame = decoded.start + t;
      this.frames[frame] = found.promised[t];
      this.means[frame] = mean(found.joints.subarray(t * joints, (t + 1) * joints));
      if (this.worstFrame < 0 || this.frames[frame] > this.max) this.worstFrame = frame;
      for (let j = 0; j < joints; j++)
        this.putJoint(j, frame, found.promisedByJoint[t * joints + j]);
    }
    this.windows[decoded.start / WINDOW] = Float32Array.from(found.promisedByJoint);
    this.known += decoded.count;
  }

  private putJoint(joint: number, frame: number, error: number): void {
    if (error <= this.jointMax[joint]) return;
    this.jointMax[joint] = error;
    this.jointWorst[joint] = frame;
  }
}

function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
