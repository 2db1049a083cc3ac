/** Opens .mocp files: from bytes at once, from an address by ranges. */

import type { Motion, OpenOptions } from "./types.js";

export type Source = ArrayBuffer | Uint8Array | Blob | string | URL;

export declare function open(source: Source, options?: OpenOptions): Promise<Motion>;
