// A mesh, skinned by the joints of a motion. src/mocpack/viewing/skins.py writes the binary format.

import {
  Bone,
  BufferAttribute,
  BufferGeometry,
  Color,
  Material,
  Matrix4,
  Quaternion,
  Skeleton,
  SkinnedMesh,
  Vector3,
} from "three";
import { MocpackError } from "./decoder";
import { bytesOfBase64 } from "./resources";

/** Location of a mesh. */
export interface SkinEntry {
  url?: string;
  data?: string;
}

/** A surface and its skinning: each vertex has four binds, each bind a joint and a matrix. */
export interface Skin {
  vertices: Float32Array;
  triangles: Uint32Array;
  weights: Float32Array;
  binds: Uint16Array;
  joints: Uint32Array;
  matrices: Float32Array;
}

const MAGIC = 0x53434f4d; // "MOCS"
const HEADER = 20;
const OUTLINE = 1000; // vertices sampled to measure the extent of a mesh
const WHOLE = new Vector3(1, 1, 1);

export async function loadSkin(entry: SkinEntry): Promise<Skin> {
  if (entry.data) {
    const packed = new Blob([bytesOfBase64(entry.data)]).stream();
    const bytes = packed.pipeThrough(new DecompressionStream("gzip"));
    return readSkin(await new Response(bytes).arrayBuffer());
  }
  const answer = await fetch(entry.url ?? "").catch(() => null);
  if (!answer?.ok) throw new MocpackError("network", "the local server does not respond");
  return readSkin(await answer.arrayBuffer());
}

function readSkin(block: ArrayBuffer): Skin {
  const view = new DataView(block);
  if (
    block.byteLength < HEADER ||
    view.getUint32(0, true) !== MAGIC ||
    view.getUint32(4, true) !== 1
  )
    throw new MocpackError("format", "unknown mesh format");
  const [vertices, triangles, binds] = [8, 12, 16].map((at) => view.getUint32(at, true));
  if (block.byteLength !== HEADER + 36 * vertices + 12 * triangles + 52 * binds)
    throw new MocpackError("truncated", "the mesh data has the wrong size");
  let at = HEADER;
  const next = (count: number, width: number): [ArrayBuffer, number, number] => {
    at += count * width;
    return [block, at - count * width, count];
  };
  return {
    vertices: new Float32Array(...next(3 * vertices, 4)),
    triangles: new Uint32Array(...next(3 * triangles, 4)),
    weights: new Float32Array(...next(4 * vertices, 4)),
    joints: new Uint32Array(...next(binds, 4)),
    matrices: new Float32Array(...next(12 * binds, 4)),
    binds: new Uint16Array(...next(4 * vertices, 2)),
  };
}

/** Creates the geometry shared by all figures of a mesh. */
export function surfaceOf(skin: Skin): BufferGeometry {
  const shape = new BufferGeometry();
  shape.setAttribute("position", new BufferAttribute(skin.vertices, 3));
  shape.setAttribute("skinIndex", new BufferAttribute(skin.binds, 4));
  shape.setAttribute("skinWeight", new BufferAttribute(skin.weights, 4));
  shape.setIndex(new BufferAttribute(skin.triangles, 1));
  shape.computeVertexNormals();
  return shape;
}

export class Character {
  readonly mesh: SkinnedMesh;
  readonly shadow: SkinnedMesh;
  private readonly bones: Bone[];
  private readonly skeleton: Skeleton;
  private readonly colors: BufferAttribute;

  constructor(
    private readonly skin: Skin,
    surface: BufferGeometry,
    private readonly material: Material,
    shadowMaterial: Material,
  ) {
    const shape = new BufferGeometry().setIndex(surface.index);
    for (const [name, values] of Object.entries(surface.attributes))
      shape.setAttribute(name, values);
    this.colors = new BufferAttribute(new Float32Array(skin.vertices.length).fill(1), 3);
    shape.setAttribute("color", this.colors);
    this.bones = Array.from(skin.joints, () => new Bone());
    this.skeleton = new Skeleton(
      this.bones,
      Array.from(skin.joints, (_, b) => this.bind(b)),
    );
    this.mesh = this.wrap(shape, material);
    this.shadow = this.wrap(shape, shadowMaterial);
  }

  /** Sets the pose: world positions and rotations of the joints. */
  pose(points: Float32Array, turns: Float32Array): void {
    const [place, turn] = [new Vector3(), new Quaternion()];
    this.skin.joints.forEach((joint, b) => {
      place.fromArray(points, 3 * joint);
      this.bones[b].matrixWorld.compose(place, turn.fromArray(turns, 4 * joint), WHOLE);
    });
  }

  /** Colors each vertex with the blended colors of its joints. */
  color(of: (joint: number, color: Color) => Color): void {
    const { joints, binds, weights } = this.skin;
    const color = new Color();
    const each = new Float32Array(3 * joints.length);
    joints.forEach((joint, b) => of(joint, color).toArray(each, 3 * b));
    const out = this.colors.array as Float32Array;
    for (let v = 0; v < out.length / 3; v++) {
      for (let c = 0; c < 3; c++) {
        let sum = 0;
        for (let k = 4 * v; k < 4 * v + 4; k++) sum += weights[k] * each[3 * binds[k] + c];
        out[3 * v + c] = sum;
      }
    }
    this.colors.needsUpdate = true;
  }

  /** Returns the position of a vertex. */
  vertex(number: number): Vector3 {
    this.skeleton.update();
    return this.mesh.getVertexPosition(number, new Vector3());
  }

  /** Returns an even sample of posed vertices. */
  outline(): Vector3[] {
    const count = this.skin.vertices.length / 3;
    const apart = Math.max(1, Math.floor(count / OUTLINE));
    const chosen = Array.from({ length: Math.ceil(count / apart) }, (_, k) => k * apart);
    this.skeleton.update();
    return chosen.map((v) => this.mesh.getVertexPosition(v, new Vector3()));
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.material.dispose();
    this.skeleton.dispose();
  }

  private bind(number: number): Matrix4 {
    const rows = this.skin.matrices.subarray(12 * number, 12 * number + 12);
    return new Matrix4().set(...(rows as unknown as Rows), 0, 0, 0, 1);
  }

  /** Sets bone matrices directly in scene space; the group's matrix is applied afterwards. */
  private wrap(shape: BufferGeometry, material: Material): SkinnedMesh {
    const mesh = new SkinnedMesh(shape, material);
    mesh.bindMode = "detached";
    mesh.bind(this.skeleton, new Matrix4());
    mesh.frustumCulled = false;
    return mesh;
  }
}

// prettier-ignore
type Rows = [number, number, number, number, number, number, number, number, number, number, number, number];
