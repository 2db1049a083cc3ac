/** Opens .mocp files: bytes at once, addresses by ranges. */

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
 * Bytes are checked whole. Of an address, the start is fetched, then what frames need as they are
 * asked for; where the server knows no ranges, the whole file.
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

/** Opens a clip of bytes that are asked for once it is sure that they are wanted. */
export async function openSource(
  source: () => Promise<ByteSource>,
  options: OpenOptions,
): Promise<Motion> {
  const { signal, memoryLimit = DEFAULT_LIMIT } = options;
  if (!(memoryLimit > 0)) throw new RangeError(`memoryLimit must be bytes, got ${memoryLimit}`);
  signal?.throwIfAborted();
  // both at once: the decoder travels while the file's head does
  const [bytes, module] = await Promise.all([source(), decoderModule(options)]);
  try {
    return new FileMotion(bytes, await Decoder.open(module, bytes, memoryLimit), memoryLimit);
  } catch (error) {
    bytes.close();
    throw error;
  }
}

/** The decoder that the options name, or the one beside this package. */
export function decoderModule(options: OpenOptions): Promise<WebAssembly.Module> {
  return loadModule(options.wasm ?? new URL("./mocpack.wasm", import.meta.url));
}

export async function openBytes(source: Source, options: OpenOptions): Promise<ByteSource> {
  if (source instanceof ArrayBuffer) return new BufferSource(new Uint8Array(source));
  if (source instanceof Uint8Array) return new BufferSource(source);
  if (source instanceof Blob) return new BufferSource(new Uint8Array(await source.arrayBuffer()));
  return openAddress(String(source), options);
}
