// The JavaScript package of this repository, as far as this page needs it.

export { worldPositions, MocpackError, type Skeleton } from "../../../js/dist/index.js";
export { live, type LivePose, type Performer, type Stage } from "../../../js/dist/live/index.js";
