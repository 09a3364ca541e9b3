//! `vectors/README.md` and the pages it leads to name every vector with its SHA-256, and every sum is right.

use fullbloom_testkit::{sha256_hex, vectors};
use std::collections::BTreeMap;
use std::path::Path;

const PAGES: [&str; 7] = [
    "README.md",
    "rocksdb/PROVENANCE.md",
    "guava/PROVENANCE.md",
    "spark/PROVENANCE.md",
    "parquet/PROVENANCE.md",
    "orc/PROVENANCE.md",
    "dcso/PROVENANCE.md",
];

/// Lines of the tables: path in backticks in the first cell, sum in the last.
fn listed() -> BTreeMap<String, String> {
    let pages = PAGES.map(|page| String::from_utf8(vectors::bytes(page)).expect("pages are UTF-8"));
    let mut sums = BTreeMap::new();
    for line in pages.iter().flat_map(|page| page.lines()) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [first, .., last] = cells[..] else { continue };
        let is_sum = last.len() == 64 && last.bytes().all(|b| b.is_ascii_hexdigit());
        if let (Some(path), true) = (first.strip_prefix('`').and_then(|p| p.strip_suffix('`')), is_sum) {
            assert!(sums.insert(path.to_owned(), last.to_owned()).is_none(), "{path} is listed twice");
        }
    }
    sums
}

fn present(dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).expect("vectors can be listed") {
        let path = entry.expect("vectors can be listed").path();
        if path.is_dir() {
            present(&path, found);
        } else {
            let name = path.strip_prefix(vectors::root()).expect("below the root");
            found.push(name.to_str().expect("ASCII names").replace('\\', "/"));
        }
    }
}

#[test]
fn every_listed_sum_is_the_sum_of_the_file() {
    let listed = listed();
    assert!(listed.len() > 70, "only {} sums found: has the table changed its form?", listed.len());
    for (path, sum) in &listed {
        assert_eq!(sha256_hex(&vectors::bytes(path)), *sum, "{path} is not what its page says");
    }
}

#[test]
fn no_vector_is_without_provenance() {
    let listed = listed();
    let mut found = Vec::new();
    present(&vectors::root(), &mut found);
    found.retain(|path| !PAGES.contains(&path.as_str()) && !listed.contains_key(path));
    assert_eq!(found, Vec::<String>::new(), "listed on no page");
}
