//! A database directory of LevelDB or RocksDB: its tables, and where each belongs.
//!
//! ```text
//!   CURRENT ─► MANIFEST-000005 ─► column families, levels, file numbers ─► 000012.sst, 000007.ldb …
//! ```
//!
//! A directory without a readable MANIFEST still has tables: they are listed without levels.

use crate::error::{Problem, TableError};
use crate::manifest::{Manifest, ManifestFile};
use fullbloom::FileError;
use fullbloom::storage::Mapped;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The tables of a directory.
#[derive(Debug)]
#[non_exhaustive]
pub struct Database {
    /// The MANIFEST that `CURRENT` names, if it could be read; or why it could not be read.
    pub manifest: Option<Result<PathBuf, String>>,
    /// Tables: those of the database by column family, level and number, then those that are not in its
    /// MANIFEST.
    pub tables: Vec<DatabaseTable>,
    /// Tables in the MANIFEST that are not in the directory.
    pub missing: Vec<MissingTable>,
    /// Write-ahead logs with writes that may be in no table yet, by number.
    pub unflushed: Vec<DatabaseLog>,
    /// The column families of the MANIFEST.
    pub families: Vec<FamilyOfLog>,
    /// LevelDB's log before the last.
    previous_log: u64,
}

/// A column family, as far as the logs are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FamilyOfLog {
    /// The number that logs call the column family by.
    pub id: u32,
    /// The name of the column family.
    pub name: String,
    /// Logs with smaller numbers hold nothing of it that is not in tables.
    least_log: u64,
}

/// A write-ahead log.
#[derive(Debug)]
#[non_exhaustive]
pub struct DatabaseLog {
    /// The path of the file.
    pub path: PathBuf,
    /// The length of the file in bytes.
    pub file_len: u64,
    /// The number in the name of the file.
    pub number: u64,
}

/// A table file.
#[derive(Debug)]
#[non_exhaustive]
pub struct DatabaseTable {
    /// The path of the file.
    pub path: PathBuf,
    /// The length of the file in bytes.
    pub file_len: u64,
    /// Where it belongs; `None` if the MANIFEST does not have it, or cannot be read.
    pub place: Option<Place>,
}

impl DatabaseTable {
    /// The same table under another path.
    pub fn named(&self, path: &Path) -> DatabaseTable {
        DatabaseTable { path: path.to_owned(), file_len: self.file_len, place: self.place.clone() }
    }
}

/// The column family and the level of a table, as the MANIFEST has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The column family's name.
    pub family: String,
    /// The level of the tree, from 0.
    pub level: u32,
    /// The table's bytes, as the MANIFEST has it.
    pub file_len: u64,
    /// The largest sequence number in the table, as the MANIFEST has it; 0 in LevelDB.
    pub last_sequence: u64,
}

/// A missing table.
#[derive(Debug)]
pub struct MissingTable {
    /// The column family's name.
    pub family: String,
    /// The table's entry in the MANIFEST.
    pub file: ManifestFile,
}

/// Whether a file of this name is one that every database has, and no other directory: `CURRENT` or
/// `MANIFEST-000001`.
pub fn is_database_file(name: &str) -> bool {
    name == "CURRENT" || is_manifest(name)
}

/// Whether a file of this name is a table, of a database or made to be ingested.
pub fn is_table_file(name: &str) -> bool {
    name.ends_with(".sst") || name.ends_with(".ldb")
}

/// Digits only, so that the name cannot lead out of the directory.
fn is_manifest(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_prefix("MANIFEST-").is_some_and(is_number)
}

/// The number of a write-ahead log: `000049.log`.
fn log_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The longest `CURRENT` that is read: a name of twenty bytes.
const LONGEST_CURRENT: u64 = 4096;

