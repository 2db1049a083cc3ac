// The versions of a clip, and the original they are compared with.

import type { Motion } from "./decoder";
import { ErrorTrack } from "./error_track";
import { originOf, Poses, windowCount, type Point } from "./poses";
import type { Named } from "./session";
import type { Skin } from "./skin";

export type WindowState = "missing" | "loading" | "ready" | "failed";

export interface Version {
  name: string;
  motion: Motion;
  poses: Poses;
  errors: ErrorTrack | null;
  windows: WindowState[];
}

export interface Clip {
  versions: Version[];
  original: { name: string; motion: Motion; poses: Poses } | null;
  /** Bytes of the moving channels as float32, if known. */
  rawBytes: number | null;
  origin: Point;
  /** The mesh of the clip. */
  skin: Skin | null;
}

/** Combines versions and original; reuses frames that `before` has already decoded. */
export async function makeClip(
  packed: Named[],
  original: Named | null,
  rawBytes: number | null,
  skin: Skin | null,
  shownBefore: Clip | null,
): Promise<Clip> {
  const before = shownBefore?.skin === skin ? shownBefore : null;
  const known = [...(before?.versions ?? []), ...(before?.original ? [before.original] : [])];
  const kept = known.some(({ motion }) => packed.some((named) => named.motion === motion));
  const origin = kept && before ? before.origin : await originOf((original ?? packed[0]).motion);
  const clip: Clip = { versions: [], original: null, rawBytes, origin, skin };
  const sameOriginal = kept && before?.original?.motion === original?.motion;
  if (original) {
    const poses = new Poses(original.motion, origin, skin !== null);
    clip.original = sameOriginal && before ? before.original : { ...original, poses };
  }
  const old = (named: Named): Version | undefined =>
    sameOriginal ? before?.versions.find(({ motion }) => motion === named.motion) : undefined;
  // largest first, as on the slider
  const order = [...packed].sort((a, b) => b.motion.sizes.file - a.motion.sizes.file);
  clip.versions = order.map((named) => old(named) ?? makeVersion(named, clip));
  return clip;
}

function makeVersion({ name, motion }: Named, clip: Clip): Version {
  return {
    name,
    motion,
    poses: new Poses(motion, clip.origin, clip.skin !== null),
    errors: clip.original ? new ErrorTrack(motion.skeleton, motion.frameCount) : null,
    windows: new Array<WindowState>(windowCount(motion.frameCount)).fill("missing"),
  };
}

/** Returns why two motions are not the same clip, or null if they are. */
export function difference(a: Motion, b: Motion): string | null {
  const [first, second] = [a.skeleton, b.skeleton];
  if (first.names.length !== second.names.length) {
    return `one has ${first.names.length} joints, the other ${second.names.length}`;
  }
  const joint = first.names.findIndex((name, j) => name !== second.names[j]);
  if (joint >= 0)
    return `joint ${joint} is ${first.names[joint]} in one, ${second.names[joint]} in the other`;
  if (first.parents.some((parent, j) => parent !== second.parents[j]))
    return "their joints hang together differently";
  if (a.frameCount !== b.frameCount)
    return `one has ${a.frameCount} frames, the other ${b.frameCount}`;
  return null;
}
