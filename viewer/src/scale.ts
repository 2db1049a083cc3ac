// The error at the end of the color scale. By default it is the bound of the version that is shown.

import type { Clip, Version } from "./clip";

export type Scale = "common" | "own" | "1mm" | "5mm" | "20mm";

const FIXED: Partial<Record<Scale, number>> = { "1mm": 1e-3, "5mm": 5e-3, "20mm": 20e-3 };

export function hotEnd(scale: Scale, clip: Clip, version: Version): number {
  const fixed = FIXED[scale];
  if (fixed !== undefined) return fixed;
  if (scale === "own") return own(version);
  return clip.versions.reduce((most, each) => Math.max(most, own(each)), 0);
}

/** Returns a version's error bound, or its largest error so far. */
function own(version: Version): number {
  return version.motion.declaredError ?? version.errors?.max ?? 0;
}
