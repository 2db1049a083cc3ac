/** Opens .mocp files from bytes, or from URLs with range requests. */

import { Decoder, loadModule } from "./decoder.js";
import { openAddress } from "./http.js";
import { FileMotion } from "./motion.js";
import { clipSource } from "./scene.js";
import { BufferSource, type ByteSource } from "./source.js";
import type { Motion, OpenOptions } from "./types.js";

const DEFAULT_LIMIT = 1e9; // bytes, as in Python

export type Source = ArrayBuffer | Uint8Array | Blob | string | URL;

/**
 * Opens a clip.
 *
 * Checksums of in-memory bytes are verified at once. From a URL, only the start is fetched, and later
 * the bytes that frames need. Without server support for ranges, the whole file is fetched.
 */
export async function open(source: Source, options: OpenOptions = {}): Promise<Motion> {
  return openSource(async () => {
    const bytes = await openBytes(source, options);
    try {
      return await clipSource(bytes, options.clip);
    } catch (error) {
      bytes.close();
      throw error;
    }
  }, options);
}

/** Opens a clip from a byte source, which is created after the options are checked. */
export async function openSource(
  source: () => Promise<ByteSource>,
  options: OpenOptions,
): Promise<Motion> {
  const { bytes, module, memoryLimit } = await prepare(source, options);
  try {
    return new FileMotion(bytes, await Decoder.open(module, bytes, memoryLimit), memoryLimit);
  } catch (error) {
    bytes.close();
    throw error;
  }
}

/** Checks the options, then fetches the decoder and the start of the file in parallel. */
export async function prepare(
  source: () => Promise<ByteSource>,
  options: OpenOptions,
): Promise<{ bytes: ByteSource; module: WebAssembly.Module; memoryLimit: number }> {
  const { signal, memoryLimit = DEFAULT_LIMIT } = options;
  if (!(memoryLimit > 0))
    throw new RangeError(`memoryLimit must be above 0 bytes, got ${memoryLimit}`);
  signal?.throwIfAborted();
  const [bytes, module] = await Promise.all([source(), decoderModule(options)]);
  return { bytes, module, memoryLimit };
}

/** Loads the decoder from the options, or the one next to this package. */
function decoderModule(options: OpenOptions): Promise<WebAssembly.Module> {
  return loadModule(options.wasm ?? new URL("./mocpack.wasm", import.meta.url));
}

export async function openBytes(source: Source, options: OpenOptions): Promise<ByteSource> {
  if (source instanceof ArrayBuffer) return new BufferSource(new Uint8Array(source));
  if (source instanceof Uint8Array) return new BufferSource(source);
  if (source instanceof Blob) return new BufferSource(new Uint8Array(await source.arrayBuffer()));
  return openAddress(String(source), options);
}
