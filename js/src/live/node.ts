/** `mocpack/live` for Node.js, whose `fetch` does not read `file:` URLs. */

import { readFile } from "node:fs/promises";

import type { WasmSource } from "../types.js";
import { loadReceiver as loadReceiverAnywhere } from "./receiver.js";
import { live as liveAnywhere, type LiveOptions, type Stage } from "./stage.js";

export * from "./index.js";

let receiver: Promise<WebAssembly.Module> | undefined;

export async function live(url: string | URL, options: LiveOptions = {}): Promise<Stage> {
  return liveAnywhere(url, { ...options, wasm: await loadReceiver(options.wasm) });
}

export async function loadReceiver(wasm?: WasmSource): Promise<WebAssembly.Module> {
  if (wasm === undefined) {
    receiver ??= readReceiver(new URL("../live.wasm", import.meta.url));
    return receiver;
  }
  const isFile = (typeof wasm === "string" || wasm instanceof URL) && /^file:/.test(`${wasm}`);
  return isFile ? readReceiver(new URL(wasm)) : loadReceiverAnywhere(wasm);
}

async function readReceiver(file: URL): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(file));
}
