// The built module, as the worker calls it. `make web` builds it; without it these tests are skipped.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { DEFAULT, write, read } from "../src/plan/state.ts";
import { snippetsOf } from "../src/plan/snippets.ts";
import { systemNames, systemPlans } from "../src/plan/systems.ts";

const { ROOT, WASM } = process.env;
const built = existsSync(join(WASM, "fullbloom_wasm_bg.wasm"));
const skip = built ? false : `no module in ${WASM}`;
const wasm = built ? await import(pathToFileURL(join(WASM, "fullbloom_wasm.js")).href) : null;
if (wasm) wasm.initSync({ module: readFileSync(join(WASM, "fullbloom_wasm_bg.wasm")) });

let file = new Uint8Array();
globalThis.fullbloomRead = (_file, at, out) => {
  const part = file.subarray(at, at + out.length);
  out.set(part);
  return part.length === out.length;
};

function look(name, bytes) {
  file = bytes;
  return wasm.look(name, 0, bytes.length, Date.now(), "", 0, 0);
}

const vector = (path) => new Uint8Array(readFileSync(join(ROOT, "vectors", path)));

test("plans have the sizes that Cassandra, parquet-java and libbloom choose", { skip }, () => {
  const report = JSON.parse(wasm.plan(1e6, "fpr", 0.01));
  const place = (dialect) => report.places.find((one) => one.dialect === dialect);
  assert.equal(place("cassandra").probes, 5);
  assert.equal(place("parquet").bits, 8 * 2097152);
  assert.deepEqual([place("libbloom").bits, place("libbloom").probes], [9585058, 7]);
  assert.throws(() => wasm.plan(1e6, "fpr", 0), (thrown) => typeof thrown === "string" && JSON.parse(thrown).message !== "");
});

test("every system of the module has a plan, a curve, snippets and an address", { skip }, () => {
  const about = JSON.parse(wasm.about());
  const names = systemNames(about);
  const plans = systemPlans(JSON.parse(wasm.plan(1e6, "fpr", 0.01)));
  assert.deepEqual(plans.map((plan) => plan.dialect), names);
  for (const plan of plans) {
    assert.ok(JSON.parse(wasm.curve(plan.dialect, 1e4, 16)).length > 2, plan.dialect);
    const codes = snippetsOf(DEFAULT, plan);
    assert.ok(codes.some(({ where }) => where === "Command"), plan.dialect);
    assert.ok(codes.every(({ code }) => !code.includes("undefined")), plan.dialect);
    const state = { ...DEFAULT, focus: plan.dialect };
    assert.deepEqual(read(write(state), names), state);
  }
});

test("filters of Guava have the numbers and the answers that Guava printed", { skip }, () => {
  const { filters } = JSON.parse(readFileSync(join(ROOT, "vectors/guava/guava.json"), "utf8"));
  const texts = filters.filter((filter) => filter.kind === "str");
  assert.ok(texts.length >= 2);
  for (const golden of texts) {
    const looked = look(golden.file, vector(`guava/${golden.file}`));
    const [place] = JSON.parse(looked.report()).places;
    assert.equal(place.bits, golden.bitSize, golden.name);
    assert.equal(place.bytes, golden.serializedSize, golden.name);
    // The 32-bit strategy reduces hashes modulo the length, so the first bits are chosen a little more often. We count that, Guava does not.
    assert.ok(Math.abs(place.expected_fpr - Number(golden.expectedFpp)) < 1e-9, golden.name);
    for (const key of golden.keys.slice(0, 50)) assert.ok(JSON.parse(looked.lookup(0, key, "")).may_contain, `${golden.name}: ${key}`);
    looked.free();
  }
});

// The same files are built and read by every language: see golden_native.rs of fullbloom-any.
test("integers of every width and sign are found in the golden files", { skip }, () => {
  const lists = JSON.parse(readFileSync(join(ROOT, "vectors/native/integers.json"), "utf8"));
  const looked = look("integers.bloom", vector("native/integers.bloom"));
  const found = (looked, key, type) => JSON.parse(looked.lookup(0, key, type)).may_contain;
  for (const width of ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]) {
    for (const number of lists[width]) assert.ok(found(looked, number, "long"), `${width}: ${number}`);
  }
  for (const number of lists.absent) assert.ok(!found(looked, number, "long"), number);
  looked.free();
  const wide = look("integers-wide.bloom", vector("native/integers-wide.bloom"));
  const sixteen = (number) => {
    let bits = BigInt.asUintN(128, BigInt(number));
    let hex = "";
    for (let i = 0; i < 16; i++, bits >>= 8n) hex += (bits & 255n).toString(16).padStart(2, "0");
    return hex;
  };
  for (const number of [...lists.i128, ...lists.u128]) assert.ok(found(wide, sixteen(number), "hex"), number);
  for (const number of lists.absent) assert.ok(!found(wide, sixteen(number), "hex"), number);
  wide.free();
});

test("a Parquet file of pyarrow has its four filters, and the values of its columns are found", { skip }, () => {
  const looked = look("people.parquet", vector("parquet/people.parquet"));
  const { places } = JSON.parse(looked.report());
  assert.deepEqual(places.map((place) => [place.column, place.row_group]), [["id", 0], ["name", 0], ["id", 1], ["name", 1]]);
  for (let id = 0; id < 500; id += 7) {
    assert.ok(JSON.parse(looked.lookup(0, String(id), "")).may_contain);
    assert.ok(JSON.parse(looked.lookup(3, `name${500 + id}`, "")).may_contain);
  }
  assert.ok(!JSON.parse(looked.lookup(1, "nobody", "")).may_contain);
  looked.free();
});

test("damaged files throw a problem or give a report, and the module goes on", { skip }, () => {
  for (const path of ["guava/a_mitz64.bin", "native/compact.bloom", "parquet/people.parquet", "rocksdb/tables/plyvel_bloom10_snappy.ldb"]) {
    const whole = vector(path);
    for (let i = 0; i < 60; i++) {
      const at = Math.floor((i * whole.length) / 60);
      const changed = whole.slice();
      changed[at] ^= 0x81;
      for (const bytes of [whole.subarray(0, at), changed]) {
        try {
          const looked = look(path.split("/").pop(), bytes);
          JSON.parse(looked.report()).places.forEach((_, index) => JSON.parse(looked.drawn(index)));
          looked.free();
        } catch (thrown) {
          // Anything but text is a panic.
          assert.equal(typeof thrown, "string", `${path}, byte ${at}: ${thrown}`);
          assert.ok(JSON.parse(thrown).message, `${path}, byte ${at}`);
        }
      }
    }
  }
});
