// Compares three.js bones, moved by its mixer, with the frames of the package.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";

import * as THREE from "three";

import { MocpackError, open, worldPositions } from "../dist/node.js";
import {
  matchBones,
  MocpackLoader,
  rootBones,
  toAnimationClip,
  toSkeleton,
  toStreamingClip,
} from "../dist/three/index.js";
import { chunksOf, noFiles, partsOf, random, read, resealed } from "./files.mjs";

const CLOSE = 1e-5; // meters, or components of a quaternion
const FILES = [
  "walk",
  "translating",
  "few_axes",
  "one_frame",
  "layers",
  "roots",
  "times",
  "start",
].concat(["scales"]);

/** Creates a scene with a skinned mesh. */
function worn(skeleton) {
  const mesh = new THREE.SkinnedMesh(new THREE.BufferGeometry(), new THREE.MeshBasicMaterial());
  for (const bone of rootBones(skeleton)) mesh.add(bone);
  mesh.bind(skeleton);
  new THREE.Scene().add(mesh);
  return mesh;
}

/** Creates a mixer that shows given times of a clip. */
function showing(root, clip) {
  const mixer = new THREE.AnimationMixer(root);
  const action = mixer.clipAction(clip);
  action.setLoop(THREE.LoopOnce);
  action.clampWhenFinished = true;
  return (seconds) => {
    action.reset().play();
    mixer.setTime(seconds);
    root.updateMatrixWorld(true);
  };
}

const placesOf = (bones) =>
  bones.flatMap((bone) => new THREE.Vector3().setFromMatrixPosition(bone.matrixWorld).toArray());

function near(found, expected, limit = CLOSE, what = "") {
  assert.equal(found.length, expected.length);
  let worst = 0;
  for (let i = 0; i < found.length; ++i) worst = Math.max(worst, Math.abs(found[i] - expected[i]));
  assert.ok(worst <= limit, `${what}: ${worst} apart`);
}

/** Returns frame times on the clip's clock. */
function timesOf(motion) {
  const { times } = motion.takeData;
  return Array.from({ length: motion.frameCount }, (_, t) =>
    times ? times[t] - times[0] : t * motion.frameTime,
  );
}

/** Compares bones with `motion.sample`: local and world poses. */
async function checkPose(motion, bones, seconds) {
  const sample = await motion.sample(
    seconds + (motion.takeData.times?.[0] ?? motion.takeData.startTime),
  );
  bones.forEach((bone, j) => {
    const turn = new THREE.Quaternion().fromArray(sample.rotations, 4 * j);
    const sign = Math.sign(turn.dot(bone.quaternion)) || 1;
    near(
      bone.quaternion.toArray(),
      turn.toArray().map((c) => sign * c),
      CLOSE,
      `turn of ${j}`,
    );
    near(
      bone.position.toArray(),
      sample.translations.slice(3 * j, 3 * j + 3),
      CLOSE,
      `place of ${j}`,
    );
    const scales = sample.scales?.slice(3 * j, 3 * j + 3) ?? [1, 1, 1];
    near(bone.scale.toArray(), scales, CLOSE * Math.max(...scales), `scale of ${j}`);
  });
  near(placesOf(bones), worldPositions(motion.skeleton, sample).joints, 2 * CLOSE, "in the world");
}

async function checkClip(motion, mesh, clip, ready = async () => {}) {
  const show = showing(mesh, clip);
  const times = timesOf(motion);
  const { next } = random(7);
  const shown = [0, 1, times.length >> 1, times.length - 1].map(
    (t) => times[Math.min(t, times.length - 1)],
  );
  for (let i = 0; i < 12; ++i) shown.push(next() * clip.duration);
  for (const seconds of shown) {
    await ready(seconds);
    show(seconds);
    await checkPose(motion, mesh.skeleton.bones, seconds);
  }
}

