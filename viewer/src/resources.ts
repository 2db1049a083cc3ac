// Compiles the decoder once at startup, so that nothing is fetched later.

import wasmUrl from "../../js/dist/mocpack.wasm?url";
import { MocpackError } from "./decoder";

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

let compiled: Promise<WebAssembly.Module> | null = null;

/** Compiles the decoder from `inlined` bytes, or from the file next to this script. */
export function loadDecoder(inlined: string | undefined): Promise<WebAssembly.Module> {
  compiled = inlined ? WebAssembly.compile(bytesOfBase64(inlined)) : fetchDecoder();
  return compiled;
}

export function decoderWasm(): Promise<WebAssembly.Module> {
  return compiled ?? loadDecoder(undefined);
}

async function fetchDecoder(): Promise<WebAssembly.Module> {
  const answer = await fetch(wasmUrl).catch(() => null);
  if (!answer?.ok) throw new MocpackError("network", "the decoder mocpack.wasm was not found");
  return WebAssembly.compile(await answer.arrayBuffer());
}
