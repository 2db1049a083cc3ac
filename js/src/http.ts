/** A file on a server, fetched in blocks by range requests and cached. */

import { MocpackError } from "./error.js";
import { BufferSource, checkRange, concatenate, type ByteSource } from "./source.js";
import type { OpenOptions } from "./types.js";

const BLOCK = 16_384; // bytes
const MAX_BLOCKS = 512; // in the cache

/** Opens a URL. If the server does not support ranges, fetches the whole file. */
export async function openAddress(url: string, options: OpenOptions = {}): Promise<ByteSource> {
  const transfer = new Transfer(url, options);
  const response = await transfer.fetch(0, BLOCK);
  if (response.status === 416) return new BufferSource(new Uint8Array(0));
  const size = totalSize(response);
  const bytes = await transfer.body(response);
  if (response.status === 200) return whole(transfer, bytes);
  if (size === undefined) {
    // the size is unknown: a server of another origin must expose Content-Range
    return whole(transfer, await transfer.body(await transfer.fetch()));
  }
  transfer.reportProgress(bytes.length, size);
  return new RangeSource(transfer, size, bytes);
}

function whole(transfer: Transfer, bytes: Uint8Array): ByteSource {
  transfer.reportProgress(bytes.length, bytes.length);
  return new BufferSource(bytes);
}

class RangeSource implements ByteSource {
  readonly whole = false;
  /** Blocks by index, least recently used first. Several readers can await a pending block. */
  private readonly blocks = new Map<number, Promise<Uint8Array>>();

  constructor(
    private readonly transfer: Transfer,
    readonly size: number,
    start: Uint8Array,
  ) {
    if (start.length !== Math.min(BLOCK, size)) throw wrongBytesError(transfer.url);
    this.blocks.set(0, Promise.resolve(start));
  }

  async read(start: number, size: number): Promise<Uint8Array> {
    checkRange(this, start, size);
    if (!size) return new Uint8Array(0);
    const first = Math.floor(start / BLOCK);
    const last = Math.floor((start + size - 1) / BLOCK);
    this.request(first, last);
    const wanted = [];
    for (let i = first; i <= last; ++i) wanted.push(this.used(i));
    this.readAhead(last + 1);
    const bytes = concatenate(await Promise.all(wanted));
    return bytes.subarray(start - first * BLOCK, start - first * BLOCK + size);
  }

  close(): void {
    this.transfer.abort();
    this.blocks.clear();
  }

  /** Requests the missing blocks, adjacent ones in one request. */
  private request(first: number, last: number): void {
    for (let i = first; i <= last; ++i) {
      if (this.blocks.has(i)) continue;
      let end = i;
      while (end < last && !this.blocks.has(end + 1)) ++end;
      this.start(i, end);
      i = end;
    }
  }

  private start(first: number, last: number): void {
    const from = first * BLOCK;
    const to = Math.min((last + 1) * BLOCK, this.size);
    const run = this.transfer.range(from, to, this.size);
    for (let i = first; i <= last; ++i) {
      const at = i * BLOCK - from;
      const block = run.then((bytes) => bytes.subarray(at, at + BLOCK));
      this.blocks.set(i, block);
      // a later read may retry; readers that await the block still see the failure
      block.catch(() => this.blocks.delete(i));
    }
  }

  /** Returns a block, marks it as most recently used, and evicts the least recently used one if needed. */
  private used(i: number): Promise<Uint8Array> {
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

  async range(start: number, stop: number, total: number): Promise<Uint8Array> {
    const response = await this.fetch(start, stop);
    const bytes = await this.body(response);
    const all = response.status === 200 && bytes.length === total;
    if (!all && (response.status !== 206 || bytes.length !== stop - start))
      throw wrongBytesError(this.url);
    this.reportProgress(stop - start, total);
    return all ? bytes.subarray(start, stop) : bytes;
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

function wrongBytesError(url: string): MocpackError {
  return new MocpackError(
    "network",
    `${url}: the server returned a different byte range than requested`,
  );
}
