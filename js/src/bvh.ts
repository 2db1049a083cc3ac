/** Reads Biovision hierarchy files. */

import type { Motion } from "./types.js";

export declare function readBvh(text: string, options?: { unit?: number }): Motion;
