// Curves of one joint around the playhead: position or rotation, with the original in gray.

import type { Clip, Version } from "./clip";
import type { Frames, Motion } from "./decoder";
import { byId } from "./dom";
import { WINDOW } from "./poses";

export type Shown = "position" | "rotation";

const SECONDS = 1.5; // before and after the playhead
const AXES = ["--axis-x", "--axis-y", "--axis-z"];
const PAD = 6;

export class JointCurves {
  shown: Shown = "position";
  private readonly box = byId("joint-curves");
  private readonly canvas = byId<HTMLCanvasElement>("joint-canvas");
  private readonly kept = new Map<Motion, Map<number, Frames | null>>();

  constructor(private readonly arrived: () => void) {}

  update(clip: Clip, version: Version, joint: number, frame: number): void {
    this.box.hidden = joint < 0;
    if (joint < 0) return;
    byId("joint-name").textContent = version.motion.skeleton.names[joint];
    const { frameCount, frameTime } = version.motion;
    const reach = Math.max(2, Math.round(SECONDS / frameTime));
    const [first, last] = [Math.max(0, frame - reach), Math.min(frameCount - 1, frame + reach)];
    const rows = [clip.original, version].map((each) => each && this.row(each, joint, first, last));
    this.draw(rows, first, last, frame);
  }

  /** Values (x, y, z of each frame) from first to last; NaN if not loaded. */
  private row(
    { motion, poses }: Pick<Version, "motion" | "poses">,
    joint: number,
    first: number,
    last: number,
  ): Float32Array {
    const values = new Float32Array(3 * (last - first + 1)).fill(NaN);
    for (let t = first; t <= last; t++) {
      const found =
        this.shown === "position"
          ? poses.at(t)?.subarray(3 * joint, 3 * joint + 3)
          : this.turn(motion, joint, t);
      if (found) values.set(found, 3 * (t - first));
    }
    return values;
  }

  /** Returns the rotation vector of a joint's local rotation in degrees; fetches frames if needed. */
  private turn(motion: Motion, joint: number, frame: number): number[] | null {
    const windows = this.kept.get(motion) ?? new Map<number, Frames | null>();
    this.kept.set(motion, windows);
    const window = Math.floor(frame / WINDOW);
    const frames = windows.get(window);
    if (frames === undefined) {
      windows.set(window, null);
      const start = window * WINDOW;
      void motion.frames(start, Math.min(start + WINDOW, motion.frameCount)).then((come) => {
        windows.set(window, come);
        this.arrived();
      }, this.arrived);
    }
    if (!frames) return null;
    const at = 4 * ((frame - frames.start) * motion.skeleton.names.length + joint);
    return rotationVector(frames.rotations.subarray(at, at + 4));
  }

  private draw(rows: (Float32Array | null)[], first: number, last: number, frame: number): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = Math.min(devicePixelRatio, 2);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const [low, high] = range(rows);
    const x = (t: number): number => PAD + ((t - first) / (last - first || 1)) * (width - 2 * PAD);
    const y = (v: number): number => PAD + ((high - v) / (high - low)) * (height - 2 * PAD);
    rows.forEach((row, which) => {
      for (let axis = 0; row && axis < 3; axis++) {
        const name = which ? AXES[axis] : "--muted";
        context.strokeStyle = style.getPropertyValue(name).trim();
        context.lineWidth = which ? 1.2 : 3;
        context.globalAlpha = which ? 1 : 0.35;
        context.beginPath();
        for (let t = first; t <= last; t++) {
          const value = row[3 * (t - first) + axis];
          if (!Number.isNaN(value)) context.lineTo(x(t), y(value));
        }
        context.stroke();
      }
    });
    context.globalAlpha = 1;
    context.fillStyle = style.getPropertyValue("--ink").trim();
    context.fillRect(Math.round(x(frame)) - 0.5, 0, 1, height);
    const unit = this.shown === "position" ? "m" : "°";
    context.fillStyle = style.getPropertyValue("--muted").trim();
    context.font = "11px system-ui, sans-serif";
    context.fillText(`${high.toFixed(unit === "m" ? 2 : 0)} ${unit}`, PAD, 11);
    context.fillText(`${low.toFixed(unit === "m" ? 2 : 0)} ${unit}`, PAD, height - 3);
  }
}

function range(rows: (Float32Array | null)[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const row of rows) {
    row?.forEach((value) => {
      if (value < low) low = value;
      if (value > high) high = value;
    });
  }
  if (low > high) return [0, 1];
  const margin = Math.max(0.05 * (high - low), 1e-3);
  return [low - margin, high + margin];
}

function rotationVector(q: ArrayLike<number>): number[] {
  const sign = q[3] < 0 ? -1 : 1;
  const [x, y, z, w] = [sign * q[0], sign * q[1], sign * q[2], sign * q[3]];
  const length = Math.hypot(x, y, z);
  const degrees = (2 * Math.atan2(length, w) * 180) / Math.PI;
  return length < 1e-12 ? [0, 0, 0] : [x, y, z].map((each) => (each / length) * degrees);
}
