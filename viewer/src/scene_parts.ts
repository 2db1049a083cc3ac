// Lists the clips of a scene with their colors, and maps joints to clips.

import { byId, make } from "./dom";
import { formatSize } from "./format";
import type { Part, SceneMotion } from "./frames_motion";

/** Returns the clips of a scene; empty for a single clip. */
export function partsOf(motion: SceneMotion | undefined): Part[] {
  return motion?.parts ?? [];
}

/** Returns the clip index of each joint. */
export function partOfJoint(parts: Part[]): number[] {
  return parts.flatMap((part, number) => new Array<number>(part.joints).fill(number));
}

/** Lists the clips, each with the color of its figure. */
export function showParts(parts: Part[], colors: string[]): void {
  byId("clips").hidden = parts.length === 0;
  byId("clip-list").replaceChildren(
    ...parts.flatMap((part, number) => {
      const name = make("dt");
      const dot = make("i");
      dot.style.background = colors[number % colors.length];
      name.append(dot, part.name);
      const span = `${part.start.toFixed(2)} to ${part.end.toFixed(2)} s`;
      return [name, make("dd", `${span}, ${formatSize(part.bytes)}`)];
    }),
  );
}
