// The decoder's WebAssembly: compiled once, at the start, so that nothing is fetched later.

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

let compiled: Promise<WebAssembly.Module> | null = null;

export function decoderWasm(): Promise<WebAssembly.Module> {
  compiled ??= compile();
  return compiled;
}

async function compile(): Promise<WebAssembly.Module> {
  throw new Error("no decoder yet");
}
