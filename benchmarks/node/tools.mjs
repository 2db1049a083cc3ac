// The glTF tools that the bench compares with, in one process that serves many requests.
//
// A request is a line of JSON on standard input: {"tool", "input", "output", ...}; the answer is
// one on standard output: {} when the output file is written, {"error"} when not.
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Logger, NodeIO } from "@gltf-transform/core";
import { ALL_EXTENSIONS } from "@gltf-transform/extensions";
import { meshopt, resample } from "@gltf-transform/functions";
import { pack } from "gltfpack";
import { MeshoptDecoder, MeshoptEncoder } from "meshoptimizer";

await MeshoptDecoder.ready;
await MeshoptEncoder.ready;
const io = new NodeIO()
  .setLogger(new Logger(Logger.Verbosity.SILENT))
  .registerExtensions(ALL_EXTENSIONS)
  .registerDependencies({ "meshopt.decoder": MeshoptDecoder, "meshopt.encoder": MeshoptEncoder });
const files = { read: (path) => readFileSync(path), write: (path, data) => writeFileSync(path, data) };

const tools = {
  // what `gltfpack -i input -o output …` does
  gltfpack: ({ input, output, options }) => pack(["-i", input, "-o", output, ...options], files),
  // what `gltf-transform resample --tolerance …`, then `meshopt --level …` do
  "gltf-transform": async ({ input, output, tolerance, level }) => {
    const document = await io.read(input);
    if (tolerance !== null) await document.transform(resample({ tolerance }));
    await document.transform(meshopt({ encoder: MeshoptEncoder, level }));
    await io.write(output, document);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  try {
    await tools[request.tool](request);
    console.log("{}");
  } catch (error) {
    console.log(JSON.stringify({ error: String(error.message ?? error).trim() }));
  }
}
