/** A motion on a skeleton of another rest pose and size, but built alike. */

import { Matrix4, Quaternion, Vector3, type Object3D, type Skeleton as ThreeSkeleton } from "three";

import { poseWorld } from "../kinematics.js";
import type { Frames, Skeleton } from "../types.js";
import { listChannels, type Channels } from "./channels.js";
import type { BoneMap } from "./match.js";

export interface RetargetOptions {
  /** Where bones rest: as they stand now, or as their skin was bound (their roots as they stand now). */
  rest?: "current" | "bind";
  /** Turns the character's resting limbs to where the motion's rest, as from an A-pose to a T-pose. */
  align?: boolean;
  /** The character's size by the motion's; by default the height of its hips by that of the motion's, at rest. */
  scale?: number;
  /** In whose frame the motion takes place; by default the outermost object that holds the bones, scenes aside. */
  space?: Object3D;
}

const SHORT = 1e-6; // metres: no direction can be told of a bone

/** Where joints or bones stand at rest: turned and placed in the world. */
interface Rest {
  turns: Quaternion[];
  places: Vector3[];
}

/** What stays the same in all frames of a matched joint. */
interface Link {
  joint: number;
  /** The joint that drives the nearest bone above; -1: none. */
  above: number;
  /** q = before · (turn of the joint seen from `above`) · after. */
  before: Quaternion;
  after: Quaternion;
}

/**
 * Channels of every matched joint's rotation, of the topmost ones' places, and of joints that move along.
 *
 * In the world a bone is turned from its rest as its joint is from its own: W = w · r⁻¹ · A · R, where w
 * and r are the joint's rotation and rest, R the bone's rest, A what `align` turns it by.
 */
export function retargetChannels(
  source: Skeleton,
  target: ThreeSkeleton,
  map: BoneMap,
  options: RetargetOptions,
): Channels {
  const restPose = new RestPose(target, options);
  const rest = restOf(source);
  const above = driversAbove(map);
  const own = map.bones.map((bone) => (bone ? restPose.matrix(bone) : null));
  const turned = own.map((matrix) => (matrix ? turnOf(matrix) : new Quaternion()));
  const placed = own.map((matrix) => new Vector3().setFromMatrixPosition(matrix ?? new Matrix4()));
  const aligned = options.align
    ? alignment(map, above, rest, { turns: turned, places: placed })
    : map.bones.map(() => new Quaternion());
  const links = map.bones.flatMap((bone, joint) => {
    if (!bone) return [];
    const before = turnOf(restPose.above(bone)).invert();
    if (above[joint] >= 0)
      before.multiply(aligned[above[joint]].clone().invert()).multiply(rest.turns[above[joint]]);
    const after = rest.turns[joint]
      .clone()
      .invert()
      .multiply(aligned[joint])
      .multiply(turned[joint]);
    return [{ joint, above: above[joint], before, after }];
  });
  const moving = new Set(source.translatedJoints);
  const carries = (joint: number): boolean => above[joint] < 0 || moving.has(joint);
  const scale =
    options.scale ?? heightRatio(map, rest.places, alignedPlaces(above, placed, aligned), carries);
  if (!(scale > 0 && scale < Infinity)) throw new RangeError(`scale must be above 0, got ${scale}`);
  return new Retargeting(source, target, map, links, restPose, scale).channels;
}

class Retargeting {
  readonly channels: Channels;
  /** World places (3J) and rotations (4J) of the frame at hand. */
  private readonly places: Float64Array;
  private readonly world: Float64Array;
  private readonly movers = new Map<number, (out: Vector3) => void>();

