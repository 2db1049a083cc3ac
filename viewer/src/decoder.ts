// The JavaScript package of this repository; all other files import it from here.

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