describe("toSkeleton", { skip: noFiles }, () => {
  it("has one bone per joint, in rest pose", async () => {
    for (const name of FILES) {
      const motion = await open(read(`${name}.mocp`));
      const { names, parents, offsets, rest } = motion.skeleton;
      const { bones, boneInverses } = toSkeleton(motion);
      assert.equal(bones.length, parents.length);
      bones.forEach((bone, j) => {
        assert.equal(bone.userData.name, names[j]);
        assert.equal(bone.parent, parents[j] < 0 ? null : bones[parents[j]]);
        near(bone.position.toArray(), offsets.slice(3 * j, 3 * j + 3), 0);
        near(bone.quaternion.toArray(), rest ? rest.slice(4 * j, 4 * j + 4) : [0, 0, 0, 1], 0);
        const product = bone.matrixWorld.clone().multiply(boneInverses[j]);
        near(product.elements, new THREE.Matrix4().elements, 1e-12);
      });
      assert.equal(rootBones({ bones }).length, parents.filter((p) => p < 0).length);
    }
  });

  it("makes names unique and valid for three.js", () => {
    const names = ["", "a.b", "ab", "a:b", "", "ab_1", "__proto__", "x y"];
    const skeleton = {
      names,
      parents: Int32Array.from(names, (_, j) => j - 1),
      offsets: new Float64Array(3 * names.length),
    };
    const { bones } = toSkeleton(skeleton);
    const given = bones.map((bone) => bone.name);
    assert.equal(new Set(given).size, names.length, String(given));
    for (const name of given) {
      const parsed = THREE.PropertyBinding.parseTrackName(`${name}.quaternion`);
      assert.equal(parsed.nodeName, name);
    }
  });
});

describe("clips in three.js's mixer", { skip: noFiles }, () => {
  for (const name of FILES) {
    it(`pose ${name} as its frames do`, async () => {
      const motion = await open(read(`${name}.mocp`));
      const skeleton = toSkeleton(motion);
      const clip = await toAnimationClip(motion, { skeleton });
      assert.deepEqual(clip.userData, { unmatchedJoints: [], unmatchedBones: [] });
      assert.ok(Math.abs(clip.duration - timesOf(motion).at(-1)) < CLOSE);
      await checkClip(motion, worn(skeleton), clip);
    });

    it(`pose ${name} as its frames do while it streams`, async () => {
      const motion = await open(read(`${name}.mocp`));
      const skeleton = toSkeleton(motion);
      const clip = await toStreamingClip(motion, { skeleton });
      await checkClip(motion, worn(skeleton), clip, (seconds) => clip.stream.ready(seconds));
    });
  }

  it("contain the requested frames", async () => {
    const motion = await open(read("walk.mocp"));
    const skeleton = toSkeleton(motion);
    const mesh = worn(skeleton);
    const clip = await toAnimationClip(motion, { skeleton, start: 10, stop: 20, name: "part" });
    assert.equal(clip.name, "part");
    showing(mesh, clip)(3 * motion.frameTime);
    await checkPose(motion, skeleton.bones, 13 * motion.frameTime);
    for (const [start, stop] of [
      [5, 5],
      [0, 46],
      [-1, 3],
      [0.5, 2],
    ])
      await assert.rejects(toAnimationClip(motion, { start, stop }), RangeError);
  });

  it("find bones by uuid if names are repeated", async () => {
    const motion = await open(read("walk.mocp"));
    const skeleton = toSkeleton(motion);
    for (const bone of skeleton.bones) bone.name = "bone.[1]";
    const clip = await toAnimationClip(motion, { skeleton });
    await checkClip(motion, worn(skeleton), clip);
  });

  it("have one keyframe in constant tracks", async () => {
    const motion = await open(read("walk.mocp"));
    const still = { ...motion, skeleton: motion.skeleton, frameCount: 45, frameTime: 0.1 };
    const first = await motion.frames(0, 1);
    still.frames = async (start, stop) => ({
      start,
      count: stop - start,
      rotations: Float64Array.from(
        { length: (stop - start) * first.rotations.length },
        (_, i) => first.rotations[i % first.rotations.length],
      ),
      translations: Float64Array.from(
        { length: (stop - start) * first.translations.length },
        (_, i) => first.translations[i % first.translations.length],
      ),
    });
    const clip = await toAnimationClip(still);
    assert.ok(clip.tracks.every((track) => track.times.length === 1));
    assert.ok(Math.abs(clip.duration - 4.4) < 1e-6);
  });

  it("are rejected above memoryLimit", async () => {
    const motion = await open(read("long.mocp"));
    await assert.rejects(
      toAnimationClip(motion, { memoryLimit: 1e5 }),
      (error) => error instanceof MocpackError && error.kind === "memory",
    );
  });

  it("blend with other clips and can be cloned", async () => {
    const motion = await open(read("walk.mocp"));
    const skeleton = toSkeleton(motion);
    const mesh = worn(skeleton);
    const streaming = (await toStreamingClip(motion, { skeleton })).clone();
    await streaming.stream.ready(0);
    const whole = await toAnimationClip(motion, { skeleton });
    const mixer = new THREE.AnimationMixer(mesh);
    for (const clip of [streaming, whole]) mixer.clipAction(clip).setEffectiveWeight(0.5).play();
    mixer.update(0.25);
    mesh.updateMatrixWorld(true);
    await checkPose(motion, skeleton.bones, 0.25);
    assert.throws(() => streaming.toJSON(), /keyframes/);
  });
});

