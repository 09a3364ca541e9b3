//! The golden tables: files that RocksDB and LevelDB wrote, with their keys and the engines' answers.
//!
//! `FULLBLOOM_TABLES` may name another directory with a `tables.json`, for a larger set than the one kept
//! here.

use fullbloom_table::{Table, TableOptions};
use fullbloom_testkit::vectors::{self, Record, Value};
use fullbloom_testkit::{from_hex, sha256_hex};
use std::path::PathBuf;

pub struct Golden {
    pub record: Value,
    pub name: String,
    pub bytes: Vec<u8>,
}

fn root() -> PathBuf {
    match std::env::var_os("FULLBLOOM_TABLES") {
        Some(dir) => PathBuf::from(dir),
        None => vectors::root().join("rocksdb"),
    }
}

/// All of them.
pub fn all() -> Vec<Golden> {
    let read = |name: &str| {
        let path = root().join(name);
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let list: Value = serde_json::from_slice(&read("tables.json")).unwrap();
    let golden = |record: &Value| {
        let bytes = read(record.text("file"));
        assert_eq!(sha256_hex(&bytes), record.text("sha256"), "{}", record.text("file"));
        let name = record.text("file").trim_start_matches("tables/").to_owned();
        Golden { record: record.clone(), name, bytes }
    };
    list.as_array().unwrap().iter().map(golden).collect()
}

/// The one with this name.
pub fn named(name: &str) -> Golden {
    all().into_iter().find(|golden| golden.name == name).unwrap_or_else(|| panic!("no table {name}"))
}

impl Golden {
    /// The keys as the real program was given them, where they were recorded.
    pub fn keys(&self) -> Option<Vec<Vec<u8>>> {
        let file = self.record.get("keys")?.as_str()?;
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        Some(text.lines().map(from_hex).collect())
    }

    /// Whether the keys carry no sequence number.
    pub fn has_plain_keys(&self) -> bool {
        self.name.starts_with("ldb123_")
    }

    pub fn table(&self) -> Table<&[u8]> {
        Table::new(&self.bytes[..], TableOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    pub fn option(&self, name: &str) -> Option<&str> {
        let options = self.record.text("options");
        let mut parts = options.split(['{', '}', ';', ' ']).filter_map(|part| part.split_once('='));
        parts.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// The distinct user keys of a table.
pub fn keys_of(table: &Table<&[u8]>) -> Vec<Vec<u8>> {
    let mut walk = table.keys().unwrap();
    let mut keys = Vec::new();
    while let Some(key) = walk.next().unwrap() {
        keys.push(key.to_vec());
    }
    keys
}
