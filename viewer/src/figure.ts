// Draws a skeleton: a tapered bone from each joint to its parent, a ball at each joint.

import {
  BufferGeometry,
  Color,
  DoubleSide,
  DynamicDrawUsage,
  EqualStencilFunc,
  Group,
  IncrementStencilOp,
  InstancedMesh,
  LatheGeometry,
  Material,
  Matrix4,
  MeshBasicMaterial,
  MeshStandardMaterial,
  Quaternion,
  SphereGeometry,
  Vector2,
  Vector3,
} from "three";
import { bodyJoint } from "./body";
import type { Skeleton } from "./decoder";
import { Character, type Skin } from "./skin";

const UP = new Vector3(0, 1, 0);

/** Profile of a bone of length 1 and radius 1: thick near its start, rounded at both ends. */
const PROFILE: [number, number][] = [
  [0, -0.02],
  [0.5, 0.0],
  [0.85, 0.05],
  [1, 0.14],
  [0.94, 0.28],
  [0.6, 0.82],
  [0.5, 0.94],
  [0.3, 0.99],
  [0, 1.0],
];

/** A bone: the joint whose error it shows, and its two end points. */
interface Bone {
  from: number;
  to: number;
  joint: number;
}

export class Figure {
  readonly group = new Group();
  readonly shadow = new Group();
  readonly joints: InstancedMesh;
  private readonly bones: InstancedMesh;
  private readonly list: Bone[];
  private readonly radii: Float32Array;
  private ballSize = 0; // set by the first pose
  private character: Character | null = null;

  constructor(
    readonly skeleton: Skeleton,
    private readonly material: Material,
    private readonly shadowMaterial: Material,
    private readonly thickness = 1,
  ) {
    this.list = bonesOf(skeleton);
    this.radii = new Float32Array(this.list.length);
    const shape = new LatheGeometry(
      PROFILE.map((point) => new Vector2(...point)),
      14,
    );
    this.bones = instances(new InstancedMesh(shape, material, this.list.length));
    const ball = new SphereGeometry(1, 16, 12);
    this.joints = instances(new InstancedMesh(ball, material, skeleton.names.length));
    this.group.add(this.bones, this.joints);
    for (const mesh of [this.bones, this.joints]) this.shadow.add(castBy(mesh, shadowMaterial));
  }

  /** Adds a mesh. */
  wear(skin: Skin, surface: BufferGeometry, material: Material): void {
    this.character = new Character(skin, surface, material, this.shadowMaterial);
    this.group.add(this.character.mesh);
    this.shadow.add(this.character.shadow);
  }

  /** Shows the mesh, if there is one, or the bones. */
  showMesh(shown: boolean): void {
    const { character } = this;
    for (const parts of [this.group.children, this.shadow.children]) {
      for (const part of parts) {
        const isMesh = part === character?.mesh || part === character?.shadow;
        part.visible = isMesh === (shown && character !== null);
      }
    }
  }

  /** Returns the position of a mesh vertex, relative to the scene's origin. */
  vertex(number: number): number[] | null {
    return this.character?.vertex(number).toArray() ?? null;
  }

  /** Returns a sample of posed mesh vertices, to measure its extent. */
  outline(): Vector3[] {
    return this.character?.outline() ?? [];
  }

  /** Sets the pose: positions of joints, then of end sites, and joint rotations if there is a mesh. */
  pose(points: Float32Array, turns: Float32Array | null): void {
    if (turns) this.character?.pose(points, turns);
    const [from, to, along] = [new Vector3(), new Vector3(), new Vector3()];
    if (this.ballSize === 0) {
      const inner = this.list.filter((bone) => bone.to < this.skeleton.names.length);
      const lengths = inner.map((bone) =>
        from.fromArray(points, 3 * bone.from).distanceTo(to.fromArray(points, 3 * bone.to)),
      );
      this.ballSize = this.thickness * ballSize(lengths);
    }
    const [turn, size, matrix] = [new Quaternion(), new Vector3(), new Matrix4()];
    this.list.forEach((bone, i) => {
      from.fromArray(points, 3 * bone.from);
      along.subVectors(to.fromArray(points, 3 * bone.to), from);
      const length = along.length();
      turn.setFromUnitVectors(UP, length > 1e-9 ? along.divideScalar(length) : UP);
      if (this.radii[i] === 0) this.radii[i] = this.thickness * boneRadius(length, this.ballSize);
      matrix.compose(from, turn, size.set(this.radii[i], length, this.radii[i]));
      this.bones.setMatrixAt(i, matrix);
    });
    for (let j = 0; j < this.skeleton.names.length; j++) {
      matrix.makeScale(this.ballSize, this.ballSize, this.ballSize);
      this.joints.setMatrixAt(j, matrix.setPosition(from.fromArray(points, 3 * j)));
    }
    this.bones.instanceMatrix.needsUpdate = this.joints.instanceMatrix.needsUpdate = true;
  }

