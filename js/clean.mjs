// Removes what an earlier build left in dist, so that no file of a module that is gone is published.
import { existsSync, readdirSync, rmSync } from "node:fs";

const folder = new URL("dist/", import.meta.url);
for (const name of existsSync(folder) ? readdirSync(folder) : [])
  if (!name.endsWith(".wasm")) rmSync(new URL(name, folder), { recursive: true });
