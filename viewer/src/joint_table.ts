// The table of joints: error in this frame, and maximum error.

import { byId, make } from "./dom";
import type { ErrorTrack } from "./error_track";
import { formatLength } from "./format";

interface Row {
  row: HTMLTableRowElement;
  dot: HTMLElement;
  here: HTMLElement;
  largest: HTMLElement;
}

export interface JointEvents {
  /** The joint under the pointer, or -1. */
  hover(joint: number): void;
  /** A joint was selected: show its curves and go to its worst frame. */
  choose(joint: number): void;
}

export class JointTable {
  private rows: Row[] = [];
  private byError = false;
  private errors: ErrorTrack | null = null;
  private readonly body = byId("joints").querySelector("tbody") as HTMLTableSectionElement;
  private readonly sortButton = byId("sort");

  constructor(private readonly events: JointEvents) {
    this.sortButton.addEventListener("click", () => {
      this.byError = !this.byError;
      this.sortButton.textContent = this.byError ? "by skeleton" : "by error";
      this.sort();
    });
  }

  /** Lists the joints of another clip. */
  reset(names: string[], parents: Int32Array, errors: ErrorTrack | null): void {
    this.errors = errors;
    this.sortButton.hidden = errors === null;
    byId("joints").classList.toggle("plain", errors === null);
    this.rows = names.map((name, joint) =>
      this.makeRow(name, depth(parents, joint), joint, errors !== null),
    );
    this.sort();
  }

  /** Marks the selected joint, -1 for none. */
  mark(joint: number): void {
    this.rows.forEach(({ row }, at) => row.classList.toggle("chosen", at === joint));
  }

  /** Shows the errors of a frame; `color` maps an error to a color. */
  update(frame: number, color: (error: number) => string): void {
    const here = this.errors?.jointsAt(frame);
    this.rows.forEach(({ dot, here: cell, largest }, joint) => {
      cell.textContent = here ? formatLength(here[joint]) : "";
      largest.textContent = this.errors ? formatLength(this.errors.jointMax[joint]) : "";
      dot.style.background = here ? color(here[joint]) : "";
    });
    if (this.byError) this.sort();
  }

  private makeRow(name: string, level: number, joint: number, can: boolean): Row {
    const row = make("tr", "", "can");
    const dot = make("i");
    const cell = make("td", "", "name");
    cell.style.paddingLeft = `${Math.min(level, 10) * 5}px`;
    cell.append(dot, name);
    cell.title = name;
    const [here, largest] = [make("td", "", "number"), make("td", "", "number quiet")];
    row.append(cell, here, largest);
    row.addEventListener("pointerenter", () => this.events.hover(joint));
    row.addEventListener("pointerleave", () => this.events.hover(-1));
    row.tabIndex = 0;
    row.title = can ? "Show its curves and its worst frame" : "Show its curves";
    row.addEventListener("click", () => this.events.choose(joint));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.events.choose(joint);
    });
    return { row, dot, here, largest };
  }

  private sort(): void {
    const order = this.rows.map((_, joint) => joint);
    const errors = this.errors;
    if (this.byError && errors) order.sort((a, b) => errors.jointMax[b] - errors.jointMax[a]);
    const rows = order.map((joint) => this.rows[joint].row);
    if (
      rows.length !== this.body.children.length ||
      rows.some((row, i) => row !== this.body.children[i])
    ) {
      this.body.replaceChildren(...rows);
    }
  }
}

function depth(parents: Int32Array, joint: number): number {
  let level = 0;
  for (let at = parents[joint]; at >= 0; at = parents[at]) level++;
  return level;
}
