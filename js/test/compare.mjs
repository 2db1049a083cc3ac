// Reads many files for a comparison with other readers: node compare.mjs LIST, which names a
// file per line. Prints a JSON array: for a .mocp file its kind ("ok" or that of its error), for a .mocps archive the
// kind of its trailer and that of each clip. The frames of each good file go to the path with ".js" after it, as
// float64: rotations, then translations, then times and values of each track; its metadata to ".js.json". The clips of
// a scene or an archive go to such paths with their numbers before ".js".
import { readFile, writeFile } from "node:fs/promises";

import { MocpackError, open, openArchive, openScene } from "../dist/node.js";

async function kindOf(work) {
  try {
    await work();
    return "ok";
  } catch (error) {
    return error instanceof MocpackError ? error.kind : `${error?.name}: ${error?.message}`;
  }
}

async function readFrames(motion, out, tracks = false) {
  const { rotations, translations } = await motion.frames(0, motion.frameCount);
  if (tracks) for (const { name } of motion.takeData.tracks) await motion.track(name);
  if (out) {
    const bytes = [rotations, translations].map((a) =>
      Buffer.from(a.buffer, a.byteOffset, a.byteLength),
    );
    for (const { name } of motion.takeData.tracks) {
      const { times, values } = await motion.track(name);
      for (const a of [times, values])
        bytes.push(Buffer.from(a.buffer, a.byteOffset, a.byteLength));
    }
    await writeFile(out, Buffer.concat(bytes));
    await writeFile(`${out}.json`, JSON.stringify(motion.metadata));
  }
  motion.close();
}

/** Reads every clip of a file and writes its numbers. */
async function readClips(bytes, path) {
  const scene = await openScene(bytes);
  for (const [clip, name] of scene.clipNames.entries()) {
    const out = scene.clipNames.length > 1 ? `${path}.${clip}.js` : `${path}.js`;
    await readFrames(await scene.open(name), out, true);
  }
}

async function compareArchive(bytes, path) {
  const kinds = [];
  let archive;
  kinds.push(await kindOf(async () => (archive = await openArchive(bytes))));
  for (let clip = 0; archive && clip < archive.clips.length; ++clip)
    kinds.push(
      await kindOf(async () => readFrames(await archive.open(clip), `${path}.${clip}.js`)),
    );
  archive?.close();
  return kinds.join(" ");
}

const found = [];
for (const path of (await readFile(process.argv[2], "utf8")).trim().split("\n")) {
  const bytes = new Uint8Array(await readFile(path));
  found.push(
    path.endsWith(".mocps")
      ? await compareArchive(bytes, path)
      : await kindOf(() => readClips(bytes, path)),
  );
}
console.log(JSON.stringify(found));
