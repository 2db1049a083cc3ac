/** Public types. Units are meters, seconds and radians; quaternions are (x, y, z, w). */

/** Joints, parents before children: one tree or several. */
export interface Skeleton {
  /** Names from the source; may be empty or repeated. */
  names: string[];
  /** J; -1 for a root. The first joint is a root. */
  parents: Int32Array;
  /** 3J: rest positions in the parent's frame, meters. */
  offsets: Float64Array;
  /** E: the joint of each end site, increasing. */
  endJoints: Int32Array;
  /** 3E: positions in that joint's frame, meters. */
  endOffsets: Float64Array;
  /** Joints that have a translation in every frame, increasing. */
  translatedJoints: Int32Array;
  /** 4J: local rest rotations, if the source has them. Rotations of poses do not include them. */
  restRotations?: Float64Array;
  /** 3J: constant scales along each joint's own axes; absent if all are 1. */
  scales?: Float64Array;
  /** Joints whose scale changes over time, increasing; see `Frames.scales`. */
  scaledJoints?: Int32Array;
  /** Degrees of freedom of joints with fixed axes, in the order of the source. */
  hinges?: Hinge[];
}

/** One degree of freedom: the joint turns about an axis, or slides along it, after its rest rotation. */
export interface Hinge {
  /** Name in the source; may be empty. */
  name: string;
  joint: number;
  /** Whether it slides along its axis; otherwise it turns about it. */
  slides: boolean;
  /** Unit vector, in the frame after the rest rotation. */
  axis: [number, number, number];
  /** Radians, or meters if it slides; ∓Infinity without a limit. */
  lowerLimit: number;
  upperLimit: number;
}

/** Description of a track; `motion.track(name)` reads its samples. */
export interface TrackInfo {
  name: string;
  kind: "scalar" | "flag" | "label" | "vec3" | "quaternion";
  count: number;
  /** Seconds between samples; null: as the clip. */
  frameTime: number | null;
  startTime: number;
  /** Whether samples are evenly spaced. */
  isEvenlySpaced: boolean;
  /** Maximum error of a sample; 0: exact. */
  bound: number;
  unit: string;
  /** Size in the file, bytes. */
  bytes: number;
}

/** A track with its samples. */
export interface Track extends TrackInfo {
  /** count: time of each sample on the clip's clock, seconds. */
  times: Float64Array;
  /** count · width: width 1 for scalars, flags (0 or 1) and labels (an index), 3 for vectors, 4 for quaternions. */
  values: Float64Array;
  /** count: the text of each sample of a label track; empty for other kinds. */
  labels: string[];
}

/** The data of a recording besides its poses. */
export interface TakeData {
  /** Time of the first frame, seconds. */
  startTime: number;
  /** Time of each frame in seconds, if frames are not evenly spaced. */
  times: Float64Array | null;
  loop: boolean;
  /** Up axis of the source. Decoded poses always have y up and are right-handed. */
  up: "x" | "y" | "z";
  handedness: "right" | "left";
  /** Whether the source defines the motion between frames; the declared error then holds there too. */
  interpolated: boolean;
  /** frames · J: 1 if the joint was captured in that frame; null: always. */
  valid: Uint8Array | null;
  tracks: TrackInfo[];
}

/** Poses of consecutive frames. */
export interface Frames {
  start: number;
  count: number;
  /** count · J · 4: local unit quaternions. */
  rotations: Float64Array;
  /** count · J · 3: local translations, meters; the offset of joints without one. */
  translations: Float64Array;
  /** count · J · 3: scales along each joint's own axes; absent if no joint is scaled. */
  scales?: Float64Array;
}

/** Frames decoded from the quality layers that have arrived. */
export interface RefinedFrames extends Frames {
  /** Number of layers decoded; `motion.layers.length` in the final frames. */
  layers: number;
}

