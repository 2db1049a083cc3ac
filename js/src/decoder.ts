/** The native reader as WebAssembly, one instance per open file or archive. */

import { MocpackError, type ErrorKind } from "./error.js";
import {
  addressesAt,
  doublesAt,
  readHeader,
  textAt,
  WIDTHS,
  type HeaderExports,
  type Header,
} from "./header.js";
import type { ByteSource } from "./source.js";
import type { Track, WasmSource } from "./types.js";

/** The exports of bindings/wasm/boundary.cpp. */
interface Exports extends HeaderExports, ArchiveExports {
  _initialize(): void;
  image_size(): number;
  allocate(size: number): number;
  last_error(): number;
  open_file(bytes: number, size: number, memoryLimit: number): number;
  open_archive(size: number, memoryLimit: number): number;
  byte_ranges(first: number, stop: number, layers: number, out: number): number;
  read_frames(first: number, stop: number, layers: number): number;
  read_keys(first: number, stop: number): number;
  read_track(index: number): number;
  track_samples(): number;
}

/** Exports that list the clips of an archive. */
export interface ArchiveExports {
  memory: WebAssembly.Memory;
  archive_clips(): number;
}

interface Range {
  start: number;
  size: number;
}

/** Bytes of the file, starting at offset `start`. */
export interface Part {
  start: number;
  bytes: Uint8Array;
}

/** Poses in the reader's memory, valid until its next call. */
export interface Decoded {
  /** count · J · 4 */
  rotations: Float64Array;
  /** count · J · 3 */
  translations: Float64Array;
  /** count · J · 3; absent if no joint is scaled. */
  scales?: Float64Array;
}

interface Running {
  core: Exports;
  /** Fetched bytes that the reader can read, beside those that `source` has, if the file is not in its memory. */
  parts: Part[];
  source: ByteSource | undefined;
}

const [NEEDS_BYTES, NO_MEMORY] = [-8, -3];
const KINDS: Record<number, ErrorKind> = {
  [-1]: "truncated",
  [-2]: "corrupt",
  [NO_MEMORY]: "memory",
  [-5]: "format",
  [-6]: "unsupported",
};
const TOO_LARGE = "the file needs more memory than memoryLimit or than WebAssembly can allocate";
const MAX_RANGES = 64;
export const KEYS_ONLY = 0xffffffff;

/** Decodes one file in its own instance, whose memory is freed with the file. */
export class Decoder {
  readonly header: Header;
  private running: Running | undefined;
  private starting: Promise<void> | undefined;

  private constructor(
    private readonly module: WebAssembly.Module,
    private readonly source: ByteSource,
    private readonly memoryLimit: number,
    running: Running,
  ) {
    this.running = running;
    this.header = this.guarded(({ core }) => readHeader(core, memoryLimit));
  }

  static async open(
    module: WebAssembly.Module,
    source: ByteSource,
    memoryLimit: number,
  ): Promise<Decoder> {
    const running = await start(module, source, memoryLimit);
    return new Decoder(module, source, memoryLimit, running);
  }

  /** Starts a new instance if the last one failed. */
  async ready(): Promise<void> {
    if (this.running) return;
    this.starting ??= start(this.module, this.source, this.memoryLimit)
      .then((running) => {
        this.running = running;
      })
      .finally(() => (this.starting = undefined));
    await this.starting;
  }

  /** Fetches the bytes that frames first … stop - 1 need with this many layers. */
  async fetch(first: number, stop: number, layers: number): Promise<Part[]> {
    const ranges = this.ranges(first, stop, layers);
    return Promise.all(ranges.map(([at, size]) => part(this.source, at, size)));
  }

  /** Returns whether those bytes have already arrived. */
  hasArrived(first: number, stop: number, layers: number): boolean {
    const ranges = this.ranges(first, stop, layers);
    return ranges.every(([at, size]) => this.source.peek(at, size));
  }

  /** Decodes frames first … stop - 1, at most header.maxFrames, with this many layers; null if bytes are missing. */
  frames(first: number, stop: number, layers: number, parts: Part[]): Decoded | null {
    return this.poses((core) => core.read_frames(first, stop, layers), stop - first, parts);
  }