describe("a streaming clip", { skip: noFiles }, () => {
  it("keeps no more frames than its cache holds", async () => {
    const motion = await open(read("long.mocp"));
    const clip = await toStreamingClip(motion, { cacheBytes: 1, prefetchSeconds: 2 });
    for (let seconds = 0; seconds < 30; seconds += 0.5) await clip.stream.ready(seconds);
    const kept = clip.stream.buffered.reduce((sum, [start, stop]) => sum + stop - start, 0);
    assert.ok(kept > 0 && kept <= 6, `${kept} s`);
    const roomy = await toStreamingClip(motion, { prefetchSeconds: 0 });
    for (let seconds = 0; seconds < 30; seconds += 0.5) await roomy.stream.ready(seconds);
    assert.deepEqual(roomy.stream.buffered, [[0, 30]]);
    roomy.stream.close();
    assert.deepEqual(roomy.stream.buffered, []);
    await assert.rejects(roomy.stream.ready(1), /closed/);
  });

  it("decodes each second once during playback, even with a small cache", async () => {
    const motion = await open(read("long.mocp"));
    const asked = [];
    const counted = Object.create(motion, {
      frames: {
        value: (start, stop) => {
          asked.push(start);
          return motion.frames(start, stop);
        },
      },
    });
    const { stream } = await toStreamingClip(counted, { cacheBytes: 1, prefetchSeconds: 6 });
    for (let seconds = 0; seconds < 25; seconds += 0.25) {
      await stream.ready(seconds);
      stream.seek(seconds);
      assert.equal(stream.stalled, false);
      await stream.ready(seconds + 1); // as time passes, what was asked for comes
    }
    const windows = asked.slice(1); // the first was the first pose
    assert.equal(new Set(windows).size, windows.length, String(windows));
  });

  it("plays backwards and prefetches in that direction", async () => {
    const motion = await open(read("long.mocp"));
    const { stream } = await toStreamingClip(motion, { prefetchSeconds: 3 });
    await stream.ready(60);
    stream.seek(60.5);
    stream.seek(60.4);
    const covered = () => stream.buffered.some(([start, stop]) => start <= 57.5 && stop >= 60.5);
    await new Promise((done) =>
      stream.addEventListener("loaded", () => {
        if (covered()) done();
      }),
    );
  });

  it("keeps the last pose at damaged frames and reports one error", async () => {
    const bytes = read("long.mocp");
    const parts = await partsOf(bytes);
    const { start } = parts.at(-40); // a group of the second minute
    bytes[start + 5] ^= 0x40;
    const motion = await open(resealed(bytes));
    const skeleton = toSkeleton(motion);
    const mesh = worn(skeleton);
    const clip = await toStreamingClip(motion, { skeleton, prefetchSeconds: 0 });
    const errors = [];
    clip.stream.addEventListener("error", ({ error }) => errors.push(error));
    const mixer = new THREE.AnimationMixer(mesh);
    mixer.clipAction(clip).play();
    let held = 0;
    for (let seconds = 70; seconds < 95; seconds += 0.5) {
      await clip.stream.ready(seconds).catch(() => {});
      mixer.setTime(seconds);
      mesh.updateMatrixWorld(true);
      if (clip.stream.stalled) held += 1;
      else await checkPose(motion, skeleton.bones, seconds);
    }
    assert.ok(held >= 1 && held <= 6, `${held} held`);
    assert.ok(errors.length >= 1);
    assert.ok(errors.every((error) => error instanceof MocpackError && error.kind === "corrupt"));
    const before = errors.length;
    for (let i = 0; i < 50; ++i) mixer.setTime(81);
    assert.equal(errors.length, before);
  });

  it("rejects invalid options", async () => {
    const motion = await open(read("walk.mocp"));
    for (const options of [{ prefetchSeconds: -1 }, { prefetchSeconds: NaN }, { cacheBytes: -1 }])
      await assert.rejects(toStreamingClip(motion, options), RangeError);
  });
});

