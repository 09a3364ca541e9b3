// Adapter of the page: the module that the page loads, called as its worker calls it. `make web` builds it.
//
//   node page.mjs WASM_DIRECTORY

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const directory = resolve(process.argv[2]);
const wasm = await import(pathToFileURL(join(directory, "fullbloom_wasm.js")).href);
wasm.initSync({ module: readFileSync(join(directory, "fullbloom_wasm_bg.wasm")) });

let file = new Uint8Array();
globalThis.fullbloomRead = (_file, at, out) => {
  const part = file.subarray(at, at + out.length);
  out.set(part);
  return part.length === out.length;
};

/** What a user of the page would choose as the dialect. */
function dialect(request) {
  const marker = file.at(-5);
  switch (request.system) {
    case "guava": return file[0] === 0 ? "guava-32" : "guava";
    case "spark": return file[3] === 2 ? "spark-2" : "spark";
    case "rocksdb": return marker === 0xff ? "rocksdb" : marker === 0xfe ? "rocksdb-ribbon" : "rocksdb-legacy";
    case "cassandra": case "libbloom": return request.dialect;
    default: return request.system;
  }
}

/** A number in decimal, for systems that do not hash its bytes; else the key in hex. */
function written(request, key) {
  const isHashedAsBytes = request.system !== "orc" && request.system !== "native";
  if (isHashedAsBytes || !["int", "long", "double"].includes(request.type)) return [key, "hex"];
  const bytes = new DataView(Uint8Array.from(key.match(/../g), (pair) => parseInt(pair, 16)).buffer);
  return request.type !== "double" ? [String(bytes.getBigInt64(0, true)), "long"] : [String(bytes.getFloat64(0, true)), "double"];
}

function answer(request) {
  if (request.secret) return { skip: "the page takes no secrets" };
  if (request.ask === "rows") return { skip: "the page makes no queries" };
  file = new Uint8Array(readFileSync(request.file));
  const alone = request.ask === "filter";
  const name = alone ? "filter" : "file.parquet";
  const now = 0; // filters that forget keys are asked as of the time that they record: a clock does not go back
  const looked = wasm.look(name, 0, file.length, now, alone ? dialect(request) : "", request.bits ?? 0, request.probes ?? 0);
  try {
    const places = JSON.parse(looked.report()).places;
    const problems = places.flatMap((place) => place.problems ?? []).filter((problem) => problem.severity === "error");
    const filters = places.map((place, index) => ({ place, index })).filter(({ place }) => alone || place.column === request.column);
    const mayContain = (key) => {
      const [text, spec] = written(request, key);
      return filters.some(({ index }) => JSON.parse(looked.lookup(index, text, spec)).may_contain);
    };
    if (filters.length === 0) return { error: `no filter: ${JSON.stringify(problems)}` };
    return { answers: request.keys.map((key) => Number(mayContain(key))) };
  } finally {
    looked.free();
  }
}

const { version } = JSON.parse(wasm.about());
const systems = ["native", "parquet", "guava", "spark", "orc", "cassandra", "rocksdb", "leveldb", "libbloom", "dcso"];
console.log(JSON.stringify({ name: "fullbloom (page)", version, systems }));
for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = answer(JSON.parse(line));
  } catch (error) {
    // A panic of Rust is a trap; the module must not be used after it.
    if (error instanceof WebAssembly.RuntimeError) throw error;
    reply = { error: String(error.message ?? error) };
  }
  console.log(JSON.stringify(reply));
}
