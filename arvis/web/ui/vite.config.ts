import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const OUT = join(import.meta.dirname, "../static");
const PACKAGES = join(import.meta.dirname, "node_modules");
const COMPRESSIBLE = /\.(css|html|js|json|svg|webmanifest)$/;

/** Write a `.gz` next to each text file, so that the daemon never compresses while serving. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      for (const name of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
        if (COMPRESSIBLE.test(name)) {
          const packed = gzipSync(readFileSync(join(OUT, name)), { level: constants.Z_BEST_COMPRESSION });
          writeFileSync(join(OUT, `${name}.gz`), packed);
        }
      }
    },
  };
}

export default defineConfig({
  base: "/",
  plugins: [react(), compressed()],
  resolve: {
    // Its browser version decodes `&amp;` by writing HTML, which the page's content policy forbids.
    alias: { "decode-named-character-reference": join(PACKAGES, "decode-named-character-reference/index.js") },
  },
  build: {
    outDir: OUT,
    emptyOutDir: true, // required because the folder is outside the root
    assetsInlineLimit: 0, // the content policy allows no data: addresses for scripts and styles
    manifest: true,
    sourcemap: false,
    target: "es2022",
  },
  server: {
    proxy: {
      "/api": "http://127.0.0.1:5070",
      "/ws": { target: "http://127.0.0.1:5070", ws: true },
    },
  },
});
