// What the page shows: inlined in an exported file, or from the local server.

import { open, type Motion } from "./decoder";
import { fromGzip, fromServer, framesMotion, type Head } from "./frames_motion";
import { bytesOfBase64, decoderWasm } from "./resources";

import type { SkinEntry } from "./skin";

export type Layout = "overlay" | "side" | "packed" | "original";

/** Initial state of the page, also used for screenshots. */
export interface Start {
  frame?: number;
  layout?: Layout;
  theme?: "light" | "dark";
  /** Show only the stage, its caption and the curve, for images and videos. */
  bare?: boolean;
}

export interface Entry {
  name: string;
  role: "packed" | "original";
  kind: "file" | "frames";
  head?: Head;
  url?: string;
  data?: string;
  /** Why the file's mesh is not shown. */
  note?: string;
}

export interface Session {
  chosen: number;
  /** Bytes of the moving channels as float32; a server provides them later in ratio.json. */
  rawBytes: number | null;
  motions: Entry[];
  start?: Start;
  /** The mesh of one of the motions. */
  skin?: SkinEntry;
  /** Whether the server reads and compresses dropped files. */
  packs?: boolean;
  /** The decoder, in a self-contained page. */
  wasm?: string;
}

export interface Named {
  name: string;
  motion: Motion;
}

/** Returns the session of this page, or null if there is none. */
export async function findSession(): Promise<Session | null> {
  const inlined = document.getElementById("session");
  if (inlined) return JSON.parse(inlined.textContent ?? "") as Session;
  if (!location.protocol.startsWith("http")) return null;
  const answer = await fetch("session.json").catch(() => null);
  return answer?.ok ? ((await answer.json()) as Session) : null;
}

export async function laterRawBytes(): Promise<number | null> {
  const answer = await fetch("ratio.json").catch(() => null);
  return answer?.ok ? ((await answer.json()) as { rawBytes: number }).rawBytes : null;
}

export async function openEntry(entry: Entry): Promise<Named> {
  const { name } = entry;
  if (entry.kind === "frames") {
    const source = entry.data ? fromGzip(bytesOfBase64(entry.data)) : fromServer(entry.url ?? "");
    return { name, motion: framesMotion(entry.head as Head, source) };
  }
  const source = entry.data ? bytesOfBase64(entry.data) : new URL(entry.url ?? "", location.href);
  return { name, motion: await open(source, { wasm: await decoderWasm() }) };
}
