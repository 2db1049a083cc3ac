/** Streams frames for playback: decodes ahead, and evicts old frames. */

import { EventDispatcher } from "three";

import { MocpackError } from "../error.js";
import type { Frames, Motion, RefinedFrames } from "../types.js";
import type { Channels } from "./channels.js";
import { durationOf, frameAt } from "./times.js";

export interface StreamOptions {
  /** How many seconds ahead to fetch and decode; 4 by default. */
  prefetchSeconds?: number;
  /** Bytes of decoded frames to keep; 32e6 by default. */
  cacheBytes?: number;
}

export interface StreamEvents {
  /** Frames from `start` to `stop`, in seconds, have arrived, or have been refined to this many quality layers. */
  loaded: { start: number; stop: number; layers: number };
  /** Frames failed to load or to be refined; the previous pose stays. */
  error: { error: unknown };
}

/** Consecutive frames starting at `first`, as rows of channels. */
interface Window {
  first: number;
  rows: Float32Array;
  /** Quality layers of the rows. */
  layers: number;
}

interface Failure {
  error: unknown;
  /** Time of the next attempt, in milliseconds of performance.now; Infinity: never. */
  again: number;
}

const WINDOW_SECONDS = 1;
const MAX_WINDOW_BYTES = 1 << 22; // of decoded rows
const RETRY_AFTER_MS = 2000; // after a failed request

/**
 * Provides poses synchronously: `seek` to a time, then read the two rows around it.
 *
 * If frames have not arrived yet, the last pose stays and `stalled` is true. Frames of a file with quality
 * layers are coarse at first.
 */
export class MotionStream extends EventDispatcher<StreamEvents> {
  readonly duration: number;
  /** Whether the pose at the last sought time is not loaded yet. */
  stalled = false;
  /** Quality layers of the last sought pose; `motion.layers.length` if it is final. */
  layers = 0;
  /** Decoded rows; the rows before and after the sought time start at `low` and `high`. */
  rows: Float32Array;
  low = 0;
  high = 0;
  fraction = 0;

  /** Least recently used first. */
  private readonly windows = new Map<number, Window>();
  /** Windows that are being loaded, and when their first frames have arrived. */
  private readonly pending = new Map<number, Promise<void>>();
  /** Windows at and after the sought time. */
  private near = new Set<number>();
  private readonly failures = new Map<number, Failure>();
  private readonly windowFrames: number;
  private readonly windowCount: number;
  private readonly ahead: number;
  private readonly most: number;
  /** Quality layers of final frames. */
  private readonly finest: number;
  private sought = NaN;
  /** Whether a window has changed since the last `seek`. */
  private refined = false;
  private closed = false;

  /** `first` contains the motion's first frame. */
  constructor(
    private readonly motion: Motion,
    private readonly channels: Channels,
    first: Frames,
    { prefetchSeconds = 4, cacheBytes = 32e6 }: StreamOptions = {},
  ) {
    super();
    if (!(prefetchSeconds >= 0 && prefetchSeconds < Infinity))
      throw new RangeError(`prefetchSeconds must be at least 0, got ${prefetchSeconds}`);
    if (!(cacheBytes >= 0))
      throw new RangeError(`cacheBytes must be at least 0, got ${cacheBytes}`);
    const frameBytes = 4 * channels.width;
    const second = Math.round(WINDOW_SECONDS / motion.frameTime);
    this.windowFrames = Math.max(1, Math.min(second, Math.floor(MAX_WINDOW_BYTES / frameBytes)));
    this.windowCount = Math.max(1, Math.ceil((motion.frameCount - 1) / this.windowFrames));
    this.finest = Math.max(1, motion.layers?.length ?? 1);
    this.duration = durationOf(motion);
    const windowSeconds = this.windowFrames * motion.frameTime;
    this.ahead = Math.min(Math.ceil(prefetchSeconds / windowSeconds), this.windowCount - 1);
    const windowBytes = frameBytes * (this.windowFrames + 1);
    // with fewer windows, prefetched frames would be evicted before they are played
    this.most = Math.max(this.ahead + 3, Math.floor(cacheBytes / windowBytes));
    this.rows = new Float32Array(channels.width);
    channels.row(first, 0, this.rows, 0);
  }

  /** Sets `rows`, `low`, `high` and `fraction` for a time in seconds, and prefetches the next frames. */
  seek(seconds: number): void {
    if (seconds === this.sought && !this.stalled && !this.refined) return;
    this.refined = false;
    const backwards = seconds < this.sought && this.sought - seconds < 0.5 * this.duration;
    this.sought = seconds;
    const { frame, fraction } = frameAt(this.motion, seconds);
    const number = this.windowOf(frame);
    const window = this.windows.get(number);
    this.stalled = !window;
    if (window) {
      const { width } = this.channels;
      this.rows = window.rows;
      this.low = (frame - window.first) * width;
      this.high = Math.min(this.low + width, this.rows.length - width);
      this.fraction = fraction;
      this.layers = window.layers;
    }
    const near = Array.from({ length: this.ahead + 1 }, (_, i) => {
      const next = backwards ? number - i + this.windowCount : number + i;
      return next % this.windowCount;
    });
    this.near = new Set(near);
    for (const next of near) this.request(next);
    // windows that are played next are evicted last
    for (const next of near.reverse()) this.touch(next);
  }

