/** Plays .mocp motion: `open` a file or a URL, then read its frames. */

export { MocpackError, type ErrorKind } from "./error.js";
export type {
  Hinge,
  JointBounds,
  Frames,
  AngleErrors,
  Layer,
  MeasuredErrors,
  Motion,
  OpenOptions,
  Preview,
  RefinedFrames,
  Skeleton,
  TakeData,
  Track,
  TrackInfo,
  WasmSource,
} from "./types.js";
export { open } from "./open.js";
export { openScene, type Scene } from "./scene.js";
export { openArchive, type Archive, type ArchiveClip } from "./archive.js";
export {
  frameErrors,
  worldPositions,
  type FrameErrors,
  type WorldPositions,
} from "./kinematics.js";
export { parseBvh } from "./bvh.js";
