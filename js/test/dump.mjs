// Decodes files to raw numbers, for a comparison with Python: node dump.mjs LIST.json
// LIST: [{ file, clip?, out, times, original? }]; `original` is a .mocp or .bvh to measure against.
import { readFile, writeFile } from "node:fs/promises";

import { frameErrors, open, parseBvh, worldPositions } from "../dist/node.js";

async function openFile(path, clip) {
  const bytes = await readFile(path);
  const options = clip === undefined ? {} : { clip };
  return path.endsWith(".bvh")
    ? parseBvh(bytes.toString("utf8"))
    : open(new Uint8Array(bytes), options);
}

function write(path, numbers) {
  return writeFile(path, new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
}

for (const { file, clip, out, times, original } of JSON.parse(
  await readFile(process.argv[2], "utf8"),
)) {
  const motion = await openFile(file, clip);
  const frames = await motion.frames(0, motion.frameCount);
  const world = worldPositions(motion.skeleton, frames);
  const arrays = { rotations: frames.rotations, translations: frames.translations, ...world };
  if (frames.scales) arrays.scales = frames.scales;
  for (const [i, time] of times.entries()) {
    const sample = await motion.sample(time);
    arrays[`sample${i}`] = worldPositions(motion.skeleton, sample).joints;
  }
  if (original) {
    const source = await openFile(original);
    const errors = frameErrors(motion.skeleton, await source.frames(0, source.frameCount), frames);
    Object.assign(arrays, {
      promised: errors.promised,
      byJoint: errors.promisedByJoint,
      centers: errors.joints,
    });
  }
  const labels = [];
  for (const [i, { name }] of (motion.takeData?.tracks ?? []).entries()) {
    const track = await motion.track(name);
    arrays[`track${i}.times`] = track.times;
    arrays[`track${i}.values`] = track.values;
    labels.push(track.labels);
  }
  for (const [name, numbers] of Object.entries(arrays)) await write(`${out}.${name}`, numbers);
  const {
    skeleton,
    frameCount,
    frameTime,
    codec,
    sizes: bytes,
    declaredError,
    measured,
    metadata,
  } = motion;
  const { angleErrors: angles } = motion;
  const plain = Object.fromEntries(Object.entries(skeleton).map(([k, v]) => [k, Array.from(v)]));
  const header = {
    skeleton: plain,
    frameCount,
    frameTime,
    codec,
    bytes,
    declaredError,
    measured,
    angles,
    metadata,
    labels,
    take: motion.takeData && {
      ...motion.takeData,
      times: motion.takeData.times && Array.from(motion.takeData.times),
      valid: motion.takeData.valid && Array.from(motion.takeData.valid),
    },
  };
  await writeFile(`${out}.json`, JSON.stringify(header));
  motion.close();
}
