// Decodes windows of frames: around the playhead first, then the rest of the clip.

import type { Clip, Version } from "./clip";
import { MocpackError } from "./decoder";
import { WINDOW } from "./poses";

const AHEAD = 4; // windows to load before those of other versions
const AT_ONCE = 2;
const MAX_SLICE_MS = 10; // work this long before yielding to the event loop
const RETRY_AFTER_MS = 2000; // after a network failure

export interface Listener {
  /** A window of this version is loaded. */
  loaded(version: Version, start: number, stop: number): void;
  failed(error: unknown, version: Version, start: number, stop: number): void;
}

export class Loader {
  private frame = 0;
  private current = 0;
  private busy = 0;
  private closed = false;
  private turn = 0;

  constructor(
    private readonly clip: Clip,
    private readonly listener: Listener,
  ) {}

  /** Sets the playhead; windows near it load first. */
  focus(version: number, frame: number): void {
    this.current = version;
    this.frame = frame;
    this.pump();
  }

  close(): void {
    this.closed = true;
  }

  private pump(): void {
    while (!this.closed && this.busy < AT_ONCE) {
      const next = this.next();
      if (!next) return;
      void this.load(...next);
    }
  }

  /** Returns the window with the highest priority. */
  private next(): [Version, number] | null {
    const { versions } = this.clip;
    const order = [versions[this.current], ...versions.filter((_, i) => i !== this.current)];
    const here = Math.floor(this.frame / WINDOW);
    // load other versions near the playhead before the far end of this one, for fast switching
    for (const reach of [AHEAD, Infinity]) {
      for (const version of order) {
        const count = version.windows.length;
        for (let k = 0; k < Math.min(reach, count); k++) {
          const window = (here + k) % count;
          if (version.windows[window] === "missing") return [version, window];
        }
      }
    }
    return null;
  }

  private async load(version: Version, window: number): Promise<void> {
    const start = window * WINDOW;
    const stop = Math.min(start + WINDOW, version.motion.frameCount);
    version.windows[window] = "loading";
    this.busy++;
    try {
      await this.decode(version, start, stop);
      version.windows[window] = "ready";
      this.listener.loaded(version, start, stop);
      await this.pause();
    } catch (error) {
      version.windows[window] = "failed";
      if (!this.closed) this.listener.failed(error, version, start, stop);
      if (error instanceof MocpackError && error.kind === "network") {
        setTimeout(() => this.retry(version, window), RETRY_AFTER_MS);
      }
    }
    this.busy--;
    this.pump();
  }

  private async decode(version: Version, start: number, stop: number): Promise<void> {
    const { original } = this.clip;
    const [decoded, source] = await Promise.all([
      version.motion.frames(start, stop),
      original ? original.motion.frames(start, stop) : null,
    ]);
    version.poses.put(decoded);
    if (!original || !source) return;
    if (!original.poses.at(start)) original.poses.put(source);
    version.errors?.put(source, decoded);
  }

  /** Yields to the event loop if the time slice is used up. */
  private async pause(): Promise<void> {
    if (performance.now() - this.turn < MAX_SLICE_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.turn = performance.now();
  }

  private retry(version: Version, window: number): void {
    version.windows[window] = "missing";
    this.pump();
  }
}