describe("matchBones", { skip: noFiles }, () => {
  it("matches by name, loosely if unambiguous, and reports the rest", async () => {
    const motion = await open(read("walk.mocp"));
    const { names } = motion.skeleton;
    const target = toSkeleton(motion);
    const [first, second, third] = target.bones;
    for (const bone of target.bones) delete bone.userData.name;
    first.name = `mixamorig${names[0]}`;
    second.name = names[1].toUpperCase().replace(/(.)$/, "_$1");
    third.name = "Tail";
    const map = matchBones(motion, target);
    assert.deepEqual(map.unmatchedJoints, [names[2]]);
    assert.deepEqual(map.unmatchedBones, ["Tail"]);
    assert.equal(map.bones[0], first);
    assert.equal(map.bones[1], second);
    const helped = matchBones(motion, target, { names: { [names[2]]: "Tail", [names[3]]: null } });
    assert.equal(helped.bones[2], third);
    assert.deepEqual(helped.unmatchedJoints, [names[3]]);
    const clip = await toAnimationClip(motion, { skeleton: target });
    assert.deepEqual(clip.userData, { unmatchedJoints: [names[2]], unmatchedBones: ["Tail"] });
  });

  it("does not guess between bones with the same name", async () => {
    const motion = await open(read("walk.mocp"));
    const target = toSkeleton(motion);
    const { names } = motion.skeleton;
    target.bones[3].name = target.bones[2].name;
    target.bones[3].userData.name = names[2];
    const map = matchBones(motion, target);
    assert.deepEqual(map.unmatchedJoints, [names[2], names[3]]);
  });

  it("throws if nothing matches", async () => {
    const motion = await open(read("walk.mocp"));
    const strange = new THREE.Skeleton([Object.assign(new THREE.Bone(), { name: "Tail" })]);
    await assert.rejects(toAnimationClip(motion, { skeleton: strange }), /"Tail"/);
    await assert.rejects(toStreamingClip(motion, { skeleton: strange }), /`names`/);
  });
});

