// Motions that the local server reads and packs for the page: any format, any bound.

import { MocpackError, open } from "./decoder";
import { decoderWasm } from "./resources";
import { openEntry, type Entry, type Named } from "./session";
import { loadSkin, type Skin, type SkinEntry } from "./skin";

/** A source that the server has read. */
export interface Dropped extends Named {
  number: number;
  rawBytes: number;
  skin: Skin | null;
  /** Why a mesh that is there is not shown. */
  note: string;
}

/** What the server says of a file that it has read. */
interface Answer {
  number: number;
  rawBytes: number;
  motion: Entry;
  skin: SkinEntry | null;
  note: string;
}

/** Bounds of the slider, from end to end, in metres; equal ways are equal ratios. */
const MIN_BOUND_M = 5e-5;
const MAX_BOUND_M = 0.1;

/** Send a file to the server; it answers with what it holds, or a sentence that says why not. */
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

/** Return a source packed within a bound, as a motion and as the bytes of its file. */
export async function packed(
  source: Dropped,
  metres: number,
): Promise<{ named: Named; bytes: ArrayBuffer }> {
  const answer = await fetch(`packed/${source.number}/${Math.round(1e6 * metres)}`);
  if (!answer.ok) throw new MocpackError("network", "the server could not pack it");
  const bytes = await answer.arrayBuffer();
  const stem = source.name.replace(/\.[^.]*$/, "");
  const motion = await open(bytes.slice(0), { wasm: await decoderWasm() });
  return { named: { name: `${stem}.mocp`, motion }, bytes };
}

/** Return the bound at a place of the slider, 0 to 1, rounded to two digits. */
export function boundAt(share: number): number {
  const metres = MIN_BOUND_M * (MAX_BOUND_M / MIN_BOUND_M) ** share;
  return Number(metres.toPrecision(2));
}
