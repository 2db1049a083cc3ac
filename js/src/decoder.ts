/** The native decoder of `keysine`, compiled to WebAssembly: one instance for each open clip. */

import { MocpackError, type ErrorKind } from "./error.js";
import type { Skeleton, WasmSource } from "./types.js";

/** What bindings/wasm/boundary.cpp exports. */
interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  allocate(size: number): number;
  release(address: number): void;
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
  close_clip(clip: number): void;
  describe_clip(clip: number, numbers: number): void;
  read_segment(clip: number, segment: number, bytes: number, size: number): number;
  read_group(clip: number, group: number, bytes: number, size: number): number;
  rotations_of(clip: number): number;
  translations_of(clip: number): number;
}

/** Where things stand in a payload: the head, then segments, then groups. */
export interface Layout {
  headSize: number;
  blockCount: number;
  blocksPerGroup: number;
  groupsPerSegment: number;
  segmentSizes: Uint32Array;
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
  clip: number;
  /** Whose keys the clip has at hand. */
  segment: number;
}

const NUMBERS = 7; // of describe_clip
const FAILURES: Record<number, [ErrorKind, string]> = {
  [-1]: ["truncated", "ends too early"],
  [-2]: ["corrupt", "contradicts its specification"],
  [-3]: ["unsupported", "needs more memory than this decoder takes"],
};

export class Decoder {
  readonly layout: Layout;
  private running: Running | undefined;

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly skeleton: Skeleton,
    private readonly frameCount: number,
    private readonly head: Uint8Array,
  ) {
    this.layout = this.guarded(() => describe(this.start()));
  }

  /** Decodes a group from its own bytes and those of its segment. */
  decode(group: number, bytes: Uint8Array, segmentBytes: Uint8Array): Decoded {
    return this.guarded(() => {
      const running = this.running ?? this.start();
      const segment = Math.floor(group / this.layout.groupsPerSegment);
      if (running.segment !== segment) {
        running.segment = -1;
        readPart(running, "read_segment", segment, segmentBytes);
        running.segment = segment;
      }
      return this.frames(running, readPart(running, "read_group", group, bytes));
    });
  }

  close(): void {
    this.running = undefined;
  }

  private frames({ core, clip }: Running, count: number): Decoded {
    const { parents, translated } = this.skeleton;
    const buffer = core.memory.buffer;
    const [turns, places] = [4 * count * parents.length, 3 * count * translated.length];
    return {
      count,
      rotations: new Float64Array(buffer, core.rotations_of(clip), turns),
      translations: new Float64Array(buffer, core.translations_of(clip), places),
    };
  }

  private start(): Running {
    const core = new WebAssembly.Instance(this.module).exports as unknown as Exports;
    core._initialize();
    const { parents, offsets, endJoints, endOffsets, translated } = this.skeleton;
    const points = place(core, new Float64Array([...offsets, ...endOffsets]));
    const indices = place(core, new Int32Array([...parents, ...endJoints, ...translated]));
    const head = place(core, this.head);
    const [joints, ends, moving] = [parents.length, endJoints.length, translated.length];
    const clip = checked(
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
      "the head of a keysine payload",
    );
    core.release(head);
    this.running = { core, clip, segment: -1 };
    return this.running;
  }

  /** A trap may leave the instance in any state: it is dropped, and the next call starts another. */
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

function readPart(
  { core, clip }: Running,
  how: "read_segment" | "read_group",
  which: number,
  bytes: Uint8Array,
): number {
  const address = place(core, bytes);
  const result = core[how](clip, which, address, bytes.length);
  core.release(address);
  return checked(result, how === "read_group" ? `keysine group ${which}` : "a keysine key segment");
}

function describe({ core, clip }: Running): Layout {
  const address = core.allocate(4 * NUMBERS);
  core.describe_clip(clip, address);
  const [blockCount, blocksPerGroup, groupsPerSegment, segments, groups, sizesAt, headSize] =
    new Uint32Array(core.memory.buffer, address, NUMBERS);
  core.release(address);
  const sizes = new Uint32Array(core.memory.buffer, sizesAt, segments + groups);
  const [segmentSizes, groupSizes] = [sizes.slice(0, segments), sizes.slice(segments)];
  return { headSize, blockCount, blocksPerGroup, groupsPerSegment, segmentSizes, groupSizes };
}

/** Copies an array into the decoder's memory. */
function place(core: Exports, data: Uint8Array | Int32Array | Float64Array): number {
  const address = core.allocate(data.byteLength);
  if (!address) throw failure(-3, "the file");
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  new Uint8Array(core.memory.buffer).set(bytes, address);
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
