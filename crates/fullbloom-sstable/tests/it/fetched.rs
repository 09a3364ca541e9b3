//! Real sstables of 20 versions, where they are at hand: `FULLBLOOM_FETCHED=DIR cargo test -- --ignored`.
//!
//! The directory holds sstables of Apache Cassandra's own tests and a `manifest.json` that says of each
//! filter its family, the keys it must have and its answers for 300 absent keys.

use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use fullbloom_sstable::rebuild::{Rate, propose};
use fullbloom_sstable::{Flag, Keys, Sstable, report, verify, walk};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn fetched() -> PathBuf {
    std::env::var_os("FULLBLOOM_FETCHED").expect("FULLBLOOM_FETCHED names the directory").into()
}

fn manifest(root: &Path) -> BTreeMap<PathBuf, Value> {
    let text = fs::read_to_string(root.join("manifest.json")).unwrap();
    let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
    let sstables = entries.into_iter().filter(|entry| entry["compressed"].is_null());
    sstables.map(|entry| (root.join(entry["filter"].as_str().unwrap()), entry)).collect()
}

fn family(entry: &Value) -> Name {
    match entry["family"].as_str().unwrap() {
        "a-b" => Name::Cassandra0,
        "c-e" => Name::Cassandra07,
        "f-hf" => Name::Cassandra1,
        "ia-lb" => Name::Cassandra2,
        "ma-me" => Name::Cassandra3,
        "na+" => Name::Cassandra,
        other => panic!("{other}"),
    }
}

fn hex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn sstables(root: &Path) -> Vec<(Sstable, Value)> {
    let mut entries = manifest(root);
    let found = walk::walk(root, walk::Options::default()).unwrap();
    assert!(found.skipped.is_empty(), "{:?}", found.skipped);
    let paired: Vec<_> = found
        .sstables
        .into_iter()
        .map(|sstable| {
            let entry = entries.remove(&sstable.path("Filter.db")).expect("every sstable is in the manifest");
            (sstable, entry)
        })
        .collect();
    assert!(entries.is_empty(), "every filter of the manifest is found");
    paired
}

#[test]
#[ignore = "needs real sstables: FULLBLOOM_FETCHED=DIR cargo test -p fullbloom-sstable --test it fetched -- --ignored"]
fn every_real_index_gives_the_keys_of_the_manifest_and_every_filter_has_them() {
    let mut total = 0;
    for (sstable, entry) in sstables(&fetched()) {
        let mut keys = Vec::new();
        let scan = Keys::open(&sstable).unwrap().visit(|batch| {
            keys.extend(batch.iter().map(|key| key.to_vec()));
            ControlFlow::Continue(())
        });
        let name = sstable.path("Filter.db");
        assert_eq!(scan.unwrap().out_of_order, 0, "{}", name.display());
        let expected: Vec<_> = entry["keys"].as_array().unwrap().iter().map(hex).collect();
        assert_eq!(keys, expected, "{}", name.display());
        let bytes = fs::read(&name).unwrap();
        let filter = AnyFilter::decode(&bytes, &family(&entry).into()).unwrap();
        assert!(keys.iter().all(|key| filter.may_contain(key)), "{}", name.display());
        assert_eq!(filter.count_ones(), entry["bits_set"].as_u64().unwrap());
        let answers = entry["absent_answers"].as_str().unwrap().bytes().map(|answer| answer == b'1');
        for (i, answer) in answers.enumerate() {
            assert_eq!(filter.may_contain(format!("absent-{i}").as_bytes()), answer);
        }
        total += keys.len();
    }
    println!("{total} keys");
}

#[test]
#[ignore = "needs real sstables: FULLBLOOM_FETCHED=DIR cargo test -p fullbloom-sstable --test it fetched -- --ignored"]
fn only_the_two_traps_are_flagged_as_mislabelled_and_nothing_else_is_missing() {
    for (sstable, entry) in sstables(&fetched()) {
        let (name, true_family) = (sstable.path("Filter.db"), family(&entry));
        let inspection = report::inspect(&sstable);
        assert_eq!(inspection.keys, Some(entry["keys"].as_array().unwrap().len() as u64));
        let facts = inspection.filter.unwrap();
        assert_eq!(
            (facts.bits, u64::from(facts.probes)),
            (entry["capacity_bits"].as_u64().unwrap(), entry["k"].as_u64().unwrap())
        );
        let verification = verify::verify(&sstable, verify::Options::default());
        println!(
            "{} {} {:?} keys, missing {:?}, rate {:?}, identical {:?}, recorded {:?}, flags {:?}",
            name.display(),
            sstable.table_name(),
            inspection.keys,
            verification.missing,
            verification.measured_fpr(),
            verification.rebuilt_identical,
            inspection.recorded.fpr(),
            inspection.flags.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
        if true_family == sstable.dialect {
            assert!(
                !inspection
                    .flags
                    .iter()
                    .any(|f| matches!(f, Flag::Mislabelled { .. } | Flag::KeysMissing { .. }))
            );
            assert_eq!(verification.missing, Some(0));
            assert!(verification.reads_as.is_empty());
        } else {
            let flag = inspection.flags.iter().find_map(|flag| match flag {
                Flag::Mislabelled { reads_as, .. } => Some(reads_as.clone()),
                _ => None,
            });
            assert_eq!(flag, Some(vec![true_family]), "{}", name.display());
            assert!(verification.missing.unwrap() > 0);
            assert_eq!(verification.reads_as, [true_family]);
        }
    }
}

#[test]
#[ignore = "needs real sstables: FULLBLOOM_FETCHED=DIR cargo test -p fullbloom-sstable --test it fetched -- --ignored"]
fn filters_made_anew_equal_the_originals_where_the_estimate_of_the_keys_was_right() {
    let mut identical = 0;
    for (sstable, entry) in sstables(&fetched()) {
        let rate = match report::recorded(&sstable).unwrap().fpr() {
            Some(fpr) => {
                assert_eq!(fpr, 0.01);
                Rate::Recorded
            }
            None => Rate::Fpr(0.01),
        };
        let rebuilt = propose(&sstable, rate).unwrap().build().unwrap();
        let bytes = rebuilt.encode().unwrap();
        let filter = AnyFilter::decode(&bytes, &sstable.dialect.into()).unwrap();
        assert!(entry["keys"].as_array().unwrap().iter().all(|key| filter.may_contain(&hex(key))));
        identical += usize::from(bytes == fs::read(sstable.path("Filter.db")).unwrap());
    }
    println!("{identical} identical");
    assert!(identical >= 25, "{identical}");
}
