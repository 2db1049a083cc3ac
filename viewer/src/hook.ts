// `window.mocpack`: the interface for tests and screenshots, described in docs/viewer.md.

import type { App } from "./app";
import { byId } from "./dom";
import type { Start } from "./session";

export interface Hook {
  /** Settles when the motions of the session are open or have failed. */
  ready: Promise<void>;
  state(): Record<string, unknown>;
  /** World positions of the joints in meters, x, y, z each, read from the scene. */
  positions(which?: "packed" | "original"): number[] | null;
  /** World position in meters of a vertex of the mesh, read from the scene; null without a mesh. */
  vertex(number: number, which?: "packed" | "original"): number[] | null;
  /** The error of each frame in meters, null if not known yet. */
  errors(): (number | null)[] | null;
  /** The curve's value of each frame, or null. */
  curve(): (number | null)[] | null;
  /** Counts the non-transparent pixels of a canvas. */
  inked(canvas: string): number;
  /** Shows a frame: waits for its data and draws it. */
  show(frame: number): Promise<void>;
}

declare global {
  interface Window {
    mocpack: Hook;
  }
}

export function install(app: App, ready: Promise<void>): void {
  window.mocpack = {
    ready,
    state: () => state(app),
    positions: (which = "packed") => positions(app, which),
    vertex: (number, which = "packed") => vertex(app, number, which),
    errors: () => known(app.version?.errors?.frames),
    curve: () => known(app.curve?.values),
    inked,
    show: (frame) => show(app, frame),
  };
}

function known(values: Float32Array | undefined): (number | null)[] | null {
  return values ? [...values].map((value) => (Number.isNaN(value) ? null : value)) : null;
}

function inked(id: string): number {
  const canvas = byId<HTMLCanvasElement>(id);
  const { width, height } = canvas;
  const pixels = canvas.getContext("2d")?.getImageData(0, 0, width, height).data ?? [];
  return pixels.filter((value, k) => k % 4 === 3 && value > 0).length;
}

export function applyStart(app: App, start: Start): void {
  document.body.classList.toggle("bare", start.bare ?? false);
  if (start.layout) app.setLayout(start.layout);
  if (start.frame) app.seek(start.frame);
}

function state(app: App): Record<string, unknown> {
  const { version, playback } = app;
  return {
    name: version?.name ?? null,
    frame: playback.frame,
    frameCount: playback.frameCount,
    playing: playback.playing,
    speed: playback.speed,
    loop: playback.loop,
    layout: app.layout,
    scale: app.scale,
    hotEnd: app.full,
    head: app.stage.headOnScreen(),
    measure: app.measure,
    joint: app.joint,
    mesh: app.clip?.skin ? app.stage.meshed : null,
    vertices: app.clip?.skin ? app.clip.skin.vertices.length / 3 : 0,
    versions: app.clip?.versions.map((each) => each.name) ?? [],
    original: app.clip?.original?.name ?? null,
    worstFrame: version?.errors?.worstFrame ?? null,
    largestError: version?.errors?.max ?? null,
    declaredError: version?.motion.declaredError ?? null,
    bytes: version?.motion.sizes.file ?? null,
    loaded: version?.windows.filter((window) => window === "ready").length ?? 0,
    windows: version?.windows.length ?? 0,
    everythingLoaded:
      app.clip?.versions.every((each) => each.windows.every((window) => window === "ready")) ??
      false,
  };
}

function positions(app: App, which: "packed" | "original"): number[] | null {
  const figure = which === "packed" ? app.stage.packed : app.stage.original;
  const origin = app.clip?.origin;
  if (!figure || !origin) return null;
  return figure.jointPositions().map((value, k) => value + origin[k % 3]);
}

function vertex(app: App, number: number, which: "packed" | "original"): number[] | null {
  const figure = which === "packed" ? app.stage.packed : app.stage.original;
  const origin = app.clip?.origin;
  return (origin && figure?.vertex(number)?.map((value, k) => value + origin[k])) ?? null;
}

async function show(app: App, frame: number): Promise<void> {
  app.playback.playing = false;
  app.seek(frame);
  while (!app.version?.poses.at(app.playback.frame)) {
    if (app.frameFailed) throw new Error(`frame ${frame} cannot be decoded`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  app.seek(frame);
  app.stage.draw(app.layout, true);
}
