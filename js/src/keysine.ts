/** A `keysine` clip: fetches the groups that frames lie in, decodes them, keeps the last few. */

import { checkVersion, type Container } from "./container.js";
import { Decoder, type Decoded, type Layout } from "./decoder.js";
import { MocpackError } from "./error.js";
import { FieldReader } from "./fields.js";
import { multiplyInto, placeInto } from "./kinematics.js";
import { between, locate, locateAmong } from "./sampling.js";
import { rooted } from "./skel.js";
import { joined, type ByteSource } from "./source.js";
import type { Frames, Motion } from "./types.js";

const BITSTREAM = 1;
const LARGEST_HEAD = 1 << 21; // bytes
const LONGEST_TURN = 12; // milliseconds of decoding before the page gets its turn
const FRAME_BYTES = 56; // of a joint: its rotation and its place
const KEPT_BYTES = 1 << 24; // of decoded groups
const ORIGIN = new Float64Array(3);

export async function openKeysine(
  source: ByteSource,
  container: Container,
  module: WebAssembly.Module,
  memoryLimit: number,
): Promise<Motion> {
  const { head, skeleton, payload } = container;
  checkVersion("keysine bitstream", head.bitstream, BITSTREAM);
  for (const name of head.needed)
    throw new MocpackError(
      "unsupported",
      `keysine needs its parameter ${JSON.stringify(name)}, which a newer mocpack knows`,
    );
  const bytes = await readHeadBytes(source, payload);
  const tree = rooted(skeleton);
  const decoder = await Decoder.open(module, tree, head.frameCount, bytes, memoryLimit);
  const { layout } = decoder;
  checkSizes(layout, payload.size);
  return new KeysineMotion(source, container, decoder, layout, memoryLimit);
}

async function readHeadBytes(
  source: ByteSource,
  payload: { start: number; size: number },
): Promise<Uint8Array> {
  const start = await source.read(payload.start, Math.min(4, payload.size));
  const read = new FieldReader(start, "keysine payload");
  const size = read.varint(LARGEST_HEAD);
  if (size < read.offset) throw read.corrupt(`a head of ${size} bytes`);
  if (size > payload.size) throw new MocpackError("truncated", "keysine payload ends in its head");
  // a copy, since the decoder may have to start again when the source is closed
  const head = (await source.read(payload.start, size)).slice();
  return head;
}

function checkSizes(layout: Layout, payloadSize: number): void {
  const parts = [...layout.segmentSizes, ...layout.groupSizes];
  const missing = parts.reduce((sum, size) => sum + size, layout.headSize) - payloadSize;
  if (missing > 0)
    throw new MocpackError("truncated", `keysine payload ends ${missing} bytes too early`);
  if (missing < 0)
    throw new MocpackError("corrupt", `keysine payload has ${-missing} bytes too many`);
}

class KeysineMotion implements Motion {
  readonly codec = "keysine";
  readonly skeleton;
  readonly frameCount;
  readonly frameTime;
  readonly bytes;
  readonly declaredError;
  readonly measured;
  readonly metadata;
  readonly take;
  readonly parameters;
  /** Where each segment and each group of each layer begins in the file, and where the last one ends. */
  private readonly segmentStarts: Float64Array;
  private readonly groupStarts: Float64Array;
  private readonly groupCount: number;
  private readonly kept = new Map<number, Frames>();
  private closed = false;

  constructor(
    private readonly source: ByteSource,
    container: Container,
    private readonly decoder: Decoder,
    private readonly layout: Layout,
    private readonly memoryLimit: number,
  ) {
    this.skeleton = container.skeleton;
    this.frameCount = container.head.frameCount;
    this.frameTime = container.head.frameTime;
    this.bytes = container.bytes;
    this.declaredError = container.head.declaredError;
    this.measured = container.head.measured;
    this.metadata = container.metadata;
    this.take = container.take;
    this.parameters = container.head.parameters;
    const { headSize, segmentSizes, groupSizes } = layout;
    this.segmentStarts = starts(container.payload.start + headSize, segmentSizes);
    this.groupStarts = starts(this.segmentStarts[segmentSizes.length], groupSizes);
    this.groupCount = Math.max(1, layout.groupCount);
  }