  constructor(
    private readonly source: Skeleton,
    target: ThreeSkeleton,
    map: BoneMap,
    links: Link[],
    restPose: RestPose,
    private readonly scale: number,
  ) {
    this.places = new Float64Array(source.offsets.length);
    this.world = new Float64Array((4 / 3) * source.offsets.length);
    const moving = new Set(source.translatedJoints);
    for (const link of links) {
      const bone = map.bones[link.joint]!;
      if (link.above < 0) this.movers.set(link.joint, this.standing(link, restPose.above(bone)));
      else if (moving.has(link.joint))
        this.movers.set(link.joint, this.sliding(link, restPose.local(bone), restPose.above(bone)));
    }
    const { list, width } = listChannels(target, map, (joint) => this.movers.has(joint));
    const byJoint = new Map(links.map((link) => [link.joint, link]));
    const [turn, place] = [new Quaternion(), new Vector3()];
    const row = (frames: Frames, t: number, out: Float32Array, at: number): void => {
      poseWorld(source, frames, t, this.places, this.world);
      this.frame = { frames, t };
      for (const channel of list)
        if (channel.property === "quaternion") {
          this.turn(byJoint.get(channel.joint)!, turn);
          turn.toArray(out, at + channel.at);
        } else {
          this.movers.get(channel.joint)!(place);
          place.toArray(out, at + channel.at);
        }
    };
    this.channels = { list, width, map, row };
  }

  private frame!: { frames: Frames; t: number };

  private turn(link: Link, out: Quaternion): void {
    out.copy(link.before);
    if (link.above >= 0) out.multiply(this.worldTurn(link.above).invert());
    out.multiply(this.worldTurn(link.joint)).multiply(link.after);
  }

  private worldTurn(joint: number): Quaternion {
    return new Quaternion().fromArray(this.world, 4 * joint);
  }

  /** The place of a topmost bone: the joint's in the world, by size. */
  private standing({ joint }: Link, above: Matrix4): (out: Vector3) => void {
    const inverse = above.clone().invert();
    return (out) => {
      out
        .fromArray(this.places, 3 * joint)
        .multiplyScalar(this.scale)
        .applyMatrix4(inverse);
    };
  }

  /** The place of a bone below others: its rest, and how far its joint has left its own. */
  private sliding(
    { joint, above, before }: Link,
    local: Matrix4,
    over: Matrix4,
  ): (out: Vector3) => void {
    const rest = new Vector3().setFromMatrixPosition(local);
    const size = new Vector3().setFromMatrixScale(over);
    const { parents, offsets } = this.source;
    return (out) => {
      const { frames, t } = this.frame;
      const at = 3 * (t * parents.length + joint);
      for (let c = 0; c < 3; ++c)
        out.setComponent(c, frames.translations[at + c] - offsets[3 * joint + c]);
      out.applyQuaternion(this.worldTurn(parents[joint]));
      out.applyQuaternion(this.worldTurn(above).invert()).applyQuaternion(before);
      out.multiplyScalar(this.scale).divide(size).add(rest);
    };
  }
}

function restOf(skeleton: Skeleton): Rest {
  const joints = skeleton.parents.length;
  const still = new Float64Array(4 * joints);
  for (let j = 0; j < joints; ++j) still[4 * j + 3] = 1;
  const rotations = skeleton.restRotations ?? still;
  const frames: Frames = { start: 0, count: 1, rotations, translations: skeleton.offsets };
  if (skeleton.scales) frames.scales = skeleton.scales;
  const [places, world] = [new Float64Array(3 * joints), new Float64Array(4 * joints)];
  poseWorld(skeleton, frames, 0, places, world);
  return {
    turns: Array.from({ length: joints }, (_, j) => new Quaternion().fromArray(world, 4 * j)),
    places: Array.from({ length: joints }, (_, j) => new Vector3().fromArray(places, 3 * j)),
  };
}

/** Where the bones of a skeleton rest in the frame of `space`, and what they hang on. */
class RestPose {
  private readonly found = new Map<Object3D, Matrix4>();
  private readonly space: Object3D | null;

  constructor(skeleton: ThreeSkeleton, { rest = "current", space }: RetargetOptions) {
    this.space = space ?? outermost(skeleton.bones[0]);
    if (rest === "bind") this.bind(skeleton);
  }

  matrix(object: Object3D | null): Matrix4 {
    if (!object || object === this.space) return new Matrix4();
    let matrix = this.found.get(object);
    if (!matrix) {
      const own = new Matrix4().compose(object.position, object.quaternion, object.scale);
      matrix = this.matrix(object.parent).clone().multiply(own);
      this.found.set(object, matrix);
    }
    return matrix;
  }

  above(bone: Object3D): Matrix4 {
    return bone === this.space ? new Matrix4() : this.matrix(bone.parent);
  }

