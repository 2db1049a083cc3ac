// A motion decoded elsewhere: frames from the local server, or inlined in the page.
// src/mocpack/viewing/frames.py writes the binary format.

import { MocpackError, type Frames, type Motion, type Skeleton } from "./decoder";

/** Description of a motion from the session; lengths in meters. */
export interface Head {
  skeleton: {
    names: string[];
    parents: number[];
    offsets: number[];
    endJoints: number[];
    endOffsets: number[];
    translated: number[];
    scales: number[] | null;
  };
  frameCount: number;
  frameTime: number;
  codec: string;
  bytes: Motion["sizes"];
  declaredError: number | null;
  measured: Motion["measured"];
  angles: Motion["angleErrors"];
  metadata: unknown;
  parts?: Part[];
}

/** A clip of a scene: its number of joints, and its time range in seconds on the scene's clock. */
export interface Part {
  name: string;
  joints: number;
  start: number;
  end: number;
  bytes: number;
}

/** A motion, or a scene whose clips form one skeleton. */
export interface SceneMotion extends Motion {
  readonly parts?: Part[];
}

const MAX_CACHED_BYTES = 1 << 28; // per motion

/** Returns a block that contains at least frames `start` to `stop`. */
export type Fetch = (start: number, stop: number) => Promise<ArrayBuffer>;

export function framesMotion(head: Head, fetchBlock: Fetch): SceneMotion {
  const skeleton = skeletonOf(head.skeleton);
  const frames = async (start: number, stop: number): Promise<Frames> =>
    readBlock(await fetchBlock(start, stop), skeleton, start, stop);
  return {
    skeleton,
    frameCount: head.frameCount,
    frameTime: head.frameTime,
    codec: head.codec,
    parameters: {},
    sizes: head.bytes,
    declaredError: head.declaredError,
    measured: head.measured,
    angleErrors: head.angles,
    metadata: head.metadata,
    parts: head.parts,
    frames,
    // the page shows whole frames only
    sample: (seconds) => {
      const frame = Math.min(
        Math.max(Math.round(seconds / head.frameTime), 0),
        head.frameCount - 1,
      );
      return frames(frame, frame + 1);
    },
    close: () => undefined,
  };
}

/** Fetches frames from the local server and caches them. */
export function fromServer(url: string): Fetch {
  const kept = new Map<string, ArrayBuffer>();
  let room = MAX_CACHED_BYTES;
  return async (start, stop) => {
    const path = `${url}/${start}/${stop}`;
    const block = kept.get(path) ?? (await fetchBlock(path));
    if (!kept.has(path) && block.byteLength <= room) {
      kept.set(path, block);
      room -= block.byteLength;
    }
    return block;
  };
}

async function fetchBlock(path: string): Promise<ArrayBuffer> {
  const answer = await fetch(path).catch(() => null);
  if (!answer?.ok) {
    throw new MocpackError("network", "the local server does not respond; is it still running?");
  }
  return answer.arrayBuffer();
}

/** Decompresses the whole motion once. */
export function fromGzip(data: Uint8Array<ArrayBuffer>): Fetch {
  let whole: Promise<ArrayBuffer> | null = null;
  return () => {
    whole ??= new Response(
      new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip")),
    ).arrayBuffer();
    return whole;
  };
}

function skeletonOf(facts: Head["skeleton"]): Skeleton {
  return {
    ...(facts.scales && { scales: Float64Array.from(facts.scales) }),
    names: facts.names,
    parents: Int32Array.from(facts.parents),
    offsets: Float64Array.from(facts.offsets),
    endJoints: Int32Array.from(facts.endJoints),
    endOffsets: Float64Array.from(facts.endOffsets),
    translatedJoints: Int32Array.from(facts.translated),
  };
}

const MAGIC = 0x46434f4d; // "MOCF"
const HEADER = 24;

function readBlock(block: ArrayBuffer, skeleton: Skeleton, start: number, stop: number): Frames {
  const view = new DataView(block);
  if (block.byteLength < HEADER || view.getUint32(0, true) !== MAGIC || view.getUint8(4) !== 1) {
    throw new MocpackError("format", "unknown frame format");
  }
  const width = view.getUint8(5);
  const [first, count, joints, moving] = [8, 12, 16, 20].map((at) => view.getUint32(at, true));
  const scalesAt = HEADER + count * joints * 4 * width + count * moving * 24;
  const isScaled = view.getUint16(6, true) === 1;
  const size = scalesAt + (isScaled ? count * joints * 24 : 0);
  if (
    block.byteLength !== size ||
    joints !== skeleton.names.length ||
    moving !== skeleton.translatedJoints.length
  ) {
    throw new MocpackError("truncated", "the server returned a wrong number of frames");
  }
  const from = start - first;
  const many = stop - start;
  if (from < 0 || from + many > count)
    throw new MocpackError("format", "the server returned other frames than requested");
  const Numbers = width === 8 ? Float64Array : Float32Array;
  const rotations = new Numbers(block, HEADER + from * joints * 4 * width, many * joints * 4);
  const moved = new Float64Array(
    block,
    HEADER + count * joints * 4 * width + from * moving * 24,
    many * moving * 3,
  );
  const frames: Frames = {
    start,
    count: many,
    rotations: Float64Array.from(rotations),
    translations: spread(moved, skeleton, many),
  };
  if (isScaled)
    frames.scales = new Float64Array(block, scalesAt + from * joints * 24, many * joints * 3);
  return frames;
}

/** Fills in a translation for every joint: its own, or its offset. */
function spread(moved: Float64Array, skeleton: Skeleton, count: number): Float64Array {
  const joints = skeleton.names.length;
  const moving = skeleton.translatedJoints.length;
  const all = new Float64Array(count * joints * 3);
  for (let t = 0; t < count; t++) {
    all.set(skeleton.offsets, t * joints * 3);
    skeleton.translatedJoints.forEach((joint, m) => {
      const at = (t * moving + m) * 3;
      all.set(moved.subarray(at, at + 3), (t * joints + joint) * 3);
    });
  }
  return all;
}
