/** Reads the hello of a stream: skeleton, frame time and error bound (docs/live-packets.md). */

import { MocpackError } from "../error.js";
import type { Skeleton } from "../types.js";

const MAGIC = "mlh1";
const MODEL = "mlv1";
const MAX_HELLO_BYTES = 1 << 20; // inflated
const MAX_JOINTS = 1024;
const ROOT = 0xffff;

export interface Hello {
  skeleton: Skeleton;
  /** Seconds per frame. */
  frameTime: number;
  /** Meters. */
  maxError: number;
  /** The part that the decoder reads. */
  model: Uint8Array;
}

/** Whether these bytes are a hello, not a packet. */
export function isHello(data: Uint8Array): boolean {
  return [...MAGIC].every((letter, i) => data[i] === letter.charCodeAt(0));
}

export async function readHello(data: Uint8Array): Promise<Hello> {
  if (!isHello(data)) throw new MocpackError("format", "hello: it must start with mlh1");
  const inflated = await inflate(data.slice(4));
  try {
    return readInflated(inflated);
  } catch (error) {
    if (error instanceof MocpackError) throw error;
    throw new MocpackError("truncated", "hello: it ends too early", { cause: error });
  }
}

function readInflated(inflated: Uint8Array): Hello {
  let [at, size, shift] = [0, 0, 0];
  for (let more = true; more; shift += 7) {
    if (shift > 21) throw new MocpackError("corrupt", "hello: the size of the model is too long");
    more = inflated[at] > 127;
    size |= (inflated[at++] & 127) << shift;
  }
  if (inflated.length - at < size) throw new MocpackError("truncated", "hello: it ends too early");
  const model = inflated.slice(at, at + size);
  if (![...MODEL].every((letter, i) => model[i] === letter.charCodeAt(0)))
    throw new MocpackError("unsupported", "hello: its version is not mlv1");
  return { ...readModel(new DataView(model.buffer)), model };
}

/** Reads past the end throw a RangeError. */
function readModel(view: DataView): Omit<Hello, "model"> {
  const maxError = view.getUint32(8, true) / 1e6;
  const frameTime = view.getFloat64(12, true);
  const [joints, ends, moving, hinges] = [24, 26, 28, 30].map((at) => view.getUint16(at, true));
  if (joints < 1 || joints > MAX_JOINTS)
    throw new MocpackError("corrupt", `hello: ${joints} joints expected 1 to ${MAX_JOINTS}`);
  let at = 32;
  const u16 = (): number => view.getUint16((at += 2) - 2, true);
  const f32 = (): number => view.getFloat32((at += 4) - 4, true);
  const parents = Int32Array.from({ length: joints }, u16).map((p) => (p === ROOT ? -1 : p));
  at += joints;
  const offsets = Float64Array.from({ length: 3 * joints }, f32);
  at += 32 * joints;
  const endJoints = new Int32Array(ends);
  const endOffsets = new Float64Array(3 * ends);
  for (let e = 0; e < ends; ++e) {
    endJoints[e] = u16();
    for (let c = 0; c < 3; ++c) endOffsets[3 * e + c] = f32();
  }
  const translated = Int32Array.from({ length: moving }, u16);
  at += 27 * hinges;
  const names = Array.from({ length: joints }, () => {
    const length = view.getUint8(at++);
    const text = new TextDecoder().decode(new Uint8Array(view.buffer, at, length));
    at += length;
    return text;
  });
  return {
    skeleton: { names, parents, offsets, endJoints, endOffsets, translatedJoints: translated },
    frameTime,
    maxError,
  };
}

async function inflate(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const reader = new Blob([data])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"))
    .getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      size += value.length;
      if (size > MAX_HELLO_BYTES) {
        void reader.cancel();
        throw new MocpackError(
          "corrupt",
          `hello: it inflates to more than ${MAX_HELLO_BYTES} bytes`,
        );
      }
    }
  } catch (error) {
    if (error instanceof MocpackError) throw error;
    throw new MocpackError("corrupt", "hello: its deflate stream is damaged", { cause: error });
  }
  const whole = new Uint8Array(size);
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}
