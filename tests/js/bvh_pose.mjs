// Poses BVH files as three.js does, with its loader and mixer and without mocpack.
//   node bvh_pose.mjs FILE < times.json > poses.json
// Standard input is a list of seconds; out come the joints' names and, for each time, their places.
import { readFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.env.MOCPACK_VIEWER + "/node_modules/three/");
const three = await import(new URL("build/three.module.js", folder));
const { BVHLoader } = await import(new URL("examples/jsm/loaders/BVHLoader.js", folder));
const { skeleton, clip } = new BVHLoader().parse(readFileSync(process.argv[2], "utf8"));
const bones = skeleton.bones.filter((bone) => bone.name !== "ENDSITE");
const world = new three.Group().add(skeleton.bones[0]);
const mixer = new three.AnimationMixer(world);
const action = mixer.clipAction(clip);
action.setLoop(three.LoopOnce);
action.clampWhenFinished = true;
const places = JSON.parse(readFileSync(0, "utf8")).map((time) => {
  action.reset().play();
  mixer.setTime(time);
  world.updateMatrixWorld(true);
  return bones.map((bone) => bone.matrixWorld.elements.slice(12, 15));
});
const text = Buffer.from(JSON.stringify({ names: bones.map((bone) => bone.name), places }));
for (let at = 0; at < text.length; ) at += writeSync(1, text, at);
