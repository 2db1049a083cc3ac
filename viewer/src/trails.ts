// Trails of joints: half a second before and after the current frame.

import { BufferAttribute, BufferGeometry, LineBasicMaterial, LineSegments } from "three";
import type { Poses } from "./poses";

const SECONDS = 0.5;

export class Trails {
  readonly lines = new LineSegments(
    new BufferGeometry(),
    new LineBasicMaterial({ transparent: true, opacity: 0.65 }),
  );

  constructor() {
    this.lines.frustumCulled = false;
    this.lines.visible = false;
  }

  color(color: string): void {
    this.lines.material.color.set(color);
  }

  show(poses: Poses, joints: number[], frame: number): void {
    const { frameCount, frameTime } = poses.motion;
    const reach = Math.max(1, Math.round(SECONDS / frameTime));
    const [first, last] = [Math.max(0, frame - reach), Math.min(frameCount - 1, frame + reach)];
    const ends: number[] = [];
    for (let t = first; t < last; t++) {
      const [a, b] = [poses.at(t), poses.at(t + 1)];
      if (!a || !b) continue;
      for (const joint of joints) {
        ends.push(...a.subarray(3 * joint, 3 * joint + 3), ...b.subarray(3 * joint, 3 * joint + 3));
      }
    }
    this.lines.geometry.dispose();
    this.lines.geometry = new BufferGeometry();
    this.lines.geometry.setAttribute("position", new BufferAttribute(new Float32Array(ends), 3));
  }
}

/** Returns the joints with trails if none is selected: the ends of limbs. */
export function limbEnds(parents: Int32Array): number[] {
  const carrying = new Set(parents);
  return [...parents.keys()].filter((joint) => !carrying.has(joint));
}
