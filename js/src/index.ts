/** Plays .mocp motion: `open` a file or an address, ask for frames. */

export { MocpackError, type ErrorKind } from "./error.js";
export type {
  Hinge,
  Frames,
  Angles,
  Measured,
  Motion,
  OpenOptions,
  Preview,
  Skeleton,
  Take,
  Track,
  TrackHead,
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
export { readBvh } from "./bvh.js";
