/** Loads .mocp files as three.js's loaders do, and plays them as they arrive. */

import { Loader, type LoadingManager, type Skeleton as ThreeSkeleton } from "three";

import { open } from "mocpack";
import type { Motion, OpenOptions, WasmSource } from "../types.js";
import { toSkeleton } from "./skeleton.js";
import { toStreamingClip, type StreamingClip } from "./streaming_clip.js";

/** What a file gives: a skeleton of its own and a clip that moves it; `motion` for everything else. */
export interface LoadedMotion {
  skeleton: ThreeSkeleton;
  clip: StreamingClip;
  /** For a character's own bones: `toStreamingClip(motion, { skeleton: mesh.skeleton, retarget: true })`. */
  motion: Motion;
}

type Failed = (error: unknown) => void;

/**
 * `load` calls back as soon as the first pose is at hand; the rest arrives while it plays. What fails
 * later is an `error` event of `clip.stream`.
 */
export class MocpackLoader extends Loader<LoadedMotion> {
  private wasm: WasmSource | undefined;
  private control = new AbortController();

  constructor(manager?: LoadingManager) {
    super(manager);
  }

  /** The decoder, where `mocpack.wasm` does not stand beside the package's script. */
  setWasm(wasm: WasmSource): this {
    this.wasm = wasm;
    return this;
  }

  override load(
    url: string,
    onLoad: (loaded: LoadedMotion) => void,
    onProgress?: (event: ProgressEvent) => void,
    onError?: Failed,
  ): void {
    const { manager } = this;
    const address = manager.resolveURL(this.path + url);
    manager.itemStart(address);
    const loaded = (found: LoadedMotion): void => {
      onLoad(found);
      manager.itemEnd(address);
    };
    const failed = (error: unknown): void => {
      if (onError) onError(error);
      else console.error(error);
      manager.itemError(address);
      manager.itemEnd(address);
    };
    void this.read(address, onProgress).then(loaded).catch(failed);
  }

  /** Reads a file that is at hand. */
  parse(
    data: ArrayBuffer | Uint8Array,
    onLoad: (loaded: LoadedMotion) => void,
    onError?: Failed,
  ): void {
    this.parseAsync(data)
      .then(onLoad)
      .catch(onError ?? ((error: unknown) => console.error(error)));
  }

  parseAsync(data: ArrayBuffer | Uint8Array): Promise<LoadedMotion> {
    return this.read(data);
  }

  /** Ends transfers of everything that this loader has loaded, clips that still stream included. */
  override abort(): this {
    this.control.abort();
    this.control = new AbortController();
    return this;
  }

  private async read(
    source: string | ArrayBuffer | Uint8Array,
    onProgress?: (event: ProgressEvent) => void,
  ): Promise<LoadedMotion> {
    const motion = await open(source, this.options(onProgress));
    try {
      const skeleton = toSkeleton(motion);
      return { skeleton, motion, clip: await toStreamingClip(motion, { skeleton }) };
    } catch (error) {
      motion.close();
      throw error;
    }
  }

  private options(onProgress?: (event: ProgressEvent) => void): OpenOptions {
    const credentials = this.withCredentials ? "include" : "same-origin";
    const options: OpenOptions = {
      signal: this.signal(),
      request: { headers: this.requestHeader, credentials },
    };
    if (this.wasm !== undefined) options.wasm = this.wasm;
    if (onProgress)
      options.onProgress = (loaded, total) => onProgress(progressEvent(loaded, total));
    return options;
  }

  /** Aborted by this loader or, where three.js knows that, by its manager. */
  private signal(): AbortSignal {
    const own = this.control.signal;
    const shared = (this.manager as { abortController?: AbortController }).abortController?.signal;
    return shared && typeof AbortSignal.any === "function" ? AbortSignal.any([own, shared]) : own;
  }
}

function progressEvent(loaded: number, total: number): ProgressEvent {
  const fields = { lengthComputable: true, loaded, total };
  if (typeof ProgressEvent === "function") return new ProgressEvent("progress", fields);
  return { type: "progress", ...fields } as ProgressEvent; // node has none
}
