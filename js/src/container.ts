/** The .mocp file: magic, version, then chunks of tag, length, checksum and body. Knows no codec. */

import { crc32 } from "./checksum.js";
import { MocpackError } from "./error.js";
import { FieldReader } from "./fields.js";
import { readHead, type Head } from "./head.js";
import { inflate } from "./inflate.js";
import { readSkeleton } from "./skel.js";
import type { ByteSource } from "./source.js";
import { readRest, readTake, type Bodies } from "./take.js";
import type { Skeleton, Take } from "./types.js";

const MAGIC = [0x93, 0x4d, 0x4f, 0x43];
const VERSION = 1;
const MAX_CHUNK_HEADER = 18;
const MAX_METADATA = 1 << 24;
// so that a small file cannot ask for much memory
const FRAMES_PER_BYTE = 64;
const SAMPLES_PER_BYTE = 16_384;
const KNOWN = ["HEAD", "SKEL", "MESH", "REST", "HING", "TIME", "DATA"];
const REPEATED = ["trak"];
/** Chunks that change a pose in ways that are not played here. */
const REFUSED = new Map([
  ["SCAL", "joints with scales are not played here"],
  ["CLIP", "a scene of several clips is not played here"],
]);

export interface Container {
  head: Head;
  skeleton: Skeleton;
  take: Take;
  metadata: unknown;
  /** Where the codec's bytes stand in the file. */
  payload: { start: number; size: number };
  bytes: { file: number; payload: number; skeleton: number; metadata: number };
}

interface Chunk {
  tag: string;
  checksum: number;
  /** Offset and size of the body; `end - at` is the whole chunk. */
  at: number;
  start: number;
  size: number;
}

export async function readContainer(source: ByteSource, memoryLimit: number): Promise<Container> {
  await checkMagic(source);
  const bodies: Bodies = new Map();
  const chunks = new Map<string, Chunk>();
  for (let at = 5; at < source.size;) {
    const chunk = await readChunk(source, at);
    if (chunks.has(chunk.tag) && !REPEATED.includes(chunk.tag))
      throw corrupt(`file has two ${chunk.tag} chunks`);
    chunks.set(chunk.tag, chunk);
    if (chunk.tag !== "DATA" || source.whole) {
      const body = await readBody(source, chunk);
      bodies.set(chunk.tag, [...(bodies.get(chunk.tag) ?? []), body]);
    }
    at = chunk.start + chunk.size;
  }
  return assemble(source, chunks, bodies, memoryLimit);
}

function assemble(
  source: ByteSource,
  chunks: Map<string, Chunk>,
  bodies: Bodies,
  memoryLimit: number,
): Container {
  const head = readHead(required(bodies, "HEAD"));
  if (head.kind === 1)
    throw new MocpackError("unsupported", `a vertex animation of codec ${head.codec}`);
  const skeleton = readSkeleton(required(bodies, "SKEL"));
  const data = chunks.get("DATA");
  if (!data) throw new MocpackError("truncated", "file has no DATA chunk");
  const joints = skeleton.parents.length;
  checkCounts(source.size, head.frameCount, joints);
  const rest = bodies.get("REST")?.[0];
  if (rest) skeleton.rest = readRest(rest, joints);
  const meta = bodies.get("meta")?.[0];
  const [skeletonBytes, metadataBytes] = ["SKEL", "meta"].map((tag) => wholeSize(chunks.get(tag)));
  const payloadBytes = source.size - skeletonBytes - metadataBytes;
  return {
    head,
    skeleton,
    take: readTake(bodies, head.frameCount, joints, memoryLimit),
    metadata: meta ? readMetadata(meta) : {},
    payload: { start: data.start, size: data.size },
    bytes: {
      file: source.size,
      payload: payloadBytes,
      skeleton: skeletonBytes,
      metadata: metadataBytes,
    },
  };
}

async function checkMagic(source: ByteSource): Promise<void> {
  const start = await source.read(0, Math.min(5, source.size));
  if (MAGIC.some((byte, i) => i < start.length && start[i] !== byte))
    throw new MocpackError("format", "not a .mocp file");
  if (start.length < 5)
    throw new MocpackError("truncated", "file ends inside its first five bytes");
  checkVersion("format", start[4], VERSION);
}

/** Complains about a version that is not read here; they count from 1. */
export function checkVersion(what: string, found: number, newest: number): void {
  if (found < 1) throw corrupt(`${what} version ${found}: versions count from 1`);
  if (found > newest)
    throw new MocpackError(
      "unsupported",
      `${what} version ${found} is newer than ${newest}; a newer mocpack reads it`,
    );
}

async function readChunk(source: ByteSource, at: number): Promise<Chunk> {
  const header = await source.read(at, Math.min(MAX_CHUNK_HEADER, source.size - at));
  const read = new FieldReader(header, "chunk header");
  const tag = String.fromCharCode(...read.raw(4));
  const size = read.varint();
  const checksum = read.u32();
  const start = at + read.offset;
  const there = source.size - start;
  if (size > there)
    throw new MocpackError("truncated", `chunk ${printed(tag)} has ${there} of ${size} bytes`);
  const refused = REFUSED.get(tag);
  if (refused) throw new MocpackError("unsupported", `chunk ${tag}: ${refused}`);
  if (!KNOWN.includes(tag) && !/^[a-z]/.test(tag))
    throw new MocpackError(
      "unsupported",
      `file needs chunk ${printed(tag)}, which a newer mocpack reads`,
    );
  return { tag, checksum, at, start, size };
}

async function readBody(source: ByteSource, chunk: Chunk): Promise<Uint8Array> {
  const body = await source.read(chunk.start, chunk.size);
  const tag = Uint8Array.from(chunk.tag, (letter) => letter.charCodeAt(0));
  if (crc32(body, crc32(tag)) !== chunk.checksum)
    throw corrupt(`chunk ${printed(chunk.tag)} fails its checksum`);
  return body;
}

function checkCounts(size: number, frameCount: number, joints: number): void {
  const needed = Math.max(
    Math.ceil(frameCount / FRAMES_PER_BYTE),
    Math.ceil((frameCount * joints) / SAMPLES_PER_BYTE),
  );
  if (size < needed)
    throw corrupt(`${frameCount} frames are announced, more than ${size} bytes can hold`);
}

function readMetadata(body: Uint8Array): unknown {
  const text = new TextDecoder().decode(inflate(body, MAX_METADATA, "meta chunk"));
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found === "object" && found !== null && !Array.isArray(found)) return found;
  } catch (error) {
    throw new MocpackError("corrupt", "meta chunk: not JSON", { cause: error });
  }
  throw corrupt("meta chunk: not an object");
}

function required(bodies: Bodies, tag: string): Uint8Array {
  const body = bodies.get(tag)?.[0];
  if (!body) throw new MocpackError("truncated", `file has no ${tag} chunk`);
  return body;
}

function wholeSize(chunk: Chunk | undefined): number {
  return chunk ? chunk.start + chunk.size - chunk.at : 0;
}

function printed(tag: string): string {
  return JSON.stringify(tag);
}

function corrupt(message: string): MocpackError {
  return new MocpackError("corrupt", message);
}
