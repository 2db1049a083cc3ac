// Motions that the local server reads and compresses: any format, any error bound.

import { MocpackError, open } from "./decoder";
import { decoderWasm } from "./resources";
import { openEntry, type Entry, type Named } from "./session";
import { loadSkin, type Skin, type SkinEntry } from "./skin";

/** A source that the server has read. */
export interface Dropped extends Named {
  number: number;
  rawBytes: number;
  skin: Skin | null;
  /** Why the file's mesh is not shown. */
  note: string;
}

/** The server's description of a file. */
interface Answer {
  number: number;
  rawBytes: number;
  motion: Entry;
  skin: SkinEntry | null;
  note: string;
}

/** Ends of the logarithmic error slider, in meters. */
const MIN_BOUND_M = 5e-5;
const MAX_BOUND_M = 0.1;

/** Sends a file to the server, which returns its description or an error message. */
export async function drop(file: File): Promise<Dropped> {
  const answer = await fetch("dropped", {
    method: "POST",
    headers: { "X-Mocpack-File": encodeURIComponent(file.name) },
    body: file,
  });
  if (!answer.ok) throw new MocpackError("format", (await answer.text()).trim());
  const { number, rawBytes, note, motion, skin } = (await answer.json()) as Answer;
  const mesh = skin ? await loadSkin(skin) : null;
  return { ...(await openEntry(motion)), number, rawBytes, note, skin: mesh };
}

/** Compresses a source within an error bound; returns the motion and the bytes of its file. */
export async function packed(
  source: Dropped,
  meters: number,
): Promise<{ named: Named; bytes: ArrayBuffer }> {
  const answer = await fetch(`packed/${source.number}/${Math.round(1e6 * meters)}`);
  if (!answer.ok) throw new MocpackError("network", "the server could not compress the motion");
  const bytes = await answer.arrayBuffer();
  const stem = source.name.replace(/\.[^.]*$/, "");
  const motion = await open(bytes.slice(0), { wasm: await decoderWasm() });
  return { named: { name: `${stem}.mocp`, motion }, bytes };
}

/** Returns the error bound at a slider position from 0 to 1, rounded to two digits. */
export function boundAt(share: number): number {
  const meters = MIN_BOUND_M * (MAX_BOUND_M / MIN_BOUND_M) ** share;
  return Number(meters.toPrecision(2));
}
