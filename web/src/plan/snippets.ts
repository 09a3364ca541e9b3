// What to write into each system to get the planned filter.

import { copyButton, h } from "../dom";
import type { DialectPlan } from "../records";
import type { PlanState } from "./state";
import { COMPACT } from "./systems";

export interface Snippet {
  where: string;
  code: string;
}

/** The numbers as code writes them. */
interface Numbers {
  keys: string;
  /** The rate to ask for. */
  fpr: string;
  /** The bits per key to ask for. */
  bits: string;
}

function numbers(state: PlanState, plan: DialectPlan): Numbers {
  const short = (value: number) => String(Number(value.toPrecision(4)));
  const asked = (wish: string) => (state.wish === wish ? state.value : null);
  return {
    keys: String(state.keys),
    fpr: short(asked("fpr") ?? plan.expected_fpr ?? 0.01),
    bits: short(asked("bits_per_key") ?? plan.bits_per_key ?? 10),
  };
}

const TYPES: Record<string, string> = {
  cassandra: "Cassandra", "cassandra-3": "Cassandra3", "cassandra-2": "Cassandra2", "cassandra-1": "Cassandra1",
  "cassandra-0.7": "Cassandra07", "cassandra-0": "Cassandra0", libbloom: "Libbloom", "libbloom-1": "Libbloom1",
  leveldb: "LevelDb", "rocksdb-block": "RocksDbBlock", "rocksdb-legacy": "RocksDbLegacy", rocksdb: "RocksDb",
  "rocksdb-ribbon": "RocksDbRibbon", "java-lsm": "JavaLsm", parquet: "Parquet", guava: "Guava", "guava-32": "Guava32",
  spark: "Spark", "spark-2": "Spark2", orc: "Orc", dcso: "Dcso", poppy: "Poppy",
};

/** RocksDB and LevelDB are asked for bits per key, all others for a rate. */
const BY_BITS = /^(leveldb|rocksdb)/;

/** The settings of the system itself. */
function settings(dialect: string, n: Numbers): Snippet[] {
  if (dialect.startsWith("cassandra")) {
    return [{ where: "CQL", code: `ALTER TABLE ks.table WITH bloom_filter_fp_chance = ${n.fpr};` }];
  }
  switch (dialect) {
    case "leveldb":
      return [{ where: "LevelDB, C++", code: `options.filter_policy = leveldb::NewBloomFilterPolicy(${Math.round(Number(n.bits))});` }];
    case "rocksdb":
    case "rocksdb-legacy":
      return [
        { where: "RocksDB, C++", code: `table_options.filter_policy.reset(rocksdb::NewBloomFilterPolicy(${n.bits}));` },
        { where: "RocksDB, options", code: `block_based_table_factory={filter_policy=bloomfilter:${n.bits}:false}` },
      ];
    case "rocksdb-block":
      return [{ where: "RocksDB 6, C++", code: `table_options.filter_policy.reset(rocksdb::NewBloomFilterPolicy(${n.bits}, true));` }];
    case "rocksdb-ribbon":
      return [
        { where: "RocksDB, C++", code: `table_options.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(${n.bits}));` },
        { where: "RocksDB, options", code: `block_based_table_factory={filter_policy=ribbonfilter:${n.bits}}` },
      ];
    case "parquet":
      return [
        {
          where: "Spark, Python",
          code: [
            "(df.write",
            '   .option("parquet.bloom.filter.enabled#id", "true")',
            `   .option("parquet.bloom.filter.expected.ndv#id", "${n.keys}")`,
            `   .option("parquet.bloom.filter.fpp#id", "${n.fpr}")`,
            '   .parquet("out"))',
          ].join("\n"),
        },
        {
          where: "parquet-rs",
          code: [
            "WriterProperties::builder()",
            '    .set_column_bloom_filter_enabled("id".into(), true)',
            `    .set_column_bloom_filter_fpp("id".into(), ${n.fpr})`,
            `    .set_column_bloom_filter_ndv("id".into(), ${n.keys})`,
          ].join("\n"),
        },
      ];
    case "orc":
      return [
        {
          where: "Hive",
          code: `TBLPROPERTIES ("orc.bloom.filter.columns" = "id", "orc.bloom.filter.fpp" = "${n.fpr}")`,
        },
      ];
    case "spark":
    case "spark-2":
      return [{ where: "Spark, Scala", code: `df.stat.bloomFilter("id", ${n.keys}L, ${n.fpr})` }];
    case "guava":
    case "guava-32":
      return [{ where: "Java", code: `BloomFilter.create(Funnels.byteArrayFunnel(), ${n.keys}L, ${n.fpr});` }];
    case "libbloom":
      return [{ where: "libbloom 2.0, C", code: `bloom_init2(&bloom, ${n.keys}, ${n.fpr});` }];
    case "libbloom-1":
      return [{ where: "libbloom 1.6, C", code: `bloom_init(&bloom, ${n.keys}, ${n.fpr});` }];
    case "dcso":
      return [{ where: "DCSO bloom", code: `bloom -p ${n.fpr} -n ${n.keys} create keys.bloom` }];
    case "native":
      return [{ where: "SlateDB, Rust", code: slatedb(`fast(${n.bits})`) }];
    case COMPACT:
      return [{ where: "SlateDB, Rust", code: slatedb(`compact(${n.fpr})`) }];
    case "java-lsm":
      return [{ where: "Java", code: `new BloomFilter(${n.keys}, ${n.fpr});` }];
    default:
      return [];
  }
}

