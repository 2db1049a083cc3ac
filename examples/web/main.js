// A skinned character plays a .mocp file while it downloads: ?motion=URL, or drop a file on the page.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { MocpackLoader, toStreamingClip } from "mocpack/three";

import { makeMannequin } from "./mannequin.js";

const part = (id) => document.getElementById(id);

const renderer = new THREE.WebGLRenderer({ antialias: true });
renderer.shadowMap.enabled = true;
renderer.setPixelRatio(devicePixelRatio);
document.body.prepend(renderer.domElement);

const scene = new THREE.Scene();
scene.background = new THREE.Color(0xe9edf1);
scene.fog = new THREE.Fog(0xe9edf1, 6, 14);
scene.add(new THREE.HemisphereLight(0xffffff, 0xb9c4cc, 2));
const sun = new THREE.DirectionalLight(0xffffff, 2.2);
sun.castShadow = true;
sun.shadow.mapSize.setScalar(2048);
scene.add(sun, sun.target);
scene.add(makeFloor());

const camera = new THREE.PerspectiveCamera(40, 1, 0.1, 50);
camera.position.set(1.6, 1.3, 3.1);
const orbit = new OrbitControls(camera, renderer.domElement);
orbit.target.set(0, 0.7, 0);

const character = makeMannequin();
scene.add(character);
const hips = character.skeleton.bones[0];
const mixer = new THREE.AnimationMixer(character);
let playing = true;
let before = 0; // milliseconds
let shown; // { motion, clip, action }

/** Creates a floor of 1 m squares. */
function makeFloor() {
  const squares = Uint8Array.of(
    222,
    228,
    233,
    255,
    233,
    237,
    241,
    255,
    233,
    237,
    241,
    255,
    222,
    228,
    233,
    255,
  );
  const map = new THREE.DataTexture(squares, 2, 2);
  map.colorSpace = THREE.SRGBColorSpace;
  map.wrapS = map.wrapT = THREE.RepeatWrapping;
  map.repeat.setScalar(30);
  map.needsUpdate = true;
  const plane = new THREE.PlaneGeometry(60, 60).rotateX(-Math.PI / 2);
  const floor = new THREE.Mesh(
    plane,
    new THREE.MeshLambertMaterial({ map, color: 0xc8ced4 }),
  );
  floor.receiveShadow = true;
  return floor;
}

/** Retargets a loaded motion to the character, which has other names, rest pose and height. */
async function play({ motion }) {
  const clip = await toStreamingClip(motion, {
    skeleton: character.skeleton,
    retarget: { align: true, rest: "bind" },
  });
  mixer.stopAllAction();
  shown?.motion.close();
  shown = { motion, clip, action: mixer.clipAction(clip).play() };
  clip.stream.addEventListener("error", ({ error }) => tell(error.message));
  const { unmatchedJoints, unmatchedBones } = clip.userData;
  tell(
    `${motion.frameCount} frames of ${motion.skeleton.names.length} joints in ${(motion.sizes.file / 1000).toFixed(1)} kB
     not on the character: ${unmatchedJoints.join(", ") || "none"}
     not in the motion: ${unmatchedBones.join(", ") || "none"}`,
  );
}

function tell(text) {
  part("facts").textContent = text.replace(/^ +/gm, "");
}

function draw(now) {
  const seconds = Math.min((now - before) / 1000, 0.1);
  before = now;
  // stop the clock while frames are missing
  if (shown) mixer.update(playing && !shown.clip.stream.stalled ? seconds : 0);
  follow();
  orbit.update();
  renderer.render(scene, camera);
  if (shown) drawTrack();
}

/** Moves camera and light with the hips, keeping the user's view direction. */
function follow() {
  const at = hips.getWorldPosition(new THREE.Vector3()).setY(0.7);
  camera.position.add(at).sub(orbit.target);
  orbit.target.copy(at);
  sun.target.position.copy(at);
  sun.position.copy(at).add(new THREE.Vector3(2, 5, 3));
}

function drawTrack() {
  const { clip, action } = shown;
  const share = (seconds) => `${(100 * seconds) / clip.duration}%`;
  const buffered = clip.stream.buffered.map(([start, stop]) => {
    const bar = document.createElement("div");
    Object.assign(bar.style, {
      left: share(start),
      width: share(stop - start),
    });
    return bar;
  });
  part("track").replaceChildren(...buffered, part("played"));
  part("played").style.left = share(action.time);
  const { layers } = shown.motion;
  const quality =
    layers?.length > 1
      ? ` · layer ${clip.stream.layers} of ${layers.length}`
      : "";
  part("clock").textContent =
    `${action.time.toFixed(1)} of ${clip.duration.toFixed(1)} s${quality}`;
}

function resize() {
  renderer.setSize(innerWidth, innerHeight);
  camera.aspect = innerWidth / innerHeight;
  camera.updateProjectionMatrix();
}

part("play").addEventListener("click", () => {
  playing = !playing;
  part("play").textContent = playing ? "Pause" : "Play";
});
addEventListener("resize", resize);
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", async (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file)
    loader.parse(await file.arrayBuffer(), play, (error) =>
      tell(error.message),
    );
});

const loader = new MocpackLoader();
const address =
  new URLSearchParams(location.search).get("motion") ?? "/motion.mocp";
const ready = loader.loadAsync(address).then(play);
ready.catch((error) => tell(error.message));
resize();
renderer.setAnimationLoop(draw);

// for the console and the test of this page
globalThis.example = {
  ready,
  character,
  state: () => ({
    seconds: shown.action.time,
    stalled: shown.clip.stream.stalled,
    layers: shown.clip.stream.layers,
    buffered: shown.clip.stream.buffered,
    ...shown.clip.userData,
  }),
  /** Stops at a time when its frames are loaded, and returns bone positions. */
  async show(seconds) {
    if (playing) part("play").click();
    await shown.clip.stream.ready(seconds);
    mixer.setTime(seconds);
    character.updateMatrixWorld(true);
    draw(before);
    const places = character.skeleton.bones.map((bone) => [
      bone.name,
      bone.getWorldPosition(new THREE.Vector3()).toArray(),
    ]);
    return Object.fromEntries(places);
  },
};
