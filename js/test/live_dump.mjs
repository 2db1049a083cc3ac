// Receives a recorded stream: node live_dump.mjs HELLO PACKETS OUT. Packets stand one after another, each with
// its size (u32) before it; poses are written as float64, and what packets were as JSON on standard output.
import { readFile, writeFile } from "node:fs/promises";

import { loadReceiver, readHello, Receiver } from "../dist/live/index.js";

const [helloPath, packetsPath, out] = process.argv.slice(2);
const wasm = await readFile(new URL("../dist/live.wasm", import.meta.url));
const hello = await readHello(new Uint8Array(await readFile(helloPath)));
const receiver = await Receiver.open(hello, await loadReceiver(wasm), 2);
const packets = await readFile(packetsPath);
const numbers = [];
const parts = [];
for (let at = 0; at < packets.length;) {
  const size = packets.readUInt32LE(at);
  for (const pose of receiver.receive(packets.subarray(at + 4, at + 4 + size))) {
    numbers.push(pose.frameNumber);
    parts.push(Buffer.from(pose.rotations.buffer), Buffer.from(pose.translations.buffer));
  }
  at += 4 + size;
}
const predicted = receiver.predict(3);
await writeFile(out, Buffer.concat(parts));
const { names, parents } = hello.skeleton;
console.log(
  JSON.stringify({
    numbers,
    counts: receiver.counts,
    names,
    parents: [...parents],
    maxError: receiver.maxError,
    frameTime: hello.frameTime,
    predicted: predicted && {
      isExact: predicted.isExact,
      rotations: [...predicted.rotations],
      translations: [...predicted.translations],
    },
    report: receiver.report(),
  }),
);
