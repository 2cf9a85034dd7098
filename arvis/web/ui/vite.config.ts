import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const OUT = join(import.meta.dirname, "../static");
const PACKAGES = join(import.meta.dirname, "node_modules");
const COMPRESSIBLE = /\.(css|html|js|json|svg|webmanifest)$/;

/** Smaller files fit into one packet as they are. */
const WORTH_COMPRESSING = 1000;

/** Replace each larger text file by its `.gz`, which almost all clients get as it is. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      for (const name of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
        const content = COMPRESSIBLE.test(name) ? readFileSync(join(OUT, name)) : Buffer.alloc(0);
        if (content.length > WORTH_COMPRESSING) {
          writeFileSync(join(OUT, `${name}.gz`), gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
          rmSync(join(OUT, name));
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
    sourcemap: false,
    target: "es2022",
  },
  server: { proxy: { "/api": "http://127.0.0.1:5070", "/ws": { target: "http://127.0.0.1:5070", ws: true } } },
});
