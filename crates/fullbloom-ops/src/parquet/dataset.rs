//! Directories of Parquet files, partitioned as Hive does it or not.
//!
//! ```text
//!   data/day=2026-11-18/part-0.parquet      partition column `day`, in no file
//!        │              part-1.parquet
//!        └─ _SUCCESS, .part-0.parquet.crc   left out, as by every engine
//! ```
//!
//! Files are worked on by several threads. Only footers and filters are read, except to verify.

use super::columns::Columns;
use super::{Looked, Verified, keys, look, open, verify_chunk};
use crate::inspect::{InspectSummary, Inspected};
use crate::keys::{EachKey, KeysFound};
use crate::pool;
use crate::problem::{Code, Need, Problem};
use crate::report::{Found, Report, Watch};
use crate::verify::{VerifyOptions, VerifySummary};
use fullbloom_dialects::cassandra::descriptor::Descriptor;
use fullbloom_parquet::is_parquet;
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Files that are looked at to tell a dataset from a data directory of Cassandra.
const MOST_LOOKED_AT: usize = 1000;

/// What Hive calls a partition whose value is null.
const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// The files of a directory.
#[derive(Debug, Default)]
pub(crate) struct Dataset {
    /// The directory.
    pub(super) path: PathBuf,
    /// The Parquet files, in the order of their paths.
    pub(crate) files: Vec<PathBuf>,
    /// What could not be read.
    pub(crate) problems: Vec<Problem>,
}

/// Names that engines leave out: `_SUCCESS`, `_delta_log`, `.part-0.parquet.crc`.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| {
        name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_")
    })
}

fn has_name_of_parquet(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("parquet") || end.eq_ignore_ascii_case("parq"))
}

/// Whether Parquet files are in this directory or below it. The first file that is one or a component of an
/// sstable decides.
pub(crate) fn is_dataset(path: &Path) -> bool {
    let (mut directories, mut left) = (vec![path.to_owned()], MOST_LOOKED_AT);
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if is_hidden(&path) {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path);
                continue;
            }
            // By its bytes first: names of Spark's files may look like those of old sstables.
            if is_parquet(&path) {
                return true;
            }
            if left == 0 || Descriptor::parse(&path).is_ok() {
                return false;
            }
            left -= 1;
        }
    }
    false
}

impl Dataset {
    /// The files of this directory and all below it. Links to directories are not followed.
    pub(crate) fn find(path: &Path) -> Result<Dataset, Problem> {
        let mut found = Dataset { path: path.to_owned(), ..Dataset::default() };
        let mut directories = vec![path.to_owned()];
        while let Some(directory) = directories.pop() {
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                Err(e) if directory == path => return Err(Problem::at(path, Code::Unreadable, e)),
                Err(e) => {
                    found.problems.push(Problem::at(&directory, Code::Unreadable, e));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let path = entry.path();
                match entry.file_type() {
                    _ if is_hidden(&path) => {}
                    Ok(kind) if kind.is_dir() => directories.push(path),
                    _ if path.is_dir() => {}
                    _ if is_parquet(&path) || has_name_of_parquet(&path) => found.files.push(path),
                    _ => {}
                }
            }
        }
        found.files.sort();
        found.problems.sort_by(|a, b| a.place.cmp(&b.place));
        if found.files.is_empty() && found.problems.is_empty() {
            return Err(Problem::at(path, Code::NothingFound, "cannot find Parquet files in this directory"));
        }
        Ok(found)
    }

    /// The name of the column that the caller gave. It must be a column of a file, or of the partitions.
    pub(crate) fn require_column(&self, name: Option<&str>) -> Result<String, Problem> {
        let mut names = BTreeSet::new();
        for file in &self.files {
            names.extend(partitions(&self.path, file).map(|(column, _)| column.to_owned()));
            if let Ok(file) = open(file) {
                names.extend(file.chunks().iter().map(|chunk| chunk.name.clone()));
            }
            // Files of one dataset have the same columns; more are opened only to find a column.
            if name.is_none_or(|name| names.contains(name)) && !names.is_empty() {
                break;
            }
        }
        if let Some(name) = name.filter(|name| names.contains(*name)) {
            return Ok(name.to_owned());
        }
        let why = match name {
            Some(name) => format!("no file has a column {name:?}"),
            None => "has Parquet files, whose columns have filters of their own".to_owned(),
        };
        let hint = format!("give a column, one of {}", names.into_iter().collect::<Vec<_>>().join(", "));
        Err(Problem::at(&self.path, Code::OptionRefused, why).hint(hint).needs(Need::Column))
    }
}

/// The partition columns of a file, and their values: `day=2026-11-18` in its path below the dataset's.
fn partitions<'a>(dataset: &'a Path, file: &'a Path) -> impl Iterator<Item = (&'a str, &'a str)> {
    let below = file.strip_prefix(dataset).unwrap_or(file).parent();
    let parts = below.into_iter().flat_map(Path::components);
    parts.filter_map(|part| part.as_os_str().to_str()?.split_once('='))
}

