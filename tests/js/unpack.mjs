// Unpacks views of EXT_meshopt_compression with the decoder of three.js, without mocpack.
//   node unpack.mjs < jobs.json > rows.json
// A job is {"data" (base64), "count", "stride", "mode", "filter"}; out come rows as base64, or null.
import { readFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.env.MOCPACK_VIEWER + "/node_modules/three/");
const { MeshoptDecoder } = await import(new URL("examples/jsm/libs/meshopt_decoder.module.js", folder));
await MeshoptDecoder.ready;
const found = JSON.parse(readFileSync(0, "utf8")).map(({ data, count, stride, mode, filter }) => {
  const rows = new Uint8Array(count * stride);
  try {
    MeshoptDecoder.decodeGltfBuffer(rows, count, stride, Buffer.from(data, "base64"), mode, filter);
  } catch {
    return null;
  }
  return Buffer.from(rows).toString("base64");
});
const text = Buffer.from(JSON.stringify(found));
for (let at = 0; at < text.length; ) at += writeSync(1, text, at);
