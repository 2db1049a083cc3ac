// Formats numbers for people.

export function formatLength(meters: number): string {
  if (meters === 0) return "0";
  for (const [unit, scale, from] of LENGTHS) {
    if (meters >= from) return `${digits(meters / scale)} ${unit}`;
  }
  return `${digits(meters / 1e-9)} nm`;
}

/** Formats radians as degrees. */
export function formatAngle(radians: number): string {
  return `${Number(((180 / Math.PI) * radians).toPrecision(3))}°`;
}

export function formatSpeed(metersPerSecond: number): string {
  return metersPerSecond < 1
    ? `${digits(100 * metersPerSecond)} cm/s`
    : `${digits(metersPerSecond)} m/s`;
}

const LENGTHS: [string, number, number][] = [
  ["m", 1, 1],
  ["cm", 1e-2, 2e-2],
  ["mm", 1e-3, 1e-4],
  ["µm", 1e-6, 1e-6],
];

export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${digits(bytes / 1e3)} kB` : `${digits(bytes / 1e6)} MB`;
}

export function formatRate(bitsPerSecond: number): string {
  if (bitsPerSecond < 1000) return `${Math.round(bitsPerSecond)} bit/s`;
  return bitsPerSecond < 1e6
    ? `${digits(bitsPerSecond / 1e3)} kbit/s`
    : `${digits(bitsPerSecond / 1e6)} Mbit/s`;
}

export function formatTime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - 60 * minutes).toFixed(2);
  return `${minutes}:${rest.padStart(5, "0")}`;
}

export function formatRatio(ratio: number): string {
  return `${digits(ratio)}×`;
}

/** Formats with three significant digits, without exponent or trailing zeros. */
function digits(value: number): string {
  const places = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const text = value.toFixed(places);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
