/** The animated properties of bones, and their values per frame. */

import type { Bone, Skeleton as ThreeSkeleton } from "three";

import type { Frames, Motion } from "../types.js";
import { matchBones, type BoneMap, type MatchOptions } from "./match.js";
import { retargetChannels, type RetargetOptions } from "./retarget.js";
import { toSkeleton } from "./skeleton.js";

export interface BindOptions extends MatchOptions {
  /** The bones to move, matched by name; `toSkeleton(motion)` by default. */
  skeleton?: ThreeSkeleton;
  /** Adapts the motion to a skeleton with another rest pose and size; by default, poses are copied unchanged. */
  retarget?: boolean | RetargetOptions;
}

/** One property of one bone, and the position of its numbers in a row. */
export interface Channel {
  /** three.js track name: `Hips.quaternion`. */
  track: string;
  property: "quaternion" | "position" | "scale";
  at: number;
}

/** Converts frames to rows of numbers, one row per frame. */
export interface Channels {
  list: Channel[];
  width: number;
  map: BoneMap;
  /** Writes frame t of `frames` to `out`, starting at index `at`. */
  row(frames: Frames, t: number, out: Float32Array, at: number): void;
}

/** Creates the channels by which a motion moves the bones in `options`. */
export function channelsOf(motion: Motion, options: BindOptions): Channels {
  const skeleton = options.skeleton ?? toSkeleton(motion);
  const map = matchBones(motion, skeleton, options);
  if (!map.bones.some(Boolean)) throw new Error(noMatchMessage(map));
  const { retarget } = options;
  return retarget
    ? retargetChannels(motion.skeleton, skeleton, map, retarget === true ? {} : retarget)
    : directChannels(motion, skeleton, map);
}

function directChannels(motion: Motion, skeleton: ThreeSkeleton, map: BoneMap): Channels {
  const { translatedJoints, scales, scaledJoints } = motion.skeleton;
  const [moving, growing] = [new Set(translatedJoints), new Set(scaledJoints)];
  const isScaled = (joint: number): boolean =>
    growing.has(joint) || Boolean(scales?.subarray(3 * joint, 3 * joint + 3).some((s) => s !== 1));
  const { list, width } = listChannels(skeleton, map, (joint) => moving.has(joint), isScaled);
  const joints = motion.skeleton.parents.length;
  const row = (frames: Frames, t: number, out: Float32Array, at: number): void => {
    const arrays = {
      quaternion: frames.rotations,
      position: frames.translations,
      scale: frames.scales ?? NOTHING,
    };
    for (const channel of list) {
      const size = sizeOf(channel.property);
      const from = size * (joints * t + channel.joint);
      for (let c = 0; c < size; ++c) out[at + channel.at + c] = arrays[channel.property][from + c];
    }
  };
  return { list, width, map, row };
}

const NOTHING = new Float64Array(0);

/** Lists the channels of matched joints; `placed` and `scaled` select joints with a position or scale channel. */
export function listChannels(
  skeleton: ThreeSkeleton,
  map: BoneMap,
  placed: (joint: number) => boolean,
  scaled: (joint: number) => boolean = () => false,
): { list: (Channel & { joint: number })[]; width: number } {
  const names = trackNames(skeleton);
  const list: (Channel & { joint: number })[] = [];
  let width = 0;
  map.bones.forEach((bone, joint) => {
    if (!bone) return;
    for (const property of ["quaternion", "position", "scale"] as const) {
      if (property === "position" && !placed(joint)) continue;
      if (property === "scale" && !scaled(joint)) continue;
      list.push({ track: `${names.get(bone)}.${property}`, property, at: width, joint });
      width += sizeOf(property);
    }
  });
  return { list, width };
}

export function sizeOf(property: Channel["property"]): number {
  return property === "quaternion" ? 4 : 3;
}

/** Maps bones to track names: the bone's name, or its uuid if the name is empty, repeated or reserved. */
function trackNames(skeleton: ThreeSkeleton): Map<Bone, string> {
  const times = new Map<string, number>();
  for (const { name } of skeleton.bones) times.set(name, (times.get(name) ?? 0) + 1);
  const plain = (name: string): boolean => /^[^[\].:/]+$/.test(name) && times.get(name) === 1;
  return new Map(skeleton.bones.map((bone) => [bone, plain(bone.name) ? bone.name : bone.uuid]));
}

function noMatchMessage({ unmatchedJoints, unmatchedBones }: BoneMap): string {
  const some = (names: string[]): string => {
    const shown = names.slice(0, 3).map((name) => JSON.stringify(name.slice(0, 40)));
    return `${shown.join(", ")}${names.length > 3 ? ", …" : ""}`;
  };
  return (
    `no joint of the motion (${some(unmatchedJoints)}) matches a bone ` +
    `(${some(unmatchedBones)}); map them with the option \`names\``
  );
}