/// The value that all rows of a file have in a partition column: `None` where the column is none of them, and
/// an empty list for null.
pub(crate) fn partition_value(dataset: &Path, file: &Path, column: &str) -> Option<Vec<Vec<u8>>> {
    let (_, value) = partitions(dataset, file).find(|(name, _)| *name == column)?;
    if value == NULL_PARTITION {
        return Some(Vec::new());
    }
    Some(vec![decoded(value)])
}

/// Characters that a path cannot have are written as `%3A`.
fn decoded(value: &str) -> Vec<u8> {
    let bytes = value.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| bytes[at] == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

/// Inspects the filters of every file, several files at once.
pub(crate) fn inspect_dataset(
    path: &Path,
    fpr: Option<f64>,
    watch: &mut dyn Watch<Inspected>,
) -> Result<Report<Inspected, InspectSummary>, Problem> {
    let dataset = Dataset::find(path)?;
    let (mut all, mut problems, mut columns) = (Vec::new(), dataset.problems, Columns::default());
    let mut chunks = 0;
    let one = |file: &PathBuf| look(file, &open(file)?, fpr);
    let mut files = dataset.files.iter();
    let _ = pool::each(&dataset.files, one, watch, |looked: Result<Looked, Problem>, watch| {
        let file = files.next().expect("a result for each file");
        match looked {
            Ok(looked) => {
                columns.add(file, &looked);
                chunks += looked.chunks;
                let flow = looked.found.iter().try_for_each(|found| watch.found(found));
                all.extend(looked.found);
                flow
            }
            Err(problem) => {
                problems.push(problem);
                ControlFlow::Continue(())
            }
        }
    });
    let (columns, missing) = columns.finish();
    problems.extend(missing);
    if all.is_empty() {
        let why = format!("no Bloom filter in any of {chunks} column chunks");
        problems.push(Problem::at(path, Code::NoColumnFilters, why));
    }
    let summary = InspectSummary { columns, ..InspectSummary::default() };
    Ok(InspectSummary::report(all, problems, summary))
}

/// Looks up every value of every column that has a filter, of several files at once.
pub(crate) fn verify_dataset(
    path: &Path,
    options: &VerifyOptions,
    watch: &mut dyn Watch<Verified>,
) -> Result<Report<Verified, VerifySummary>, Problem> {
    let mut dataset = Dataset::find(path)?;
    dataset.files.retain(|file| options.wants(file));
    let (mut all, mut problems) = (Vec::new(), dataset.problems);
    let one = |file: &PathBuf| -> Result<Vec<Found<Verified>>, Problem> {
        let open = open(file)?;
        let chunks = open.chunks().iter();
        chunks.filter_map(|chunk| verify_chunk(file, &open, chunk, options).transpose()).collect()
    };
    let _ = pool::each(&dataset.files, one, watch, |verified, watch| match verified {
        Ok(verified) => {
            let flow = verified.iter().try_for_each(|found| watch.found(found));
            all.extend(verified);
            flow
        }
        Err(problem) => {
            problems.push(problem);
            ControlFlow::Continue(())
        }
    });
    if all.is_empty() && problems.is_empty() && options.since.is_none() {
        let why = format!("no Bloom filter in any of {} files", dataset.files.len());
        problems.push(Problem::at(path, Code::NoColumnFilters, why));
    }
    Ok(VerifySummary::report(all, problems))
}

/// Hands out all values of a column, file by file.
pub(crate) fn keys_of_dataset(
    path: &Path,
    name: Option<&str>,
    found: &mut KeysFound,
    each: &mut EachKey<'_>,
) -> Result<(), Problem> {
    let dataset = Dataset::find(path)?;
    let name = dataset.require_column(name)?;
    for problem in dataset.problems {
        found.add(problem);
    }
    for file in &dataset.files {
        // A file without the column has nulls.
        if open(file).is_ok_and(|file| file.chunks().iter().all(|chunk| chunk.name != name)) {
            continue;
        }
        let mut flow = ControlFlow::Continue(());
        let read = keys(file, Some(&name), &mut found.keys, &mut |key, text| {
            flow = each(key, text);
            flow
        });
        if let Err(problem) = read {
            found.add(problem);
        }
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_the_directories_below_the_dataset_that_have_a_value() {
        let (dataset, file) =
            (Path::new("x=0/data"), Path::new("x=0/data/day=2026-11-18/plain/c=a%3Ab%/f=1.parquet"));
        let all: Vec<_> = partitions(dataset, file).collect();
        assert_eq!(all, [("day", "2026-11-18"), ("c", "a%3Ab%")]);
        assert_eq!(partition_value(dataset, file, "c"), Some(vec![b"a:b%".to_vec()]));
        assert_eq!(partition_value(dataset, file, "x"), None);
        let null = Path::new("x=0/data/day=__HIVE_DEFAULT_PARTITION__/f.parquet");
        assert_eq!(partition_value(dataset, null, "day"), Some(Vec::new()));
    }

    #[test]
    fn hidden_files_are_those_that_engines_leave_out() {
        for name in ["_SUCCESS", ".part-0.parquet.crc", "_metadata"] {
            assert!(is_hidden(Path::new(name)), "{name}");
        }
        assert!(!is_hidden(Path::new("_hidden/part-0.parquet")), "the last name decides");
    }
}
