// The error curves of a version, one value per frame.

import type { Clip, Version } from "./clip";
import type { Contacts } from "./contacts";
import { formatLength, formatSpeed } from "./format";

export type Measure = "largest" | "mean" | "velocity" | "skate" | "joint";

export interface Curve {
  /** One value per frame; NaN if unknown or undefined. */
  values: Float32Array;
  max: number;
  /** Frame of the largest value, -1 if none is known. */
  worst: number;
  /** Whether the file's error bound applies to this measure. */
  bounded: boolean;
  format(value: number): string;
}

/** Returns the curve of a measure, or null without an original. */
export function curveOf(
  measure: Measure,
  clip: Clip,
  version: Version,
  joint: number,
  contacts: Contacts | null,
): Curve | null {
  const { errors } = version;
  if (!errors || !clip.original) return null;
  switch (measure) {
    case "largest":
      return curve(errors.frames, true, formatLength);
    case "mean":
      return curve(errors.means, false, formatLength);
    case "joint":
      return curve(
        each(errors.frameCount, (t) => errors.jointsAt(t)?.[Math.max(joint, 0)]),
        true,
        formatLength,
      );
    case "velocity":
      return curve(
        each(errors.frameCount, (t) => velocityError(clip, version, t)),
        false,
        formatSpeed,
      );
    case "skate":
      return curve(
        each(errors.frameCount, (t) => contacts && slide(version, contacts, t)),
        false,
        formatSpeed,
      );
  }
}

function each(count: number, value: (frame: number) => number | null | undefined): Float32Array {
  return Float32Array.from({ length: count }, (_, t) => value(t) ?? NaN);
}

function curve(values: Float32Array, bounded: boolean, format: (value: number) => string): Curve {
  let worst = -1;
  values.forEach((value, t) => {
    if (value > (worst < 0 ? -1 : values[worst])) worst = t;
  });
  return { values, max: worst < 0 ? 0 : values[worst], worst, bounded, format };
}

/** Returns the mean speed error over joints, in meters per second. */
function velocityError(clip: Clip, version: Version, t: number): number | null {
  const [a, b] = [version.poses.at(t - 1), version.poses.at(t)];
  const [c, d] = [clip.original?.poses.at(t - 1), clip.original?.poses.at(t)];
  if (t < 1 || !a || !b || !c || !d) return null;
  const joints = version.motion.skeleton.names.length;
  let sum = 0;
  for (let k = 0; k < 3 * joints; k += 3) {
    sum += Math.hypot(
      b[k] - a[k] - d[k] + c[k],
      b[k + 1] - a[k + 1] - d[k + 1] + c[k + 1],
      b[k + 2] - a[k + 2] - d[k + 2] + c[k + 2],
    );
  }
  return sum / joints / version.motion.frameTime;
}

/** Returns the largest sliding speed of a foot in contact with the ground, in meters per second. */
function slide(version: Version, contacts: Contacts, t: number): number | null {
  const [a, b] = [version.poses.at(t - 1), version.poses.at(t)];
  if (t < 1 || !a || !b) return null;
  let fastest: number | null = null;
  contacts.feet.forEach((joint, f) => {
    if (!contacts.planted[f][t] || !contacts.planted[f][t - 1]) return;
    const moved = Math.hypot(b[3 * joint] - a[3 * joint], b[3 * joint + 2] - a[3 * joint + 2]);
    fastest = Math.max(fastest ?? 0, moved / version.motion.frameTime);
  });
  return fastest;
}
