/** The native decoder of `keysine`, compiled to WebAssembly: one instance for each open clip. */

import { MocpackError, type ErrorKind } from "./error.js";
import type { Skeleton, WasmSource } from "./types.js";

/** What bindings/wasm/boundary.cpp exports. */
interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  image_size(): number;
  limit_memory(bytes: number): void;
  allocate(size: number): number;
  open_clip(
    joints: number,
    ends: number,
    moving: number,
    points: number,
    indices: number,
    frames: number,
    head: number,
    headSize: number,
  ): number;
  describe_clip(): number;
  read_segment(segment: number, bytes: number, size: number): number;
  read_group(group: number, bytes: number, size: number): number;
  rotations(): number;
  translations(): number;
}

/** Where things stand in a payload: the head, then segments, then groups layer by layer. */
export interface Layout {
  headSize: number;
  blockCount: number;
  blocksPerGroup: number;
  groupsPerSegment: number;
  groupCount: number;
  layerCount: number;
  /** 1 where the first frame is a block by itself. */
  lead: number;
  segmentSizes: Uint32Array;
  /** Layer by layer. */
  groupSizes: Uint32Array;
}

/** Frames of one group as they stand in the decoder's memory, good until its next call. */
export interface Decoded {
  count: number;
  /** count · J · 4 */
  rotations: Float64Array;
  /** count · M · 3, of the translated joints alone */
  translations: Float64Array;
}

interface Running {
  core: Exports;
  /** Whose keys are at hand. */
  segment: number;
  /** Where parts are put to be read, and how much fits. */
  input: { address: number; size: number };
}

const NUMBERS = 12; // of describe_clip
const FAILURES: Record<number, [ErrorKind, string]> = {
  [-1]: ["truncated", "ends too early"],
  [-2]: ["corrupt", "contradicts its specification"],
  [-3]: ["memory", "needs more memory than memoryLimit, or than this decoder can have"],
};

/** One clip in an instance of its own, whose memory goes when the clip does. */
export class Decoder {
  private running: Running | undefined;

  private constructor(
    private readonly module: WebAssembly.Module,
    private readonly skeleton: Skeleton,
    private readonly frameCount: number,
    private readonly head: Uint8Array,
    private readonly memoryLimit: number,
  ) {}

  static async open(
    module: WebAssembly.Module,
    skeleton: Skeleton,
    frameCount: number,
    head: Uint8Array,
    memoryLimit: number,
  ): Promise<Decoder> {
    const decoder = new Decoder(module, skeleton, frameCount, head, memoryLimit);
    await decoder.ready();
    return decoder;
  }

  /** Starts the instance, the first time and after it failed. */
  async ready(): Promise<void> {
    if (this.running) return;
    const core = await instantiate(this.module);
    this.guarded(() => (this.running = this.start(core)));
  }

  get layout(): Layout {
    return this.guarded(() => describe(this.running!.core));
  }

  /** Decodes a group from its layers, one after another, and its segment; `ready` comes before. */
  decode(group: number, bytes: Uint8Array, segment: number, segmentBytes: Uint8Array): Decoded {
    return this.guarded(() => {
      const running = this.running!;
      if (running.segment !== segment) {
        running.segment = -1;
        const status = running.core.read_segment(segment, ...input(running, segmentBytes));
        checked(status, "a keysine key segment");
        running.segment = segment;
      }
      const count = running.core.read_group(group, ...input(running, bytes));
      return this.frames(running.core, checked(count, `keysine group ${group}`));
    });
  }

  close(): void {
    this.running = undefined;
  }

  private frames(core: Exports, count: number): Decoded {
    const { parents, translated } = this.skeleton;
    const { buffer } = core.memory;
    return {
      count,
      rotations: new Float64Array(buffer, core.rotations(), 4 * count * parents.length),
      translations: new Float64Array(buffer, core.translations(), 3 * count * translated.length),
    };
  }

