/** The same package for Node.js, which also opens `file:` URLs. */

import { readFile } from "node:fs/promises";

import { openArchive as openArchiveAnywhere, type Archive } from "./archive.js";
import { open as openAnywhere, type Source } from "./open.js";
import { openScene as openSceneAnywhere, type Scene } from "./scene.js";
import type { Motion, OpenOptions, WasmSource } from "./types.js";

export * from "./index.js";

let decoder: Promise<WebAssembly.Module> | undefined;

export async function open(source: Source, options: OpenOptions = {}): Promise<Motion> {
  const wasm = await withFile(options.wasm ?? (await bundledDecoder()));
  return openAnywhere(await withFile(source), { ...options, wasm });
}

export async function openArchive(source: Source, options: OpenOptions = {}): Promise<Archive> {
  const wasm = await withFile(options.wasm ?? (await bundledDecoder()));
  return openArchiveAnywhere(await withFile(source), { ...options, wasm });
}

export async function openScene(source: Source, options: OpenOptions = {}): Promise<Scene> {
  const wasm = await withFile(options.wasm ?? (await bundledDecoder()));
  return openSceneAnywhere(await withFile(source), { ...options, wasm });
}

function bundledDecoder(): Promise<WasmSource> {
  decoder ??= readFile(new URL("./mocpack.wasm", import.meta.url)).then((bytes) =>
    WebAssembly.compile(bytes),
  );
  return decoder;
}

async function withFile<T>(source: T): Promise<T | Uint8Array<ArrayBuffer>> {
  const isFile =
    (typeof source === "string" || source instanceof URL) && /^file:/.test(`${source}`);
  return isFile ? readFile(new URL(source)) : source;
}
