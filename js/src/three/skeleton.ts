/** A motion's skeleton as three.js has it: bones, joint after joint. */

import { Bone, PropertyBinding, Skeleton as ThreeSkeleton } from "three";

import type { Motion, Skeleton } from "../types.js";

/**
 * Bones at rest, one for each joint in its order, metres.
 *
 * Their names are what three.js can animate, each one once; `userData.name` has the source's. A skeleton
 * may have several roots: add all of `rootBones` to the mesh or the scene.
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
  // the inverses that a skin needs are taken from where the bones stand in the world
  for (const bone of bones) if (!bone.parent) bone.updateMatrixWorld(true);
  return new ThreeSkeleton(bones);
}

/** The bones that hang on no other bone of the skeleton. */
export function rootBones(skeleton: ThreeSkeleton): Bone[] {
  const own = new Set<unknown>(skeleton.bones);
  return skeleton.bones.filter((bone) => !own.has(bone.parent));
}

export function skeletonOf(source: Motion | Skeleton): Skeleton {
  return "skeleton" in source ? source.skeleton : source;
}

/** Names without the characters that three.js's tracks reserve, none empty, none twice. */
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
