import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { addressOf } from "../src/address.ts";
import { stepOf, valueAt } from "../src/plan/dial.ts";
import { snippetsOf } from "../src/plan/snippets.ts";
import { DEFAULT, read, write } from "../src/plan/state.ts";
import { COMPACT, sentence, systemNames, systemPlans } from "../src/plan/systems.ts";

const DIALECTS = ["native", COMPACT, "cassandra", "rocksdb", "rocksdb-ribbon", "leveldb", "parquet", "libbloom", "spark", "guava", "dcso"];

test("an address names a view and its query, and any other address is the plan", () => {
  assert.deepEqual(addressOf("#look"), { view: "look", query: "" });
  assert.deepEqual(addressOf("#plan?keys=5&fpr=0.1"), { view: "plan", query: "keys=5&fpr=0.1" });
  for (const hash of ["", "#", "#nonsense?keys=5", "#PLAN", "#constructor"]) assert.equal(addressOf(hash).view, "plan", hash);
});

test("the state of an address is written and read back", () => {
  const states = [
    DEFAULT,
    { keys: 5, wish: "bits_per_key", value: 9.5, focus: "rocksdb", shown: [] },
    { keys: 1e15, wish: "memory", value: 1_250_000, focus: COMPACT, shown: ["cassandra", COMPACT] },
    { keys: 1, wish: "fpr", value: 1e-9, focus: "parquet", shown: ["parquet"] },
  ];
  for (const state of states) assert.deepEqual(read(write(state), DIALECTS), state);
  assert.equal(write(DEFAULT), "keys=1000000&fpr=0.01&for=native&show=native,cassandra,rocksdb,parquet");
});

test("what is missing or wrong in an address has its default", () => {
  const wrong = [
    "", "keys=", "keys=-5", "keys=0", "keys=ten", "keys=NaN", "keys=Infinity", "fpr=0", "fpr=1", "fpr=2", "fpr=-1", "fpr=x",
    "for=nonsense", "for=", "%%%", "?????", "memory=-1", "bits_per_key=0", "for=__proto__",
  ];
  for (const query of wrong) assert.deepEqual(read(query, DIALECTS), DEFAULT, query);
  assert.deepEqual(read("show=nonsense,rocksdb,", DIALECTS).shown, ["rocksdb"]);
  assert.deepEqual(read("show=", DIALECTS).shown, []);
});

test("the number of keys in an address is a whole number from 1 to 10^15", () => {
  assert.equal(read("keys=2.6", DIALECTS).keys, 3);
  assert.equal(read("keys=0.3", DIALECTS).keys, 1);
  assert.equal(read("keys=1e300", DIALECTS).keys, 1e15);
});

test("the default state is not changed by reading", () => {
  const before = structuredClone(DEFAULT);
  read("keys=7&fpr=0.5&for=rocksdb&show=rocksdb", DIALECTS);
  assert.deepEqual(DEFAULT, before);
});

test("a slider goes from its least to its most value, and every value is near its step", () => {
  for (const [least, most] of [[1, 1e12], [1e-9, 0.5], [64, 1e12], [1, 40]]) {
    assert.equal(stepOf(least, least, most), 0);
    assert.equal(stepOf(most, least, most), 400);
    let last = 0;
    for (let step = 0; step <= 400; step++) {
      const value = valueAt(step, least, most);
      assert.ok(value >= last, `${value} at step ${step}`);
      last = value;
      // One digit of a rate, two of other numbers.
      const rounding = (400 * Math.log(value < 1 ? 1.5 : 1.05)) / Math.log(most / least);
      assert.ok(Math.abs(stepOf(value, least, most) - step) <= rounding + 0.5, `${value} at step ${step}`);
    }
  }
});

const plan = (dialect, part = {}) => ({ type: "dialect", dialect, bits: 1000, bytes: 125, bits_per_key: 10.125, probes: 7, expected_fpr: 0.00987654, ...part });

