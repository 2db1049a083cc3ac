/** Interpolates poses between frames. */

import type { Frames } from "./types.js";

/** Finds the frame before `seconds` among uneven frame times, and the fraction to the next frame. */
export function locateAmong(
  seconds: number,
  times: Float64Array,
): { frame: number; fraction: number } {
  let low = 0;
  let high = Math.max(0, times.length - 2);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (times[middle] <= seconds) low = middle;
    else high = middle - 1;
  }
  const length = times.length > 1 ? times[low + 1] - times[low] : 1;
  return { frame: low, fraction: Math.min(Math.max((seconds - times[low]) / length, 0), 1) };
}

/** Finds the frame before `seconds` and the fraction to the next frame, clamped to the clip. */
export function locate(
  seconds: number,
  frameTime: number,
  frameCount: number,
): { frame: number; fraction: number } {
  const at = Math.min(Math.max(seconds / frameTime, 0), frameCount - 1);
  const frame = Math.min(Math.floor(at), Math.max(0, frameCount - 2));
  return { frame, fraction: at - frame };
}

/** Interpolates between the first and the last of one or two frames. */
export function interpolateFrames(frames: Frames, fraction: number): Frames {
  const last = frames.count - 1;
  const turns = frames.rotations.length / frames.count;
  const places = frames.translations.length / frames.count;
  const at = (frame: number): Frames => {
    const one: Frames = {
      start: frames.start + frame,
      count: 1,
      rotations: frames.rotations.subarray(frame * turns, (frame + 1) * turns),
      translations: frames.translations.subarray(frame * places, (frame + 1) * places),
    };
    if (frames.scales) one.scales = frames.scales.subarray(frame * places, (frame + 1) * places);
    return one;
  };
  return interpolatePoses(at(0), at(last), fraction);
}

/** Interpolates between two poses. */
export function interpolatePoses(a: Frames, b: Frames, fraction: number): Frames {
  const [rotations, translations] = [a.rotations.slice(), a.translations.slice()];
  for (let i = 0; i < rotations.length; i += 4) slerp(rotations, i, b.rotations, i, fraction);
  for (let i = 0; i < translations.length; ++i)
    translations[i] += fraction * (b.translations[i] - translations[i]);
  const pose: Frames = { start: a.start, count: 1, rotations, translations };
  const to = b.scales;
  if (a.scales && to)
    pose.scales = a.scales.map((scale, i) => (1 - fraction) * scale + fraction * to[i]);
  return pose;
}

/** Moves the quaternion a[i…] by `fraction` of the shorter way to b[k…], in place. */
function slerp(a: Float64Array, i: number, b: Float64Array, k: number, fraction: number): void {
  let dot = 0;
  for (let c = 0; c < 4; ++c) dot += a[i + c] * b[k + c];
  const sign = dot < 0 ? -1 : 1;
  let chord = 0;
  for (let c = 0; c < 4; ++c) chord += (a[i + c] - sign * b[k + c]) ** 2;
  // unlike acos, asin of half the chord is accurate for small angles
  const angle = 2 * Math.asin(Math.min(1, Math.sqrt(chord) / 2));
  const sine = Math.sin(angle);
  const [from, to] =
    sine > 1e-9
      ? [Math.sin((1 - fraction) * angle) / sine, Math.sin(fraction * angle) / sine]
      : [1 - fraction, fraction];
  let square = 0;
  for (let c = 0; c < 4; ++c) {
    a[i + c] = from * a[i + c] + to * sign * b[k + c];
    square += a[i + c] ** 2;
  }
  const scale = 1 / Math.sqrt(square);
  for (let c = 0; c < 4; ++c) a[i + c] *= scale;
}
