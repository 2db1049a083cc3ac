/** A file on a server, fetched in blocks by range requests and cached. */

import { MocpackError } from "./error.js";
import {
  BufferSource,
  checkRange,
  concatenate,
  concatenateAll,
  type ByteSource,
} from "./source.js";
import type { OpenOptions } from "./types.js";

const BLOCK = 16_384; // bytes
const MAX_BLOCKS = 512; // in the cache

/** Opens a URL. If the server does not support ranges, downloads the whole file. */
export async function openAddress(url: string, options: OpenOptions = {}): Promise<ByteSource> {
  const transfer = new Transfer(url, options);
  let response = await transfer.fetch(0, BLOCK);
  if (response.status === 416) return new BufferSource(new Uint8Array(0));
  let size = totalSize(response);
  if (response.status === 206 && size !== undefined) {
    const start = new Incoming(transfer, 0, Math.min(BLOCK, size), size, response);
    return new RangeSource(transfer, size, start);
  }
  // the size is unknown: a server of another origin must expose Content-Range
  if (response.status === 206) response = await transfer.fetch();
  size = bodySize(response);
  if (size !== undefined) return new DownloadSource(transfer, size, response);
  const bytes = await transfer.body(response);
  transfer.reportProgress(bytes.length, bytes.length);
  return new BufferSource(bytes);
}

/** Bytes start … stop - 1 of a file, readable while they arrive. A read continues a broken transfer. */
class Incoming {
  private readonly bytes: Uint8Array;
  private received = 0;
  /** Settles when more bytes have arrived, or with the failure of the transfer. */
  private arrival: Promise<void> | undefined;

  constructor(
    private readonly transfer: Transfer,
    private readonly start: number,
    private readonly stop: number,
    private readonly total: number,
    response?: Response,
  ) {
    this.bytes = new Uint8Array(stop - start);
    void this.receive(response);
  }

  async read(start: number, stop: number): Promise<Uint8Array> {
    for (;;) {
      const bytes = this.peek(start, stop);
      if (bytes) return bytes;
      await (this.arrival ?? this.receive());
    }
  }

  peek(start: number, stop: number): Uint8Array | null {
    if (stop > this.start + this.received) return null;
    return this.bytes.subarray(start - this.start, stop - this.start);
  }

  private receive(response?: Response): Promise<void> {
    const chunks = this.chunks(response);
    const next = (): Promise<void> => {
      const arrival = chunks.next().then(({ done }) => {
        if (done) this.arrival = undefined;
        else next();
      });
      arrival.catch(() => (this.arrival = undefined)); // readers that await it still see the failure
      return (this.arrival = arrival);
    };
    return next();
  }

  /** Stores the bytes that are missing, and yields after each chunk of them. */
  private async *chunks(response?: Response): AsyncGenerator<void> {
    const { transfer, start, stop, total } = this;
    response ??= await transfer.fetch(start + this.received, stop);
    // a server without support for ranges sends the whole file
    const whole = response.status === 200;
    let at = whole ? 0 : start + this.received;
    const end = whole ? total : stop;
    for await (const chunk of transfer.chunks(response)) {
      if (at + chunk.length > end) throw wrongBytesError(transfer.url);
      const missing = start + this.received;
      const own = chunk.subarray(Math.max(0, missing - at), Math.max(0, stop - at));
      this.bytes.set(own, this.received);
      this.received += own.length;
      at += chunk.length;
      transfer.reportProgress(own.length, total);
      yield;
    }
    if (at !== end) throw wrongBytesError(transfer.url);
  }
}

/** A file that arrives in order, from a server without support for ranges. */
class DownloadSource implements ByteSource {
  readonly whole = false;
  private readonly file: Incoming;

  constructor(
    private readonly transfer: Transfer,
    readonly size: number,
    response: Response,
  ) {
    this.file = new Incoming(transfer, 0, size, size, response);
  }

  async read(start: number, size: number): Promise<Uint8Array> {
    checkRange(this, start, size);
    return this.file.read(start, start + size);
  }

  peek(start: number, size: number): Uint8Array | null {
    return this.file.peek(start, start + size);
  }

  close(): void {
    this.transfer.abort();
  }
}

class RangeSource implements ByteSource {
  readonly whole = false;
  /** The transfer of each block by index, least recently used first. */
  private readonly blocks = new Map<number, Incoming>();

  constructor(
    private readonly transfer: Transfer,
    readonly size: number,
    start: Incoming,
  ) {
    this.blocks.set(0, start);
  }

  async read(start: number, size: number): Promise<Uint8Array> {
    checkRange(this, start, size);
    if (!size) return new Uint8Array(0);
    const first = Math.floor(start / BLOCK);
    const last = Math.floor((start + size - 1) / BLOCK);
    this.request(first, last);
    const wanted = this.parts(start, size, (i, from, to) => this.used(i).read(from, to));
    this.readAhead(last + 1);
    return concatenate(await Promise.all(wanted));
  }