  async frames(start: number, stop: number): Promise<Frames> {
    this.check(start, stop);
    const out = this.room(start, stop - start);
    if (start === stop) return out;
    const [first, last] = [this.groupAt(start), this.groupAt(stop - 1)];
    // asked for before anything is awaited, so that neighbours travel in one request
    const [parts] = await Promise.all([this.fetchParts(first, last), this.decoder.ready()]);
    let turn = performance.now();
    for (let group = first; group <= last; ++group) {
      this.copyGroup(group, parts, out);
      if (performance.now() - turn < LONGEST_TURN || group === last) continue;
      await new Promise((done) => setTimeout(done));
      await this.decoder.ready();
      turn = performance.now();
    }
    return out;
  }

  async sample(seconds: number): Promise<Frames> {
    const { startTime, times } = this.take;
    const { frame, part } = times
      ? locateAmong(seconds, times)
      : locate(seconds - startTime, this.frameTime, this.frameCount);
    return between(await this.frames(frame, Math.min(frame + 2, this.frameCount)), part);
  }

  close(): void {
    this.closed = true;
    this.kept.clear();
    this.decoder.close();
    this.source.close();
  }

  private check(start: number, stop: number): void {
    if (this.closed) throw new Error("the motion is closed");
    if (!(Number.isInteger(start) && Number.isInteger(stop) && 0 <= start && start <= stop))
      throw new RangeError(`expected frames start <= stop, got ${start} and ${stop}`);
    if (stop > this.frameCount)
      throw new RangeError(`the clip has ${this.frameCount} frames, asked up to ${stop}`);
  }

  private room(start: number, count: number): Frames {
    const joints = this.skeleton.parents.length;
    const needed = FRAME_BYTES * count * joints;
    if (needed > this.memoryLimit)
      throw new MocpackError(
        "memory",
        `${count} of ${this.frameCount} frames × ${joints} joints would take ${needed} bytes, more than ` +
          `memoryLimit, ${this.memoryLimit}; a larger one allows it`,
      );
    try {
      const rotations = new Float64Array(4 * count * joints);
      return { start, count, rotations, translations: new Float64Array(3 * count * joints) };
    } catch (error) {
      const message = `no memory for ${count} frames of ${joints} joints`;
      throw new MocpackError("memory", message, { cause: error });
    }
  }

  /** Bytes of the groups and of their segments, but of groups that are kept decoded. */
  private async fetchParts(first: number, last: number): Promise<Parts> {
    while (first <= last && this.kept.has(first)) ++first;
    while (first <= last && this.kept.has(last)) --last;
    if (first > last) return { first, segments: new Map(), groups: [] };
    const segments = new Map<number, Uint8Array>();
    const reads: Promise<unknown>[] = [];
    for (let s = this.segmentOf(first); s <= this.segmentOf(last); ++s)
      reads.push(this.read(this.segmentStarts, s, s).then((bytes) => segments.set(s, bytes)));
    const [layers] = await Promise.all([this.readLayers(first, last), ...reads]);
    return { first, segments, groups: joinedLayers(layers) };
  }

  /** For each layer, the bytes of each of these groups; a run of groups is one read. */
  private readLayers(first: number, last: number): Promise<Uint8Array[][]> {
    const { groupCount, layerCount } = this.layout;
    if (!groupCount) return Promise.resolve([[new Uint8Array(0)]]);
    const layers = Array.from({ length: layerCount }, async (_, layer) => {
      const [from, to] = [layer * groupCount + first, layer * groupCount + last];
      const bytes = await this.read(this.groupStarts, from, to);
      const starts = this.groupStarts
        .subarray(from, to + 2)
        .map((at) => at - this.groupStarts[from]);
      return Array.from({ length: to + 1 - from }, (__, g) =>
        bytes.subarray(starts[g], starts[g + 1]),
      );
    });
    return Promise.all(layers);
  }

  private read(starts: Float64Array, first: number, last: number): Promise<Uint8Array> {
    return this.source.read(starts[first], starts[last + 1] - starts[first]);
  }

  /** Writes what `out` wants of a group; one that it wants only in part is kept, since more will be asked. */
  private copyGroup(group: number, parts: Parts, out: Frames): void {
    const kept = this.kept.get(group);
    if (kept) return copyFrames(kept, out);
    if (this.closed) throw new Error("the motion is closed");
    const start = this.keyFrame(group * this.layout.blocksPerGroup);
    const bytes = parts.groups[group - parts.first];
    const segment = this.segmentOf(group);
    const decoded = this.decoder.decode(group, bytes, segment, parts.segments.get(segment)!);
    if (start >= out.start && start + decoded.count <= out.start + out.count)
      return spread(decoded, this.skeleton, out, start - out.start);
    const frames = this.room(start, decoded.count);
    spread(decoded, this.skeleton, frames, 0);
    this.keep(group, frames);
    copyFrames(frames, out);
  }

