// A procedural character: bones, and one skinned mesh of tapered limbs.
import {
  Bone,
  BufferGeometry,
  Color,
  Float32BufferAttribute,
  MeshStandardMaterial,
  Quaternion,
  Skeleton,
  SkinnedMesh,
  Uint16BufferAttribute,
  Vector3,
} from "three";

const SIZE = 0.8; // relative to an adult

/** Name, parent bone, and offset from the parent: meters, T-pose, facing +z. */
const BODY = [
  ["Hips", null, 0, 0.96, 0],
  ["Spine", "Hips", 0, 0.11, -0.01],
  ["Spine1", "Spine", 0, 0.15, 0],
  ["Neck", "Spine1", 0, 0.27, -0.01],
  ["Head", "Neck", 0, 0.1, 0.01],
];
const LEFT = [
  ["Shoulder", "Spine1", 0.05, 0.2, -0.01],
  ["Arm", "Shoulder", 0.14, 0.02, 0],
  ["ForeArm", "Arm", 0.27, 0, 0],
  ["Hand", "ForeArm", 0.25, 0, 0],
  ["UpLeg", "Hips", 0.1, -0.05, 0],
  ["Leg", "UpLeg", 0, -0.42, 0],
  ["Foot", "Leg", 0, -0.41, -0.01],
  ["ToeBase", "Foot", 0, -0.06, 0.14],
];

/** Bone, end of the limb (a bone, or an offset), radii at both ends, color, ratio of width to depth. */
const [SUIT, DARK, SKIN] = [0x3d7ea6, 0x2b3f4f, 0xf0c9a4];
const LIMBS = [
  ["Hips", "Spine", 0.13, 0.12, DARK, 1.25],
  ["Spine", "Spine1", 0.12, 0.13, SUIT, 1.2],
  ["Spine1", [0, 0.2, 0], 0.13, 0.1, SUIT, 1.45],
  ["Neck", "Head", 0.05, 0.05, SKIN, 1],
  ["Head", [0, 0.08, 0.01], 0.1, 0.115, SKIN, 0.92],
];
const LEFT_LIMBS = [
  ["Shoulder", "Arm", 0.07, 0.065, SUIT, 1],
  ["Arm", "ForeArm", 0.062, 0.05, SUIT, 1],
  ["ForeArm", "Hand", 0.05, 0.038, SUIT, 1],
  ["Hand", [0.12, 0, 0], 0.045, 0.03, SKIN, 1],
  ["UpLeg", "Leg", 0.085, 0.065, DARK, 1],
  ["Leg", "Foot", 0.065, 0.045, DARK, 1],
  ["Foot", "ToeBase", 0.055, 0.045, 0xc2410c, 1],
  ["ToeBase", [0, -0.005, 0.06], 0.045, 0.035, 0xc2410c, 1],
];
const EYES = [
  ["Head", [0.042, 0.09, 0.112], 0.017, 0.017, 0x1b2630, 1],
  ["Head", [-0.042, 0.09, 0.112], 0.017, 0.017, 0x1b2630, 1],
];
const [RINGS, SIDES] = [22, 20];

export function makeMannequin() {
  const bones = makeBones();
  bones.get("Hips").updateMatrixWorld(true);
  const list = [...bones.values()];
  const shape = {
    position: [],
    color: [],
    skinIndex: [],
    skinWeight: [],
    index: [],
  };
  const limbs = [
    ...LIMBS,
    ...LEFT_LIMBS.map(limbOf("Left")),
    ...LEFT_LIMBS.map(limbOf("Right")),
  ];
  for (const limb of limbs) addLimb(shape, bones, list, limb);
  for (const [bone, at, ...rest] of EYES)
    addLimb(shape, bones, list, [bone, at, ...rest], at);
  const geometry = new BufferGeometry();
  geometry.setAttribute(
    "position",
    new Float32BufferAttribute(shape.position, 3),
  );
  geometry.setAttribute("color", new Float32BufferAttribute(shape.color, 3));
  geometry.setAttribute(
    "skinIndex",
    new Uint16BufferAttribute(shape.skinIndex, 4),
  );
  geometry.setAttribute(
    "skinWeight",
    new Float32BufferAttribute(shape.skinWeight, 4),
  );
  geometry.setIndex(shape.index);
  geometry.computeVertexNormals();
  const material = new MeshStandardMaterial({
    vertexColors: true,
    roughness: 0.65,
  });
  const mesh = new SkinnedMesh(geometry, material);
  mesh.add(bones.get("Hips"));
  mesh.bind(new Skeleton(list));
  mesh.castShadow = true;
  mesh.frustumCulled = false; // it leaves the bounding box of its rest pose
  return mesh;
}