test("the kind compact has a row of its own after the native dialect", () => {
  const compact = { bits: 800, bytes: 100, bits_per_key: 8, expected_fpr: 0.0039 };
  const report = { places: [plan("cassandra"), plan("native", { compact }), plan("rocksdb")] };
  assert.deepEqual(systemPlans(report).map((one) => one.dialect), ["cassandra", "native", COMPACT, "rocksdb"]);
  assert.deepEqual(systemPlans(report)[2], { type: "dialect", dialect: COMPACT, probes: null, ...compact });
  const none = systemPlans({ places: [plan("native")] })[1];
  assert.deepEqual([none.bits, none.bytes, none.bits_per_key, none.expected_fpr], [null, null, null, null]);
  const about = { dialects: [{ name: "cassandra" }, { name: "native" }] };
  assert.deepEqual(systemNames(about), ["cassandra", "native", COMPACT]);
});

test("a message begins with a capital letter and ends with a full stop, except for commands", () => {
  assert.equal(sentence("the rate is too low"), "The rate is too low.");
  assert.equal(sentence("Done!"), "Done!");
  assert.equal(sentence("fullbloom rebuild mends it."), "fullbloom rebuild mends it.");
  assert.equal(sentence(""), ".");
});

const codes = (state, one) => Object.fromEntries(snippetsOf({ ...DEFAULT, ...state }, one).map(({ where, code }) => [where, code]));

test("snippets ask for what the user asked for, and otherwise for what the plan gives", () => {
  assert.equal(codes({ keys: 500 }, plan("cassandra")).CQL, "ALTER TABLE ks.table WITH bloom_filter_fp_chance = 0.01;");
  assert.match(codes({}, plan("rocksdb"))["RocksDB, C++"], /NewBloomFilterPolicy\(10\.13\)/);
  const bits = { wish: "bits_per_key", value: 12 };
  assert.match(codes(bits, plan("rocksdb"))["RocksDB, options"], /bloomfilter:12:false/);
  assert.match(codes(bits, plan("rocksdb")).Rust, /with_bits_per_key\(1000000, 12\.0\)/);
  assert.match(codes(bits, plan("cassandra")).Command, /--fpr 0\.009877 /);
  assert.match(codes(bits, plan("leveldb"))["LevelDB, C++"], /NewBloomFilterPolicy\(12\)/);
});

test("every system has snippets for the command, with its own dialect and the number of keys", () => {
  for (const dialect of DIALECTS.filter((name) => name !== "native" && name !== COMPACT)) {
    const all = codes({ keys: 123456 }, plan(dialect));
    assert.ok(all.Command.includes(`--dialect ${dialect} --expected-keys 123456 `), all.Command);
    assert.ok(all.Python.includes(`dialect="${dialect}"`), all.Python);
    assert.ok(all.C.includes(`FULLBLOOM_${dialect.toUpperCase().replace("-", "_")},`), all.C);
    assert.equal("Rust" in all, dialect !== "rocksdb-ribbon");
  }
  assert.ok(!codes({}, plan("native")).Command.includes("--dialect"));
  assert.match(codes({}, plan(COMPACT)).Rust, /CompactFilter::build\(&keys, 0\.01\)/);
});

test("no snippet has a number that a compiler would refuse, whatever the plan", () => {
  for (const dialect of DIALECTS) {
    for (const value of [0.5, 1e-4, 1e-9, 1 / 3]) {
      for (const { where, code } of snippetsOf({ ...DEFAULT, keys: 1e15, value }, plan(dialect, { bits_per_key: null }))) {
        assert.ok(!/NaN|undefined|null|Infinity|\d,\d{3}/.test(code), `${dialect}, ${where}: ${code}`);
      }
    }
  }
});

test("the Rust types and C constants of the snippets are those of the library", () => {
  const header = readFileSync(join(process.env.ROOT, "crates/fullbloom-capi/include/fullbloom.h"), "utf8");
  const source = readFileSync(join(process.env.ROOT, "crates/fullbloom-dialects/src/lib.rs"), "utf8");
  for (const dialect of DIALECTS.filter((name) => name !== COMPACT)) {
    const all = codes({}, plan(dialect));
    const constant = /fullbloom_filter_create\((\w+),/.exec(all.C)[1];
    assert.match(header, new RegExp(`\\b${constant}\\b`), dialect);
    const type = /\{Filter, (\w+)\}/.exec(all.Rust ?? "")?.[1];
    if (type) assert.match(source, new RegExp(`\\b${type}\\b`), dialect);
  }
});