impl Database {
    /// Lists a directory. Tables are not opened.
    pub fn open(directory: &Path) -> Result<Database, FileError> {
        let fail = |e| FileError::io(directory, "read", e);
        let mut found: BTreeMap<String, (PathBuf, u64)> = BTreeMap::new();
        let mut logs: BTreeMap<u64, (PathBuf, u64)> = BTreeMap::new();
        for entry in fs::read_dir(directory).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // A file that is not regular is refused when it is opened.
            let len = || fs::metadata(entry.path()).map_or(0, |meta| meta.len());
            if is_table_file(&name) {
                found.insert(name, (entry.path(), len()));
            } else if let Some(number) = log_number(&name) {
                logs.insert(number, (entry.path(), len()));
            }
        }
        let (manifest, contents) = match read_manifest(directory) {
            Ok(Some((path, contents))) => (Some(Ok(path)), Some(contents)),
            Ok(None) => (None, None),
            Err(why) => (Some(Err(why)), None),
        };
        // Without a MANIFEST every log may be needed. The engines leave an empty one behind.
        let is_needed = |number: u64| contents.as_ref().is_none_or(|manifest| manifest.needs_log(number));
        let unflushed = logs.into_iter().filter(|(number, (_, len))| *len > 0 && is_needed(*number));
        let log = |(number, (path, file_len))| DatabaseLog { path, file_len, number };
        let unflushed = unflushed.map(log).collect();
        let families = contents.iter().flat_map(|contents| &contents.families).map(|family| FamilyOfLog {
            id: family.id,
            name: family.name.clone(),
            least_log: family.log_number,
        });
        let families = families.collect();
        let previous_log = contents.as_ref().map_or(0, |contents| contents.previous_log);
        let (mut tables, mut missing) = (Vec::new(), Vec::new());
        for family in contents.into_iter().flat_map(|contents| contents.families) {
            for file in family.files {
                // LevelDB called its tables .sst before 1.15 and still reads them so.
                let names = [format!("{:06}.sst", file.number), format!("{:06}.ldb", file.number)];
                match names.iter().find_map(|name| found.remove(name)) {
                    Some((path, file_len)) => {
                        let place = Place {
                            family: family.name.clone(),
                            level: file.level,
                            file_len: file.file_len,
                            last_sequence: file.last_sequence,
                        };
                        tables.push(DatabaseTable { path, file_len, place: Some(place) });
                    }
                    None => missing.push(MissingTable { family: family.name.clone(), file }),
                }
            }
        }
        let rest = found.into_values().map(|(path, file_len)| DatabaseTable { path, file_len, place: None });
        tables.extend(rest);
        Ok(Database { manifest, tables, missing, unflushed, families, previous_log })
    }

    /// Whether writes to a column family in the log of this number may be in no table yet. Writes to a family that
    /// was dropped count for nothing.
    pub fn needs(&self, family: u32, log: u64) -> bool {
        let least = self.families.iter().find(|known| known.id == family).map(|known| known.least_log);
        !self.has_levels() || log == self.previous_log || least.is_some_and(|least| least <= log)
    }

    /// Whether tables have levels.
    pub fn has_levels(&self) -> bool {
        matches!(self.manifest, Some(Ok(_)))
    }
}

/// The MANIFEST that `CURRENT` names; `None` if there is no `CURRENT`.
fn read_manifest(directory: &Path) -> Result<Option<(PathBuf, Manifest)>, String> {
    let current = directory.join("CURRENT");
    let told = |e: &dyn std::fmt::Display| e.to_string();
    match fs::metadata(&current) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(meta) if meta.len() > LONGEST_CURRENT => {
            return Err(format!("{}: {} bytes, but a file name is expected", current.display(), meta.len()));
        }
        _ => {}
    }
    let bytes = Mapped::open(&current).map_err(|e| told(&e))?;
    let name = std::str::from_utf8(bytes.as_ref()).unwrap_or_default().trim_end_matches('\n');
    if !is_manifest(name) {
        return Err(format!("{}: does not name a MANIFEST", current.display()));
    }
    let path = directory.join(name);
    let bytes = Mapped::open(&path).map_err(|e| told(&e))?;
    let decoded = Manifest::decode(bytes.as_ref());
    let manifest = decoded.map_err(|problem: Problem| told(&TableError::new(Some(&path), problem)))?;
    Ok(Some((path, manifest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_manifest_or_with_a_broken_one_the_tables_are_still_listed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["000012.sst", "000009.ldb", "notes.txt"] {
            fs::write(at(name), "1234").unwrap();
        }
        let database = Database::open(dir.path()).unwrap();
        assert!(database.manifest.is_none() && !database.has_levels());
        let names: Vec<_> = database.tables.iter().map(|t| (t.path.clone(), t.file_len)).collect();
        assert_eq!(names, [(at("000009.ldb"), 4), (at("000012.sst"), 4)]);

        for (current, why) in [
            ("MANIFEST-000001\n", "cannot open"),
            ("../../etc/passwd\n", "does not name"),
            ("MANIFEST-\n", "does not name"),
            ("", "does not name"),
            (&*"x".repeat(5000), "5000 bytes"),
        ] {
            fs::write(at("CURRENT"), current).unwrap();
            let database = Database::open(dir.path()).unwrap();
            let said = database.manifest.unwrap().unwrap_err();
            assert!(said.contains(why), "{said}");
            assert_eq!(database.tables.len(), 2);
        }
        fs::write(at("CURRENT"), "MANIFEST-000002\n").unwrap();
        fs::write(at("MANIFEST-000002"), [0xff; 100]).unwrap();
        let said = Database::open(dir.path()).unwrap().manifest.unwrap().unwrap_err();
        assert!(said.contains("MANIFEST-000002: fragment length at byte 4"), "{said}");
    }
}
