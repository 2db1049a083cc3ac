/** Plays .mocp motion: `open` a file or an address, ask for frames. */

export { MocpackError, type ErrorKind } from "./error.js";
export type {
  Hinge,
  Frames,
  Measured,
  Motion,
  OpenOptions,
  Preview,
  Skeleton,
  Take,
  TrackHead,
  WasmSource,
} from "./types.js";
export { open } from "./open.js";
export {
  frameErrors,
  worldPositions,
  type FrameErrors,
  type WorldPositions,
} from "./kinematics.js";
export { readBvh } from "./bvh.js";
