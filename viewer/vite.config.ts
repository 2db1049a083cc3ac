import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

/** Return the licenses of the packages that a script is made of; one that is missing stops the build. */
function licenses(script: { moduleIds: string[] }): string {
  const inside = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;
  const packages = new Set(script.moduleIds.map((id) => inside.exec(id)?.[1] ?? ""));
  packages.delete("");
  const texts = [...packages].map(
    (name) => `${name}\n\n${readFileSync(`../LICENSES/${name}.txt`, "utf8").trim()}`,
  );
  return `/*!\n${texts.join("\n\n")}\n*/`;
}

// One script, one style sheet and the decoder, under fixed names: `mocpack view --export` puts
// them into one file, and the server's table of paths stays readable.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/mocpack/viewing/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    modulePreload: false,
    rollupOptions: {
      output: {
        entryFileNames: "assets/page.js",
        assetFileNames: "assets/[name][extname]",
        codeSplitting: false,
        postBanner: licenses,
      },
    },
  },
});
