/** Times of a motion relative to its first frame, as three.js clips use them. */

import { locate, locateAmong } from "../sampling.js";
import type { Motion } from "../types.js";

/** Returns the seconds from the first frame to the last. */
export function durationOf({ takeData, frameCount, frameTime }: Motion): number {
  const times = takeData?.times;
  return times ? times[frameCount - 1] - times[0] : (frameCount - 1) * frameTime;
}

/** Returns the times of frames start … stop - 1 in seconds, relative to the first of them. */
export function clipTimes(
  { takeData, frameTime }: Motion,
  start: number,
  stop: number,
): Float32Array {
  const times = takeData?.times;
  return Float32Array.from({ length: stop - start }, (_, t) =>
    times ? times[start + t] - times[start] : t * frameTime,
  );
}

/** Finds the frame before a time and the fraction to the next frame, clamped to the clip. */
export function frameAt(motion: Motion, seconds: number): { frame: number; fraction: number } {
  const times = motion.takeData?.times;
  return times
    ? locateAmong(seconds + times[0], times)
    : locate(seconds, motion.frameTime, motion.frameCount);
}
