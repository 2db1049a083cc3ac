// TEMPORARY until js/ is there.
export interface Skeleton {
  names: string[];
  parents: Int32Array;
  offsets: Float64Array;
  endJoints: Int32Array;
  endOffsets: Float64Array;
  translated: Int32Array;
}
export interface Frames {
  start: number;
  count: number;
  rotations: Float64Array;
  translations: Float64Array;
}
export interface Motion {
  readonly skeleton: Skeleton;
  readonly frameCount: number;
  readonly frameTime: number;
  readonly codec: string;
  readonly bytes: { file: number; payload: number; skeleton: number; metadata: number };
  readonly declaredError: number | null;
  readonly measured: { max: number; mean: number; rms: number; p99: number } | null;
  readonly metadata: unknown;
  frames(start: number, stop: number): Promise<Frames>;
  sample(seconds: number): Promise<Frames>;
  close(): void;
}
export class MocpackError extends Error {
  constructor(
    readonly kind: "format" | "truncated" | "corrupt" | "unsupported" | "network",
    message: string,
  ) {
    super(message);
  }
}
export async function open(
  _source: ArrayBuffer | Uint8Array | Blob | string | URL,
  _options?: { wasm?: ArrayBuffer | WebAssembly.Module | string | URL; signal?: AbortSignal },
): Promise<Motion> {
  throw new MocpackError("unsupported", "no decoder yet");
}
export function readBvh(_text: string): Motion {
  throw new MocpackError("unsupported", "no decoder yet");
}
type World = { p: Float64Array; q: Float64Array };
function turn(q: Float64Array, a: number, v: Float64Array, b: number, out: Float64Array, o: number) {
  const x = q[a], y = q[a + 1], z = q[a + 2], w = q[a + 3];
  const tx = 2 * (y * v[b + 2] - z * v[b + 1]), ty = 2 * (z * v[b] - x * v[b + 2]), tz = 2 * (x * v[b + 1] - y * v[b]);
  out[o] += v[b] + w * tx + y * tz - z * ty;
  out[o + 1] += v[b + 1] + w * ty + z * tx - x * tz;
  out[o + 2] += v[b + 2] + w * tz + x * ty - y * tx;
}
function world(s: Skeleton, f: Frames): World {
  const J = s.names.length;
  const p = new Float64Array(f.count * J * 3), q = new Float64Array(f.count * J * 4);
  for (let t = 0; t < f.count; t++)
    for (let j = 0; j < J; j++) {
      const i = t * J + j, par = s.parents[j], b = 4 * i;
      if (par < 0) {
        for (let k = 0; k < 3; k++) p[3 * i + k] = f.translations[3 * i + k];
        for (let k = 0; k < 4; k++) q[b + k] = f.rotations[b + k];
        continue;
      }
      const u = t * J + par, a = 4 * u, r = f.rotations;
      for (let k = 0; k < 3; k++) p[3 * i + k] = p[3 * u + k];
      turn(q, a, f.translations, 3 * i, p, 3 * i);
      const ax = q[a], ay = q[a + 1], az = q[a + 2], aw = q[a + 3], bx = r[b], by = r[b + 1], bz = r[b + 2], bw = r[b + 3];
      q[b] = aw * bx + ax * bw + ay * bz - az * by;
      q[b + 1] = aw * by - ax * bz + ay * bw + az * bx;
      q[b + 2] = aw * bz + ax * by - ay * bx + az * bw;
      q[b + 3] = aw * bw - ax * bx - ay * by - az * bz;
    }
  return { p, q };
}
function ends(s: Skeleton, f: Frames, w: World): Float64Array {
  const J = s.names.length, E = s.endJoints.length, out = new Float64Array(f.count * E * 3);
  for (let t = 0; t < f.count; t++)
    for (let e = 0; e < E; e++) {
      const i = t * J + s.endJoints[e], o = 3 * (t * E + e);
      for (let k = 0; k < 3; k++) out[o + k] = w.p[3 * i + k];
      turn(w.q, 4 * i, s.endOffsets, 3 * e, out, o);
    }
  return out;
}
export function worldPositions(s: Skeleton, f: Frames) {
  const w = world(s, f);
  return { joints: w.p, ends: ends(s, f, w) };
}
export function frameErrors(s: Skeleton, original: Frames, decoded: Frames) {
  const a = world(s, original), b = world(s, decoded), ea = ends(s, original, a), eb = ends(s, decoded, b);
  const J = s.names.length, T = original.count, E = s.endJoints.length;
  const promised = new Float64Array(T), joints = new Float64Array(T * J), promisedByJoint = new Float64Array(T * J);
  const d = (u: Float64Array, v: Float64Array, i: number) => Math.hypot(u[i] - v[i], u[i + 1] - v[i + 1], u[i + 2] - v[i + 2]);
  for (let t = 0; t < T; t++) {
    for (let j = 0; j < J; j++) {
      const i = t * J + j;
      let m = (joints[i] = d(a.p, b.p, 3 * i));
      for (let k = 0; k < 3; k++) {
        const axis = new Float64Array(3), x = a.p.slice(3 * i, 3 * i + 3), y = b.p.slice(3 * i, 3 * i + 3);
        axis[k] = 0.03;
        turn(a.q, 4 * i, axis, 0, x, 0);
        turn(b.q, 4 * i, axis, 0, y, 0);
        m = Math.max(m, d(x, y, 0));
      }
      promisedByJoint[i] = m;
    }
    for (let e = 0; e < E; e++) {
      const i = t * J + s.endJoints[e];
      promisedByJoint[i] = Math.max(promisedByJoint[i], d(ea, eb, 3 * (t * E + e)));
    }
    for (let j = 0; j < J; j++) promised[t] = Math.max(promised[t], promisedByJoint[t * J + j]);
  }
  return { promised, joints, promisedByJoint };
}
