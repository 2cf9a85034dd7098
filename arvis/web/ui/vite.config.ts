import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const OUT = join(import.meta.dirname, "../static");
const PACKAGES = join(import.meta.dirname, "node_modules");
const COMPRESSIBLE = /\.(css|html|js|json|svg|webmanifest)$/;

/** Puts a `.gz` beside each text, so that the daemon compresses nothing while it serves. */
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
    // Its version for browsers decodes `&amp;` by writing HTML, which the policy of the page forbids.
    alias: { "decode-named-character-reference": join(PACKAGES, "decode-named-character-reference/index.js") },
  },
  build: {
    outDir: OUT,
    emptyOutDir: true, // it lies outside the root, so it has to be said
    assetsInlineLimit: 0, // the policy of the page allows no data: addresses for scripts and styles
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
