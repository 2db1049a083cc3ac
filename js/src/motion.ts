/** An open .mocp file: fetches and decodes the groups that contain the requested frames. */

import { KEYS_ONLY, type Decoded, type Decoder, type Part } from "./decoder.js";
import { MocpackError } from "./error.js";
import { interpolateFrames, locate, locateAmong } from "./sampling.js";
import type { ByteSource } from "./source.js";
import type { Frames, Motion, Preview, RefinedFrames, Track } from "./types.js";

const MAX_SLICE_MS = 12; // decode this long before yielding to the event loop
const FRAME_BYTES = 56; // rotation and translation of one joint
const SCALE_BYTES = 24; // scale of one joint

export class FileMotion implements Motion {
  readonly skeleton;
  readonly frameCount;
  readonly frameTime;
  readonly codec;
  readonly parameters;
  readonly sizes;
  readonly declaredError;
  readonly measured;
  readonly angleErrors;
  readonly jointBounds;
  readonly metadata;
  readonly takeData;
  readonly layers;
  private readonly finest: number;
  private closed = false;

  constructor(
    private readonly source: ByteSource,
    private readonly decoder: Decoder,
    private readonly memoryLimit: number,
  ) {
    const { header } = decoder;
    this.skeleton = header.skeleton;
    this.frameCount = header.frameCount;
    this.frameTime = header.frameTime;
    this.codec = header.codec;
    this.parameters = header.parameters;
    this.sizes = header.sizes;
    this.declaredError = header.declaredError;
    this.measured = header.measured;
    this.angleErrors = header.angleErrors;
    this.jointBounds = header.jointBounds;
    this.metadata = header.metadata;
    this.takeData = header.takeData;
    this.layers = header.layers;
    this.finest = Math.max(1, header.layers.length);
  }

  frames(start: number, stop: number): Promise<Frames> {
    return this.decodeLayers(start, stop, this.finest);
  }

  async *refine(start: number, stop: number): AsyncGenerator<RefinedFrames, void> {
    for (let layers = 1; layers <= this.finest; ++layers) {
      this.check(start, stop);
      await this.decoder.ready();
      // skip a layer if the next one has arrived as well
      if (layers < this.finest && this.decoder.hasArrived(start, stop, layers + 1)) continue;
      yield { ...(await this.decodeLayers(start, stop, layers)), layers };
    }
  }

  async sample(seconds: number): Promise<Frames> {
    if (Number.isNaN(seconds)) throw new RangeError("expected a time in seconds, got NaN");
    const { startTime, times } = this.takeData;
    const { frame, fraction } = times
      ? locateAmong(seconds, times)
      : locate(seconds - startTime, this.frameTime, this.frameCount);
    return interpolateFrames(
      await this.frames(frame, Math.min(frame + 2, this.frameCount)),
      fraction,
    );
  }

  async track(name: string): Promise<Track> {
    this.check(0, 0);
    const index = this.takeData.tracks.findIndex((head) => head.name === name);
    if (index < 0) throw new RangeError(`no track ${JSON.stringify(name)} in this motion`);
    await this.decoder.ready();
    return this.decoder.track(index);
  }

  async preview(): Promise<Preview> {
    this.check(0, 0);
    const { keyFrames } = this.decoder.header;
    // a clip of one frame has one key pose
    const frames = this.frameCount > 1 ? keyFrames : keyFrames.subarray(0, 1);
    const out = this.room(frames.length);
    await this.decode(0, frames.length, out, {
      end: () => frames.length,
      fetch: () => this.decoder.fetch(0, this.frameCount, KEYS_ONLY),
      read: (at, end, parts) => this.decoder.keys(at, end, parts),
    });
    return { frames: Array.from(frames), ...out };
  }

  close(): void {
    this.closed = true;
    this.decoder.close();
    this.source.close();
  }

  private async decodeLayers(start: number, stop: number, layers: number): Promise<Frames> {
    this.check(start, stop);
    const out = { start, ...this.room(stop - start) };
    await this.decode(start, stop, out, {
      end: (at) => this.groupEnd(at),
      fetch: (at) => this.decoder.fetch(at, stop, layers),
      read: (at, end, parts) => this.decoder.frames(at, end, layers, parts),
    });
    return out;
  }

  /** Fills `out` with poses first … stop - 1, fetching bytes when the decoder needs them. */
  private async decode(first: number, stop: number, out: Poses, how: Reading): Promise<void> {
    let parts: Part[] = [];
    let turn = performance.now();
    let fetched = false;
    for (let at = first; at < stop;) {
      await this.decoder.ready();
      if (this.closed) throw new Error("the motion is closed");
      const end = Math.min(stop, how.end(at), at + this.decoder.header.maxFrames);
      const decoded = how.read(at, end, parts);
      if (decoded) {
        this.copy(decoded, out, at - first);
        at = end;
        if (performance.now() - turn < MAX_SLICE_MS || at === stop) continue;
        await new Promise((done) => setTimeout(done));
      } else {
        if (fetched)
          throw new MocpackError(
            "corrupt",
            "the decoder still misses bytes after they were fetched",
          );
        parts = await how.fetch(at);
        fetched = true;
      }
      turn = performance.now();
    }
  }

  private copy({ rotations, translations, scales }: Decoded, out: Poses, at: number): void {
    const joints = this.skeleton.parents.length;
    out.rotations.set(rotations, 4 * at * joints);
    out.translations.set(translations, 3 * at * joints);
    if (scales) out.scales?.set(scales, 3 * at * joints);
  }

  /** Returns the end of a frame's group. Decoding group by group keeps quaternion signs independent of the range. */
  private groupEnd(frame: number): number {
    const { keyFrames } = this.decoder.header;
    let low = 0;
    let high = Math.max(0, keyFrames.length - 2);
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (keyFrames[middle] <= frame) low = middle;
      else high = middle - 1;
    }
    return low + 2 < keyFrames.length ? keyFrames[low + 1] : this.frameCount;
  }

  private check(start: number, stop: number): void {
    if (this.closed) throw new Error("the motion is closed");
    if (!(Number.isInteger(start) && Number.isInteger(stop) && 0 <= start && start <= stop))
      throw new RangeError(`expected frames start <= stop, got ${start} and ${stop}`);
    if (stop > this.frameCount)
      throw new RangeError(`the clip has ${this.frameCount} frames, requested up to ${stop}`);
  }

  private room(count: number): Poses & { count: number } {
    const joints = this.skeleton.parents.length;
    const isScaled = Boolean(this.skeleton.scales ?? this.skeleton.scaledJoints);
    const needed = (FRAME_BYTES + (isScaled ? SCALE_BYTES : 0)) * count * joints;
    if (needed > this.memoryLimit)
      throw new MocpackError(
        "memory",
        `${count} of ${this.frameCount} frames × ${joints} joints need ${needed} bytes, more than ` +
          `memoryLimit = ${this.memoryLimit}`,
      );
    try {
      const rotations = new Float64Array(4 * count * joints);
      const poses = { count, rotations, translations: new Float64Array(3 * count * joints) };
      return isScaled ? { ...poses, scales: new Float64Array(3 * count * joints) } : poses;
    } catch (error) {
      const message = `no memory for ${count} frames of ${joints} joints`;
      throw new MocpackError("memory", message, { cause: error });
    }
  }
}

interface Poses {
  rotations: Float64Array;
  translations: Float64Array;
  scales?: Float64Array;
}

/** How poses are read: up to where at once, from which bytes, by which call. */
interface Reading {
  end(at: number): number;
  fetch(at: number): Promise<Part[]>;
  read(at: number, end: number, parts: Part[]): Decoded | null;
}
