//! What `plan --from` says to type next.

use crate::common::{Dir, copy_tree, run};
use crate::support::{self, Table};
use fullbloom_testkit::vectors;
use serde_json::Value;
use std::path::Path;

/// A node with tables of these names, each of so many sstables with so many keys at this rate.
fn node(dir: &Dir, tables: &[(&str, u32, usize, f64)]) -> String {
    for (name, sstables, keys, fpr) in tables {
        let made = Table::new();
        for generation in 1..=*sstables {
            made.add("nb", generation, &support::keys(*keys), *fpr);
        }
        copy_tree(&made.directory, &dir.path(&format!("node/{name}-5a1c395e0b1f11ef9a3f0242ac120002")));
    }
    dir.arg("node")
}

fn planned(node: &str, more: &[&str]) -> Value {
    run(&[&["plan", "--json", "--from", node], more].concat(), b"").exits(0).json()
}

fn steps(planned: &Value) -> Vec<Value> {
    planned["summary"]["next"]["steps"].as_array().unwrap().clone()
}

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} of {value}"))
}

/// Tables of very different sizes: a large one in one sstable, and small ones in several.
const TABLES: [(&str, u32, usize, f64); 4] = [
    ("shop/orders", 1, 20_000, 0.01),
    ("shop/carts", 8, 500, 0.01),
    ("Shop/2024", 4, 2_000, 0.05),
    ("system/local", 2, 1_000, 0.01),
];

#[test]
fn a_budget_is_spent_at_fewer_useless_reads_than_one_rate_for_all_and_never_exceeded() {
    let dir = Dir::new();
    let node = node(&dir, &TABLES);
    for memory in ["26KiB", "30KiB", "40KiB", "60KiB"] {
        let planned = planned(&node, &["--memory", memory]);
        let next = &planned["summary"]["next"];
        let (plan, even) = (&next["planned"], &next["even"]);
        let budget = planned["summary"]["memory"].as_f64().unwrap();
        assert!(number(plan, "bytes") <= budget && number(even, "bytes") <= budget, "{memory}: {next:#}");
        assert!(number(plan, "useless_reads") <= number(even, "useless_reads"), "{memory}: {next:#}");
        if memory == "30KiB" {
            assert!(number(plan, "useless_reads") < 0.8 * number(even, "useless_reads"), "{next:#}");
        }
        // Tables that cannot be altered keep their filters, and the memory of these.
        let rate = |table: &str| {
            let of = planned["places"].as_array().unwrap().iter().find(|place| place["table"] == table);
            of.unwrap()["planned_fpr"].as_f64()
        };
        assert_eq!(rate("local"), None);
        assert!(rate("carts") < rate("orders"), "small sstables get the lower rate");
    }
    run(&["plan", "--from", &node, "--memory", "1KiB"], b"").exits(1);
}

#[test]
fn the_planned_rates_give_the_planned_memory_when_they_are_set() {
    let dir = Dir::new();
    let node = node(&dir, &TABLES);
    let planned = planned(&node, &["--memory", "30KiB"]);
    let memory = |path: &str| run(&["inspect", "--json", path], b"").json()["summary"]["tables"].clone();
    let mut set = 0;
    for place in planned["places"].as_array().unwrap() {
        let Some(fpr) = place["planned_fpr"].as_f64() else { continue };
        let (keyspace, table) = (place["keyspace"].as_str().unwrap(), place["table"].as_str().unwrap());
        let directory = format!("{node}/{keyspace}/{table}-{}", place["table_id"].as_str().unwrap());
        run(&["rebuild", "--fpr", &fpr.to_string(), &directory], b"").exits(0);
        let now = &memory(&directory)[0];
        let name =
            if keyspace == "Shop" { "\"Shop\".\"2024\"".to_owned() } else { format!("{keyspace}.{table}") };
        let step = steps(&planned).into_iter().find(|step| step["name"] == name.as_str());
        if let Some(step) = step {
            assert_eq!(now["memory_bytes"], step["bytes_then"], "{name}");
            let expected = number(&step, "useless_reads_then");
            assert!((number(now, "useless_reads") / expected - 1.0).abs() < 0.2, "{name}: {now} {step}");
            set += 1;
        }
    }
    assert!(set >= 2, "only {set} tables changed");
    let all: f64 = memory(&node).as_array().unwrap().iter().map(|table| number(table, "memory_bytes")).sum();
    assert_eq!(all, number(&planned["summary"]["next"]["planned"], "bytes"));
}

