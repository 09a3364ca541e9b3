//! One sstable: the files whose names begin alike, and the facts in that name and the directory.

use crate::engine::Engine;
use crate::scylla::ScyllaDb;
use crate::{ComponentError, toc};
use fullbloom::FileError;
use fullbloom::storage::Mapped;
use fullbloom_any::SharedBytes;
use fullbloom_dialects::Name;
use fullbloom_dialects::cassandra::descriptor::{Descriptor, TableFormat};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Components that the caller gave, by their names without the prefix.
type Held = BTreeMap<String, SharedBytes>;

/// The component with the filter.
pub const FILTER: &str = "Filter.db";
/// The component with the rows.
pub const DATA: &str = "Data.db";
/// The keys of the BIG format.
pub const INDEX: &str = "Index.db";
/// The trie of the BTI format.
pub const PARTITIONS: &str = "Partitions.db";
/// The row indexes of the BTI format.
pub const ROWS: &str = "Rows.db";
/// How the data are compressed.
pub const COMPRESSION_INFO: &str = "CompressionInfo.db";
/// The rate at writing, and much else.
pub const STATISTICS: &str = "Statistics.db";
/// The list of components.
pub const TOC: &str = "TOC.txt";
/// The list of components of a ScyllaDB sstable that is being written or deleted.
const TEMPORARY_TOC: &str = "TOC.txt.tmp";
/// A sample of the index, and the first and last key.
pub const SUMMARY: &str = "Summary.db";
/// The component that only ScyllaDB writes, with checksums and features.
pub const SCYLLA: &str = "Scylla.db";

/// An sstable: which it is, and which components it has.
#[derive(Debug)]
#[non_exhaustive]
pub struct Sstable {
    /// The directory it is in, as it was reached.
    pub directory: PathBuf,
    /// What all its files' names begin with, e.g. `nb-1-big-`.
    pub prefix: String,
    /// Keyspace, by name (1.1 to 2.1) or directory.
    pub keyspace: Option<String>,
    /// Table, by name (before 2.2) or directory; with the index behind a dot where it is one.
    pub table: Option<String>,
    /// The table's id, where the directory carries it (since 2.1).
    pub table_id: Option<String>,
    /// The letters of the version, such as `nb`.
    pub version: String,
    /// Generation: a number, or since 4.1 possibly a time-ordered text.
    pub id: String,
    /// BIG or BTI.
    pub format: TableFormat,
    /// The dialect of the filter, by version and format.
    pub dialect: Name,
    /// The components that exist.
    pub components: BTreeSet<String>,
    /// The components that `TOC.txt` lists.
    pub toc: Toc,
    /// The contents of `Scylla.db`, if the sstable has one.
    pub scylla: Scylla,
    /// ScyllaDB keeps the table: another sstable beside it has a `Scylla.db`, or the directory has the
    /// subdirectories that ScyllaDB makes.
    pub(crate) in_scylla_table: bool,
    /// The bytes of the components, if the caller gave them.
    held: Option<Held>,
}

/// What is known about `Scylla.db`.
#[derive(Debug)]
pub enum Scylla {
    /// It does not exist.
    Absent,
    /// It exists but cannot be read.
    Unreadable(FileError),
    /// The component was read, and these are its contents.
    Read(Box<ScyllaDb>),
}

/// What is known about `TOC.txt`.
#[derive(Debug)]
pub enum Toc {
    /// It does not exist: Cassandra takes the components it finds.
    Absent,
    /// It exists but cannot be read.
    Unreadable(FileError),
    /// It lists these components.
    Lists(Vec<String>),
}

impl Sstable {
    /// The sstable that the file at `path` is a component of, with its other components.
    pub fn of_file(path: &Path) -> Result<Sstable, FileError> {
        let descriptor = Descriptor::parse(path)
            .map_err(|e| FileError::io(path, "open", io::Error::new(io::ErrorKind::InvalidInput, e)))?;
        let prefix = prefix(path, &descriptor);
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let entries = fs::read_dir(directory).map_err(|e| FileError::io(directory, "read", e))?;
        // A file that cannot be examined counts as missing and is reported so.
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let asked_for = |name: &String| name.starts_with(&prefix) || is_scylla_db(name);
        let found = group(directory, names.filter(asked_for)).sstables;
        let asked = found.into_iter().find(|sstable| sstable.prefix == prefix);
        asked.ok_or_else(|| FileError::io(path, "open", io::ErrorKind::NotFound.into()))
    }

