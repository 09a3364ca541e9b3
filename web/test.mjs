// Runs the tests in test/ with Node's own runner, without a browser. They import the sources, which are compiled first.
//
//   node test.mjs [WASM_DIRECTORY]       the directory that `make web` leaves in target/web/wasm

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const names = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.mjs"));
const out = mkdtempSync(join(tmpdir(), "fullbloom-page-"));
try {
  await build({
    entryPoints: names.map((name) => join(here, "test", name)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const files = names.map((name) => join(out, name));
  const wasm = resolve(process.argv[2] ?? join(root, "target/web/wasm"));
  const env = { ...process.env, ROOT: root, WASM: wasm, NODE_OPTIONS: "--enable-source-maps" };
  const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...files], { stdio: "inherit", env });
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
