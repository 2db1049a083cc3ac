// The table of performers.

import type { Performer } from "./decoder";

export class Table {
  private readonly rows = new Map<string, HTMLTableCellElement[]>();

  constructor(private readonly table: HTMLTableElement) {}

  add(name: string, color: string): void {
    this.remove(name);
    const row = this.table.tBodies[0].insertRow();
    const cells = Array.from({ length: 6 }, () => row.insertCell());
    const dot = document.createElement("span");
    dot.className = "dot";
    dot.style.background = color;
    cells[0].append(dot, name);
    this.rows.set(name, cells);
    this.table.hidden = false;
  }

  remove(name: string): void {
    this.rows.get(name)?.[0].parentElement?.remove();
    this.rows.delete(name);
    this.table.hidden = this.rows.size === 0;
  }

  update(performer: Performer): void {
    const cells = this.rows.get(performer.name);
    if (!cells) return;
    const texts = [
      (performer.bitRate() / 1000).toFixed(1),
      `${(100 * performer.loss()).toFixed(1)} %`,
      `${(1000 * performer.delay()).toFixed(0)} ms`,
      `${(1000 * performer.jitter()).toFixed(0)} ms`,
      `${(1000 * performer.receiver.maxError).toPrecision(2)} mm`,
    ];
    texts.forEach((text, i) => (cells[i + 1].textContent = text));
  }
}
