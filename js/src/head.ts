/** The HEAD chunk: how long, how fast, which codec, how far off. */

import { MocpackError } from "./error.js";
import { FieldReader } from "./fields.js";
import type { Measured } from "./types.js";

const HAS_DECLARED = 1;
const HAS_MEASURED = 2;
const HAS_NEEDED = 4;
const MAX_PARAMS = 65_536;
const MAX_FRAMES = 2 ** 53;

export interface Head {
  /** 0: a skeleton moves, 1: vertices do. */
  kind: number;
  frameCount: number;
  frameTime: number;
  codec: string;
  bitstream: number;
  /** What the encoder was asked for, what a decoder needs included. */
  parameters: Record<string, unknown>;
  /** Names of the parameters without which the payload cannot be decoded. */
  needed: string[];
  declaredError: number | null;
  measured: Measured | null;
}

export function readHead(body: Uint8Array): Head {
  const read = new FieldReader(body, "HEAD chunk");
  const kind = read.u8();
  if (kind > 1) throw read.corrupt(`unknown kind of clip ${kind}`);
  const frameCount = read.varint(MAX_FRAMES);
  const frameTime = read.f64();
  if (frameCount < 1) throw read.corrupt("a clip has at least one frame");
  if (!(frameTime >= 1e-6 && frameTime <= 1e6)) throw read.corrupt("frames take no time");
  const codec = read.text(255);
  const bitstream = read.varint(2 ** 31);
  const asked = readParameters(read);
  const flags = read.u8();
  if (flags > HAS_DECLARED + HAS_MEASURED + HAS_NEEDED)
    throw new MocpackError(
      "unsupported",
      `HEAD chunk: flags ${flags}, which a newer mocpack reads`,
    );
  const declaredError = flags & HAS_DECLARED ? read.f32() : null;
  if (declaredError !== null && !(declaredError >= 0 && declaredError < Infinity))
    throw read.corrupt("the declared error is not a length");
  const measured = flags & HAS_MEASURED ? readMeasured(read) : null;
  const needs = flags & HAS_NEEDED ? readParameters(read) : {};
  read.end();
  const [parameters, needed] = [{ ...asked, ...needs }, Object.keys(needs)];
  const errors = { declaredError, measured };
  return { kind, frameCount, frameTime, codec, bitstream, parameters, needed, ...errors };
}

function readParameters(read: FieldReader): Record<string, unknown> {
  const text = read.text(MAX_PARAMS);
  if (!text) return {};
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new MocpackError("corrupt", "HEAD chunk: parameters are not JSON", { cause: error });
  }
  if (typeof found !== "object" || found === null || Array.isArray(found))
    throw read.corrupt("parameters are not an object");
  return found as Record<string, unknown>;
}

function readMeasured(read: FieldReader): Measured {
  return { max: length(read), mean: length(read), rms: length(read), p99: length(read) };
}

/** A length coded as 1024·log2 of picometres. */
function length(read: FieldReader): number {
  const code = read.u16();
  return code ? 1e-12 * 2 ** (code / 1024) : 0;
}
