// Makes the page: one file, with the stylesheet, the script, the worker and the module in it. It needs no server, and its
// policy names the hashes of what may run.
//
//   node build.mjs WASM_DIRECTORY OUT_DIRECTORY

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [wasm, out] = process.argv.slice(2).map((path) => resolve(path));
if (!wasm || !out) throw new Error("usage: node build.mjs WASM_DIRECTORY OUT_DIRECTORY");

async function bundle(entry, define) {
  const { outputFiles } = await build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    define,
    alias: { "#wasm": join(wasm, "fullbloom_wasm.js") },
    // The bindings can fetch the module from beside them, which is not done here.
    logOverride: { "empty-import-meta": "silent" },
  });
  // A closing tag inside of a text would end the script.
  return outputFiles[0].text.replaceAll("</script", "<\\/script");
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const module = gzipSync(readFileSync(join(wasm, "fullbloom_wasm_bg.wasm")), { level: 9 });
const worker = await bundle("worker.ts", {});
const script = await bundle("main.ts", {
  WORKER_SOURCE: JSON.stringify(worker),
  MODULE_GZIP_BASE64: JSON.stringify(module.toString("base64")),
});
const style = readFileSync(join(here, "style.css"), "utf8");
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  `style-src ${hash(style)}`,
  "worker-src blob:",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const page = readFileSync(join(here, "index.html"), "utf8")
  .replace("@POLICY@", policy)
  .replace("@STYLE@", () => style)
  .replace("@SCRIPT@", () => script);

mkdirSync(out, { recursive: true });
writeFileSync(join(out, "index.html"), page);
const size = (bytes) => `${(bytes / 1024).toFixed(0)} KiB`;
console.log(`${join(out, "index.html")}: ${size(page.length)}, ${size(gzipSync(page).length)} compressed; module ${size(module.length)} compressed`);
