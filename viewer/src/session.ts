// What the page is asked to show: inlined in an exported file, or told by the local server.

import { open, type Motion } from "./decoder";
import { fromGzip, fromServer, framesMotion, type Head } from "./frames_motion";
import { bytesOfBase64, decoderWasm } from "./resources";

import type { SkinEntry } from "./skin";

export type Layout = "overlay" | "side" | "packed" | "original";

/** How the page stands when it opens; a picture is taken of such a page. */
export interface Start {
  frame?: number;
  layout?: Layout;
  theme?: "light" | "dark";
  /** Only the stage, its caption and the curve: for pictures and videos. */
  bare?: boolean;
}

export interface Entry {
  name: string;
  role: "packed" | "original";
  kind: "file" | "frames";
  head?: Head;
  url?: string;
  data?: string;
  /** Why a mesh that the file brings is not shown. */
  note?: string;
}

export interface Session {
  chosen: number;
  /** Bytes as float32 of the channels that move; a server tells them later, in ratio.json. */
  rawBytes: number | null;
  motions: Entry[];
  start?: Start;
  /** The mesh that one of the motions brings. */
  skin?: SkinEntry;
  /** Whether the server reads and packs what is dropped. */
  packs?: boolean;
  /** The decoder, in a page of one file. */
  wasm?: string;
}

export interface Named {
  name: string;
  motion: Motion;
}

/** Return the session of this page, or null if it was opened without any. */
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