  /** Colors each joint and the bone that ends at it. */
  color(of: (joint: number, color: Color) => Color): void {
    if (this.character?.mesh.visible) this.character.color(of);
    const color = new Color();
    this.list.forEach((bone, i) => this.bones.setColorAt(i, of(bone.joint, color)));
    for (let j = 0; j < this.skeleton.names.length; j++) this.joints.setColorAt(j, of(j, color));
    if (this.bones.instanceColor) this.bones.instanceColor.needsUpdate = true;
    if (this.joints.instanceColor) this.joints.instanceColor.needsUpdate = true;
  }

  /** Returns joint positions (x, y, z each), relative to the scene's origin. */
  jointPositions(): number[] {
    const matrix = new Matrix4();
    const place = new Vector3();
    return this.skeleton.names.flatMap((_, j) => {
      this.joints.getMatrixAt(j, matrix);
      return place.setFromMatrixPosition(matrix).toArray();
    });
  }

  dispose(): void {
    this.character?.dispose();
    for (const mesh of [this.bones, this.joints]) {
      mesh.geometry.dispose();
      mesh.dispose();
    }
    this.material.dispose();
  }
}

/** Material of meshes: double-sided, since many meshes are open. */
export function meshMaterial(isGhost: boolean): MeshStandardMaterial {
  return new MeshStandardMaterial({
    roughness: 0.75,
    side: DoubleSide,
    vertexColors: true,
    // drawn behind the other figure, so that it is visible only where they differ
    ...(isGhost && {
      transparent: true,
      opacity: 0.7,
      polygonOffset: true,
      polygonOffsetFactor: 2,
    }),
  });
}

export function solidMaterial(): MeshStandardMaterial {
  return new MeshStandardMaterial({ roughness: 0.62, metalness: 0 });
}

/** Material of the original behind a compressed version: visible where they differ. */
export function ghostMaterial(): MeshStandardMaterial {
  return new MeshStandardMaterial({ roughness: 0.9, transparent: true, opacity: 0.7 });
}

/** Shadow material: overlapping bones do not get darker. */
export function shadowMaterial(): MeshBasicMaterial {
  return new MeshBasicMaterial({
    color: 0x000000,
    transparent: true,
    depthWrite: false,
    stencilWrite: true,
    stencilRef: 0,
    stencilFunc: EqualStencilFunc,
    stencilZPass: IncrementStencilOp,
  });
}

function instances(mesh: InstancedMesh): InstancedMesh {
  mesh.instanceMatrix.setUsage(DynamicDrawUsage);
  mesh.frustumCulled = false;
  return mesh;
}

/** Copies the instances for the shadow, which the group's matrix projects onto the ground. */
function castBy(mesh: InstancedMesh, material: Material): InstancedMesh {
  const shadow = new InstancedMesh(mesh.geometry, material, mesh.count);
  shadow.instanceMatrix = mesh.instanceMatrix;
  shadow.frustumCulled = false;
  return shadow;
}

function bonesOf(skeleton: Skeleton): Bone[] {
  const joints = skeleton.names.length;
  const inner = [...skeleton.parents].map((parent, j) => ({ from: parent, to: j, joint: j }));
  const outer = [...skeleton.endJoints].map((joint, e) => ({ from: joint, to: joints + e, joint }));
  // roots have no bone, nor does the offset from a positioning root to the body
  const bones = inner.slice(1 + bodyJoint(skeleton)).filter((bone) => bone.from >= 0);
  return [...bones, ...outer];
}

/** Returns the radius of joints for world lengths of bones, which scales and positions affect. */
function ballSize(lengths: number[]): number {
  const bones = lengths.filter((length) => length > 1e-4).sort((a, b) => a - b);
  const median = bones.length ? bones[Math.floor(bones.length / 2)] : 0.1;
  return Math.min(Math.max(0.115 * median, 0.002), 0.2);
}

/** Bone radius: grows less than proportionally with length; 0 for bones without length. */
function boneRadius(length: number, ball: number): number {
  return Math.max(1e-6, Math.min(0.13 * length, 1.25 * ball + 0.028 * length));
}
