/** three.js support: a loader, skeletons, whole and streaming clips, retargeting. */

export { matchBones, type BoneMap, type MatchOptions } from "./match.js";
export { MocpackLoader, type LoadedMotion } from "./loader.js";
export { rootBones, toSkeleton } from "./skeleton.js";
export { MotionStream, type StreamEvents, type StreamOptions } from "./stream.js";
export { StreamingClip, toStreamingClip, type StreamingClipOptions } from "./streaming_clip.js";
export { toAnimationClip, type ClipOptions } from "./clip.js";
export type { BindOptions } from "./channels.js";
export type { RetargetOptions } from "./retarget.js";
