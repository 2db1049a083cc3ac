/** Undoes raw deflate streams, never into more memory than is allowed. */

import { inflateSync } from "fflate";

import { MocpackError } from "./error.js";

const MOST_EXPANSION = 1032; // of deflate: 258 bytes from two bits

export function inflate(
  body: Uint8Array,
  limit: number,
  what: string,
  dictionary?: Uint8Array,
): Uint8Array {
  if (!body.length) throw new MocpackError("truncated", `${what}: deflate stream is unfinished`);
  // one byte more than allowed, so that a longer stream shows
  const out = new Uint8Array(Math.min(limit + 1, MOST_EXPANSION * body.length + 64));
  const bytes = inflateInto(out, body, what, dictionary);
  if (bytes.length > limit)
    throw new MocpackError("corrupt", `${what} inflates beyond ${limit} bytes`);
  return bytes;
}

function inflateInto(
  out: Uint8Array,
  body: Uint8Array,
  what: string,
  dictionary?: Uint8Array,
): Uint8Array {
  try {
    return inflateSync(body, dictionary ? { out, dictionary } : { out });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const kind = reason === "unexpected EOF" ? "truncated" : "corrupt";
    throw new MocpackError(kind, `${what}: deflate: ${reason}`, { cause: error });
  }
}
