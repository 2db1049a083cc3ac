/** Retargets a motion to a similar skeleton with another rest pose and size. */

import { Matrix4, Quaternion, Vector3, type Object3D, type Skeleton as ThreeSkeleton } from "three";

import { poseWorld } from "../kinematics.js";
import type { Frames, Skeleton } from "../types.js";
import { listChannels, type Channels } from "./channels.js";
import type { BoneMap } from "./match.js";

export interface RetargetOptions {
  /** Rest pose of the bones: their current pose, or the bind pose of their skin. */
  rest?: "current" | "bind";
  /** Turns the character's resting limbs to the motion's rest pose, for example from A-pose to T-pose. */
  align?: boolean;
  /** Size of the character relative to the motion; by default the ratio of hip heights at rest. */
  scale?: number;
  /** Object whose coordinates the motion uses; by default the outermost parent of the bones that is not a scene. */
  space?: Object3D;
}

const SHORT = 1e-6; // meters: shorter bones have no direction

/** World rotations and positions of joints or bones at rest. */
interface Rest {
  turns: Quaternion[];
  places: Vector3[];
}

/** Constants of a matched joint. */
interface Link {
  joint: number;
  /** The joint of the nearest matched ancestor bone; -1: none. */
  above: number;
  /** q = before · (rotation of the joint relative to `above`) · after. */
  before: Quaternion;
  after: Quaternion;
}

/**
 * Creates channels for the rotations of all matched joints and the positions of root and translated joints.
 *
 * In world space, a bone turns from its rest pose as its joint does: W = w · r⁻¹ · A · R, where w and r are
 * the joint's rotation and rest rotation, R is the bone's rest rotation, and A the rotation from `align`.
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
  /** World positions (3J) and rotations (4J) of the current frame. */
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

  /** Positions a root bone: the joint's world position times the scale. */
  private standing({ joint }: Link, above: Matrix4): (out: Vector3) => void {
    const inverse = above.clone().invert();
    return (out) => {
      out
        .fromArray(this.places, 3 * joint)
        .multiplyScalar(this.scale)
        .applyMatrix4(inverse);
    };
  }

  /** Positions another bone: its rest position plus the joint's displacement from its offset. */
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

/** Rest matrices of bones and their parents, in the coordinates of `space`. */
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

  /** Sets bones to the bind pose of their skin, relative to their root bone, which keeps its place. */
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

/** Returns, for each joint (J), the joint of the nearest matched ancestor bone; -1: none. */
function driversAbove(map: BoneMap): number[] {
  const driver = new Map<Object3D, number>();
  map.bones.forEach((bone, joint) => bone && driver.set(bone, joint));
  return map.bones.map((bone) => {
    for (let o: Object3D | null | undefined = bone?.parent; o; o = o.parent)
      if (driver.has(o)) return driver.get(o)!;
    return -1;
  });
}

/** Returns rotations (J) that align each bone at rest with its joint; unclear bones follow their parent. */
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

/** Returns the positions (J) of bones after alignment. */
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

/** Returns the ratio of hip heights of character and motion, above their lowest matched joint at rest. */
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
    throw new Error("cannot determine the hip height of the rest pose; set the option `scale`");
  return heights[1] / heights[0];
}