describe("retargetChannels", { skip: noFiles }, () => {
  /** The motion's skeleton with another size and random bone axes, under an armature. */
  function stranger(motion, size, { posed = false } = {}) {
    const own = toSkeleton(motion);
    const { next } = random(11);
    const axis = () => new THREE.Vector3(next() - 0.5, next() - 0.5, next() - 0.5).normalize();
    const worlds = own.bones.map((bone) => {
      const turn = new THREE.Quaternion().setFromAxisAngle(axis(), 6 * next());
      const place = new THREE.Vector3()
        .setFromMatrixPosition(bone.matrixWorld)
        .multiplyScalar(size);
      return new THREE.Matrix4().compose(place, turn, new THREE.Vector3(1, 1, 1));
    });
    const armature = new THREE.Object3D();
    armature.rotation.x = -Math.PI / 2;
    armature.scale.setScalar(0.01);
    armature.position.set(0.3, 0.1, 0);
    armature.updateMatrix();
    const model = new THREE.Group();
    model.position.set(7, 0, -2); // where the model stands in the scene is no part of the motion
    model.add(armature);
    new THREE.Scene().add(model);
    own.bones.forEach((bone, j) => {
      const parent = own.bones.indexOf(bone.parent);
      const above = parent < 0 ? armature.matrix : worlds[parent];
      above
        .clone()
        .invert()
        .multiply(worlds[j])
        .decompose(bone.position, bone.quaternion, bone.scale);
      if (parent < 0) armature.add(bone);
    });
    model.updateMatrixWorld(true);
    const skeleton = new THREE.Skeleton(own.bones);
    if (posed)
      for (const bone of own.bones)
        if (bone.parent.isBone)
          bone.quaternion.multiply(new THREE.Quaternion().setFromAxisAngle(axis(), 1));
    return { model, skeleton };
  }

  async function checkRetargeted(motion, size, clip, model, bones) {
    const show = showing(model, clip);
    for (const t of [0, 9, motion.frameCount - 1]) {
      await clip.stream?.ready(t * motion.frameTime);
      show(t * motion.frameTime);
      const { joints } = worldPositions(motion.skeleton, await motion.frames(t, t + 1));
      const found = bones.flatMap((bone) => {
        const place = new THREE.Vector3().setFromMatrixPosition(bone.matrixWorld);
        return model.worldToLocal(place).divideScalar(size).toArray();
      });
      near(found, joints, 1e-5, `frame ${t}`);
    }
  }

  for (const name of ["walk", "few_axes", "hips"])
    it(`moves ${name} on bones of other axes and size, place by place`, async () => {
      const motion = await open(read(`${name}.mocp`));
      for (const size of [1, 0.37]) {
        const { model, skeleton } = stranger(motion, size);
        const retarget = { skeleton, retarget: true };
        const whole = await toAnimationClip(motion, retarget);
        await checkRetargeted(motion, size, whole, model, skeleton.bones);
        // the clip has left the bones in a pose, which must not be taken for rest
        const again = stranger(motion, size);
        const streaming = await toStreamingClip(motion, {
          skeleton: again.skeleton,
          retarget: true,
        });
        await checkRetargeted(motion, size, streaming, again.model, again.skeleton.bones);
      }
    });

  it("uses the bind pose with rest: bind", async () => {
    const motion = await open(read("walk.mocp"));
    const { model, skeleton } = stranger(motion, 1.4, { posed: true });
    const clip = await toAnimationClip(motion, { skeleton, retarget: { rest: "bind" } });
    await checkRetargeted(motion, 1.4, clip, model, skeleton.bones);
  });

  it("skips bones without a joint and continues below them", async () => {
    const motion = await open(read("walk.mocp"));
    const { model, skeleton } = stranger(motion, 1);
    const [extra, bone] = [new THREE.Bone(), skeleton.bones[4]];
    extra.name = "Twist";
    bone.parent.add(extra);
    extra.add(bone); // at the place of its parent, turned as it
    const bones = [...skeleton.bones, extra];
    model.updateMatrixWorld(true);
    const wider = new THREE.Skeleton(bones);
    const clip = await toAnimationClip(motion, { skeleton: wider, retarget: true });
    assert.deepEqual(clip.userData.unmatchedBones, ["Twist"]);
    await checkRetargeted(motion, 1, clip, model, skeleton.bones);
  });

  it("aligns limbs with another rest pose", async () => {
    const motion = await open(read("walk.mocp"));
    const { names, parents } = motion.skeleton;
    const { model, skeleton } = stranger(motion, 1);
    // the whole limb below one bone is turned at rest, as an A-pose is from a T-pose
    const arm = names.findIndex((name, j) => name.includes("Arm") && parents.indexOf(j) > 0);
    const lower = new THREE.Quaternion().setFromAxisAngle(new THREE.Vector3(0, 0, 1), 0.8);
    const world = skeleton.bones[arm].getWorldQuaternion(new THREE.Quaternion());
    const above = skeleton.bones[arm].parent.getWorldQuaternion(new THREE.Quaternion());
    skeleton.bones[arm].quaternion.copy(above.invert().multiply(lower).multiply(world));
    model.updateMatrixWorld(true);
    const plain = await toAnimationClip(motion, { skeleton, retarget: true });
    const aligned = await toAnimationClip(motion, { skeleton, retarget: { align: true } });
    await assert.rejects(checkRetargeted(motion, 1, plain, model, skeleton.bones), /apart/);
    await checkRetargeted(motion, 1, aligned, model, skeleton.bones);
  });

  it("needs a scale if the hips have no height", async () => {
    const motion = await open(read("walk.mocp"));
    const skeleton = toSkeleton(motion);
    for (const bone of skeleton.bones) bone.position.y = 0;
    await assert.rejects(toAnimationClip(motion, { skeleton, retarget: true }), /`scale`/);
    await toAnimationClip(motion, { skeleton, retarget: { scale: 1 } });
    await assert.rejects(
      toAnimationClip(motion, { skeleton, retarget: { scale: -1 } }),
      RangeError,
    );
  });
});