  /** Decodes key poses first … stop - 1, at most header.maxFrames; null if bytes are missing. */
  keys(first: number, stop: number, parts: Part[]): Decoded | null {
    return this.poses((core) => core.read_keys(first, stop), stop - first, parts);
  }

  /** Reads a track by index. */
  async track(index: number): Promise<Track> {
    const parts: Part[] = [];
    for (;;) {
      const found = this.guarded((running) => this.readTrack(running, index, parts));
      if ("times" in found) return found;
      parts.push(await part(this.source, found.start, found.size));
    }
  }

  close(): void {
    this.running = undefined;
  }

  /** Returns offset and size of each byte range of frames first … stop - 1 with this many layers. */
  private ranges(first: number, stop: number, layers: number): Float64Array[] {
    return this.guarded(({ core }) => {
      const [room] = addressesAt(core, core.last_poses(), 1); // the pose buffer is large enough
      const numbers = new Float64Array(core.memory.buffer, room, 2 * MAX_RANGES);
      const count = core.byte_ranges(first, stop, layers, numbers.byteOffset);
      return Array.from({ length: count }, (_, i) => numbers.slice(2 * i, 2 * i + 2));
    });
  }

  /** Returns a track, or the byte range that is still needed. */
  private readTrack(running: Running, index: number, parts: Part[]): Track | Range {
    const { core } = running;
    const head = this.header.takeData.tracks[index];
    const size = head.count * WIDTHS[head.kind];
    if (8 * (size + head.count) > this.memoryLimit) throw new MocpackError("memory", TOO_LARGE);
    running.parts = parts;
    const status = core.read_track(index);
    running.parts = [];
    if (status === NEEDS_BYTES) return neededRange(core);
    if (status < 0) throw failure(core, status);
    const [valuesAt, timesAt, textsAt, textCount] = addressesAt(core, core.track_samples(), 4);
    const texts = Array.from({ length: textCount }, (_, i) => textAt(core, textsAt + 8 * i));
    const values = doublesAt(core, valuesAt, size);
    const labels = head.kind === "label" ? Array.from(values, (text) => texts[text]) : [];
    return { ...head, times: doublesAt(core, timesAt, head.count), values, labels };
  }

  private poses(read: (core: Exports) => number, count: number, parts: Part[]): Decoded | null {
    return this.guarded((running) => {
      running.parts = parts;
      const { core } = running;
      const status = read(core);
      running.parts = [];
      if (status === NEEDS_BYTES) return null;
      if (status < 0) throw failure(core, status);
      const joints = this.header.skeleton.parents.length;
      const { buffer } = core.memory;
      const [rotations, translations] = addressesAt(core, core.last_poses(), 2);
      const decoded: Decoded = {
        rotations: new Float64Array(buffer, rotations, 4 * count * joints),
        translations: new Float64Array(buffer, translations, 3 * count * joints),
      };
      const [scales] = addressesAt(core, core.last_poses() + 32, 1);
      if (scales) decoded.scales = new Float64Array(buffer, scales, 3 * count * joints);
      return decoded;
    });
  }

  /** A trap may leave the instance in any state, so it is dropped; `ready` starts a new one. */
  private guarded<T>(work: (running: Running) => T): T {
    try {
      return work(this.running!);
    } catch (error) {
      if (error instanceof MocpackError) throw error;
      this.running = undefined;
      throw decoderFailure(error);
    }
  }
}

/** Opens an archive in its own instance, which keeps its index. */
export async function openIndex(
  module: WebAssembly.Module,
  source: ByteSource,
  memoryLimit: number,
): Promise<ArchiveExports> {
  const running = await instantiate(module, source);
  const limit = wholeLimit(memoryLimit);
  // but for the magic number, everything that is read goes to the end: fetch it at once
  const status = await fetchAndOpen(
    running,
    source,
    (core) => core.open_archive(source.size, limit),
    ({ start, size }) => (start ? source.size - start : size),
  );
  if (status < 0) throw failure(running.core, status);
  return running.core;
}

