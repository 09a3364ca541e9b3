//! What a directory is: a database of LevelDB or RocksDB, or a place where Cassandra keeps its data.

use std::fs;
use std::path::Path;

/// What is in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Tables of LevelDB or RocksDB, or a database without any yet.
    Database,
    /// Anything else: sstables may be anywhere below it.
    Data,
}

/// What a path is; `None` if it is no directory, or cannot be looked at: whoever opens it tells why.
pub fn kind(path: &Path) -> Option<Kind> {
    if !path.is_dir() {
        return None;
    }
    let Ok(entries) = fs::read_dir(path) else { return Some(Kind::Data) };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Some(if names.into_iter().any(|name| is_of_database(&name)) { Kind::Database } else { Kind::Data })
}

/// A table, or one of the files every database has: `CURRENT` and `MANIFEST-000001`.
fn is_of_database(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    name == "CURRENT" || name.strip_prefix("MANIFEST-").is_some_and(number) || is_table_name(name)
}

/// A table by its name. Databases number theirs; files made to be ingested have names of their own.
pub fn is_table_name(name: &str) -> bool {
    name.ends_with(".sst") || name.ends_with(".ldb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_manifests_make_a_database_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(kind(dir.path()), Some(Kind::Data));
        fs::write(dir.path().join("nb-1-big-Data.db"), "").unwrap();
        fs::write(dir.path().join("MANIFEST-old"), "").unwrap();
        assert_eq!(kind(dir.path()), Some(Kind::Data));
        for name in ["CURRENT", "MANIFEST-000004", "000012.sst", "000005.ldb", "bulk.sst"] {
            let path = dir.path().join(name);
            fs::write(&path, "").unwrap();
            assert_eq!(kind(dir.path()), Some(Kind::Database), "{name}");
            assert_eq!(kind(&path), None);
            fs::remove_file(path).unwrap();
        }
        assert_eq!(kind(&dir.path().join("none")), None);
    }
}
