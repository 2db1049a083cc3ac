/** Matches joints of a motion with bones of a character. */

import type { Bone, Skeleton as ThreeSkeleton } from "three";

import type { Motion, Skeleton } from "../types.js";
import { skeletonOf } from "./skeleton.js";

export interface MatchOptions {
  /** Bone names by joint name, where they differ; null skips a joint. */
  names?: Record<string, string | null>;
}

export interface BoneMap {
  /** J: the bone of each joint, or null. */
  bones: (Bone | null)[];
  /** Names of joints without a bone. */
  unmatchedJoints: string[];
  /** Names of bones without a joint; they keep their pose. */
  unmatchedBones: string[];
}

/**
 * Matches joints with bones by name: first by `names`, then exactly, then without case, punctuation and
 * prefixes such as `mixamorig:`. Repeated names match only if both sides have equally many.
 */
export function matchBones(
  source: Motion | Skeleton,
  target: ThreeSkeleton,
  options: MatchOptions = {},
): BoneMap {
  const { names } = skeletonOf(source);
  const given = new Map(Object.entries(options.names ?? {}));
  const bones: (Bone | null)[] = names.map(() => null);
  const free = new Set(target.bones);
  const left = new Set(names.keys());
  const pair = (joint: number, bone: Bone): void => {
    bones[joint] = bone;
    free.delete(bone);
    left.delete(joint);
  };
  for (const [joint, name] of names.entries())
    if (given.has(name)) {
      const wanted = given.get(name);
      const bone = [...free].find((one) => one.name === wanted || sourceName(one) === wanted);
      left.delete(joint);
      if (bone) pair(joint, bone);
    }
  for (const key of [(name: string): string => name, plain]) {
    const joints = groupBy(left, (joint) => key(names[joint]));
    const byName = groupBy(free, (bone) => key(sourceName(bone)));
    for (const [name, same] of groupBy(free, (bone) => key(bone.name)))
      if (!byName.has(name)) byName.set(name, same);
    for (const [name, same] of joints) {
      const others = (byName.get(name) ?? []).filter((bone) => free.has(bone));
      if (others.length === same.length) same.forEach((joint, i) => pair(joint, others[i]));
    }
  }
  return {
    bones,
    unmatchedJoints: names.filter((_, joint) => !bones[joint]),
    unmatchedBones: target.bones.filter((bone) => free.has(bone)).map((bone) => bone.name),
  };
}

/** Returns the name in the file, if a loader stored it before sanitizing it for three.js. */
function sourceName(bone: Bone): string {
  const kept: unknown = bone.userData.name;
  return typeof kept === "string" ? kept : bone.name;
}

function plain(name: string): string {
  return name
    .replace(/^.*[:|]/, "")
    .replace(/^mixamorig\d*/i, "")
    .replace(/[^\p{L}\p{N}]/gu, "")
    .toLowerCase();
}

function groupBy<T>(all: Iterable<T>, key: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group) group.push(one);
    else groups.set(key(one), [one]);
  }
  return groups;
}