    /// The sstable that the file called `name` is a component of, from bytes in memory: pairs of a file's
    /// name and its contents. No file is read, and nothing is known about the directory.
    pub fn in_memory(name: &str, files: Vec<(String, Vec<u8>)>) -> Result<Sstable, FileError> {
        let path = Path::new(name);
        let invalid = |e| FileError::io(path, "open", io::Error::new(io::ErrorKind::InvalidInput, e));
        let prefix = prefix(path, &Descriptor::parse(path).map_err(invalid)?);
        let held: Held = files
            .into_iter()
            .filter_map(|(name, bytes)| {
                Some((name.strip_prefix(&prefix)?.to_owned(), SharedBytes::new(bytes)))
            })
            .collect();
        let names: Vec<String> = held.keys().map(|component| format!("{prefix}{component}")).collect();
        let found = group_of(Path::new(""), names.into_iter(), Some(&held)).sstables;
        let asked = found.into_iter().find(|sstable| sstable.prefix == prefix);
        asked.ok_or_else(|| FileError::io(path, "open", io::ErrorKind::NotFound.into()))
    }

    /// Whether its components were given by the caller, and are not in a directory.
    pub fn is_in_memory(&self) -> bool {
        self.held.is_some()
    }

    /// The path of a component, whether it exists or not.
    pub fn path(&self, component: &str) -> PathBuf {
        self.directory.join(format!("{}{component}", self.prefix))
    }

    /// Whether the component exists.
    pub fn has(&self, component: &str) -> bool {
        self.components.contains(component)
    }

    /// Whether `TOC.txt` lists the component; `None` without a readable one.
    pub fn lists(&self, component: &str) -> Option<bool> {
        match &self.toc {
            Toc::Lists(names) => Some(names.iter().any(|name| name == component)),
            Toc::Absent | Toc::Unreadable(_) => None,
        }
    }

    /// Components that `TOC.txt` lists and that do not exist.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let listed = match &self.toc {
            Toc::Lists(names) => names.as_slice(),
            Toc::Absent | Toc::Unreadable(_) => &[],
        };
        listed.iter().map(String::as_str).filter(|name| !self.has(name))
    }

    /// The engine that it belongs to.
    pub fn engine(&self) -> Engine {
        Engine::of(self)
    }

    /// Whether this is an sstable of ScyllaDB, and not only a copy of some of its files, without a `TOC.txt`:
    /// a node does not start on it.
    pub(crate) fn lacks_toc(&self) -> bool {
        matches!(self.toc, Toc::Absent) && self.has(SCYLLA) && self.has(DATA)
    }

    /// The contents of `Scylla.db`, where it can be read.
    pub fn scylla_db(&self) -> Option<&ScyllaDb> {
        match &self.scylla {
            Scylla::Read(read) => Some(read),
            Scylla::Absent | Scylla::Unreadable(_) => None,
        }
    }

    /// Whether ScyllaDB has encrypted this component.
    pub(crate) fn is_encrypted(&self, component: &str) -> bool {
        self.scylla_db().is_some_and(|read| read.is_encrypted(component))
    }

    /// The bytes of a component.
    pub(crate) fn open(&self, component: &'static str) -> Result<SharedBytes, ComponentError> {
        if !self.has(component) {
            return Err(ComponentError::Missing { component });
        }
        if self.is_encrypted(component) {
            return Err(ComponentError::Encrypted { component });
        }
        Ok(self.bytes(component)?)
    }

    /// The bytes of a component, encrypted or not.
    pub(crate) fn bytes(&self, component: &str) -> Result<SharedBytes, FileError> {
        let path = self.path(component);
        match &self.held {
            None => Mapped::open(&path).map(SharedBytes::new),
            Some(held) => match held.get(component) {
                Some(bytes) => Ok(bytes.clone()),
                None => Err(FileError::io(&path, "open", io::ErrorKind::NotFound.into())),
            },
        }
    }

    /// The length of a component, if it exists.
    pub(crate) fn byte_len(&self, component: &str) -> Option<u64> {
        match &self.held {
            None => fs::metadata(self.path(component)).ok().filter(fs::Metadata::is_file).map(|m| m.len()),
            Some(held) => held.get(component).map(|bytes| bytes.as_ref().len() as u64),
        }
    }

    /// `keyspace.table`, as far as it is known.
    pub fn table_name(&self) -> String {
        let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "?".to_owned());
        format!("{}.{}", part(&self.keyspace), part(&self.table))
    }

    /// The order in which sstables are listed: by table, then generation.
    pub fn listed_before(&self, other: &Sstable) -> Ordering {
        fn table(s: &Sstable) -> (&Option<String>, &Option<String>, &Option<String>, &Path) {
            (&s.keyspace, &s.table, &s.table_id, &s.directory)
        }
        // Numbers first, by value; text ids sort by time.
        fn generation(s: &Sstable) -> (bool, u64, &str) {
            let number = s.id.parse();
            (number.is_err(), number.unwrap_or(0), &s.id)
        }
        table(self)
            .cmp(&table(other))
            .then_with(|| generation(self).cmp(&generation(other)))
            .then_with(|| self.prefix.cmp(&other.prefix))
    }
}

