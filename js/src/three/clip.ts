/** A whole motion as an AnimationClip of three.js. */

import { AnimationClip, QuaternionKeyframeTrack, VectorKeyframeTrack } from "three";

import { MocpackError } from "../error.js";
import type { Motion } from "../types.js";
import { channelsOf, sizeOf, type BindOptions, type Channel, type Channels } from "./channels.js";
import { clipTimes } from "./times.js";

export interface ClipOptions extends BindOptions {
  /** Of the clip. */
  name?: string;
  /** Frames start … stop - 1 of the motion; by default all. */
  start?: number;
  stop?: number;
  /** The most bytes that the clip may take; by default 1e9. */
  memoryLimit?: number;
}

const AT_ONCE = 1 << 24; // bytes of frames that are decoded at a time
const DEFAULT_LIMIT = 1e9; // bytes

/**
 * Every frame of a motion as quaternion and position tracks; what stays the same has one key.
 *
 * `clip.userData` says which joints and bones found no partner. A long motion takes much memory this
 * way: `toStreamingClip` decodes as it plays.
 */
export async function toAnimationClip(
  motion: Motion,
  options: ClipOptions = {},
): Promise<AnimationClip> {
  const { start = 0, stop = motion.frameCount, memoryLimit = DEFAULT_LIMIT } = options;
  if (!(Number.isInteger(start) && Number.isInteger(stop) && 0 <= start && start < stop))
    throw new RangeError(`expected frames start < stop, got ${start} and ${stop}`);
  if (stop > motion.frameCount)
    throw new RangeError(`the clip has ${motion.frameCount} frames, asked up to ${stop}`);
  const channels = channelsOf(motion, options);
  const needed = 8 * (stop - start) * channels.width;
  if (needed > memoryLimit)
    throw new MocpackError(
      "memory",
      `tracks of ${stop - start} frames would take ${needed} bytes, more than memoryLimit, ` +
        `${memoryLimit}; toStreamingClip takes less`,
    );
  const rows = await readRows(motion, channels, start, stop);
  const times = clipTimes(motion, start, stop);
  const tracks = channels.list.map((channel) => track(channel, times, rows, channels.width));
  const clip = new AnimationClip(options.name ?? "", times[times.length - 1], tracks);
  clip.userData = unmatchedNames(channels);
  return clip;
}

/** What of both sides found no partner. */
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
