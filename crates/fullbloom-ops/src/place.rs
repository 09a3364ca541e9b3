//! Path ─► [`Place`]: what is there, by its name and its last bytes.

use crate::problem::{Code, Need, Problem};
use fullbloom_any::sniff;
use fullbloom_dialects::Name;
use fullbloom_dialects::cassandra::descriptor::Descriptor;
use fullbloom_table::database::{is_database_file, is_table_file};
use fullbloom_table::footer::is_table;
use fullbloom_table::{PlainFile, Source};
use serde::Serialize;
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

/// A path, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
    kind: PlaceKind,
}

/// The kinds of places that filters are found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceKind {
    /// A file that is a filter and nothing else. Whether it really is one is found out when it is read.
    Filter,
    /// A component of an sstable of Cassandra, mostly its `Filter.db`: it stands for the whole sstable.
    Sstable,
    /// A directory with sstables of Cassandra in it or anywhere below it.
    DataDirectory,
    /// A table of LevelDB or RocksDB.
    Table,
    /// A directory with tables of LevelDB or RocksDB, or a database that has none yet.
    Database,
    /// A Parquet file, whose column chunks have filters.
    Parquet,
    /// A directory with Parquet files in it or anywhere below it.
    Dataset,
}

impl Place {
    /// What is at this path. Files are detected by their last bytes and their names; any other file counts as
    /// a filter, and so does every file if the caller gives its dialect.
    ///
    /// Never fails. An unreadable path is reported later, by the function that reads it.
    pub fn detect(path: impl Into<PathBuf>, dialect: Option<Name>) -> Place {
        let path = path.into();
        let kind = match path.is_dir() {
            true => directory(&path),
            false if dialect.is_some() => PlaceKind::Filter,
            false => file(&path),
        };
        Place { path, kind }
    }

    /// What makes a "no" of the filter here wrong, as far as its sstable shows it: see
    /// [`lookups_fail`](crate::sstable::lookups_fail).
    pub fn lookups_fail(&self) -> Option<Problem> {
        match self.kind {
            PlaceKind::Sstable => {
                crate::sstable::lookups_fail(&fullbloom_sstable::Sstable::of_file(&self.path).ok()?)
            }
            _ => None,
        }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is there.
    pub fn kind(&self) -> PlaceKind {
        self.kind
    }

    /// Refuses a place that has its own keys, where the caller gives a list of keys.
    pub fn require_takes_keys(&self) -> Result<(), Problem> {
        let what = match self.kind {
            PlaceKind::Filter | PlaceKind::Sstable => return Ok(()),
            PlaceKind::Table => "a table has its own keys",
            PlaceKind::Parquet => "a Parquet file has its own keys",
            PlaceKind::Database | PlaceKind::DataDirectory | PlaceKind::Dataset => {
                "a list of keys cannot be looked up in a directory"
            }
        };
        Err(Problem::at(&self.path, Code::OptionRefused, what)
            .hint("verify it without a list of keys")
            .needs(Need::OwnKeys))
    }

    /// The command does not take places of this kind.
    pub(crate) fn unsupported(&self, why: &str) -> Problem {
        Problem::at(&self.path, Code::Unsupported, why)
    }
}

fn file(path: &Path) -> PlaceKind {
    match PlainFile::open(path) {
        Ok(file) => PlaceKind::of_source(path, &file),
        // Whoever reads it reports why it cannot be opened.
        Err(_) if Descriptor::parse(path).is_ok() => PlaceKind::Sstable,
        Err(_) if is_named_table(path) && path.is_file() => PlaceKind::Table,
        Err(_) => PlaceKind::Filter,
    }
}

impl PlaceKind {
    /// What a file of this name and with these bytes is. Only its first and last bytes are read.
    pub fn of_source(name: &Path, source: &dyn Source) -> PlaceKind {
        #[cfg(feature = "parquet")]
        if head(source, 4).is_some_and(|head| *head == fullbloom_parquet::MAGIC) {
            return PlaceKind::Parquet;
        }
        // The bytes may identify a file as a filter, whatever its name is.
        let recognised = head(source, 64).map(|head| sniff::recognise(None, &head));
        let has_magic = matches!(recognised, Some(Ok((_, sniff::How::Magic))));
        if ends_as_table(source) || is_named_table(name) && !has_magic {
            PlaceKind::Table
        } else if Descriptor::parse(name).is_ok() && !has_magic {
            PlaceKind::Sstable
        } else {
            PlaceKind::Filter
        }
    }
}

/// Whether the name is that of a table.
fn is_named_table(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_table_file(&name.to_string_lossy()))
}

/// Whether a file ends with the magic number of a table.
pub(crate) fn ends_as_table(source: &dyn Source) -> bool {
    let Some(offset) = source.byte_len().checked_sub(8) else { return false };
    source.read(offset, 8).is_ok_and(|tail| is_table(&tail))
}

/// The first bytes, as many as there are.
fn head(source: &dyn Source, len: u64) -> Option<Cow<'_, [u8]>> {
    source.read(0, source.byte_len().min(len) as usize).ok()
}

fn directory(path: &Path) -> PlaceKind {
    let Ok(entries) = fs::read_dir(path) else { return PlaceKind::DataDirectory };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    match names.into_iter().any(|name| is_database_file(&name) || is_table_file(&name)) {
        true => PlaceKind::Database,
        #[cfg(feature = "parquet")]
        false if crate::parquet::is_dataset(path) => PlaceKind::Dataset,
        false => PlaceKind::DataDirectory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &Path) -> PlaceKind {
        Place::detect(path, None).kind()
    }

    #[test]
    fn tables_and_manifests_make_a_database_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(kind(dir.path()), PlaceKind::DataDirectory);
        fs::write(dir.path().join("nb-1-big-Data.db"), "").unwrap();
        fs::write(dir.path().join("MANIFEST-old"), "").unwrap();
        assert_eq!(kind(dir.path()), PlaceKind::DataDirectory);
        for name in ["CURRENT", "MANIFEST-000004", "000012.sst", "000005.ldb", "bulk.sst"] {
            let path = dir.path().join(name);
            fs::write(&path, "").unwrap();
            assert_eq!(kind(dir.path()), PlaceKind::Database, "{name}");
            let named = name.ends_with(".sst") || name.ends_with(".ldb");
            let expected = if named { PlaceKind::Table } else { PlaceKind::Filter };
            assert_eq!(kind(&path), expected, "{name}: empty, and known by its name only");
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn files_are_told_by_their_names_and_ends_unless_the_dialect_is_given() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let table = [&[0; 40][..], &0xdb47_7524_8b80_fb57_u64.to_le_bytes()].concat();
        for (name, bytes, expected) in [
            ("nb-1-big-Filter.db", &b"x"[..], PlaceKind::Sstable),
            ("keys.bloom", b"x", PlaceKind::Filter),
            ("nb-2-big-Filter.db", b"libbloom2 and more", PlaceKind::Filter),
            ("any.name", &table, PlaceKind::Table),
            #[cfg(feature = "parquet")]
            ("people", b"PAR1....PAR1", PlaceKind::Parquet),
        ] {
            fs::write(at(name), bytes).unwrap();
            assert_eq!(kind(&at(name)), expected, "{name}");
            assert_eq!(Place::detect(at(name), Some(Name::LevelDb)).kind(), PlaceKind::Filter);
        }
        assert_eq!(kind(&at("missing")), PlaceKind::Filter);
        assert_eq!(kind(&at("nb-9-big-Filter.db")), PlaceKind::Sstable);
    }
}
