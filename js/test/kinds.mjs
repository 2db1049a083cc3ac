// Prints "ok" or the kind of error for each file: node kinds.mjs LIST.json
// LIST: [{ file, limit?, message? }]; with message, the kind and the sentence of the error
import { readFile } from "node:fs/promises";

import { MocpackError, open, openArchive } from "../dist/node.js";

async function openFirst(file, options) {
  const bytes = new Uint8Array(await readFile(file));
  return file.endsWith(".mocps") ? (await openArchive(bytes)).open(0) : open(bytes, options);
}

async function kind({ file, limit, message }) {
  try {
    const motion = await openFirst(file, { memoryLimit: limit });
    await motion.frames(0, motion.frameCount);
    motion.close();
    return "ok";
  } catch (error) {
    if (error instanceof MocpackError)
      return message ? `${error.kind} ${error.message}` : error.kind;
    throw error;
  }
}

const found = [];
for (const job of JSON.parse(await readFile(process.argv[2], "utf8"))) found.push(await kind(job));
console.log(JSON.stringify(found));
