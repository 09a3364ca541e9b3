// Files to look at: made by the command in every dialect, and those of the vectors.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const { FULLBLOOM, ROOT, WORK } = process.env;

/** Runs the command; returns its standard output whatever its exit status is. */
export function command(...args) {
  try {
    return execFileSync(FULLBLOOM, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
  } catch (error) {
    return error.stdout ?? "";
  }
}

export const KEYS = Array.from({ length: 2000 }, (_, i) => `key${i}`);

/** Names that say the dialect where the bytes do not. */
const NAMES = {
  cassandra: "nb-1-big-Filter.db", "cassandra-3": "me-1-big-Filter.db", "cassandra-2": "ks-t-jb-1-Filter.db",
  "cassandra-1": "t-hc-1-Filter.db", native: "keys.bloom",
};

/** The kinds of native filters, and how the command makes them. */
const KINDS = [["fast"], ["compact", "--compact"], ["dynamic", "--dynamic"], ["deletable", "--deletable"]];

/** A file of each dialect, and of each native kind: its path, and what has to be said about it. */
export function everyDialect(dialects) {
  const directory = join(WORK, "dialects");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const keys = join(directory, "keys.txt");
  writeFileSync(keys, KEYS.join("\n") + "\n");
  const all = dialects.flatMap((dialect) => (dialect === "native" ? KINDS.map((kind) => [dialect, ...kind]) : [[dialect, ""]]));
  return all.map(([dialect, kind, ...options]) => {
    const folder = join(directory, dialect + kind);
    mkdirSync(folder);
    const path = join(folder, NAMES[dialect] ?? "filter.bin");
    const size = /^(leveldb|rocksdb)/.test(dialect) ? ["--bits-per-key", "10"] : ["--fpr", "0.01"];
    const made = JSON.parse(command("build", keys, "--dialect", dialect, ...options, "--expected-keys", "2000", ...size, "--json", "-o", path));
    const record = made.places?.[0] ?? made;
    return { dialect, path, bits: record.bits, probes: record.probes };
  });
}

/** Files that the real programs wrote, each alone in a folder of its own. */
export function vectors() {
  const all = [];
  const add = (folder, test) => {
    const from = join(ROOT, "vectors", folder);
    for (const name of readdirSync(from).filter((name) => test.test(name)).sort()) {
      const to = join(WORK, "vectors", folder.replaceAll("/", "-"), name);
      mkdirSync(to, { recursive: true });
      const path = join(to, name);
      writeFileSync(path, readFileSync(join(from, name)));
      all.push(path);
    }
  };
  rmSync(join(WORK, "vectors"), { recursive: true, force: true });
  add("native", /\.bloom$/);
  add("libbloom", /\.bloom$/);
  add("dcso", /\.(bloom|bloom\.gz|pop)$/);
  add("guava", /\.bin$/);
  add("spark", /\.bin$/);
  add("orc", /\.bin$/);
  add("rocksdb/tables", /\.(sst|ldb)$/);
  add("cassandra/sstables", /-Filter\.db$/);
  add("parquet", /\.parquet$/);
  return all;
}

/** The same bytes damaged in three ways. */
export function damaged(path) {
  const bytes = readFileSync(path);
  const flipped = Buffer.from(bytes);
  for (let at = 3; at < flipped.length; at += 1 + (flipped.length >> 3)) flipped[at] ^= 0xff;
  const noise = Buffer.alloc(bytes.length, 0xa5);
  bytes.copy(noise, 0, 0, Math.min(16, bytes.length));
  return [
    { name: basename(path), buffer: bytes.subarray(0, bytes.length >> 1), mimeType: "application/octet-stream" },
    { name: basename(path), buffer: flipped, mimeType: "application/octet-stream" },
    { name: basename(path), buffer: noise, mimeType: "application/octet-stream" },
  ];
}