#[test]
fn commands_are_cql_in_the_order_of_what_they_gain_and_leave_out_what_is_set_already() {
    let dir = Dir::new();
    let node = node(&dir, &TABLES);
    let planned = planned(&node, &["--fpr", "0.05"]);
    let commands: Vec<String> =
        steps(&planned).iter().map(|step| step["command"].as_str().unwrap().to_owned()).collect();
    // The large table saves more memory for each read; Shop.2024 has the rate, and system tables cannot be altered.
    assert_eq!(
        commands,
        [
            "ALTER TABLE shop.orders WITH bloom_filter_fp_chance = 0.05;",
            "ALTER TABLE shop.carts WITH bloom_filter_fp_chance = 0.05;"
        ]
    );
    assert_eq!(
        planned["summary"]["next"]["after"],
        serde_json::json!(["nodetool upgradesstables -a shop carts orders"])
    );
    let text = run(&["plan", "--from", &node, "--fpr", "0.05"], b"").exits(0);
    assert!(text.text().contains("\n2 tables save "), "{text:?}");
    let quoted = run(&["plan", "--from", &node, "--fpr", "0.01"], b"").exits(0);
    assert!(
        quoted.text().contains("ALTER TABLE \"Shop\".\"2024\" WITH bloom_filter_fp_chance = 0.01;"),
        "{quoted:?}"
    );
}

#[test]
fn without_a_wish_rates_are_proposed_that_read_less_in_the_same_memory() {
    let dir = Dir::new();
    let node = node(&dir, &TABLES);
    let planned = planned(&node, &[]);
    let own = |place: &&Value| place["keyspace"] != "system";
    let tables: Vec<&Value> = planned["places"].as_array().unwrap().iter().filter(own).collect();
    let sum = |field: &str| tables.iter().map(|place| number(&place["now"], field)).sum::<f64>();
    let next = &planned["summary"]["next"];
    assert!(steps(&planned).len() >= 2);
    let all = number(&planned["summary"]["now"], "memory_bytes");
    assert!(number(&next["planned"], "bytes") <= all);
    assert!(number(&next["planned"], "useless_reads") < 0.9 * sum("useless_reads") / tables.len() as f64);
    // A single table has nothing to share its memory with.
    let one = Dir::new();
    let alone = self::node(&one, &TABLES[..1]);
    assert!(steps(&self::planned(&alone, &[])).is_empty());
}

#[test]
fn column_families_get_option_strings() {
    let database = vectors::root().join("databases/rocksdb");
    let database = database.to_str().unwrap();
    for more in [&["--fpr", "0.1%"][..], &["--bits-per-key", "16"], &["--memory", "5KiB"]] {
        let planned = planned(database, more);
        let steps = steps(&planned);
        assert!(!steps.is_empty(), "{more:?}");
        for step in &steps {
            let bits = step["command"].as_str().unwrap();
            let bits = bits.strip_prefix("block_based_table_factory={filter_policy=bloomfilter:");
            let bits: f64 = bits.and_then(|rest| rest.strip_suffix(":false}")).unwrap().parse().unwrap();
            assert!((1.0..=24.0).contains(&bits), "{step}");
            if more[0] == "--bits-per-key" {
                assert_eq!(bits, 16.0);
            }
        }
        if more[0] == "--memory" {
            let next = &planned["summary"]["next"];
            assert!(number(&next["planned"], "bytes") <= 5.0 * 1024.0, "{next:#}");
            assert!(
                number(&next["planned"], "useless_reads") <= number(&next["even"], "useless_reads") + 1e-12
            );
        }
    }
    let leveldb = vectors::root().join("databases/leveldb");
    let text = run(&["plan", "--from", path(&leveldb), "--bits-per-key", "16"], b"").exits(0);
    assert!(text.text().contains("options.filter_policy = leveldb::NewBloomFilterPolicy(16);"), "{text:?}");
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
