// The error curve over all frames; drag on it to seek.

import { byId } from "./dom";
import { formatLength, formatTime } from "./format";
import type { Curve } from "./measures";

export interface TimelineView {
  frame: number;
  frameCount: number;
  frameTime: number;
  curve: Curve | null;
  /** For each foot, the frames with ground contact. */
  planted: Uint8Array[];
  /** The file's error bound, drawn as a line. */
  declared: number | null;
  /** The error at the end of the color scale. */
  full: number;
  scale: string[];
}

const PAD = { left: 6, right: 6, top: 14, bottom: 16 };

export class Timeline {
  private readonly element = byId("timeline");
  private readonly canvas = byId<HTMLCanvasElement>("curve");
  private readonly tip = byId("tip");
  private view: TimelineView | null = null;
  private hover: number | null = null;

  constructor(private readonly seek: (frame: number) => void) {
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      this.seek(this.frameAt(event));
    });
    this.element.addEventListener("pointermove", (event) => {
      if (this.element.hasPointerCapture(event.pointerId)) this.seek(this.frameAt(event));
      this.showTip(this.frameAt(event));
    });
    this.element.addEventListener("pointerleave", () => this.showTip(null));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  update(view: TimelineView): void {
    this.view = view;
    this.element.classList.toggle("plain", view.curve === null);
    this.element.setAttribute("aria-valuemax", String(view.frameCount - 1));
    this.element.setAttribute("aria-valuenow", String(view.frame));
    this.element.setAttribute("aria-valuetext", `frame ${view.frame}`);
    if (this.hover !== null) this.showTip(this.hover);
    this.draw();
  }

  private frameAt(event: PointerEvent): number {
    const box = this.element.getBoundingClientRect();
    const share =
      (event.clientX - box.left - PAD.left) / Math.max(1, box.width - PAD.left - PAD.right);
    const last = (this.view?.frameCount ?? 1) - 1;
    return Math.round(Math.min(Math.max(share, 0), 1) * last);
  }

  private showTip(frame: number | null): void {
    this.hover = frame;
    this.tip.hidden = frame === null || this.view === null;
    if (frame === null || this.view === null) return;
    const { curve } = this.view;
    const value = curve?.values[frame] ?? NaN;
    const place = `frame ${frame} · ${formatTime(frame * this.view.frameTime)}`;
    this.tip.textContent =
      curve && !Number.isNaN(value) ? `${curve.format(value)} · ${place}` : place;
    const half = this.tip.offsetWidth / 2;
    const x = this.x(frame, this.element.clientWidth);
    this.tip.style.left = `${Math.min(Math.max(x, half), this.element.clientWidth - half)}px`;
  }

  private x(frame: number, width: number): number {
    const last = Math.max(1, (this.view?.frameCount ?? 1) - 1);
    return PAD.left + (frame / last) * (width - PAD.left - PAD.right);
  }

  private draw(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = Math.min(devicePixelRatio, 2);
    if (
      this.canvas.width !== Math.round(width * ratio) ||
      this.canvas.height !== Math.round(height * ratio)
    ) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const context = this.canvas.getContext("2d");
    if (!context || !this.view) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const ink = (name: string): string => style.getPropertyValue(name).trim();
    if (this.view.curve) this.drawCurve(context, this.view.curve, width, height, ink);
    else this.drawTrack(context, width, height, ink);
    this.drawPlayhead(context, width, height, ink);
  }

  private drawTrack(
    context: CanvasRenderingContext2D,
    width: number,
    height: number,
    ink: (name: string) => string,
  ): void {
    const y = height / 2 - 2;
    context.fillStyle = ink("--line");
    context.fillRect(PAD.left, y, width - PAD.left - PAD.right, 4);
    context.fillStyle = ink("--accent");
    context.fillRect(PAD.left, y, this.x(this.view?.frame ?? 0, width) - PAD.left, 4);
  }

  private drawCurve(
    context: CanvasRenderingContext2D,
    curve: Curve,
    width: number,
    height: number,
    ink: (name: string) => string,
  ): void {
    const view = this.view as TimelineView;
    const base = height - PAD.bottom;
    const declared = curve.bounded ? view.declared : null;
    const top = 1.08 * Math.max(curve.max, declared ?? 0, 1e-9);
    const y = (error: number): number => base - (error / top) * (base - PAD.top);
    this.drawTimes(context, width, height, ink);
    const columns = this.columns(curve.values, width);
    const hot = curve.bounded ? Math.max(view.full, 1e-9) : top;
    const gradient = context.createLinearGradient(0, base, 0, y(hot));
    view.scale.forEach((color, i) => gradient.addColorStop(i / (view.scale.length - 1), color));
    // a line over a light fill: a solid area would hide everything if the error is always near its bound
    context.fillStyle = context.strokeStyle = gradient;
    context.globalAlpha = 0.16;
    context.beginPath();
    columns.forEach((value, x) => {
      if (value >= 0) context.rect(x, y(value), 1.02, base - y(value));
    });
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.4;
    context.beginPath();
    columns.forEach((value, x) => {
      if (value < 0) return;
      if (columns[x - 1] >= 0) context.lineTo(x + 0.5, y(value));
      else context.moveTo(x + 0.5, y(value));
    });
    context.stroke();
    this.drawContacts(context, width, base, ink);
    context.fillStyle = ink("--line");
    context.fillRect(PAD.left, base, width - PAD.left - PAD.right, 1);
    const worst = this.x(Math.max(curve.worst, 0), width);
    if (declared !== null) this.drawBound(context, y(declared), declared, width, worst, ink);
    if (curve.worst >= 0) this.drawWorst(context, worst, y(curve.max), ink);
  }

  /** Draws a thin row per foot along the bottom, filled during ground contact. */
  private drawContacts(
    context: CanvasRenderingContext2D,
    width: number,
    base: number,
    ink: (name: string) => string,
  ): void {
    const { planted, frameCount } = this.view as TimelineView;
    context.fillStyle = ink("--accent");
    planted.forEach((frames, foot) => {
      const y = base - 3 - 3 * foot;
      for (let t = 0; t < frameCount; t++) {
        if (!frames[t]) continue;
        const start = t;
        while (t < frameCount && frames[t]) t++;
        context.fillRect(this.x(start, width), y, this.x(t - start, width) - PAD.left, 2);
      }
    });
    if (!planted.length) return;
    const text = "ground contacts";
    context.font = "10px system-ui, sans-serif";
    const [long, y] = [context.measureText(text).width, base - 3 * planted.length - 5];
    const isHere = this.x(this.view?.frame ?? 0, width) < PAD.left + long + 16;
    const x = isHere ? width - PAD.right - long - 4 : PAD.left + 4;
    context.fillStyle = ink("--panel");
    context.globalAlpha = 0.8;
    context.fillRect(x - 4, y - 9, long + 8, 12);
    context.globalAlpha = 1;
    context.fillStyle = ink("--accent");
    context.fillText(text, x, y);
  }

  /** Returns the largest value per pixel, -1 if unknown. */
  private columns(values: Float32Array, width: number): Float32Array {
    const columns = new Float32Array(Math.ceil(width)).fill(-1);
    const last = Math.max(1, values.length - 1);
    const inner = width - PAD.left - PAD.right;
    for (let x = PAD.left; x < width - PAD.right; x++) {
      const from = Math.round(((x - PAD.left) / inner) * last);
      const to = Math.max(from, Math.round(((x + 1 - PAD.left) / inner) * last) - 1);
      for (let frame = from; frame <= Math.min(to, last); frame++) {
        if (values[frame] > columns[x]) columns[x] = values[frame];
      }
    }
    return columns;
  }

  private drawTimes(
    context: CanvasRenderingContext2D,
    width: number,
    height: number,
    ink: (name: string) => string,
  ): void {
    const view = this.view as TimelineView;
    const seconds = view.frameCount * view.frameTime;
    const step = TICKS.find((tick) => (tick / seconds) * width >= 70) ?? 600;
    context.fillStyle = ink("--muted");
    context.font = "11px system-ui, sans-serif";
    for (let at = 0; at < seconds; at += step) {
      const x = this.x(at / view.frameTime, width);
      context.globalAlpha = 0.25;
      context.fillRect(x, PAD.top, 1, height - PAD.bottom - PAD.top);
      context.globalAlpha = 1;
      if (x < width - 30) context.fillText(formatTick(at), x + 3, height - 3);
    }
  }

  private drawBound(
    context: CanvasRenderingContext2D,
    y: number,
    bound: number,
    width: number,
    worst: number,
    ink: (name: string) => string,
  ): void {
    context.strokeStyle = ink("--hot");
    context.setLineDash([4, 4]);
    context.globalAlpha = 0.8;
    context.beginPath();
    context.moveTo(PAD.left, Math.round(y) + 0.5);
    context.lineTo(width - PAD.right, Math.round(y) + 0.5);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = ink("--hot");
    const text = `allowed ${formatLength(bound)}`;
    const long = context.measureText(text).width;
    // where neither the playhead nor the worst frame's mark is
    const marks = [this.x(this.view?.frame ?? 0, width), worst];
    const places = [width - PAD.right - long, PAD.left, (width - long) / 2];
    const free = places.find((x) => marks.every((mark) => mark < x - 8 || mark > x + long + 8));
    context.fillText(text, free ?? places[0], y - 4);
  }

  private drawWorst(
    context: CanvasRenderingContext2D,
    x: number,
    y: number,
    ink: (name: string) => string,
  ): void {
    context.fillStyle = ink("--hot");
    context.beginPath();
    context.moveTo(x, y - 1);
    context.lineTo(x + 4, y - 6);
    context.lineTo(x, y - 11);
    context.lineTo(x - 4, y - 6);
    context.fill();
  }

  private drawPlayhead(
    context: CanvasRenderingContext2D,
    width: number,
    height: number,
    ink: (name: string) => string,
  ): void {
    const view = this.view as TimelineView;
    const x = this.x(view.frame, width);
    context.fillStyle = ink("--ink");
    if (view.curve) {
      context.fillRect(Math.round(x) - 0.75, 4, 1.5, height - PAD.bottom - 4);
      context.beginPath();
      context.roundRect(x - 5, 0, 10, 9, 3);
      context.fill();
      return;
    }
    context.beginPath();
    context.arc(x, height / 2, 7, 0, 7);
    context.fill();
  }
}

const TICKS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300];

function formatTick(seconds: number): string {
  if (seconds < 60) return `${+seconds.toFixed(2)} s`;
  return `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, "0")}`;
}
