// Adapter of the corpus in conformance/ for fullbloom-native.mjs.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Filter } from "./fullbloom-native.mjs";

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

function answer(request) {
  if (request.ask !== "filter") return { skip: "reads filters alone" };
  const secret = request.secret ? bytesOf(request.secret) : null;
  const filter = new Filter(new Uint8Array(readFileSync(request.file)), { secret });
  const isNumber = request.type === "int" || request.type === "long";
  const key = (hex) => (isNumber ? new DataView(bytesOf(hex).buffer).getBigInt64(0, true) : bytesOf(hex));
  return { answers: request.keys.map((hex) => Number(filter.mayContain(key(hex)))) };
}

if (process.argv[2]) {
  // Prints how many lookups a second a filter answers.
  const filter = new Filter(new Uint8Array(readFileSync(process.argv[2])));
  const keys = Array.from({ length: 1_000_000 }, (_, i) => new TextEncoder().encode(`key-${i}`));
  const start = performance.now(), found = keys.filter((key) => filter.mayContain(key)).length;
  console.log(`${(1e3 / (performance.now() - start)).toFixed(3)} million lookups a second, ${found} found`);
  process.exit();
}

console.log(JSON.stringify({ name: "readers/js", version: "1", systems: ["native"] }));
for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = answer(JSON.parse(line));
  } catch (error) {
    reply = { error: String(error) };
  }
  console.log(JSON.stringify(reply));
}
