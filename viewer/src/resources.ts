// The decoder's WebAssembly: compiled once, at the start, so that nothing is fetched later.

import wasmUrl from "../../js/dist/mocpack.wasm?url";
import { MocpackError } from "./decoder";

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

let compiled: Promise<WebAssembly.Module> | null = null;

/** Compile the decoder from `inlined` bytes, or from the address beside this script. */
export function loadDecoder(inlined: string | undefined): Promise<WebAssembly.Module> {
  compiled = inlined ? WebAssembly.compile(bytesOfBase64(inlined)) : fetchDecoder();
  return compiled;
}

export function decoderWasm(): Promise<WebAssembly.Module> {
  return compiled ?? loadDecoder(undefined);
}

async function fetchDecoder(): Promise<WebAssembly.Module> {
  const answer = await fetch(wasmUrl).catch(() => null);
  if (!answer?.ok) throw new MocpackError("network", "it is not where the page expects it");
  return WebAssembly.compile(await answer.arrayBuffer());
}
