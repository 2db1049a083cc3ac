/** The shapes that everything here exchanges. Metres, seconds, radians; quaternions (x, y, z, w). */

/** Joints, parents before children: one tree, or several. */
export interface Skeleton {
  /** As the source has them; they may be empty or repeated. */
  names: string[];
  /** J; -1 for a root. The first joint is one. */
  parents: Int32Array;
  /** 3J, metres, in the parent's frame. */
  offsets: Float64Array;
  /** E: the joint that carries each end site, increasing. */
  endJoints: Int32Array;
  /** 3E, metres, in that joint's frame. */
  endOffsets: Float64Array;
  /** Joints with translations, increasing. */
  translatedJoints: Int32Array;
  /** 4J: the local rotation of each joint at rest, where the source has one. Poses do not start from it. */
  restRotations?: Float64Array;
  /** 3J: the scale of each joint along its own axes, where it does not move; absent: all 1. */
  scales?: Float64Array;
  /** Joints whose scale moves, increasing: `Frames.scales` has it. */
  scaledJoints?: Int32Array;
  /** Degrees of freedom of joints that turn about fixed axes or slide along them, in the source's order. */
  hinges?: Hinge[];
}

/** A joint's rotation is that at rest, then the turns about its axes in the order of its hinges. */
export interface Hinge {
  /** What the source calls it; may be empty. */
  name: string;
  joint: number;
  /** Whether it slides along its axis; else it turns about it. */
  slides: boolean;
  /** Of length 1, in the frame that the rest rotation leads to. */
  axis: [number, number, number];
  /** Radians, or metres of a slider; ∓Infinity where there is no limit. */
  lowerLimit: number;
  upperLimit: number;
}

/** What a track is; `motion.track(name)` gives its samples. */
export interface TrackInfo {
  name: string;
  kind: "scalar" | "flag" | "label" | "vec3" | "quaternion";
  count: number;
  /** Seconds from sample to sample; null: the clip's. */
  frameTime: number | null;
  startTime: number;
  /** Whether samples are evenly spaced. */
  isEvenlySpaced: boolean;
  /** Largest error of a sample; 0: exact. */
  bound: number;
  unit: string;
  /** Of its chunk. */
  bytes: number;
}

/** The samples of a track. */
export interface Track extends TrackInfo {
  /** count: seconds of each sample on the clip's clock. */
  times: Float64Array;
  /** count · width numbers: one of a scalar or a flag (0 or 1), three of a vector, four of a quaternion. */
  values: Float64Array;
  /** count: the text of each sample of a track of labels; empty of other kinds. `values` says which word it is. */
  labels: string[];
}

/** What a take holds beside its poses. */
export interface TakeData {
  /** Seconds of the first frame. */
  startTime: number;
  /** Seconds of each frame, where they are not even. */
  times: Float64Array | null;
  loop: boolean;
  /** Of the source's space; inside it is y up and right-handed. */
  up: "x" | "y" | "z";
  handedness: "right" | "left";
  /** Whether the source defines the motion between frames: the declared error then holds there too. */
  interpolated: boolean;
  /** frames · J: 1 where a joint was seen; null: everywhere. */
  valid: Uint8Array | null;
  tracks: TrackInfo[];
}

/** Poses of consecutive frames, frame after frame. */
export interface Frames {
  start: number;
  count: number;
  /** count · J · 4: local unit quaternions. */
  rotations: Float64Array;
  /** count · J · 3: local places, metres; the offset where a joint does not move. */
  translations: Float64Array;
  /** count · J · 3: scales along each joint's own axes; absent where the motion has none. */
  scales?: Float64Array;
}

/** Poses of the keys alone: the first frame of each group, and the clip's last. */
export interface Preview {
  /** count: which frames they are. */
  frames: number[];
  count: number;
  /** count · J · 4 */
  rotations: Float64Array;
  /** count · J · 3 */
  translations: Float64Array;
  /** count · J · 3; absent where the motion has none. */
  scales?: Float64Array;
}

/** What the encoder measured, in metres: the promised error, then three of joint centres. */
export interface MeasuredErrors {
  max: number;
  mean: number;
  rms: number;
  p99: number;
}

/** A bound on the error of hinges' angles and of local rotations, and what was measured, radians. */
export interface AngleErrors {
  declared: number;
  measured: number;
}

/** A clip that is open: what it is at hand, its frames on demand. */
export interface Motion {
  readonly skeleton: Skeleton;
  readonly frameCount: number;
  /** Seconds from frame to frame. */
  readonly frameTime: number;
  readonly codec: string;
  /** What the encoder was asked for, where it is not the codec's default. */
  readonly parameters: Record<string, unknown>;
  /** Bytes of the file and of its parts; `payload` counts all but skeleton and metadata. */
  readonly sizes: { file: number; payload: number; skeleton: number; metadata: number };
  /** The bound that the file was made to keep, metres. */
  readonly declaredError: number | null;
  readonly measured: MeasuredErrors | null;
  /** Where the file keeps a bound on angles too. */
  readonly angleErrors: AngleErrors | null;
  readonly metadata: unknown;
  /** What a .mocp file holds beside its poses. */
  readonly takeData?: TakeData;
  /** The largest error of a file that is cut after its keys, then after each layer but the last, metres. */
  readonly layerErrors?: Float64Array;
  /** Frames start … stop - 1. */
  frames(start: number, stop: number): Promise<Frames>;
  /** One frame at a time in seconds on the clip's clock, between frames by slerp, clamped to the clip. */
  sample(seconds: number): Promise<Frames>;
  /** The samples of a track of a .mocp file, by its name. */
  track?(name: string): Promise<Track>;
  /** Poses about a second apart, for a fraction of a .mocp file's bytes. */
  preview?(): Promise<Preview>;
  /** Gives memory back and ends transfers; frames asked for later are refused. */
  close(): void;
}

export type WasmSource = ArrayBuffer | Uint8Array | WebAssembly.Module | string | URL;

export interface OpenOptions {
  /** Which clip of a scene, by name; needed where it has several. */
  clip?: string;
  /** The decoder; by default `mocpack.wasm` beside this script. */
  wasm?: WasmSource;
  /** The most bytes that the decoder, or the frames of one call, may take; by default 1e9. */
  memoryLimit?: number;
  /** Ends opening, and every later transfer of this motion. */
  signal?: AbortSignal;
  /** How an address is asked for: headers such as `Authorization`, credentials. */
  request?: Pick<RequestInit, "headers" | "credentials" | "cache" | "mode">;
  /** Hears how many bytes of the file have come, each time that some have. */
  onProgress?: (received: number, total: number) => void;
}
