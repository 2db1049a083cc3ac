/** Converts a motion's skeleton to three.js bones. */

import { Bone, PropertyBinding, Skeleton as ThreeSkeleton } from "three";

import type { Motion, Skeleton } from "../types.js";

/**
 * Returns bones in rest pose, one per joint in the same order, in meters.
 *
 * Names are made unique and valid for three.js; `userData.name` keeps the original. A skeleton may have
 * several roots: add all of `rootBones` to the mesh or the scene.
 */
export function toSkeleton(source: Motion | Skeleton): ThreeSkeleton {
  const skeleton = skeletonOf(source);
  const { parents, offsets, restRotations, scales } = skeleton;
  const bones = animatedNames(skeleton.names).map((name, j) => {
    const bone = new Bone();
    bone.name = name;
    bone.userData.name = skeleton.names[j];
    bone.position.fromArray(offsets, 3 * j);
    if (restRotations) bone.quaternion.fromArray(restRotations, 4 * j);
    if (scales) bone.scale.fromArray(scales, 3 * j);
    return bone;
  });
  bones.forEach((bone, j) => {
    if (parents[j] >= 0) bones[parents[j]].add(bone);
  });
  // THREE.Skeleton computes bone inverses from world matrices
  for (const bone of bones) if (!bone.parent) bone.updateMatrixWorld(true);
  return new ThreeSkeleton(bones);
}

/** Returns the bones whose parent is not a bone of the skeleton. */
export function rootBones(skeleton: ThreeSkeleton): Bone[] {
  const own = new Set<unknown>(skeleton.bones);
  return skeleton.bones.filter((bone) => !own.has(bone.parent));
}

export function skeletonOf(source: Motion | Skeleton): Skeleton {
  return "skeleton" in source ? source.skeleton : source;
}

/** Makes names unique, non-empty, and free of characters that three.js reserves in track names. */
function animatedNames(names: string[]): string[] {
  const taken = new Set<string>();
  const times = new Map<string, number>();
  return names.map((name, j) => {
    const plain = PropertyBinding.sanitizeNodeName(name) || `joint_${j}`;
    let found = plain;
    for (let n = times.get(plain) ?? 1; taken.has(found); ++n) {
      found = `${plain}_${n}`;
      times.set(plain, n + 1);
    }
    taken.add(found);
    return found;
  });
}
