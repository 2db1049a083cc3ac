// The clips of a scene: a list with their colours, and which joint is whose.

import { byId, make } from "./dom";
import { formatSize } from "./format";
import type { Part, SceneMotion } from "./frames_motion";

/** The clips of a motion; none of one that is no scene. */
export function partsOf(motion: SceneMotion | undefined): Part[] {
  return motion?.parts ?? [];
}

/** The number of the clip that each joint belongs to. */
export function partOfJoint(parts: Part[]): number[] {
  return parts.flatMap((part, number) => new Array<number>(part.joints).fill(number));
}

/** List the clips, each with the colour that its figure has. */
export function showParts(parts: Part[], colours: string[]): void {
  byId("clips").hidden = parts.length === 0;
  byId("clip-list").replaceChildren(
    ...parts.flatMap((part, number) => {
      const name = make("dt");
      const dot = make("i");
      dot.style.background = colours[number % colours.length];
      name.append(dot, part.name);
      const span = `${part.start.toFixed(2)} to ${part.end.toFixed(2)} s`;
      return [name, make("dd", `${span}, ${formatSize(part.bytes)}`)];
    }),
  );
}
