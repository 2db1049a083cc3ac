/** Archives of many clips (.mocps). The native reader reads the index; each clip opens like a file. */

import { openIndex, type ArchiveExports } from "./decoder.js";
import { MocpackError } from "./error.js";
import { addressesAt, bytesAt, textAt } from "./header.js";
import { openBytes, openSource, prepare, type Source } from "./open.js";
import { checkRange, concatenate, concatenateAll, type ByteSource } from "./source.js";
import type { Motion, OpenOptions } from "./types.js";

const MAX_WHOLE_CLIP_BYTES = 1 << 16; // one request fetches clips up to this size
const [CLIP_BYTES, SHARD_BYTES] = [104, 16]; // of the reader's structs

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
  /** Whether this version of the reader opens clips of that kind. */
  readonly isKnown: boolean;
  readonly offset: number;
  readonly stored: number;
  readonly at: number;
  readonly base: Uint8Array;
  readonly front: Uint8Array;
}

/** Opens an archive from bytes, or from a URL: fetches its end, then the bytes of each clip. */
export async function openArchive(source: Source, options: OpenOptions = {}): Promise<Archive> {
  const { bytes, module, memoryLimit } = await prepare(() => openBytes(source, options), options);
  try {
    return new Archive(bytes, readPlaces(await openIndex(module, bytes, memoryLimit)), options);
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
    if (!place) throw new MocpackError("clip", `no clip ${JSON.stringify(clip)} in this archive`);
    if (!place.isKnown)
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

/** Copies the index from the reader's memory. Bases and fronts stay there. */
function readPlaces(core: ArchiveExports): Place[] {
  const [clips, count, shards, maxKind] = addressesAt(core, core.archive_clips(), 4);
  return Array.from({ length: count }, (_, n) =>
    readPlace(core, clips + CLIP_BYTES * n, shards, maxKind),
  );
}

/** Reads an `ArchivedClip` of core/src/reader/archive.h. */
function readPlace(core: ArchiveExports, address: number, shards: number, maxKind: number): Place {
  const view = new DataView(core.memory.buffer, address);
  const number = (offset: number): number => Number(view.getBigUint64(offset, true));
  const shard = number(40);
  return {
    name: textAt(core, address + 8),
    frameCount: number(16),
    frameTime: view.getFloat64(24, true),
    size: number(32),
    shard: shard ? textAt(core, shards + SHARD_BYTES * (shard - 1)) : null,
    offset: number(48),
    stored: number(56),
    at: number(64),
    kind: number(72),
    isKnown: number(72) <= maxKind,
    base: bytesAt(core, address + 80),
    front: bytesAt(core, address + 88),
  };
}
