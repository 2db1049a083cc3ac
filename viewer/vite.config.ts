import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// what travels in the script is MIT: its notices travel along
const notices = {
  "three.js": "node_modules/three/LICENSE",
};
const banner = Object.entries(notices).map(
  ([name, path]) => `${name}\n\n${readFileSync(path, "utf8").trim()}`,
);

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
        postBanner: `/*!\n${banner.join("\n\n")}\n*/`,
      },
    },
  },
});
