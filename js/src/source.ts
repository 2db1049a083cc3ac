/** Sources of bytes: a buffer, or anything that can read a range. */

import { MocpackError } from "./error.js";

export interface ByteSource {
  readonly size: number;
  /** Whether all bytes are in memory, so that verifying them costs no request. */
  readonly whole: boolean;
  /** Reads bytes start … start + size - 1. The caller must not modify them. */
  read(start: number, size: number): Promise<Uint8Array>;
  /** Returns the same bytes if they have already arrived; otherwise null. */
  peek(start: number, size: number): Uint8Array | null;
  close(): void;
}

export class BufferSource implements ByteSource {
  readonly whole = true;

  constructor(private bytes: Uint8Array) {}

  get size(): number {
    return this.bytes.length;
  }

  async read(start: number, size: number): Promise<Uint8Array> {
    checkRange(this, start, size);
    return this.peek(start, size);
  }

  peek(start: number, size: number): Uint8Array {
    return this.bytes.subarray(start, start + size);
  }

  close(): void {
    this.bytes = new Uint8Array(0);
  }
}

export function checkRange(source: ByteSource, start: number, size: number): void {
  const missing = start + size - source.size;
  if (missing > 0) throw new MocpackError("truncated", `the file ends ${missing} bytes too early`);
}

/** Joins byte arrays into one. */
export function concatenate(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Joins byte arrays into one; null if one is missing. */
export function concatenateAll(parts: (Uint8Array | null | undefined)[]): Uint8Array | null {
  return parts.every((part) => part instanceof Uint8Array) ? concatenate(parts) : null;
}