function makeBones() {
  const bones = new Map();
  for (const [name, above, ...place] of [
    ...BODY,
    ...LEFT.map(boneOf("Left")),
    ...LEFT.map(boneOf("Right")),
  ]) {
    const bone = new Bone();
    bone.name = `mixamorig${name}`; // as in Mixamo characters loaded by three.js
    bone.position.set(...place).multiplyScalar(SIZE);
    bones.get(above)?.add(bone);
    bones.set(name, bone);
  }
  return bones;
}

/** Creates a left or right row from a left one: adds the side to names and mirrors x. */
const sided = (side, name) =>
  LEFT.some(([own]) => own === name) ? side + name : name;
const mirrored = (side, [x, y, z]) =>
  side === "Left" ? [x, y, z] : [-x, y, z];

function boneOf(side) {
  return ([name, above, ...place]) => [
    side + name,
    sided(side, above),
    ...mirrored(side, place),
  ];
}

function limbOf(side) {
  return ([name, to, ...look]) => [
    side + name,
    typeof to === "string" ? sided(side, to) : mirrored(side, to),
    ...look,
  ];
}

/** Adds a capsule along a bone; near joints, the skin follows both bones. */
function addLimb(
  shape,
  bones,
  list,
  [name, to, startRadius, endRadius, tint, wide],
  from,
) {
  const bone = bones.get(name);
  const start = bone.getWorldPosition(new Vector3());
  const next = typeof to === "string" ? bones.get(to) : null;
  const end = next ? next.getWorldPosition(new Vector3()) : at(start, to);
  if (from) start.copy(end);
  const [r0, r1] = [SIZE * startRadius, SIZE * endRadius];
  const length = start.distanceTo(end);
  const axis =
    length > 0 ? end.clone().sub(start).normalize() : new Vector3(0, 1, 0);
  const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), axis);
  const color = new Color(tint);
  const [own, above, below] = [bone, bone.parent, next].map((one) =>
    list.indexOf(one),
  );
  const first = shape.position.length / 3;
  for (let ring = 0; ring <= RINGS; ++ring) {
    // denser at the round ends
    const s =
      -r0 +
      (length + r0 + r1) * (0.5 - 0.5 * Math.cos((Math.PI * ring) / RINGS));
    const radius = profile(s, length, r0, r1);
    const up = from || above < 0 ? 0 : clamp(0.5 - (0.5 * s) / r0);
    const down = below < 0 ? 0 : clamp(0.5 + (0.5 * (s - length)) / r1);
    for (let side = 0; side < SIDES; ++side) {
      const angle = (2 * Math.PI * side) / SIDES;
      const point = new Vector3(
        wide * radius * Math.cos(angle),
        s,
        radius * Math.sin(angle),
      );
      shape.position.push(...point.applyQuaternion(turn).add(start));
      shape.color.push(color.r, color.g, color.b);
      shape.skinIndex.push(own, Math.max(above, 0), Math.max(below, 0), 0);
      shape.skinWeight.push(1 - clamp(up + down), up, down, 0);
      if (ring === RINGS) continue;
      const [a, b] = [
        first + ring * SIDES + side,
        first + ring * SIDES + ((side + 1) % SIDES),
      ];
      shape.index.push(a, a + SIDES, b, b, a + SIDES, b + SIDES);
    }
  }
}

function at(start, [x, y, z]) {
  return new Vector3(x, y, z).multiplyScalar(SIZE).add(start);
}

/** Returns the radius of a tapered capsule at position s. */
function profile(s, length, r0, r1) {
  if (s < 0) return Math.sqrt(Math.max(0, r0 * r0 - s * s));
  if (s > length) return Math.sqrt(Math.max(0, r1 * r1 - (s - length) ** 2));
  return length > 0 ? r0 + ((r1 - r0) * s) / length : r0;
}

function clamp(share) {
  return Math.min(1, Math.max(0, share));
}