  local(bone: Object3D): Matrix4 {
    return this.above(bone).clone().invert().multiply(this.matrix(bone));
  }

  /** Bones where their skin was bound, seen from the first of them, which stays where it is. */
  private bind(skeleton: ThreeSkeleton): void {
    const own = new Map(skeleton.bones.map((bone, i) => [bone as Object3D, i]));
    const tops = new Map<Object3D, Matrix4>();
    const top = (bone: Object3D): Object3D =>
      bone.parent && own.has(bone.parent) ? top(bone.parent) : bone;
    const matrices = skeleton.bones.map((bone, i): [Object3D, Matrix4] => {
      const root = top(bone);
      if (!tops.has(root))
        tops.set(root, this.matrix(root).clone().multiply(skeleton.boneInverses[own.get(root)!]));
      return [bone, tops.get(root)!.clone().multiply(skeleton.boneInverses[i].clone().invert())];
    });
    this.found.clear();
    for (const [bone, matrix] of matrices) this.found.set(bone, matrix);
  }
}

function outermost(object: Object3D): Object3D | null {
  let found: Object3D | null = null;
  for (let o = object.parent; o; o = o.parent) if (!("isScene" in o && o.isScene)) found = o;
  return found;
}

function turnOf(matrix: Matrix4): Quaternion {
  const turn = new Quaternion();
  matrix.decompose(new Vector3(), turn, new Vector3());
  return turn;
}

/** J: the joint that drives the nearest bone above each matched joint's; -1: none. */
function driversAbove(map: BoneMap): number[] {
  const driver = new Map<Object3D, number>();
  map.bones.forEach((bone, joint) => bone && driver.set(bone, joint));
  return map.bones.map((bone) => {
    for (let o: Object3D | null | undefined = bone?.parent; o; o = o.parent)
      if (driver.has(o)) return driver.get(o)!;
    return -1;
  });
}

/** J: what turns each bone's rest so that it points as its joint's does; without a way to tell, as the bone above. */
function alignment(map: BoneMap, above: number[], source: Rest, target: Rest): Quaternion[] {
  const below = map.bones.map((): number[] => []);
  above.forEach((over, joint) => over >= 0 && below[over].push(joint));
  const found = new Map<number, Quaternion>();
  const turn = (joint: number): Quaternion => {
    let own = found.get(joint);
    if (own) return own;
    own = above[joint] >= 0 ? turn(above[joint]).clone() : new Quaternion();
    found.set(joint, own);
    if (below[joint].length !== 1) return own;
    const [child] = below[joint];
    const from = target.places[child].clone().sub(target.places[joint]).applyQuaternion(own);
    const to = source.places[child].clone().sub(source.places[joint]);
    if (from.length() < SHORT || to.length() < SHORT) return own;
    return own.premultiply(new Quaternion().setFromUnitVectors(from.normalize(), to.normalize()));
  };
  return map.bones.map((bone, joint) => (bone ? turn(joint) : new Quaternion()));
}

/** J: where bones rest once they are aligned. */
function alignedPlaces(above: number[], places: Vector3[], aligned: Quaternion[]): Vector3[] {
  const found = new Map<number, Vector3>();
  const place = (joint: number): Vector3 => {
    const over = above[joint];
    if (over < 0) return places[joint];
    if (!found.has(joint)) {
      const bone = places[joint].clone().sub(places[over]).applyQuaternion(aligned[over]);
      found.set(joint, bone.add(place(over)));
    }
    return found.get(joint)!;
  };
  return places.map((_, joint) => place(joint));
}

/** How high the character's hips are by the motion's, both at rest above their lowest matched joint. */
function heightRatio(
  map: BoneMap,
  source: Vector3[],
  target: Vector3[],
  carries: (joint: number) => boolean,
): number {
  const matched = map.bones.flatMap((bone, joint) => (bone ? [joint] : []));
  const heights = [source, target].map((at) => {
    const low = matched.reduce((least, j) => Math.min(least, at[j].y), Infinity);
    return matched.filter(carries).reduce((most, j) => Math.max(most, at[j].y - low), 0);
  });
  if (!(heights[0] > SHORT && heights[1] > SHORT))
    throw new Error("the height of the hips at rest cannot be told; give `scale`");
  return heights[1] / heights[0];
}
