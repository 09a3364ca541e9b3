// Times what the page calls, in one or more builds of the module, in turns:
//
//   node bench.mjs WASM_DIRECTORY...
//
// A directory is what `make web` leaves in target/web/wasm. To try an instruction set, build the module with
// RUSTFLAGS="-C target-feature=+simd128" and give both directories. Medians of the CPU time in milliseconds.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROUNDS = 15;
const directories = process.argv.slice(2);
if (directories.length === 0) throw new Error("usage: node bench.mjs WASM_DIRECTORY...");

/** The file that the modules look at. */
let file = new Uint8Array();
globalThis.fullbloomRead = (_file, at, out) => {
  out.set(file.subarray(at, at + out.length));
  return true;
};

const keys = Array.from({ length: 20000 }, (_, i) => `user:${i}`);

/** What is timed: a name, and a function that prepares it and returns it. */
function works(wasm) {
  const looked = (dialect) => {
    const bytes = wasm.sample(dialect);
    return () => {
      file = bytes;
      const look = wasm.look("sample.bloom", 0, bytes.length, 0, dialect === "cassandra" ? dialect : "", 0, 0);
      for (const key of keys) look.lookup(0, key, "");
      look.free();
    };
  };
  return {
    "plan of all systems": () => wasm.plan(1e6, "fpr", 0.01),
    "curves of four systems": () => ["native", "cassandra", "rocksdb", "parquet"].forEach((name) => wasm.curve(name, 1e6, 32)),
    "20,000 lookups, native": looked("native"),
    "20,000 lookups, compact": looked("native-compact"),
    "20,000 lookups, cassandra": looked("cassandra"),
    "eight filters built, 20,000 lookups in each": () => wasm.reads(8, 20000, 10, 20000, 0),
  };
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const cpu = () => process.cpuUsage().user / 1000;

const modules = [];
for (const directory of directories) {
  const wasm = await import(join(resolve(directory), "fullbloom_wasm.js"));
  wasm.initSync({ module: readFileSync(join(directory, "fullbloom_wasm_bg.wasm")) });
  modules.push(works(wasm));
}
for (const name of Object.keys(modules[0])) {
  const times = modules.map(() => []);
  for (let round = 0; round <= ROUNDS; round++) {
    modules.forEach((works, i) => {
      const start = cpu();
      works[name]();
      // The first round compiles.
      if (round > 0) times[i].push(cpu() - start);
    });
  }
  const medians = times.map(median);
  const ratios = medians.slice(1).map((time) => `   x ${(medians[0] / time).toFixed(2)}`);
  console.log(`${name.padEnd(46)}${medians.map((time) => time.toFixed(1).padStart(10)).join("")}${ratios.join("")}`);
}
