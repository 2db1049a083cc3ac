/** A motion's clock as clips have it, where the first frame is at 0. */

import { locate, locateAmong } from "../sampling.js";
import type { Motion } from "../types.js";

/** Seconds from the first frame to the last. */
export function durationOf({ takeData, frameCount, frameTime }: Motion): number {
  const times = takeData?.times;
  return times ? times[frameCount - 1] - times[0] : (frameCount - 1) * frameTime;
}

/** Seconds of frames start … stop - 1 after the first of them. */
export function clipTimes({ takeData, frameTime }: Motion, start: number, stop: number): Float32Array {
  const times = takeData?.times;
  return Float32Array.from({ length: stop - start }, (_, t) =>
    times ? times[start + t] - times[start] : t * frameTime,
  );
}

/** The frame that `seconds` after the first lie in, and how far it is to the next; clamped. */
export function frameAt(motion: Motion, seconds: number): { frame: number; fraction: number } {
  const times = motion.takeData?.times;
  return times
    ? locateAmong(seconds + times[0], times)
    : locate(seconds, motion.frameTime, motion.frameCount);
}
