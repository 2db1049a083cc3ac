/** Archives of many clips (.mocps). The trailer lists the clips; each opens like a file. */

import { inflate } from "./decoder.js";
import { crc32 } from "./crc32.js";
import { MocpackError } from "./error.js";
import { decoderModule, openBytes, openSource, type Source } from "./open.js";
import { checkRange, concatenate, concatenateAll, type ByteSource } from "./source.js";
import type { Motion, OpenOptions } from "./types.js";

const FOOTER = 24; // bytes
const VERSION = 1;
const COLUMNS = 9;
const MAX_KIND = 1; // 0: its own file; 1: the same bytes as another clip
const MAX_WHOLE_CLIP_BYTES = 1 << 16; // one request fetches clips up to this size
const MAX_NAME_BYTES = 1024;
const INDEX_ROOM = 1 << 20; // bytes an inflated index may always have
const MAX_INFLATION = 256; // further bytes per compressed byte
const MAX_FIELD = 2 ** 63; // other readers store fields as signed 64-bit numbers

/** Index entry of a clip. */
export interface ArchiveClip {
  readonly name: string;
  readonly frameCount: number;
  /** Seconds between frames. */
  readonly frameTime: number;
  /** Bytes of its .mocp file. */
  readonly size: number;
  /** The archive in the same folder that contains the clip; null: this one. */
  readonly shard: string | null;
}

interface Place extends ArchiveClip {
  readonly kind: number;
  readonly offset: number;
  readonly stored: number;
  readonly at: number;
  readonly base: Uint8Array;
  readonly front: Uint8Array;
}

/** Opens an archive from bytes, or from a URL: fetches its end, then the bytes of each clip. */
export async function openArchive(source: Source, options: OpenOptions = {}): Promise<Archive> {
  const bytes = await openBytes(source, options);
  try {
    return new Archive(bytes, await readTrailer(bytes, decoderModule(options)), options);
  } catch (error) {
    bytes.close();
    throw error;
  }
}

export class Archive {
  private readonly numbers: Map<string, number>;

  /** @internal */
  constructor(
    private readonly bytes: ByteSource,
    private readonly places: readonly Place[],
    private readonly options: OpenOptions,
  ) {
    this.numbers = new Map(places.map((place, number) => [place.name, number]));
    if (this.numbers.size < places.length) throw corrupt("two clips have the same name");
  }

  /** The clips, in archive order. */
  get clips(): readonly ArchiveClip[] {
    return this.places;
  }

  /** Opens a clip by name or index. Keep the archive open while you use it. */
  async open(clip: string | number): Promise<Motion> {
    const source = new ClipSource(this.bytes, this.place(clip));
    return openSource(() => Promise.resolve(source), this.options);
  }

  /** Returns the original .mocp file of a clip. */
  async readFile(clip: string | number): Promise<Uint8Array> {
    const source = new ClipSource(this.bytes, this.place(clip));
    return source.read(0, source.size);
  }

  close(): void {
    this.bytes.close();
  }

  private place(clip: string | number): Place {
    const number = typeof clip === "string" ? this.numbers.get(clip) : clip;
    const place = number === undefined ? undefined : this.places[number];
    if (!place) throw new RangeError(`no clip ${JSON.stringify(clip)} in this archive`);
    if (place.kind > MAX_KIND)
      throw new MocpackError(
        "unsupported",
        `clip ${place.name} is of kind ${place.kind}, which needs a newer version of mocpack`,
      );
    if (place.shard !== null)
      throw new MocpackError(
        "unsupported",
        `clip ${place.name} is stored in ${place.shard}: open that archive`,
      );
    return place;
  }
}

/** The file of a clip, assembled from its stored bytes and the bytes shared between clips. */
class ClipSource implements ByteSource {
  readonly size: number;
  readonly whole: boolean;
  private fetched?: Promise<Uint8Array>;

  constructor(
    private readonly bytes: ByteSource,
    private readonly place: Place,
  ) {
    this.size = place.size;
    this.whole = bytes.whole;
  }