  private keep(group: number, frames: Frames): void {
    this.kept.set(group, frames);
    const most = Math.max(3, KEPT_BYTES / (frames.rotations.byteLength * 1.75));
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= most) break;
      this.kept.delete(oldest);
    }
  }

  /** The frame of a key: evenly spread after the lead, rounded half up. */
  private keyFrame(key: number): number {
    const { blockCount, lead } = this.layout;
    const last = Math.min(key, blockCount) - lead;
    if (!blockCount || last < 0) return 0;
    const even = blockCount - lead;
    return lead + Math.floor((2 * last * (this.frameCount - 1 - lead) + even) / (2 * even));
  }

  /** The group that holds a frame; the last frame belongs to the last group. */
  private groupAt(frame: number): number {
    let low = 0;
    let high = this.groupCount - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.keyFrame(middle * this.layout.blocksPerGroup) <= frame) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private segmentOf(group: number): number {
    return Math.floor(group / this.layout.groupsPerSegment);
  }
}

/** The bytes of groups first, first + 1, … and of the segments that they need. */
interface Parts {
  first: number;
  segments: Map<number, Uint8Array>;
  groups: Uint8Array[];
}

/** For each group, its layers one after another. */
function joinedLayers(layers: Uint8Array[][]): Uint8Array[] {
  return layers[0].map((bytes, g) =>
    layers.length > 1 ? joined(layers.map((own) => own[g])) : bytes,
  );
}

function starts(at: number, sizes: Uint32Array): Float64Array {
  const found = new Float64Array(sizes.length + 1);
  found[0] = at;
  for (let i = 0; i < sizes.length; ++i) found[i + 1] = found[i] + sizes[i];
  return found;
}

/** Copies the frames that both have. */
function copyFrames(from: Frames, to: Frames): void {
  const start = Math.max(from.start, to.start);
  const stop = Math.min(from.start + from.count, to.start + to.count);
  const turns = from.rotations.length / from.count;
  const places = from.translations.length / from.count;
  const [i, k, n] = [start - from.start, stop - from.start, start - to.start];
  to.rotations.set(from.rotations.subarray(i * turns, k * turns), n * turns);
  to.translations.set(from.translations.subarray(i * places, k * places), n * places);
}

/** Writes decoded frames at frame `at` of `out`, joints that do not move at their offsets. */
function spread(decoded: Decoded, skeleton: Motion["skeleton"], out: Frames, at: number): void {
  const { offsets, translated } = skeleton;
  const moving = translated.length;
  const turns = (4 / 3) * offsets.length;
  if (decoded.rotations.length === turns * decoded.count)
    out.rotations.set(decoded.rotations, turns * at);
  else offOrigin(decoded, skeleton, out.rotations, turns * at);
  for (let t = 0; t < decoded.count; ++t) {
    const row = offsets.length * (at + t);
    out.translations.set(offsets, row);
    for (let m = 0; m < moving; ++m)
      for (let c = 0; c < 3; ++c)
        out.translations[row + 3 * translated[m] + c] =
          decoded.translations[3 * (t * moving + m) + c];
  }
}

/** Takes the joint above several roots off; how far it was turned goes to them. */
function offOrigin(
  decoded: Decoded,
  skeleton: Motion["skeleton"],
  out: Float64Array,
  at: number,
): void {
  const { parents, translated } = skeleton;
  const { rotations, translations } = decoded;
  for (let t = 0; t < decoded.count; ++t) {
    const from = 4 * t * (parents.length + 1);
    const origin = rotations.subarray(from, from + 4);
    const pose = out.subarray(at + 4 * t * parents.length, at + 4 * (t + 1) * parents.length);
    pose.set(rotations.subarray(from + 4, from + 4 + pose.length));
    if (origin[3] === 1) continue;
    for (let j = 0; j < parents.length; ++j)
      if (parents[j] < 0) multiplyInto(pose, 4 * j, origin, 0, pose, 4 * j);
    for (let m = 0; m < translated.length; ++m)
      if (parents[translated[m]] < 0) {
        const place = 3 * (t * translated.length + m);
        placeInto(translations, place, ORIGIN, origin, 0, translations, place);
      }
  }
}
