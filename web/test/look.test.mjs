import assert from "node:assert/strict";
import { test } from "node:test";
import { isSet } from "../src/learn/bits.ts";
import { positions } from "../src/look/array.ts";
import { headline, lines } from "../src/look/record.ts";

const RECORD = {
  type: "filter", path: "keys.bloom", dialect: "native", bits: 512, probes: 6, bytes: 2048, fill: 0.5,
  estimated_keys: 1234.5, expected_fpr: 0.01,
};

test("a record is shown in the order of its fields with names for people", () => {
  const shown = lines({ ...RECORD, kind: "fast", label: "", seed: 0 });
  assert.deepEqual(shown.map((line) => line.field), ["dialect", "kind", "estimated_keys", "bits", "bytes", "probes", "fill", "expected_fpr", "seed"]);
  const text = (field) => shown.find((line) => line.field === field).text;
  assert.equal(text("bytes"), "2 KiB (2,048 bytes)");
  assert.equal(text("estimated_keys"), "1,235");
  assert.equal(text("fill"), "50 %");
  assert.equal(text("seed"), "0");
});

test("fields that are null, empty or hidden are left out, and unknown fields are shown under their own names", () => {
  const shown = lines({ ...RECORD, bits: null, overfull: true, new_field: [{ a_b: 1.23456 }, true], nothing: null, empty: [] });
  const fields = shown.map((line) => line.field);
  assert.ok(!fields.includes("bits") && !fields.includes("path") && !fields.includes("overfull") && !fields.includes("empty"));
  assert.deepEqual(shown.at(-1), { field: "new_field", name: "New field", text: "a b 1.235; yes" });
});

test("probes are a range if blocks of the filter have fewer", () => {
  const text = (record) => lines(record).find((line) => line.field === "probes").text;
  assert.equal(text({ ...RECORD, fewest_probes: 4 }), "4 to 6");
  assert.equal(text({ ...RECORD, fewest_probes: 6 }), "6");
});

test("the headline says about how many keys unless the number is exact", () => {
  assert.equal(headline(RECORD), "2 KiB · about 1,235 keys · expected rate 1 %");
  assert.equal(headline({ ...RECORD, keys: 1000 }), "2 KiB · 1,000 keys · expected rate 1 %");
  assert.equal(headline({ ...RECORD, bytes: null, estimated_keys: null, expected_fpr: null }), "");
});

test("bits are counted from the lowest bit of the first byte, and bits beyond the array are clear", () => {
  const bits = Uint8Array.of(0b0000_0001, 0b1000_0000);
  assert.deepEqual(Array.from({ length: 20 }, (_, at) => at).filter((at) => isSet(bits, at)), [0, 15]);
});

test("positions of probes are listed with their state", () => {
  assert.equal(positions({ may_contain: false, key: "00", probes: [{ position: 1234, set: true }, { position: 5, set: false }] }), "1,234 set, 5 clear");
  assert.equal(positions({ may_contain: false, key: "00", probes: [] }), "");
});
