// Prints "ok" or the kind of error for each file: node kinds.mjs LIST.json
// LIST: [{ file, limit? }]
import { readFile } from "node:fs/promises";

import { MocpackError, open } from "../dist/node.js";

async function kind({ file, limit }) {
  try {
    const motion = await open(new Uint8Array(await readFile(file)), { memoryLimit: limit });
    await motion.frames(0, motion.frameCount);
    motion.close();
    return "ok";
  } catch (error) {
    if (error instanceof MocpackError) return error.kind;
    throw error;
  }
}

const found = [];
for (const job of JSON.parse(await readFile(process.argv[2], "utf8"))) found.push(await kind(job));
console.log(JSON.stringify(found));
