// Colors of both themes, and the color scale of errors.

import { Color } from "three";

export interface Palette {
  scale: string[];
  original: string;
  /** Colors of the clips of a scene. */
  clips: string[];
  highlight: string;
  grid: string;
  shadow: number;
}

export const PALETTES: Record<"light" | "dark", Palette> = {
  light: {
    scale: ["#7d90a5", "#a9a58f", "#e3a63f", "#de6b2c", "#c42f28"],
    original: "#a9adb1",
    clips: ["#7d90a5", "#c07f5a", "#6f9a78", "#9a7fb3", "#b8a24a", "#5b9ba8"],
    highlight: "#0b7285",
    grid: "#8f8a80",
    shadow: 0.13,
  },
  dark: {
    scale: ["#8fa6bd", "#b3ab8e", "#e9b04c", "#ea7a3a", "#e2463b"],
    original: "#6b7480",
    clips: ["#8fa6bd", "#d9986f", "#86b591", "#b49ac9", "#cdb85f", "#74b5c2"],
    highlight: "#66d9e8",
    grid: "#596069",
    shadow: 0.45,
  },
};

const STEPS = 256;

/** Returns STEPS colors of the scale as linear r, g, b. */
export function scaleTable(palette: Palette): Float32Array {
  const stops = palette.scale.map((text) => new Color(text));
  const table = new Float32Array(STEPS * 3);
  const mixed = new Color();
  for (let i = 0; i < STEPS; i++) {
    const at = (i / (STEPS - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    mixed.lerpColors(stops[low], stops[low + 1], at - low).toArray(table, i * 3);
  }
  return table;
}

/** Returns the table index of an error; `full` is the error at the end of the scale. */
export function scaleIndex(error: number, full: number): number {
  const share = full > 0 ? Math.min(Math.max(error / full, 0), 1) : 0;
  return 3 * Math.round(share * (STEPS - 1));
}
