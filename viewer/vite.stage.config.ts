import { defineConfig, mergeConfig } from "vite";
import page from "./vite.config.ts";

// The page of a relay, `mocpack live serve`, beside that of `mocpack view`.
const stage = mergeConfig(page, {
  build: {
    emptyOutDir: false,
    rollupOptions: {
      input: "stage.html",
      output: { entryFileNames: "assets/stage.js" },
    },
  },
});

export default defineConfig(stage);