  peek(start: number, size: number): Uint8Array | null {
    return concatenateAll(
      this.parts(start, size, (i, from, to) => this.blocks.get(i)?.peek(from, to)),
    );
  }

  close(): void {
    this.transfer.abort();
    this.blocks.clear();
  }

  /** Calls `take` for each block of a range, with the bytes of the range in that block. */
  private parts<T>(
    start: number,
    size: number,
    take: (block: number, from: number, to: number) => T,
  ): T[] {
    const found: T[] = [];
    for (let i = Math.floor(start / BLOCK); i * BLOCK < start + size; ++i)
      found.push(take(i, Math.max(start, i * BLOCK), Math.min(start + size, (i + 1) * BLOCK)));
    return found;
  }

  /** Requests the missing blocks, adjacent ones in one request. */
  private request(first: number, last: number): void {
    for (let i = first; i <= last; ++i) {
      if (this.blocks.has(i)) continue;
      let end = i;
      while (end < last && !this.blocks.has(end + 1)) ++end;
      const stop = Math.min((end + 1) * BLOCK, this.size);
      const run = new Incoming(this.transfer, i * BLOCK, stop, this.size);
      for (; i < end; ++i) this.blocks.set(i, run);
      this.blocks.set(end, run);
    }
  }

  /** Returns a block, marks it as most recently used, and evicts the least recently used one if needed. */
  private used(i: number): Incoming {
    const block = this.blocks.get(i)!;
    this.blocks.delete(i);
    this.blocks.set(i, block);
    if (this.blocks.size > MAX_BLOCKS)
      for (const oldest of this.blocks.keys()) {
        this.blocks.delete(oldest);
        break;
      }
    return block;
  }

  private readAhead(next: number): void {
    if (next * BLOCK < this.size) this.request(next, next);
  }
}

/** Requests to one URL; all responses must be from the same version of the file. */
class Transfer {
  private readonly control = new AbortController();
  private readonly signal: AbortSignal | undefined;
  private tag: string | null = null;
  private received = 0;

  constructor(
    readonly url: string,
    private readonly options: OpenOptions,
  ) {
    this.signal = options.signal;
    this.signal?.addEventListener("abort", () => this.abort(), { once: true });
  }

  abort(): void {
    this.control.abort(this.signal?.reason);
  }

  /** Requests bytes start … stop - 1, or the whole file. */
  async fetch(start?: number, stop?: number): Promise<Response> {
    this.signal?.throwIfAborted();
    const { request } = this.options;
    const headers = new Headers(request?.headers);
    if (start !== undefined) headers.set("Range", `bytes=${start}-${stop! - 1}`);
    const { signal } = this.control;
    const response = await this.guarded(fetch(this.url, { ...request, headers, signal }));
    if (!response.ok && response.status !== 416)
      throw new MocpackError(
        "network",
        `${this.url}: the server returned status ${response.status}`,
      );
    const tag = response.headers.get("ETag");
    if (this.tag !== null && tag !== null && tag !== this.tag)
      throw new MocpackError(
        "network",
        `${this.url}: the file changed on the server while it was being read`,
      );
    this.tag = tag;
    return response;
  }

  async body(response: Response): Promise<Uint8Array> {
    return new Uint8Array(await this.guarded(response.arrayBuffer()));
  }

  /** Yields the bytes of a response as they arrive. */
  async *chunks(response: Response): AsyncGenerator<Uint8Array> {
    if (!response.body) {
      yield this.body(response);
      return;
    }
    const reader = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await this.guarded(reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      void reader.cancel().catch(() => undefined);
    }
  }

  /** Calls `onProgress` after more bytes have arrived. */
  reportProgress(bytes: number, total: number): void {
    this.received += bytes;
    this.options.onProgress?.(this.received, total);
  }

  private async guarded<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (this.control.signal.aborted) throw error;
      throw new MocpackError("network", `${this.url}: the request failed`, { cause: error });
    }
  }
}

/** Returns the size of the file from `Content-Range: bytes 0-99/1234`. */
function totalSize(response: Response): number | undefined {
  const match = /^bytes \d+-\d+\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "");
  return match ? Number(match[1]) : undefined;
}

/**
 * Returns the size of the body. It is unknown if the server compresses the response, which scripts of another
 * origin cannot see.
 */
function bodySize({ headers, type }: Response): number | undefined {
  const stated = headers.get("Content-Length") ?? "";
  const known = /^\d+$/.test(stated) && !headers.has("Content-Encoding") && type !== "cors";
  return known ? Number(stated) : undefined;
}

function wrongBytesError(url: string): MocpackError {
  return new MocpackError(
    "network",
    `${url}: the server returned a different byte range than requested`,
  );
}