describe("MocpackLoader", { skip: noFiles }, () => {
  let server;
  let base;
  let asked = [];
  let held = null; // bytes from which on requests must wait, and those that do
  const release = () => {
    const waiting = held?.waiting ?? [];
    held = null;
    for (const answer of waiting) answer();
  };
  const files = new Map();
  before(async () => {
    server = createServer((request, response) => {
      const name = request.url.slice(1);
      asked.push({ name, headers: request.headers });
      const file = files.get(name) ?? (name === "none.mocp" ? null : read(name));
      if (!file) return response.writeHead(404).end();
      const [, start, stop] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range).map(Number);
      const end = Math.min(stop + 1, file.length);
      const answer = () =>
        response
          .writeHead(206, { "Content-Range": `bytes ${start}-${end - 1}/${file.length}` })
          .end(file.subarray(start, end));
      if (held && end > held.from) held.waiting.push(answer);
      else answer();
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    base = `http://127.0.0.1:${server.address().port}/`;
  });
  after(() => {
    release();
    server.close();
    server.closeAllConnections();
  });

  function managed() {
    const events = [];
    const manager = new THREE.LoadingManager(
      () => events.push("load"),
      (url) => events.push(`progress ${url.slice(base.length)}`),
      (url) => events.push(`error ${url.slice(base.length)}`),
    );
    manager.onStart = (url) => events.push(`start ${url.slice(base.length)}`);
    return { events, loader: new MocpackLoader(manager) };
  }

  it("follows three.js's convention", async () => {
    const { events, loader } = managed();
    asked = [];
    const progress = [];
    loader.setPath(base).setRequestHeader({ "X-Who": "me" });
    const loaded = await loader.loadAsync("walk.mocp", (event) => progress.push(event));
    assert.deepEqual(events, ["start walk.mocp", "progress walk.mocp", "load"]);
    assert.equal(asked[0].headers["x-who"], "me");
    assert.equal(progress.at(-1).total, read("walk.mocp").length);
    assert.equal(progress.at(-1).loaded, progress.at(-1).total);
    const mesh = worn(loaded.skeleton);
    await checkClip(loaded.motion, mesh, loaded.clip, (seconds) =>
      loaded.clip.stream.ready(seconds),
    );
    const parsed = await new Promise((done, failed) =>
      loader.parse(read("walk.mocp"), done, failed),
    );
    assert.equal(parsed.clip.duration, loaded.clip.duration);
  });

  it("reports errors to manager and caller", async () => {
    files.set("text.mocp", new TextEncoder().encode("HIERARCHY"));
    for (const [name, kind] of [
      ["none.mocp", "network"],
      ["text.mocp", "format"],
      ["wavelet.mocp", "unsupported"],
    ]) {
      const { events, loader } = managed();
      const error = await new Promise((done, failed) =>
        loader.load(base + name, () => failed(new Error("loaded")), undefined, done),
      );
      assert.ok(error instanceof MocpackError);
      assert.equal(error.kind, kind);
      assert.deepEqual(events, [`start ${name}`, `error ${name}`, `progress ${name}`, "load"]);
    }
    const loader = new MocpackLoader();
    await assert.rejects(loader.parseAsync(new Uint8Array([1, 2, 3, 4, 5])), /\.mocp/);
  });

  it("plays a long clip before it is downloaded, and stalls at missing frames", async () => {
    const size = read("ten_minutes.mocp").length;
    held = { from: 0.8 * size, waiting: [] };
    const loader = new MocpackLoader().setPath(base);
    const { motion, skeleton, clip } = await loader.loadAsync("ten_minutes.mocp");
    assert.ok(clip.duration > 599);
    const mesh = worn(skeleton);
    const mixer = new THREE.AnimationMixer(mesh);
    const action = mixer.clipAction(clip).play();
    const step = 0.5;
    for (let seconds = 0; seconds < 60; seconds += step) {
      await clip.stream.ready(action.time + step);
      mixer.update(seconds ? step : 0);
      mesh.updateMatrixWorld(true);
      assert.equal(clip.stream.stalled, false, `stalled at ${action.time} s`);
      await checkPose(motion, skeleton.bones, action.time);
    }
    assert.equal(held.waiting.length, 0);
    const before = placesOf(skeleton.bones);
    mixer.setTime(590);
    mesh.updateMatrixWorld(true);
    assert.equal(clip.stream.stalled, true);
    near(placesOf(skeleton.bones), before, 0);
    release();
    await clip.stream.ready(590);
    mixer.setTime(590);
    mesh.updateMatrixWorld(true);
    assert.equal(clip.stream.stalled, false);
    await checkPose(motion, skeleton.bones, 590);
    motion.close();
  });

  it("cancels requests on abort", async () => {
    held = { from: 0, waiting: [] };
    const loader = new MocpackLoader().setPath(base);
    const loading = loader.loadAsync("long.mocp");
    setTimeout(() => loader.abort());
    await assert.rejects(loading, { name: "AbortError" });
    release();
    const { clip } = await loader.loadAsync("long.mocp"); // which it can still do
    const errors = [];
    clip.stream.addEventListener("error", ({ error }) => errors.push(error.name));
    loader.abort();
    await assert.rejects(clip.stream.ready(100), { name: "AbortError" });
    assert.deepEqual(errors, ["AbortError"]);
  });

  it("returns a motion or an error for any bytes", async () => {
    const { below } = random(5);
    const bytes = read("walk.mocp");
    const loader = new MocpackLoader();
    const data = chunksOf(bytes).find(({ tag }) => tag === "DATA");
    for (let i = 0; i < 60; ++i) {
      const damaged = bytes.slice();
      for (let n = 0; n < 3; ++n) damaged[below(i % 2 ? data.start : bytes.length)] = below(256);
      try {
        const { skeleton, clip } = await loader.parseAsync(resealed(damaged));
        await clip.stream.ready(0);
        showing(worn(skeleton), clip)(0);
        for (const bone of skeleton.bones)
          assert.ok(Number.isFinite(bone.matrixWorld.elements[12]));
      } catch (error) {
        assert.ok(error instanceof MocpackError, String(error));
      }
    }
  });
});
