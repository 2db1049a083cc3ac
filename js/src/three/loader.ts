/** A three.js loader for .mocp files that plays them while they download. */

import { Loader, type LoadingManager, type Skeleton as ThreeSkeleton } from "three";

import { open } from "mocpack";
import type { Motion, OpenOptions, WasmSource } from "../types.js";
import { toSkeleton } from "./skeleton.js";
import { toStreamingClip, type StreamingClip } from "./streaming_clip.js";

/** The skeleton of a file, a clip that moves it, and the open motion. */
export interface LoadedMotion {
  skeleton: ThreeSkeleton;
  clip: StreamingClip;
  /** To move another character: `toStreamingClip(motion, { skeleton: mesh.skeleton, retarget: true })`. */
  motion: Motion;
}

type Failed = (error: unknown) => void;

/**
 * `load` calls back when the first pose has arrived; the rest arrives during playback. Files with quality
 * layers play coarsely at first. Later failures are `error` events of `clip.stream`.
 */
export class MocpackLoader extends Loader<LoadedMotion> {
  private wasm: WasmSource | undefined;
  private control = new AbortController();

  constructor(manager?: LoadingManager) {
    super(manager);
  }

  /** Sets the decoder, if `mocpack.wasm` is not next to the package's script. */
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

  /** Loads a file from memory. */
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

  /** Cancels all requests of this loader, including those of streaming clips. */
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

  /** Aborted by this loader or, in newer versions of three.js, by its manager. */
  private signal(): AbortSignal {
    const own = this.control.signal;
    const shared = (this.manager as { abortController?: AbortController }).abortController?.signal;
    return shared && typeof AbortSignal.any === "function" ? AbortSignal.any([own, shared]) : own;
  }
}

function progressEvent(loaded: number, total: number): ProgressEvent {
  const fields = { lengthComputable: true, loaded, total };
  if (typeof ProgressEvent === "function") return new ProgressEvent("progress", fields);
  return { type: "progress", ...fields } as ProgressEvent; // Node.js has no ProgressEvent
}
