/** Scenes: .mocp files with several clips on one clock. Each clip opens like a file. */

import { crc32 } from "./crc32.js";
import { MocpackError } from "./error.js";
import { openBytes, openSource, type Source } from "./open.js";
import { checkRange, type ByteSource } from "./source.js";
import type { Motion, OpenOptions } from "./types.js";

const MAGIC = "\x93MOC";
const VERSION = 1;
const FIRST_CHUNK = 5; // offset in bytes
const MAX_HEADER_BYTES = 18; // bytes of a chunk's tag, length and checksum
const MAX_NAME_BYTES = 1024; // bytes

/** Opens a scene. A file with one clip opens as a scene of one clip with an empty name. */
export async function openScene(source: Source, options: OpenOptions = {}): Promise<Scene> {
  const bytes = await openBytes(source, options);
  try {
    return new Scene(bytes, (await findClips(bytes)) ?? new Map([["", bytes]]), options);
  } catch (error) {
    bytes.close();
    throw error;
  }
}

export class Scene {
  /** @internal */
  constructor(
    private readonly bytes: ByteSource,
    private readonly parts: ReadonlyMap<string, ByteSource>,
    private readonly options: OpenOptions,
  ) {}

  /** The names of the clips, in file order. */
  get clipNames(): string[] {
    return [...this.parts.keys()];
  }

  /** Opens a clip by name. Keep the scene open while you use it. */
  async open(name: string): Promise<Motion> {
    const part = this.parts.get(name);
    if (!part) throw new MocpackError("clip", missing(this.parts, name));
    return openSource(() => Promise.resolve(shared(part)), this.options);
  }

  close(): void {
    this.bytes.close();
  }
}

/** Returns the bytes of the named clip of a scene, or of the only clip. */
export async function clipSource(bytes: ByteSource, name: string | undefined): Promise<ByteSource> {
  const parts = await findClips(bytes);
  if (!parts && name === undefined) return bytes;
  if (!parts)
    throw new MocpackError(
      "clip",
      `the file is a single clip, not a scene with a clip ${quoted(name!)}`,
    );
  const found = name ?? (parts.size === 1 ? [...parts.keys()][0] : undefined);
  const part = found === undefined ? undefined : parts.get(found);
  if (!part) throw new MocpackError("clip", missing(parts, name));
  return part;
}

function missing(parts: ReadonlyMap<string, ByteSource>, name: string | undefined): string {
  const names = [...parts.keys()].map(quoted).join(", ");
  return `the file is a scene with the clips ${names}; ${name === undefined ? "choose one with open(source, { clip })" : `there is no clip ${quoted(name)}`}`;
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}

/** A range of another source, as a file. */
class PartSource implements ByteSource {
  readonly whole: boolean;

  constructor(
    private readonly bytes: ByteSource,
    private readonly start: number,
    readonly size: number,
  ) {
    this.whole = bytes.whole;
  }

  async read(start: number, size: number): Promise<Uint8Array> {
    checkRange(this, start, size);
    return this.bytes.read(this.start + start, size);
  }

  peek(start: number, size: number): Uint8Array | null {
    return this.bytes.peek(this.start + start, size);
  }

  close(): void {
    this.bytes.close();
  }
}

/** A view of the same bytes whose `close` does nothing. */
function shared(bytes: ByteSource): ByteSource {
  return {
    size: bytes.size,
    whole: bytes.whole,
    read: (start, size) => bytes.read(start, size),
    peek: (start, size) => bytes.peek(start, size),
    close: () => undefined,
  };
}

async function isScene(bytes: ByteSource): Promise<boolean> {
  if (bytes.size < 9) return false;
  const start = String.fromCharCode(...(await bytes.read(0, 9)));
  return start.slice(0, 4) === MAGIC && start.slice(5) === "CLIP";
}