function slatedb(policy: string): string {
  return `Db::builder("store", objects)\n    .with_filter_policies(vec![Arc::new(FullbloomPolicy::${policy}?)])`;
}

/** A compact filter: from all its keys at once, by a rate. */
function compact(n: Numbers): Snippet[] {
  return [
    { where: "Command", code: `fullbloom build keys.txt --compact --fpr ${n.fpr} -o keys.bloom` },
    { where: "Rust", code: `use fullbloom_compact::CompactFilter;\nlet filter = CompactFilter::build(&keys, ${n.fpr})?;` },
  ];
}

/** The same filter made by fullbloom. */
function ours(dialect: string, n: Numbers): Snippet[] {
  if (dialect === COMPACT) return compact(n);
  const bits = BY_BITS.test(dialect);
  const native = dialect === "native";
  const option = native ? "" : ` --dialect ${dialect}`;
  const size = bits ? `--bits-per-key ${n.bits}` : `--fpr ${n.fpr}`;
  const kept = native ? "Filter" : `Filter::<${TYPES[dialect] ?? dialect}>`;
  const imports = native ? "use fullbloom::Filter;" : `use fullbloom_dialects::{Filter, ${TYPES[dialect] ?? dialect}};`;
  const with_ = bits ? `with_bits_per_key(${n.keys}, ${float(n.bits)})` : `with_fpr(${n.keys}, ${n.fpr})`;
  const python = [bits ? `bits_per_key=${n.bits}` : `fpr=${n.fpr}`, native ? "" : `dialect="${dialect}"`].filter(Boolean);
  const constant = `FULLBLOOM_${dialect.toUpperCase().replace(/[-.]/g, "_")}`;
  const all: Snippet[] = [
    { where: "Command", code: `fullbloom build keys.txt${option} --expected-keys ${n.keys} ${size} -o ${file(dialect)}` },
    { where: "Python", code: `f = fullbloom.Filter.build(keys, ${python.join(", ")})` },
    {
      where: "C",
      code: [
        "fullbloom_sizing sizing = FULLBLOOM_SIZING_INIT;",
        `sizing.expected_keys = ${n.keys};`,
        bits ? `sizing.bits_per_key = ${n.bits};` : `sizing.fpr = ${n.fpr};`,
        `fullbloom_filter_create(${constant}, &sizing, &filter);`,
      ].join("\n"),
    },
  ];
  if (dialect !== "rocksdb-ribbon") {
    all.splice(1, 0, { where: "Rust", code: `${imports}\nlet mut filter = ${kept}::${with_}?;` });
  }
  return all;
}

function float(text: string): string {
  return text.includes(".") ? text : `${text}.0`;
}

function file(dialect: string): string {
  if (dialect === "cassandra") return "nb-1-big-Filter.db";
  return dialect === "native" || dialect === "dcso" || dialect === "libbloom" ? "keys.bloom" : "keys.filter";
}

/** The snippets for the chosen system. */
export function snippetsOf(state: PlanState, plan: DialectPlan): Snippet[] {
  const n = numbers(state, plan);
  return [...settings(plan.dialect, n), ...ours(plan.dialect, n)];
}

/** The same as elements, each with a button that copies it. */
export function snippets(state: PlanState, plan: DialectPlan): HTMLElement[] {
  return snippetsOf(state, plan).map(({ where, code }) =>
    h("figure", { class: "snippet" },
      h("figcaption", {}, where, copyButton(() => code, `for ${where}`)),
      h("pre", { tabindex: 0, role: "region", "aria-label": `Code for ${where}` }, h("code", {}, code)),
    ),
  );
}
