/** An AnimationClip that decodes frames while it plays. */

import {
  AnimationClip,
  Interpolant,
  Quaternion,
  QuaternionKeyframeTrack,
  VectorKeyframeTrack,
  type AnimationBlendMode,
  type KeyframeTrack,
  type TypedArray,
} from "three";

import type { Frames, Motion } from "../types.js";
import { channelsOf, sizeOf, type BindOptions, type Channel } from "./channels.js";
import { unmatchedNames } from "./clip.js";
import { MotionStream, refinements, type StreamOptions } from "./stream.js";

export interface StreamingClipOptions extends BindOptions, StreamOptions {
  /** Name of the clip. */
  name?: string;
}

/** Works in an `AnimationMixer` like any clip, but its tracks store no keyframes. */
export class StreamingClip extends AnimationClip {
  stream!: MotionStream;

  constructor(
    name?: string,
    duration?: number,
    tracks?: KeyframeTrack[],
    blendMode?: AnimationBlendMode,
  ) {
    super(name, duration, tracks, blendMode);
  }

  override clone(): this {
    const clip = super.clone();
    clip.stream = this.stream;
    return clip;
  }

  override toJSON(): never {
    throw new Error("a streaming clip has no keyframes to serialize; use toAnimationClip");
  }
}

/**
 * Creates a clip that plays in any `AnimationMixer` while its frames download, in bounded memory.
 *
 * Resolves when the first frame is loaded. Files with quality layers start coarse and refine as bytes arrive. `clip.stream` has the buffer state and error events;
 * `clip.userData` lists unmatched joints and bones.
 */
export async function toStreamingClip(
  motion: Motion,
  options: StreamingClipOptions = {},
): Promise<StreamingClip> {
  const channels = channelsOf(motion, options);
  for await (const first of refinements(motion, 0, 1))
    return streamingClip(motion, first, channels, options);
  throw new Error("the motion has no frames");
}

function streamingClip(
  motion: Motion,
  first: Frames,
  channels: ReturnType<typeof channelsOf>,
  options: StreamingClipOptions,
): StreamingClip {
  const stream = new MotionStream(motion, channels, first, options);
  const tracks = channels.list.map((channel) => streamedTrack(stream, channel));
  const clip = new StreamingClip(options.name ?? "", stream.duration, tracks);
  clip.stream = stream;
  clip.userData = unmatchedNames(channels);
  return clip;
}

/** Creates a track that holds the first pose; its interpolant reads poses from the stream. */
function streamedTrack(stream: MotionStream, channel: Channel): KeyframeTrack {
  const Track = channel.property === "quaternion" ? QuaternionKeyframeTrack : VectorKeyframeTrack;
  const pose = stream.rows.slice(channel.at, channel.at + sizeOf(channel.property));
  const times = stream.duration > 0 ? [0, stream.duration] : [0];
  const track = new Track(
    channel.track,
    times,
    times.flatMap(() => [...pose]),
  );
  // an own property, so that `clone` copies it
  const created = (result?: TypedArray): Interpolant => new Streamed(stream, channel, result);
  return Object.assign(track, { createInterpolant: created });
}

const NOTHING = new Float32Array(0);

class Streamed extends Interpolant {
  constructor(
    private readonly stream: MotionStream,
    private readonly channel: Channel,
    result?: TypedArray,
  ) {
    super(NOTHING, NOTHING, sizeOf(channel.property), result);
  }

  override evaluate(seconds: number): TypedArray {
    const { stream, resultBuffer } = this;
    const { at, property } = this.channel;
    stream.seek(seconds);
    const { rows, fraction } = stream;
    const [low, high] = [stream.low + at, stream.high + at];
    if (property === "quaternion")
      Quaternion.slerpFlat(
        resultBuffer as unknown as number[],
        0,
        rows as unknown as number[],
        low,
        rows as unknown as number[],
        high,
        fraction,
      );
    else
      for (let c = 0; c < 3; ++c)
        resultBuffer[c] = rows[low + c] + fraction * (rows[high + c] - rows[low + c]);
    return resultBuffer;
  }

  override interpolate_(): TypedArray {
    return this.resultBuffer;
  }
}