/** Finds the clips of a scene by name; null if the file is not a scene. */
async function findClips(bytes: ByteSource): Promise<Map<string, ByteSource> | null> {
  if (!(await isScene(bytes))) return null;
  const version = (await bytes.read(4, 1))[0];
  if (version !== VERSION)
    throw new MocpackError(
      version ? "unsupported" : "corrupt",
      `format version ${version} is not supported, expected ${VERSION}`,
    );
  const parts = new Map<string, ByteSource>();
  for (let at = FIRST_CHUNK; at < bytes.size;) {
    const head = await readHeader(bytes, at);
    at = head.body + head.size;
    await checkChunk(bytes, head);
    if (head.tag !== "CLIP") continue;
    const { name, size } = await readName(bytes, head);
    if (parts.has(name)) throw corrupt(`two clips of the scene are named ${quoted(name)}`);
    const part = new PartSource(bytes, head.body + size, head.size - size);
    if (await isScene(part))
      throw corrupt(`clip ${quoted(name)} of the scene is a scene, expected a single clip`);
    parts.set(name, part);
  }
  return parts;
}

interface ChunkHead {
  tag: string;
  body: number;
  size: number;
  sum: number;
}

async function readHeader(bytes: ByteSource, at: number): Promise<ChunkHead> {
  const head = await bytes.read(at, Math.min(MAX_HEADER_BYTES, bytes.size - at));
  const size = varint(head, 4);
  if (size.end + 4 > head.length)
    throw new MocpackError("truncated", "the file ends inside a chunk header");
  const sum = new DataView(head.buffer, head.byteOffset).getUint32(size.end, true);
  const tag = String.fromCharCode(...head.subarray(0, 4));
  return { tag, body: at + size.end + 4, size: size.value, sum };
}

async function checkChunk(bytes: ByteSource, { tag, body, size, sum }: ChunkHead): Promise<void> {
  if (body + size > bytes.size)
    throw new MocpackError(
      "truncated",
      `chunk ${quoted(tag)}: expected ${size} bytes, got ${bytes.size - body}`,
    );
  if (!/^[A-Za-z]\p{ASCII}{3}$/u.test(tag))
    throw corrupt(`chunk tag ${quoted(tag)} must be ASCII and start with a letter`);
  if (tag !== "CLIP" && !/^[a-z]/.test(tag))
    throw new MocpackError(
      "unsupported",
      `the scene contains chunk ${quoted(tag)}, which needs a newer version of mocpack`,
    );
  // do not fetch the whole file for its checksum: each clip has its own
  if (!bytes.whole) return;
  const own = crc32(Uint8Array.from(tag, (letter) => letter.charCodeAt(0)));
  if (crc32(await bytes.read(body, size), own) !== sum)
    throw corrupt(`chunk ${quoted(tag)}: wrong checksum`);
}

async function readName(
  bytes: ByteSource,
  head: ChunkHead,
): Promise<{ name: string; size: number }> {
  const start = await bytes.read(head.body, Math.min(head.size, MAX_NAME_BYTES + 4));
  const length = varint(start, 0);
  if (length.value > MAX_NAME_BYTES)
    throw corrupt(
      `chunk CLIP: the name has ${length.value} bytes, at most ${MAX_NAME_BYTES} are allowed`,
    );
  const size = length.end + length.value;
  if (size > start.length)
    throw new MocpackError("truncated", "chunk CLIP ends inside the clip name");
  try {
    const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { name: utf8.decode(start.subarray(length.end, size)), size };
  } catch (error) {
    throw new MocpackError("corrupt", "chunk CLIP: the name is not UTF-8", { cause: error });
  }
}

/** Reads a varint at an offset and returns the offset after it. */
function varint(bytes: Uint8Array, at: number): { value: number; end: number } {
  let value = 0;
  for (let place = 0; place < 10; ++place) {
    if (at + place >= bytes.length)
      throw new MocpackError("truncated", "the file ends inside a varint");
    const byte = bytes[at + place];
    value += (byte & 127) * 2 ** (7 * place);
    if (byte < 128 && value <= 2 ** 63) return { value, end: at + place + 1 };
    if (byte < 128) break;
  }
  throw corrupt("a varint is longer than 10 bytes or above 2^63");
}

function corrupt(what: string): MocpackError {
  return new MocpackError("corrupt", what);
}
