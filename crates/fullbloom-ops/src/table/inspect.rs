//! What `inspect` reports about a table, and the problems of its filter.

use super::engines::{self, EngineUse};
use super::problem;
use crate::filter::{SATURATED, along};
use crate::problem::{Code, Problem};
use crate::report::Found;
use crate::{serialise, text};
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use fullbloom_table::metaindex::FilterLayout;
use fullbloom_table::{EnginePrefix, Inspection, Source, Table};
use serde::Serialize;
use std::path::Path;

/// How a table was recognised.
pub const RECOGNISED: &str = "a table of LevelDB or RocksDB, by the magic number at its end";

/// The message about a table without a filter.
pub(super) const NO_FILTER: &str = "has no filter: every lookup in its range reads the table";

/// The numbers of a table's filter. What cannot be read is null.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct TableRecord {
    /// Where it is.
    pub path: String,
    /// The dialect of the filter; null without one, or if it is not known.
    #[serde(serialize_with = "serialise::some_name")]
    pub dialect: Option<Name>,
    /// How the filter is laid out: `full`, `partitioned`, `block` or `none`.
    pub kind: Option<&'static str>,
    /// Keys in the table.
    pub keys: Option<u64>,
    /// Bits of the filter.
    pub bits: Option<u64>,
    /// Probes for each key; of partitions with different numbers, the most.
    pub probes: Option<u32>,
    /// Probes for each key; of partitions with different numbers, the fewest.
    pub fewest_probes: Option<u32>,
    /// Bytes of the filter.
    pub bytes: Option<u64>,
    /// Share of bits set.
    pub fill: Option<f64>,
    /// The number of entries estimated from the set bits.
    #[serde(serialize_with = "serialise::whole")]
    pub estimated_keys: Option<f64>,
    /// The rate to expect; 1 without a filter.
    pub expected_fpr: Option<f64>,
    /// Bits for each entry of the filter.
    pub bits_per_key: Option<f64>,
    /// Partitions of the filter.
    pub partitions: Option<u64>,
    /// Entries of the filter, where the table records them.
    pub filter_entries: Option<u64>,
    /// The filter policy, as the table names it.
    pub policy: Option<String>,
    /// The prefix extractor: our name for it where we know it, else the table's.
    pub prefix_extractor: Option<String>,
    /// Whether the filter holds whole keys.
    pub whole_key: Option<bool>,
    /// The format version in the footer.
    pub format_version: Option<u32>,
    /// The checksum that its blocks have.
    pub checksum: Option<&'static str>,
    /// What the releases of the engines do with the filter.
    pub used_by: Vec<EngineUse>,
    /// How the file was recognised.
    pub recognised: Option<&'static str>,
    /// The fill along the filter, if it was asked for: [`InspectOptions::strips`](crate::InspectOptions).
    #[serde(skip)]
    pub strip: Vec<f64>,
    /// The column family, by the MANIFEST; only in databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family: Option<Option<String>>,
    /// The level, by the MANIFEST; only in databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Option<u32>>,
    /// Bytes of the table; only in databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
}

/// Inspects an open table. Reads its filter, and all keys if the table does not record their number.
pub fn inspect<S: Source>(path: &Path, table: &Table<S>) -> Result<Found<TableRecord>, Problem> {
    let found = table.inspect().map_err(|e| problem(path, &e))?;
    let footer = table.footer();
    let used_by = engines::uses(&found, footer.format_version);
    let mut problems = judge(path, &found, footer.format_version, &used_by);
    if let Some(recorded) = table.properties().data_block_count().filter(|count| *count != found.data_blocks)
    {
        let why = format!(
            "the index leads to {}, but the table records {recorded}",
            text::counted(found.data_blocks, "data block")
        );
        problems.insert(0, Problem::at(path, Code::EntriesDiffer, why));
    }
    let extractor = found.holds.prefixes.as_ref().map(|extractor| {
        let name = extractor.name();
        name.parse::<EnginePrefix>().map_or(name, |known| known.to_string())
    });
    let record = TableRecord {
        path: path.display().to_string(),
        dialect: found.dialect,
        kind: Some(found.layout.map_or("none", |layout| layout.as_str())),
        keys: Some(found.keys),
        bits: Some(found.bits),
        probes: Some(found.probes),
        fewest_probes: Some(found.fewest_probes),
        bytes: Some(found.bytes),
        fill: Some(found.fill()),
        estimated_keys: found.estimated_entries,
        expected_fpr: Some(found.expected_fpr),
        bits_per_key: found.bits_per_key(),
        partitions: Some(found.partitions),
        filter_entries: found.entries,
        policy: found.policy_property.clone().or_else(|| found.policy.clone()),
        prefix_extractor: extractor.or_else(|| found.prefix_extractor.clone()),
        whole_key: Some(found.holds.whole_keys),
        format_version: Some(footer.format_version),
        checksum: Some(footer.checksum.as_str()),
        used_by,
        recognised: Some(RECOGNISED),
        ..TableRecord::default()
    };
    Ok(Found { record, problems })
}