/// The sstables among the files of one directory.
pub(crate) struct Group {
    pub(crate) sstables: Vec<Sstable>,
    /// Names with unknown version letters, and what is known about them.
    pub(crate) unknown: Vec<(String, String)>,
    /// Names of sstables that were still being written.
    pub(crate) temporary: Vec<String>,
}

/// Subdirectories that ScyllaDB makes in the directory of each table, and Cassandra does not.
const SCYLLA_DIRECTORIES: [&str; 2] = ["staging", "upload"];

fn is_scylla_db(name: &str) -> bool {
    name.strip_suffix(SCYLLA).is_some_and(|prefix| prefix.ends_with('-'))
}

/// Groups the files of a directory, given their names, into sstables.
pub(crate) fn group(directory: &Path, names: impl Iterator<Item = String>) -> Group {
    group_of(directory, names, None)
}

/// The same for files in the directory, or held in memory.
fn group_of(directory: &Path, names: impl Iterator<Item = String>, held: Option<&Held>) -> Group {
    let mut found: BTreeMap<String, (Descriptor, BTreeSet<String>)> = BTreeMap::new();
    let (mut unknown, mut temporary) = (Vec::new(), Vec::new());
    let mut in_scylla_table =
        held.is_none() && SCYLLA_DIRECTORIES.iter().any(|name| directory.join(name).is_dir());
    for name in names {
        in_scylla_table |= is_scylla_db(&name);
        match Descriptor::parse(Path::new(&name)) {
            Ok(descriptor) if descriptor.temporary => temporary.push(name),
            Ok(descriptor) => {
                let component = descriptor.component.clone();
                let prefix = prefix(Path::new(&name), &descriptor);
                found.entry(prefix).or_insert_with(|| (descriptor, BTreeSet::new())).1.insert(component);
            }
            Err(e) if e.is_unknown_version() => unknown.push((name, e.to_string())),
            Err(_) => {}
        }
    }
    // A file called "notes-1-draft.txt" has the form of an old name. A real sstable has one of these
    // components.
    let real = |components: &BTreeSet<String>| {
        [DATA, FILTER, INDEX, PARTITIONS].iter().any(|name| components.contains(*name))
    };
    found.retain(|_, (_, components)| real(components));
    // ScyllaDB removes such sstables when it starts: half written, or half deleted.
    found.retain(|prefix, (_, components)| {
        let unfinished = components.contains(TEMPORARY_TOC) && !components.contains(TOC);
        if unfinished {
            temporary.extend(components.iter().map(|component| format!("{prefix}{component}")));
        }
        !unfinished
    });
    let place = if found.is_empty() || held.is_some() { Place::default() } else { Place::of(directory) };
    let one = |(prefix, (descriptor, components))| {
        let mut sstable = sstable(directory, &place, prefix, descriptor, components, held);
        sstable.in_scylla_table = in_scylla_table;
        sstable
    };
    let sstables = found.into_iter().map(one).collect();
    Group { sstables, unknown, temporary }
}

fn sstable(
    directory: &Path,
    place: &Place,
    prefix: String,
    descriptor: Descriptor,
    components: BTreeSet<String>,
    held: Option<&Held>,
) -> Sstable {
    let modern = descriptor.table.is_none();
    let mut table = descriptor.table.or_else(|| place.table.clone());
    if let (true, Some(table), Some(index)) = (modern, table.as_mut(), &place.index) {
        *table = format!("{table}.{index}");
    }
    // Before 1.1 the sstables of a keyspace were directly in its directory.
    let above = if modern { &place.keyspace } else { &place.directory };
    let mut sstable = Sstable {
        directory: directory.to_owned(),
        prefix,
        keyspace: descriptor.keyspace.or_else(|| above.clone()),
        table,
        table_id: place.table_id.clone(),
        version: descriptor.version,
        id: descriptor.id,
        format: descriptor.format,
        dialect: descriptor.dialect,
        components,
        toc: Toc::Absent,
        scylla: Scylla::Absent,
        in_scylla_table: false,
        held: held.cloned(),
    };
    if sstable.has(TOC) {
        let path = sstable.path(TOC);
        let names = sstable
            .bytes(TOC)
            .and_then(|map| toc::decode(map.as_ref()).map_err(|e| FileError::decode(&path, e)));
        sstable.toc = names.map_or_else(Toc::Unreadable, Toc::Lists);
    }
    if sstable.has(SCYLLA) {
        let path = sstable.path(SCYLLA);
        let read = sstable
            .bytes(SCYLLA)
            .and_then(|map| ScyllaDb::decode(map.as_ref()).map_err(|e| FileError::decode(&path, e)));
        sstable.scylla = read.map_or_else(Scylla::Unreadable, |read| Scylla::Read(Box::new(read)));
    }
    sstable
}

