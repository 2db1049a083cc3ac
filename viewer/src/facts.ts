// Shows size and error of a version.

import type { Clip, Version } from "./clip";
import { byId, make } from "./dom";
import {
  formatAngle,
  formatLength,
  formatRate,
  formatRatio,
  formatSize,
  formatTime,
} from "./format";

const SLACK = 1e-6; // meters, allowed difference between this decoder and the encoder

export function showFacts(clip: Clip, version: Version): void {
  const { motion } = version;
  const seconds = motion.frameCount * motion.frameTime;
  const figures: [string, string][] = [["size", formatSize(motion.sizes.file)]];
  const ratio = ratioOf(clip, version);
  if (ratio) figures.push(ratio);
  figures.push(["bit rate", formatRate((8 * motion.sizes.file) / seconds)]);
  const largest = version.errors ? version.errors.max : motion.measured?.max;
  if (largest !== undefined) {
    const soFar = version.errors && !version.errors.complete ? ", so far" : "";
    figures.push([`largest error${soFar}`, formatLength(largest)]);
  }
  byId("figures").replaceChildren(...figures.map(([what, text]) => pair(what, text)));
  byId("facts").replaceChildren(
    ...rows(clip, version, seconds).flatMap(([what, text, broken]) => row(what, text, broken)),
  );
}

function ratioOf(clip: Clip, version: Version): [string, string] | null {
  const size = version.motion.sizes.file;
  if (!isPacked(version)) return null;
  if (clip.rawBytes !== null) return ["smaller than float32", formatRatio(clip.rawBytes / size)];
  if (clip.original)
    return ["smaller than the original", formatRatio(clip.original.motion.sizes.file / size)];
  return null;
}

/** Only compressed files have a separate skeleton. */
function isPacked(version: Version): boolean {
  return version.motion.sizes.skeleton > 0;
}

type Fact = [string, string, boolean?];

function rows(clip: Clip, version: Version, seconds: number): Fact[] {
  const { motion, errors } = version;
  const facts: Fact[] = [[isPacked(version) ? "codec" : "format", motion.codec]];
  if (motion.declaredError !== null) {
    const broken = errors !== null && errors.max > motion.declaredError + SLACK;
    facts.push([
      "error allowed",
      `${formatLength(motion.declaredError)}${broken ? ", exceeded" : ""}`,
      broken,
    ]);
  }
  if (motion.measured) {
    const { max, mean, rms, p99 } = motion.measured;
    facts.push(["measured when packed", formatLength(max)]);
    facts.push(["mean of joints", formatLength(mean)]);
    facts.push(["RMS of joints", formatLength(rms)]);
    facts.push(["99 % of joints below", formatLength(p99)]);
  }
  if (motion.angleErrors) {
    facts.push(["angle allowed", formatAngle(motion.angleErrors.declared)]);
    facts.push(["angle measured when packed", formatAngle(motion.angleErrors.measured)]);
  }
  facts.push(["length", formatTime(seconds)]);
  facts.push(["frames", `${motion.frameCount} at ${+(1 / motion.frameTime).toFixed(2)} Hz`]);
  facts.push(["joints", String(motion.skeleton.names.length)]);
  if (isPacked(version)) facts.push(["skeleton in the file", formatSize(motion.sizes.skeleton)]);
  if (clip.original && clip.rawBytes !== null)
    facts.push(["original file", formatSize(clip.original.motion.sizes.file)]);
  return facts;
}

function pair(what: string, text: string): HTMLElement {
  const box = make("div");
  box.append(make("dt", what), make("dd", text));
  return box;
}

function row(what: string, text: string, broken = false): HTMLElement[] {
  return [make("dt", what), make("dd", text, broken ? "broken" : "")];
}
