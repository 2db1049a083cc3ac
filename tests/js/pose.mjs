// Poses an animation of a glTF file as three.js does, with its loader and mixer and without mocpack.
//   node pose.mjs FILE ANIMATION < times.json > poses.json
// Standard input is a list of seconds. Out come, for each node of the file in its order, its matrix
// in the world (16 numbers, column after column) and its morph weights, at each of the times.
import { readFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [file, animation] = process.argv.slice(2);
const folder = pathToFileURL(process.env.MOCPACK_VIEWER + "/node_modules/three/");
const three = await import(new URL("build/three.module.js", folder));
const { MeshoptDecoder } = await import(new URL("examples/jsm/libs/meshopt_decoder.module.js", folder));
const { GLTFLoader } = await import(new URL("examples/jsm/loaders/GLTFLoader.js", folder));

const bytes = readFileSync(file);
const times = JSON.parse(readFileSync(0, "utf8"));
const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder);
// pictures need a browser, and no pose depends on them
loader.register(() => ({ name: "no pictures", loadTexture: async () => new three.Texture() }));
globalThis.ProgressEvent ??= class {}; // three's loader of files makes one
const gltf = await loader.parseAsync(
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
  "",
);
const { parser } = gltf;
const count = parser.json.nodes.length;
const nodes = await Promise.all(
  Array.from({ length: count }, (_, n) => parser.getDependency("node", n)),
);
const world = new three.Group();
for (const node of nodes) {
  let top = node;
  while (top.parent) top = top.parent;
  if (top !== world) world.add(top);
}
const mixer = new three.AnimationMixer(world);
const action = mixer.clipAction(gltf.animations[Number(animation)]);
action.setLoop(three.LoopOnce);
action.clampWhenFinished = true;

const found = times.map((time) => {
  action.reset().play();
  mixer.setTime(time);
  world.updateMatrixWorld(true);
  return nodes.map((node) => {
    const mesh = node.isMesh ? node : node.children.find((c) => c.isMesh && c.morphTargetInfluences);
    return { matrix: [...node.matrixWorld.elements], weights: [...(mesh?.morphTargetInfluences ?? [])] };
  });
});
const text = Buffer.from(JSON.stringify(found));
for (let at = 0; at < text.length; ) at += writeSync(1, text, at);