/// A file's name without its component.
fn prefix(path: &Path, descriptor: &Descriptor) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(&descriptor.component).unwrap_or(name).to_owned()
}

/// What a directory's path says about its table.
#[derive(Debug, Default, PartialEq, Eq)]
struct Place {
    keyspace: Option<String>,
    table: Option<String>,
    table_id: Option<String>,
    /// Secondary index, whose directory begins with a dot.
    index: Option<String>,
    /// The table's directory itself.
    directory: Option<String>,
}

impl Place {
    /// Parses `…/<keyspace>/<table>-<id>[/snapshots/<name> | /backups][/.<index>]`; links and `.` are
    /// resolved first.
    fn of(directory: &Path) -> Place {
        let whole = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let mut parts: Vec<&str> =
            whole.iter().filter_map(|part| part.to_str()).filter(|p| *p != "/").collect();
        let mut place = Place::default();
        if let Some(index) = parts.last().and_then(|last| last.strip_prefix('.')).filter(|i| !i.is_empty()) {
            place.index = Some(index.to_owned());
            parts.pop();
        }
        if let [front @ .., "snapshots", _] | [front @ .., "backups"] = parts.as_slice() {
            parts.truncate(front.len());
        }
        if let Some(last) = parts.pop() {
            let (table, id) = match last.rsplit_once('-') {
                Some((table, id)) if id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()) => {
                    (table, Some(id.to_owned()))
                }
                _ => (last, None),
            };
            place.directory = Some(last.to_owned());
            place.table = Some(table.to_owned());
            place.table_id = id;
            place.keyspace = parts.pop().map(str::to_owned);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_name_keyspace_table_and_index() {
        let place = |path: &str| {
            let p = Place::of(Path::new(path));
            (p.keyspace.unwrap_or_default(), p.table.unwrap_or_default(), p.index.unwrap_or_default())
        };
        let expected = |ks: &str, t: &str, i: &str| (ks.to_owned(), t.to_owned(), i.to_owned());
        let id = "1b255f4def2540a60000000000000005";
        assert_eq!(place(&format!("/none/data/ks/t-{id}")), expected("ks", "t", ""));
        assert_eq!(place(&format!("/none/ks/t-{id}/.idx")), expected("ks", "t", "idx"));
        assert_eq!(place(&format!("/none/ks/t-{id}/snapshots/s1")), expected("ks", "t", ""));
        assert_eq!(place(&format!("/none/ks/t-{id}/snapshots/s1/.i")), expected("ks", "t", "i"));
        assert_eq!(place(&format!("/none/ks/t-{id}/backups")), expected("ks", "t", ""));
        assert_eq!(place("/none/ks/a-b"), expected("ks", "a-b", ""));
        assert_eq!(place("/"), expected("", "", ""));
        assert_eq!(Place::of(Path::new(&format!("/none/ks/t-{id}"))).table_id.as_deref(), Some(id));
    }

    #[test]
    fn files_of_one_prefix_are_one_sstable_and_other_files_are_ignored() {
        let names = [
            "nb-2-big-Data.db",
            "nb-2-big-Filter.db",
            "nb-10-big-Index.db",
            "ks-t-ka-3-Filter.db",
            "ks-t-tmp-ka-4-Filter.db",
            "zz-1-big-Data.db",
            "notes-1-draft.txt",
            "nb-3-big-TOC.txt",
            "me-5-big-Data.db",
            "me-5-big-TOC.txt.tmp",
            "README",
        ];
        let group = group(Path::new("/none/data/t"), names.iter().map(|name| (*name).to_owned()));
        let prefixes: Vec<_> = group.sstables.iter().map(|s| s.prefix.as_str()).collect();
        assert_eq!(prefixes, ["ks-t-ka-3-", "nb-10-big-", "nb-2-big-"]);
        assert_eq!(group.sstables[2].components.len(), 2);
        assert_eq!(group.sstables[2].table_name(), "data.t");
        assert_eq!(group.sstables[0].table_name(), "ks.t");
        assert_eq!((group.unknown.len(), group.temporary.len()), (1, 3));
        let mut sorted = group.sstables;
        sorted.sort_by(Sstable::listed_before);
        let ids: Vec<_> = sorted.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["2", "10", "3"], "by table, then by number");
    }
}