  async read(start: number, size: number): Promise<Uint8Array> {
    checkRange(this, start, size);
    const parts = this.parts(start, size).map((part) =>
      part instanceof Uint8Array ? part : this.stored(...part),
    );
    return concatenate(await Promise.all(parts));
  }

  peek(start: number, size: number): Uint8Array | null {
    const { front, offset } = this.place;
    const parts = this.parts(start, size).map((part) => {
      if (part instanceof Uint8Array) return part;
      const [from, count] = part;
      if (from + count <= front.length) return front.subarray(from, from + count);
      return this.bytes.peek(offset + from, count);
    });
    return concatenateAll(parts);
  }

  /** Splits a range into shared bytes and start and size of stored ones. */
  private parts(start: number, size: number): (Uint8Array | [number, number])[] {
    const { at, base } = this.place;
    const after = at + base.length;
    const stop = start + size;
    if (start >= after) return [[start - base.length, size]];
    const parts: (Uint8Array | [number, number])[] = [];
    if (start < at) parts.push([start, Math.min(stop, at) - start]);
    parts.push(base.subarray(Math.max(start, at) - at, Math.max(0, stop - at)));
    if (stop > after) parts.push([at, stop - after]);
    return parts;
  }

  /** Does nothing: the archive stays open. */
  close(): void {}

  private async stored(start: number, size: number): Promise<Uint8Array> {
    const { front, offset, stored } = this.place;
    if (start + size <= front.length) return front.subarray(start, start + size);
    if (front.length || stored > MAX_WHOLE_CLIP_BYTES) return this.bytes.read(offset + start, size);
    this.fetched ??= this.bytes.read(offset, stored);
    return (await this.fetched).subarray(start, start + size);
  }
}

async function readTrailer(
  bytes: ByteSource,
  module: Promise<WebAssembly.Module>,
): Promise<Place[]> {
  const { size } = bytes;
  const footer = await bytes.read(Math.max(0, size - FOOTER), Math.min(size, FOOTER));
  const ended =
    footer.length === FOOTER &&
    String.fromCharCode(...footer.subarray(21)) === "SOM" &&
    crc32(footer.subarray(0, 17)) === readLittleEndian(footer, 17, 4);
  if (!ended) {
    const magic = await bytes.read(0, Math.min(size, 4));
    if (String.fromCharCode(...magic) !== "\x93MOS")
      throw new MocpackError("format", "not a .mocps archive");
    throw new MocpackError("truncated", "the archive has no footer: it is truncated");
  }
  if (footer[16] !== VERSION)
    throw new MocpackError(
      footer[16] ? "unsupported" : "corrupt",
      `archive version ${footer[16]} is not supported, expected ${VERSION}`,
    );
  const start = readLittleEndian(footer, 0, 8);
  if (readLittleEndian(footer, 8, 8) !== size || start < 5 || start > size - FOOTER)
    throw corrupt(`the file has ${size} bytes, its footer says ${readLittleEndian(footer, 8, 8)}`);
  const trailer = await bytes.read(start, size - FOOTER - start);
  return parseIndex(await findIndex(trailer, module), start);
}

/** Finds and inflates the INDX chunk of a trailer. */
async function findIndex(
  trailer: Uint8Array,
  module: Promise<WebAssembly.Module>,
): Promise<Uint8Array> {
  const fields = new Fields(trailer);
  while (fields.left) {
    const tag = fields.raw(4);
    const length = fields.varint();
    const sum = readLittleEndian(fields.raw(4), 0, 4);
    const body = fields.raw(length);
    const name = String.fromCharCode(...tag);
    if (name === "INDX") {
      if (fields.left) throw corrupt("chunk INDX is not the last chunk of the trailer");
      if (crc32(concatenate([tag, body])) !== sum) throw corrupt("chunk INDX: wrong checksum");
      return inflate(await module, body, INDEX_ROOM + MAX_INFLATION * body.length);
    }
    if (!/^[a-z]/.test(name))
      throw new MocpackError(
        "unsupported",
        `the archive contains chunk ${name}, which needs a newer version of mocpack`,
      );
  }
  throw corrupt("the trailer has no INDX chunk");
}

