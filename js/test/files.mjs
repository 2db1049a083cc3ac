// Test files, and functions that damage them and fix their checksums.
import { readFileSync } from "node:fs";

import { Decoder, KEYS_ONLY } from "../dist/decoder.js";
import { BufferSource } from "../dist/source.js";

const folder = process.env.MOCPACK_FIXTURES;

/** Reason to skip tests that need files, or false; `tests/js/test_node.py` writes the files. */
export const noFiles = folder ? false : "no files: run `make test`, or pytest tests/js";

export const read = (name) => new Uint8Array(readFileSync(`${folder}/${name}`));

export const wasm = new URL("../dist/mocpack.wasm", import.meta.url);
export const compiled = await WebAssembly.compile(readFileSync(wasm));

/** A seeded random generator. */
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, below: (limit) => Math.floor(next() * limit) };
}

/** Lists the chunks of a file: tag, and offsets of checksum and body. */
export function chunksOf(bytes) {
  const chunks = [];
  for (let at = 5; at + 4 < bytes.length;) {
    const tag = String.fromCharCode(...bytes.subarray(at, at + 4));
    let end = at + 4;
    let size = 0;
    for (let shift = 0; end < bytes.length; shift += 7) {
      size += (bytes[end] & 127) * 2 ** shift;
      if (bytes[end++] < 128) break;
    }
    chunks.push({
      tag,
      at,
      checksum: end,
      start: end + 4,
      end: Math.min(end + 4 + size, bytes.length),
    });
    at = end + 4 + size;
  }
  return chunks;
}

export function resealed(bytes) {
  const out = bytes.slice();
  const view = new DataView(out.buffer);
  for (const { at, checksum, start, end } of chunksOf(out))
    if (start <= out.length)
      view.setUint32(
        checksum,
        crc32(out.subarray(start, end), crc32(out.subarray(at, at + 4))),
        true,
      );
  return out;
}

/** Continues the CRC-32 `before` with `bytes`. */
export function crc32(bytes, before = 0) {
  let crc = ~before;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; ++k) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** CRC-16/CCITT, the checksum of keysine's parts. */
export function crc16(bytes) {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let k = 0; k < 8; ++k) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : crc << 1;
  }
  return crc;
}

/** Returns the offsets of the parts of a keysine file: head, segments, groups. */
export async function partsOf(bytes) {
  const payload = chunksOf(bytes).find(({ tag }) => tag === "DATA");
  const source = new BufferSource(bytes);
  const decoder = await Decoder.open(compiled, source, 1e9);
  const { keyFrames, frameCount } = decoder.header;
  const all = bytes.subarray(payload.start, payload.end);
  const size = all[0] < 128 ? all[0] : (all[0] & 127) + 128 * all[1];
  const starts = new Set([payload.start, payload.start + size, payload.end]);
  for (const first of new Set(keyFrames)) {
    const frames = [first, Math.min(first + 1, frameCount)];
    if (frames[0] === frames[1]) continue;
    for (const layers of [0, KEYS_ONLY])
      for (const { start, bytes: own } of await decoder.fetch(...frames, layers))
        starts.add(start).add(start + own.length);
  }
  const sorted = [...starts].sort((a, b) => a - b);
  return sorted
    .slice(0, -1)
    .map((start, i) => ({ start, end: sorted[i + 1], head: start === payload.start }));
}

/** Fixes the checksum of one part. */
export function resealPart(bytes, { start, end, head }) {
  const crc = head ? crc16(bytes.subarray(start, end - 2)) : crc16(bytes.subarray(start + 2, end));
  new DataView(bytes.buffer).setUint16(head ? end - 2 : start, crc, true);
}
