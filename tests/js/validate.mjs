// Holds glTF files to the validator of Khronos: out comes, for each file, what it finds, as lines.
//   node validate.mjs FILE... > issues.json
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { validateBytes } from "gltf-validator";

const found = [];
for (const file of process.argv.slice(2)) {
  const report = await validateBytes(new Uint8Array(readFileSync(file)), {
    uri: file,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(dirname(file), decodeURIComponent(uri)))),
  });
  found.push(report.issues.messages.map((m) => `${m.code} at ${m.pointer ?? "?"}: ${m.message}`));
}
console.log(JSON.stringify(found));