  /** Resolves when the pose at a time is loaded; rejects if loading fails. */
  async ready(seconds: number): Promise<void> {
    const number = this.windowOf(frameAt(this.motion, seconds).frame);
    this.failures.delete(number);
    this.request(number);
    await this.pending.get(number);
    const failure = this.failures.get(number);
    if (failure && !this.windows.has(number)) throw failure.error;
    if (this.closed) throw new Error("the stream is closed");
  }

  /** Loaded ranges in seconds, as sorted pairs of start and stop. */
  get buffered(): [number, number][] {
    const found: [number, number][] = [];
    let before = -2;
    for (const number of [...this.windows.keys()].sort((a, b) => a - b)) {
      const [start, stop] = this.secondsOf(number);
      if (number === before + 1) found[found.length - 1][1] = stop;
      else found.push([start, stop]);
      before = number;
    }
    return found;
  }

  /** Drops all frames and stops loading; the motion stays open. */
  close(): void {
    this.closed = true;
    this.windows.clear();
  }

  private request(number: number): void {
    const isFinal = this.windows.get(number)?.layers === this.finest;
    if (this.closed || isFinal || this.pending.has(number)) return;
    const failure = this.failures.get(number);
    if (failure && failure.again > performance.now()) return;
    this.failures.delete(number);
    const arrival = new Promise<void>((arrived) => {
      void this.load(number, arrived)
        .finally(() => this.pending.delete(number)) // listeners of `error` may request it again
        .catch((error: unknown) => this.fail(number, error))
        .finally(arrived);
    });
    this.pending.set(number, arrival);
  }

  /** Loads a window and refines it while it is near. */
  private async load(number: number, arrived: () => void): Promise<void> {
    const first = number * this.windowFrames;
    const stop = Math.min(first + this.windowFrames + 1, this.motion.frameCount);
    for await (const frames of refinements(this.motion, first, stop)) {
      if (this.closed) return;
      this.keep(number, { first, rows: this.rowsOf(frames), layers: frames.layers });
      arrived();
      if (frames.layers === this.finest) return;
      // other windows get their first frames before this one gets finer
      await Promise.all(this.pending.values());
      if (this.closed || !this.near.has(number)) return;
    }
  }

  private rowsOf(frames: Frames): Float32Array {
    const { width } = this.channels;
    const rows = new Float32Array(frames.count * width);
    for (let t = 0; t < frames.count; ++t) this.channels.row(frames, t, rows, t * width);
    return rows;
  }

  private keep(number: number, window: Window): void {
    const { layers } = window;
    if ((this.windows.get(number)?.layers ?? 0) >= layers) return;
    this.windows.set(number, window);
    this.refined = true;
    for (const oldest of this.windows.keys()) {
      if (this.windows.size <= this.most) break;
      this.windows.delete(oldest);
    }
    const [start, stop] = this.secondsOf(number);
    this.dispatchEvent({ type: "loaded", start, stop, layers });
  }

  private touch(number: number): void {
    const window = this.windows.get(number);
    if (!window) return;
    this.windows.delete(number);
    this.windows.set(number, window);
  }

  private fail(number: number, error: unknown): void {
    if (this.closed) return;
    const network = error instanceof MocpackError && error.kind === "network";
    this.failures.set(number, {
      error,
      again: network ? performance.now() + RETRY_AFTER_MS : Infinity,
    });
    this.dispatchEvent({ type: "error", error });
  }

  private windowOf(frame: number): number {
    return Math.min(Math.floor(frame / this.windowFrames), this.windowCount - 1);
  }

  private secondsOf(number: number): [number, number] {
    const times = this.motion.takeData?.times;
    const at = (frame: number): number => {
      const last = Math.min(frame, this.motion.frameCount - 1);
      return times ? times[last] - times[0] : last * this.motion.frameTime;
    };
    return [at(number * this.windowFrames), at((number + 1) * this.windowFrames)];
  }
}

/** Yields frames as their quality layers arrive; once if the motion has no layers. */
export async function* refinements(
  motion: Motion,
  start: number,
  stop: number,
): AsyncGenerator<RefinedFrames, void> {
  if (motion.refine) yield* motion.refine(start, stop);
  else yield { ...(await motion.frames(start, stop)), layers: 1 };
}
