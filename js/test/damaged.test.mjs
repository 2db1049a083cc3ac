// Ten thousand damaged files: each gives a motion or a MocpackError, never a trap.
import assert from "node:assert/strict";
import test from "node:test";
import { deflateRawSync, inflateRawSync } from "node:zlib";

import { MocpackError, open, worldPositions } from "../dist/index.js";
import {
  chunksOf,
  compiled,
  noFiles,
  partsOf,
  random,
  read,
  resealed,
  resealPart,
} from "./files.mjs";

const COUNT = Number(process.env.MOCPACK_DAMAGED ?? 10_000);
const NAMES = ["walk", "one_frame", "translating", "few_axes", "noise", "turns", "layers", "grid"];
const dictionary = noFiles ? undefined : read("skeletons.dictionary");
const MAX_MEMORY_BYTES = 1 << 30; // of the whole process

function flipped(bytes, start, end, dice) {
  const out = bytes.slice();
  for (let n = 1 + dice.below(4); n > 0 && end > start; --n)
    out[start + dice.below(end - start)] ^= 1 << dice.below(8);
  return out;
}

/** Damages one part of the payload but fixes all checksums, so that the decoder must detect it. */
function deep(file, dice) {
  const part = file.parts[dice.below(file.parts.length)];
  const out = flipped(file.bytes, part.start, part.end, dice);
  resealPart(out, part);
  return resealed(out);
}

function spliced(file, dice, other) {
  const [from, to] = [dice.below(file.bytes.length), dice.below(other.bytes.length)];
  return resealed(new Uint8Array([...file.bytes.subarray(0, from), ...other.bytes.subarray(to)]));
}

/** Changes bytes of the HEAD chunk: frame counts, times, codec, flags. */
function headed(file, dice) {
  const { start, end } = chunksOf(file.bytes)[0];
  const out = file.bytes.slice();
  out[start + dice.below(Math.min(12, end - start))] = dice.below(256);
  return resealed(out);
}

/** Inflates the skeleton, changes it, and deflates it again. */
function reskinned(file, dice) {
  const { bytes } = file;
  const chunk = chunksOf(bytes).find(({ tag }) => tag === "SKEL");
  const plain = inflateRawSync(bytes.subarray(chunk.start, chunk.end), { dictionary });
  const body = deflateRawSync(flipped(plain, 0, plain.length, dice), { dictionary });
  const size = body.length < 128 ? [body.length] : [(body.length & 127) | 128, body.length >> 7];
  const header = [...bytes.subarray(0, chunk.at + 4), ...size, 0, 0, 0, 0];
  return resealed(new Uint8Array([...header, ...body, ...bytes.subarray(chunk.end)]));
}

const DAMAGES = {
  flip: (file, dice) => flipped(file.bytes, 0, file.bytes.length, dice),
  "flip, resealed": (file, dice) => resealed(flipped(file.bytes, 5, file.bytes.length, dice)),
  deep,
  "deep again": deep,
  cut: (file, dice) => file.bytes.slice(0, dice.below(file.bytes.length)),
  splice: spliced,
  head: headed,
  skeleton: reskinned,
};

async function outcome(bytes) {
  try {
    const motion = await open(bytes, { wasm: compiled });
    const frames = await motion.frames(0, Math.min(motion.frameCount, 2000));
    await motion.sample(motion.frameTime * motion.frameCount * 0.7);
    const { joints } = worldPositions(motion.skeleton, frames);
    motion.close();
    return joints.every(Number.isFinite) ? "motion" : "not finite";
  } catch (error) {
    if (!(error instanceof MocpackError)) throw error;
    return error.cause ? "trap" : error.kind; // only a crash of the decoder has a cause
  }
}

test(`${COUNT} damaged files`, { skip: noFiles, timeout: 600_000 }, async () => {
  const files = [];
  for (const name of NAMES) {
    const bytes = read(`${name}.mocp`);
    files.push({ bytes, parts: await partsOf(bytes) });
    assert.equal(await outcome(bytes), "motion", name);
  }
  const dice = random(20260101);
  const counts = {};
  for (let i = 0; i < COUNT; ++i) {
    const [kind, damage] = Object.entries(DAMAGES)[i % Object.keys(DAMAGES).length];
    const [file, other] = [files[dice.below(files.length)], files[dice.below(files.length)]];
    const found = await outcome(damage(file, dice, other));
    const row = (counts[kind] ??= {});
    row[found] = (row[found] ?? 0) + 1;
    assert.ok(process.memoryUsage.rss() < MAX_MEMORY_BYTES, `memory at file ${i}`);
  }
  console.table(counts);
  const sums = {};
  for (const row of Object.values(counts))
    for (const [found, n] of Object.entries(row)) sums[found] = (sums[found] ?? 0) + n;
  assert.equal(sums.trap, undefined);
  assert.equal(sums["not finite"], undefined);
  // some files must play, and some must fail at each stage
  for (const found of ["motion", "corrupt", "truncated", "unsupported", "format"])
    assert.ok(sums[found] > COUNT / 1000, `${found}: ${sums[found]}`);
  assert.ok(counts.deep.motion > 0 && counts.deep.corrupt > 0);
});