  private start(core: Exports): Running {
    const { parents, offsets, endJoints, endOffsets, translated } = this.skeleton;
    core.limit_memory(Math.min(this.memoryLimit, 2 ** 32 - 1));
    const points = place(core, new Float64Array([...offsets, ...endOffsets]));
    const indices = place(core, new Int32Array([...parents, ...endJoints, ...translated]));
    const head = place(core, this.head);
    const [joints, ends, moving] = [parents.length, endJoints.length, translated.length];
    checked(
      core.open_clip(
        joints,
        ends,
        moving,
        points,
        indices,
        this.frameCount,
        head,
        this.head.length,
      ),
      `${this.frameCount} frames × ${joints} joints: the head of a keysine payload`,
    );
    return { core, segment: -1, input: { address: 0, size: 0 } };
  }

  /** A trap may leave the instance in any state: it is dropped, and `ready` starts another. */
  private guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof MocpackError) throw error;
      this.running = undefined;
      throw new MocpackError("corrupt", "the decoder failed on this file", { cause: error });
    }
  }
}

/** Memory as it stands after the start, which unpacks tables: later instances take a copy. */
const images = new WeakMap<WebAssembly.Module, Uint8Array>();

async function instantiate(module: WebAssembly.Module): Promise<Exports> {
  const instance = await WebAssembly.instantiate(module);
  const core = instance.exports as unknown as Exports;
  const image = images.get(module);
  if (image) {
    new Uint8Array(core.memory.buffer).set(image);
    return core;
  }
  core._initialize();
  images.set(module, new Uint8Array(core.memory.buffer).slice(0, core.image_size()));
  return core;
}

function describe(core: Exports): Layout {
  const { buffer } = core.memory;
  const numbers = new Uint32Array(buffer, core.describe_clip(), NUMBERS);
  const [headSize, blockCount, blocksPerGroup, groupsPerSegment, segments, groupCount] = numbers;
  const [sizesAt, , , layerCount, , lead] = numbers.subarray(6);
  const sizes = new Uint32Array(buffer, sizesAt, segments + layerCount * groupCount).slice();
  const [segmentSizes, groupSizes] = [sizes.subarray(0, segments), sizes.subarray(segments)];
  const counts = { blockCount, blocksPerGroup, groupsPerSegment, groupCount, layerCount, lead };
  return { headSize, ...counts, segmentSizes, groupSizes };
}

/** Copies a part to where the decoder reads it; returns address and size. */
function input(running: Running, bytes: Uint8Array): [number, number] {
  const { core } = running;
  if (bytes.length > running.input.size) {
    const size = 2 * bytes.length; // so that room which is outgrown stays less than room in use
    running.input = { address: room(core, size), size };
  }
  new Uint8Array(core.memory.buffer).set(bytes, running.input.address);
  return [running.input.address, bytes.length];
}

/** Copies an array into the decoder's memory, for good. */
function place(core: Exports, data: Uint8Array | Int32Array | Float64Array): number {
  const address = room(core, data.byteLength);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  new Uint8Array(core.memory.buffer).set(bytes, address);
  return address;
}

function room(core: Exports, size: number): number {
  const address = core.allocate(size);
  if (!address) throw failure(-3, "the file");
  return address;
}

function checked(result: number, what: string): number {
  if (result < 0) throw failure(result, what);
  return result;
}

function failure(status: number, what: string): MocpackError {
  const [kind, complaint] = FAILURES[status] ?? ["corrupt", `fails with status ${status}`];
  return new MocpackError(kind, `${what} ${complaint}`);
}

const compiled = new Map<string, Promise<WebAssembly.Module>>();

/** Returns the decoder's module; one that came from an address is kept for the next clip. */
export function loadModule(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return Promise.resolve(source);
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source))
    return WebAssembly.compile(source as BufferSource);
  const url = String(source);
  let module = compiled.get(url);
  if (!module) {
    module = fetchModule(url);
    compiled.set(url, module);
    module.catch(() => compiled.delete(url));
  }
  return module;
}

async function fetchModule(url: string): Promise<WebAssembly.Module> {
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
    return await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    throw new MocpackError("network", `the decoder ${url} cannot be loaded`, { cause: error });
  }
}