/** Key poses: the first frame of each group, and the last frame of the clip. */
export interface Preview {
  /** count: frame index of each pose. */
  frames: number[];
  count: number;
  /** count · J · 4 */
  rotations: Float64Array;
  /** count · J · 3 */
  translations: Float64Array;
  /** count · J · 3; absent if no joint is scaled. */
  scales?: Float64Array;
}

/** A quality layer. Its errors hold for every file cut at `end` or later. They are null in files of one layer, and in old files with scales, where the stated errors are too small. */
export interface Layer {
  /** Bytes from the start of the file. */
  end: number;
  /** Upper bound on the error of every point, meters. */
  maxError: number | null;
  /** Upper bound on the mean error of joint centers, meters. */
  meanError: number | null;
}

/** Errors measured by the encoder, meters: `max` over all points, the others over joint centers. */
export interface MeasuredErrors {
  max: number;
  mean: number;
  rms: number;
  p99: number;
}

/** Error bound of hinge angles and local rotations, and the measured error, radians. */
export interface AngleErrors {
  declared: number;
  measured: number;
}

/** Bounds of one joint, meters; measured errors are the largest ones of all joints with the same bounds. */
export interface JointBounds {
  maxError: number;
  measuredError: number;
  /** Null if the joint has no bound on its angle. */
  angle: AngleErrors | null;
}

/** An open clip. Its description is available at once, its frames on request. */
export interface Motion {
  readonly skeleton: Skeleton;
  readonly frameCount: number;
  /** Seconds between frames. */
  readonly frameTime: number;
  readonly codec: string;
  /** Encoder parameters that differ from the codec's defaults. */
  readonly parameters: Record<string, unknown>;
  /** Bytes of the file and its parts; `payload` is everything except skeleton and metadata. */
  readonly sizes: { file: number; payload: number; skeleton: number; metadata: number };
  /** Error bound of the file, meters; if joints have bounds of their own, the largest of them. */
  readonly declaredError: number | null;
  readonly measured: MeasuredErrors | null;
  /** Set if the file bounds angles as well. */
  readonly angleErrors: AngleErrors | null;
  /** J: the bounds of each joint; null if all joints have the same. */
  readonly jointBounds?: readonly JointBounds[] | null;
  readonly metadata: unknown;
  /** Times, gaps and tracks of a .mocp file. */
  readonly takeData?: TakeData;
  /** The quality layers of a .mocp file, coarse to fine. */
  readonly layers?: readonly Layer[];
  /** Reads frames start … stop - 1. */
  frames(start: number, stop: number): Promise<Frames>;
  /**
   * Yields frames start … stop - 1 as soon as their first quality layer has arrived, and again with each
   * finer layer. Files of one layer yield once.
   */
  refine?(start: number, stop: number): AsyncGenerator<RefinedFrames, void>;
  /** Reads the pose at a time in seconds on the clip's clock, interpolated with slerp, clamped to the clip. */
  sample(seconds: number): Promise<Frames>;
  /** Reads a track of a .mocp file by name. */
  track?(name: string): Promise<Track>;
  /** Reads the key poses, about one per second, for a fraction of a .mocp file's bytes. */
  preview?(): Promise<Preview>;
  /** Frees memory and cancels requests. Later calls fail. */
  close(): void;
}

export type WasmSource = ArrayBuffer | Uint8Array | WebAssembly.Module | string | URL;

export interface OpenOptions {
  /** Clip of a scene, by name; required if the scene has several. */
  clip?: string;
  /** The decoder; by default `mocpack.wasm` next to this script. */
  wasm?: WasmSource;
  /** Maximum bytes for the decoder, or for the frames of one call; 1e9 by default. */
  memoryLimit?: number;
  /** Cancels opening and all later requests of this motion. */
  signal?: AbortSignal;
  /** Options of `fetch` for URLs, such as an `Authorization` header. */
  request?: Pick<RequestInit, "headers" | "credentials" | "cache" | "mode">;
  /** Called with the bytes received so far whenever more arrive. */
  onProgress?: (received: number, total: number) => void;
}