function parseIndex(index: Uint8Array, trailer: number): Place[] {
  const fields = new Fields(index);
  const shards = fields.list(() => {
    const name = fields.text();
    fields.varint();
    if (!/^[^./\\:\0][^/\\:\0]*$/.test(name))
      throw corrupt(`${JSON.stringify(name.slice(0, 40))} is not a valid shard name`);
    return name;
  });
  const bases = fields.list(() => fields.raw(fields.varint()));
  const names = fields.list(() => fields.text());
  const count = names.length;
  const planes = fields.raw(8 * COLUMNS * count);
  const column = (c: number, n: number): Uint8Array =>
    Uint8Array.from({ length: 8 }, (_, byte) => planes[(8 * c + byte) * count + n]);
  const number = (c: number, n: number): number => readLittleEndian(column(c, n), 0, 8);
  let end = 0;
  const places = names.map((name, n) => {
    const offset = end + decodeZigzag(column(2, n));
    const [base, file, stored, at, fronts] = [0, 1, 3, 4, 5].map((c) => number(c, n));
    end = offset + stored;
    const frameCount = number(6, n);
    const kind = number(8, n);
    const frameTime = new DataView(column(7, n).buffer).getFloat64(0, true);
    const good =
      base <= bases.length &&
      file <= shards.length &&
      offset >= 0 &&
      offset < MAX_FIELD &&
      stored < MAX_FIELD &&
      end < MAX_FIELD &&
      at <= stored &&
      fronts <= stored &&
      fronts <= fields.left &&
      frameCount > 0 &&
      frameCount < MAX_FIELD &&
      frameTime > 0 &&
      Number.isFinite(frameTime) &&
      kind < MAX_FIELD &&
      (file > 0 || end <= trailer);
    if (!good) throw corrupt(`the index entry of clip ${name.slice(0, 40)} is invalid`);
    const front = fields.raw(fronts);
    const shared = base ? bases[base - 1] : new Uint8Array(0);
    const size = stored + shared.length;
    const shard = file ? shards[file - 1] : null;
    return {
      name,
      frameCount,
      frameTime,
      size,
      shard,
      kind,
      offset,
      stored,
      at,
      base: shared,
      front,
    };
  });
  if (fields.left) throw corrupt(`the index has ${fields.left} extra bytes`);
  return places;
}

class Fields {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  raw(size: number): Uint8Array {
    if (size > this.left)
      throw new MocpackError("truncated", "the archive's trailer ends too early");
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  varint(): number {
    let value = 0;
    for (let place = 0; place < 10; ++place) {
      const byte = this.raw(1)[0];
      value += (byte & 127) * 2 ** (7 * place);
      if (byte < 128 && value <= MAX_FIELD) return value;
      if (byte < 128) break;
    }
    throw corrupt("a varint is longer than 10 bytes or above 2^63");
  }

  list<T>(read: () => T): T[] {
    const count = this.varint();
    if (count > this.left) throw corrupt(`a list of ${count} entries in ${this.left} bytes`);
    return Array.from({ length: count }, read);
  }

  text(): string {
    const size = this.varint();
    if (size > MAX_NAME_BYTES)
      throw corrupt(`a name has ${size} bytes, at most ${MAX_NAME_BYTES} are allowed`);
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(this.raw(size));
    } catch (error) {
      if (error instanceof MocpackError) throw error;
      throw corrupt("a name is not UTF-8");
    }
  }
}

/** Reads a little-endian unsigned number. Values above 2^53 are inexact, but rejected later. */
function readLittleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let byte = count; byte-- > 0;) value = value * 256 + bytes[at + byte];
  return value;
}

/** Maps 0, 1, 2, 3, … to 0, -1, 1, -2, … */
function decodeZigzag(bytes: Uint8Array): number {
  const value = new DataView(bytes.buffer).getBigUint64(0, true);
  return Number(value & 1n ? -(value >> 1n) - 1n : value >> 1n);
}

function corrupt(what: string, cause?: unknown): MocpackError {
  return new MocpackError("corrupt", `the archive is damaged: ${what}`, { cause });
}