/// The fill along the filter of a table: empty without a full filter. Each partition, and each filter of a
/// block, is small; their mean fill is in the record.
pub(crate) fn strip<S: Source>(table: &Table<S>, dialect: Option<Name>) -> Vec<f64> {
    let block = table.filter().and_then(|filter| filter.block());
    let (Ok(Some(block)), Some(dialect)) = (block, dialect) else { return Vec::new() };
    let filter = AnyFilter::decode(&block, &dialect.into());
    filter.map_or_else(|_| Vec::new(), |filter| along(filter.bits()))
}

impl TableRecord {
    /// The record of a table that cannot be read.
    pub(crate) fn unread(path: &Path, problem: Problem) -> Found<TableRecord> {
        let record = TableRecord { path: path.display().to_string(), ..TableRecord::default() };
        Found { record, problems: vec![problem] }
    }

    /// Entries of the filter, or keys of the table where they are not recorded.
    pub(crate) fn entries(&self) -> u64 {
        self.filter_entries.filter(|entries| *entries > 0).or(self.keys).unwrap_or(0)
    }
}

/// The problems of the filter.
fn judge(path: &Path, found: &Inspection, format_version: u32, used_by: &[EngineUse]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |code, message: String| problems.push(Problem::at(path, code, message));
    match (found.layout, found.dialect) {
        (None, _) => {
            let policy = found.policy_property.as_ref();
            let named = policy
                .map_or(String::new(), |policy| format!(", though the table names the policy {policy}"));
            add(Code::NoFilter, format!("{NO_FILTER}{named}"));
        }
        (Some(_), None) => {
            add(
                Code::UnknownFilter,
                "the filter's policy or format is not supported; every key counts as present".into(),
            );
        }
        (Some(FilterLayout::PerBlock), Some(dialect))
            if dialect == Name::RocksDbBlock || found.policy_property.is_some() =>
        {
            add(
            Code::OldKind,
            "a filter for each block, which RocksDB 7.4 and later ignore; compaction replaces it by a full filter".into(),
            );
        }
        (Some(_), Some(Name::RocksDbLegacy)) => add(Code::OldKind, improvement(found)),
        _ => {}
    }
    if let Some((code, why)) = engines::ignored(used_by, format_version) {
        add(code, why);
    }
    if found.dialect.is_some() && found.keys > 0 && found.expected_fpr >= SATURATED {
        add(Code::TooFull, too_full("expected", found.expected_fpr));
    }
    // Ribbon stores equations, not bits of keys.
    if found.set_bits == 0 && found.bits > 0 && found.keys > 0 && found.dialect != Some(Name::RocksDbRibbon) {
        let keys = text::counted(found.keys, "key");
        add(Code::KeyMissing, format!("no bit of the filter is set: lookups do not find any of {keys}"));
    }
    if found.policy_property.as_deref() == Some("ribbonfilter") && found.dialect == Some(Name::RocksDb) {
        add(
            Code::RibbonFallback,
            "Ribbon was requested; RocksDB stores a Bloom filter where that is smaller, and in flushed tables".into(),
        );
    }
    problems
}

/// A filter whose rate is so bad tells nothing.
pub(super) fn too_full(how: &str, fpr: f64) -> String {
    format!("too full: the {how} rate is {}, so it tells nothing", text::rate(fpr))
}

/// How format_version 5 would use the same bits.
fn improvement(found: &Inspection) -> String {
    let keys = found.entries.filter(|entries| *entries > 0).unwrap_or(found.keys);
    let target = Target::BitsPerKey(found.bits_per_key().unwrap_or(10.0));
    let newer = any::plan(Name::RocksDb, &Request { expected_keys: keys, target });
    match newer {
        Ok(plan) if plan.expected_fpr < found.expected_fpr => format!(
            "the full filter of format_version below 5: with 5 or later the same bits give {} instead of {}",
            text::rate(plan.expected_fpr),
            text::rate(found.expected_fpr),
        ),
        _ => "the full filter of format_version below 5: later ones are faster".to_owned(),
    }
}
