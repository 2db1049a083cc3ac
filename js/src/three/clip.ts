/** Converts a whole motion to a three.js AnimationClip. */

import { AnimationClip, QuaternionKeyframeTrack, VectorKeyframeTrack } from "three";

import { MocpackError } from "../error.js";
import type { Motion } from "../types.js";
import { channelsOf, sizeOf, type BindOptions, type Channel, type Channels } from "./channels.js";
import { clipTimes } from "./times.js";

export interface ClipOptions extends BindOptions {
  /** Name of the clip. */
  name?: string;
  /** Use frames start … stop - 1 of the motion; all by default. */
  start?: number;
  stop?: number;
  /** Maximum bytes of the clip; 1e9 by default. */
  memoryLimit?: number;
}

const AT_ONCE = 1 << 24; // bytes of frames decoded per step
const DEFAULT_LIMIT = 1e9; // bytes

/**
 * Creates a clip with every frame; constant tracks have one keyframe.
 *
 * `clip.userData` lists unmatched joints and bones. Long motions need much memory; `toStreamingClip`
 * decodes during playback instead.
 */
export async function toAnimationClip(
  motion: Motion,
  options: ClipOptions = {},
): Promise<AnimationClip> {
  const { start = 0, stop = motion.frameCount, memoryLimit = DEFAULT_LIMIT } = options;
  if (!(Number.isInteger(start) && Number.isInteger(stop) && 0 <= start && start < stop))
    throw new RangeError(`expected frames start < stop, got ${start} and ${stop}`);
  if (stop > motion.frameCount)
    throw new RangeError(`the clip has ${motion.frameCount} frames, requested up to ${stop}`);
  const channels = channelsOf(motion, options);
  const needed = 8 * (stop - start) * channels.width;
  if (needed > memoryLimit)
    throw new MocpackError(
      "memory",
      `tracks of ${stop - start} frames need ${needed} bytes, more than memoryLimit = ` +
        `${memoryLimit}; use toStreamingClip instead`,
    );
  const rows = await readRows(motion, channels, start, stop);
  const times = clipTimes(motion, start, stop);
  const tracks = channels.list.map((channel) => track(channel, times, rows, channels.width));
  const clip = new AnimationClip(options.name ?? "", times[times.length - 1], tracks);
  clip.userData = unmatchedNames(channels);
  return clip;
}

/** Returns the names of unmatched joints and bones. */
export function unmatchedNames({ map }: Channels): Record<string, string[]> {
  return { unmatchedJoints: map.unmatchedJoints, unmatchedBones: map.unmatchedBones };
}

async function readRows(
  motion: Motion,
  channels: Channels,
  start: number,
  stop: number,
): Promise<Float32Array> {
  const rows = new Float32Array((stop - start) * channels.width);
  const atOnce = Math.max(1, Math.floor(AT_ONCE / (56 * motion.skeleton.parents.length)));
  for (let at = start; at < stop; at += atOnce) {
    const frames = await motion.frames(at, Math.min(at + atOnce, stop));
    for (let t = 0; t < frames.count; ++t)
      channels.row(frames, t, rows, (at - start + t) * channels.width);
  }
  return rows;
}

function track(
  { track: name, property, at }: Channel,
  times: Float32Array,
  rows: Float32Array,
  width: number,
): QuaternionKeyframeTrack | VectorKeyframeTrack {
  const size = sizeOf(property);
  const values = new Float32Array(times.length * size);
  let still = true;
  for (let t = 0; t < times.length; ++t)
    for (let c = 0; c < size; ++c) {
      values[t * size + c] = rows[t * width + at + c];
      still &&= values[t * size + c] === values[c];
    }
  const Track = property === "quaternion" ? QuaternionKeyframeTrack : VectorKeyframeTrack;
  return still
    ? new Track(name, times.subarray(0, 1), values.slice(0, size))
    : new Track(name, times, values);
}
