// Accepts files that are dropped or chosen.

import { open, parseBvh } from "./decoder";
import { byId } from "./dom";
import { drop } from "./packing";
import { decoderWasm } from "./resources";
import type { Named } from "./session";

export interface Brought {
  name: string;
  kind: "packed" | "source";
  load(): Promise<Named>;
}

/** `packs`: whether a server can read all formats. */
export function listenForFiles(packs: boolean, take: (files: Brought[]) => void): void {
  if (packs) byId<HTMLInputElement>("files").removeAttribute("accept");
  const veil = byId("drop");
  let inside = 0;
  addEventListener("dragenter", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    inside++;
    veil.hidden = false;
  });
  addEventListener("dragleave", () => {
    inside = Math.max(0, inside - 1);
    veil.hidden = inside === 0;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    inside = 0;
    veil.hidden = true;
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length) take(files.map((file) => brought(file, packs)));
  });
  const input = byId<HTMLInputElement>("files");
  input.addEventListener("change", () => {
    take([...(input.files ?? [])].map((file) => brought(file, packs)));
    input.value = "";
  });
}

function brought(file: File, packs: boolean): Brought {
  const source = packs ? !/\.mocp$/i.test(file.name) : /\.bvh$/i.test(file.name);
  if (source && packs) return { name: file.name, kind: "source", load: () => drop(file) };
  return {
    name: file.name,
    kind: source ? "source" : "packed",
    load: async () => ({
      name: file.name,
      motion: source
        ? parseBvh(await file.text())
        : await open(await file.arrayBuffer(), { wasm: await decoderWasm() }),
    }),
  };
}