async function start(
  module: WebAssembly.Module,
  source: ByteSource,
  memoryLimit: number,
): Promise<Running> {
  const running = await instantiate(module, source);
  const limit = wholeLimit(memoryLimit);
  const status = source.whole
    ? await openBytes(running.core, source, limit)
    : await fetchAndOpen(running, source, (core) => core.open_file(0, source.size, limit));
  if (status < 0) throw failure(running.core, status);
  running.parts = [];
  return running;
}

/** Returns the limit in whole bytes; 0 would select the reader's default. */
function wholeLimit(memoryLimit: number): number {
  return Math.min(Math.max(1, Math.floor(memoryLimit)), 2 ** 32);
}

async function openBytes(core: Exports, source: ByteSource, limit: number): Promise<number> {
  const bytes = await source.read(0, source.size);
  return catchTraps(() => {
    const address = core.allocate(bytes.length) >>> 0;
    if (!address) throw new MocpackError("memory", TOO_LARGE);
    new Uint8Array(core.memory.buffer).set(bytes, address);
    return core.open_file(address, bytes.length, limit);
  });
}

/** Repeats a call of the reader, with the bytes that it asked for, until it needs no more. */
async function fetchAndOpen(
  { core, parts }: Running,
  source: ByteSource,
  open: (core: Exports) => number,
  sizeOf = ({ size }: Range): number => size,
): Promise<number> {
  for (;;) {
    const status = catchTraps(() => open(core));
    if (status !== NEEDS_BYTES) return status;
    const range = neededRange(core);
    parts.push(await part(source, range.start, sizeOf(range)));
  }
}

async function part(source: ByteSource, start: number, size: number): Promise<Part> {
  return { start, bytes: await source.read(start, size) };
}

function catchTraps<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof MocpackError ? error : decoderFailure(error);
  }
}

function decoderFailure(cause: unknown): MocpackError {
  return new MocpackError("corrupt", "the decoder crashed on this file", { cause });
}

/** Returns the byte range that the reader needs next. */
function neededRange(core: Exports): Range {
  const view = new DataView(core.memory.buffer, core.last_error());
  return { start: Number(view.getBigUint64(8, true)), size: Number(view.getBigUint64(16, true)) };
}

function failure(core: Exports, status: number): MocpackError {
  const bytes = new Uint8Array(core.memory.buffer, core.last_error() + 24);
  const message = new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  return new MocpackError(KINDS[status] ?? "corrupt", message || TOO_LARGE);
}

/** Memory after initialization, which unpacks tables; later instances copy it. */
const images = new WeakMap<WebAssembly.Module, Uint8Array>();

async function instantiate(module: WebAssembly.Module, source?: ByteSource): Promise<Running> {
  const running: Running = { core: undefined as unknown as Exports, parts: [], source };
  const read = (offset: number, size: number, address: number): number =>
    readParts(running, offset, size, address);
  const instance = await WebAssembly.instantiate(module, { env: { read } });
  const core = instance.exports as unknown as Exports;
  running.core = core;
  const image = images.get(module);
  if (image) {
    new Uint8Array(core.memory.buffer).set(image);
    return running;
  }
  core._initialize();
  images.set(module, new Uint8Array(core.memory.buffer).slice(0, core.image_size()));
  return running;
}

function readParts(
  { core, parts, source }: Running,
  offset: number,
  size: number,
  to: number,
): number {
  const part = parts.find(
    ({ start, bytes }) => offset >= start && offset + size <= start + bytes.length,
  );
  const at = offset - (part?.start ?? 0);
  const found = part ? part.bytes.subarray(at, at + size) : source?.peek(offset, size);
  if (!found) return NEEDS_BYTES;
  new Uint8Array(core.memory.buffer).set(found, to >>> 0);
  return 0;
}

const compiled = new Map<string, Promise<WebAssembly.Module>>();

/** Returns the decoder's module; modules from URLs are cached. */
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
    if (!response.ok) throw new Error(`the server returned status ${response.status}`);
    return await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    throw new MocpackError("network", `cannot load the decoder ${url}`, { cause: error });
  }
}
