// The decoder: the JavaScript package of this repository. Everything here takes it from this file.

export {
  frameErrors,
  MocpackError,
  open,
  parseBvh,
  worldPositions,
  type ErrorKind,
  type Frames,
  type Motion,
  type Skeleton,
} from "../../js/dist/index.js";
