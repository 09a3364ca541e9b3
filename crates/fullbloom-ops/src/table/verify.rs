//! What `verify` reports about a table.

use super::inspect::{NO_FILTER, too_full};
use super::{problem, short};
use crate::filter::SATURATED;
use crate::key_spec::KeyText;
use crate::problem::{Code, Problem};
use crate::report::Found;
use crate::text;
use fullbloom_table::filter::build::Rules;
use fullbloom_table::{Rebuilt, Source, Table, Verification};
use serde::Serialize;
use std::path::Path;

/// A table whose filter was looked up for every key. What could not be done is null.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct VerifiedTable {
    /// Where it is.
    pub path: String,
    /// Keys in the table.
    pub keys: Option<u64>,
    /// Entries of its data blocks, every version of a key counted.
    pub entries: Option<u64>,
    /// Keys that a lookup does not find, because the filter says they are absent.
    pub missing: Option<u64>,
    /// Keys that a forward seek does not find.
    pub missing_in_seek: Option<u64>,
    /// Keys that a backward seek does not find.
    pub missing_in_seek_back: Option<u64>,
    /// Absent keys looked up.
    pub absent_asked: Option<u64>,
    /// Absent keys that were reported present.
    pub absent_passed: Option<u64>,
    /// The rate measured on them.
    pub measured_fpr: Option<f64>,
    /// Whether a filter made from the keys has the same bytes; null without a filter.
    pub rebuilt_identical: Option<bool>,
    /// The result of rebuilding it: `nothing`, `identical`, `identical-in-length` or `differs`.
    pub rebuilt: Option<&'static str>,
    /// The bits per key that give the same bytes; null if the allocator chose the length.
    pub rebuilt_bits_per_key: Option<f64>,
    /// The releases of RocksDB whose partitions end where these do.
    pub rebuilt_rules: Option<&'static str>,
    /// The first missing key, in hex.
    pub first_missing: Option<String>,
    /// The same key as text; in hex after `0x` if it is not text.
    pub first_missing_text: Option<String>,
}

impl VerifiedTable {
    /// A table that cannot be read.
    pub(crate) fn unreadable(path: &Path) -> VerifiedTable {
        VerifiedTable { path: path.display().to_string(), ..VerifiedTable::default() }
    }
}

/// Looks up every key of an open table in its filter, and about `absent` keys between them, and rebuilds it.
pub fn verify<S: Source>(
    path: &Path,
    table: &Table<S>,
    absent: u64,
) -> Result<Found<VerifiedTable>, Problem> {
    let found = table.verify(absent).map_err(|e| problem(path, &e))?;
    let (rebuilt, bits_per_key, rules) = match found.rebuilt {
        Rebuilt::Identical { bits_per_key, rules } => ("identical", Some(bits_per_key), rules),
        Rebuilt::IdenticalInLength { rules } => ("identical-in-length", None, rules),
        Rebuilt::Nothing => ("nothing", None, None),
        Rebuilt::Differs => ("differs", None, None),
    };
    let record = VerifiedTable {
        path: path.display().to_string(),
        keys: Some(found.keys),
        entries: Some(found.entries),
        missing: Some(found.missing),
        missing_in_seek: Some(found.missing_in_seek),
        missing_in_seek_back: Some(found.missing_in_seek_back),
        absent_asked: Some(found.absent_asked),
        absent_passed: Some(found.absent_passed),
        measured_fpr: found.measured_fpr(),
        rebuilt_identical: found.rebuilt.is_identical(),
        rebuilt: Some(rebuilt),
        rebuilt_bits_per_key: bits_per_key,
        rebuilt_rules: rules.map(releases),
        first_missing: found.first_missing.as_deref().map(text::hex),
        first_missing_text: found.first_missing.as_deref().map(|key| KeyText::Bytes.shown(key)),
    };
    Ok(Found { record, problems: problems(path, table, &found) })
}

fn releases(rules: Rules) -> &'static str {
    match rules {
        Rules::Since9_6 => "RocksDB 9.6 and later",
        Rules::Of9_5 => "RocksDB 9.5",
        Rules::UpTo9_4 => "RocksDB up to 9.4",
    }
}

/// What is wrong with a table that was looked up.
pub(super) fn problems(path: &Path, table: &Table<impl Source>, found: &Verification) -> Vec<Problem> {
    let rebuild = format!("rebuild it with: fullbloom rebuild {}", text::quoted(path));
    let mut problems: Vec<Problem> = short(path, table, found.entries).into_iter().collect();
    if table.metaindex().filter.is_none() {
        problems.push(Problem::at(path, Code::NoFilter, NO_FILTER));
    }
    let seeks = found.missing_in_seek + found.missing_in_seek_back;
    if found.missing + seeks > 0 {
        let mut why = format!("lookups do not find {}", text::counted(found.missing, "key"));
        if seeks > 0 {
            why += &format!("; seeks do not find {}", text::counted(seeks, "key"));
        }
        problems.push(
            Problem::at(path, Code::KeyMissing, why + ": the filter says they are absent").hint(&rebuild),
        );
    }
    if found.rebuilt.is_identical() == Some(false) {
        let why =
            "the filter's bytes differ from a filter rebuilt from its keys: damaged, or made from other keys";
        problems.push(Problem::at(path, Code::BytesDiffer, why).hint(&rebuild));
    }
    let measured = found.measured_fpr().filter(|_| found.absent_asked >= FEWEST_ASKED && found.keys > 0);
    if let Some(fpr) = measured.filter(|fpr| *fpr >= SATURATED && table.metaindex().filter.is_some()) {
        problems.push(Problem::at(path, Code::TooFull, too_full("measured", fpr)));
    }
    problems
}

/// Fewer absent keys than this say nothing about the rate.
const FEWEST_ASKED: u64 = 100;
