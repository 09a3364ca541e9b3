//! `inspect` of one sstable, or of a data directory.

use super::damage::FilterState;
use super::judge::{Promise, judge};
use super::opening;
use super::totals::totals;
use super::{SstableName, each_sstable, problems};
use crate::filter::{along, bits_per_estimated_key};
use crate::inspect::{InspectOptions, InspectSummary, Inspected};
use crate::problem::{Code, Problem};
use crate::report::{Found, Report, Watch};
use crate::serialise;
use crate::text;
use fullbloom_sstable::scylla::ScyllaDb;
use fullbloom_sstable::sstable::FILTER;
use fullbloom_sstable::{Flag, RecordedKeyType, Sstable, TokenRange, recorded_key_type, report};
use serde::Serialize;
use std::cmp::Reverse;
use std::ops::Deref;
use std::path::Path;

/// The numbers of an sstable's filter. What cannot be read is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SstableRecord {
    /// Which sstable it is.
    #[serde(flatten)]
    pub name: SstableName,
    /// Length of the array in bits.
    pub bits: Option<u64>,
    /// Probes for each key.
    pub probes: Option<u32>,
    /// Bytes of `Filter.db`.
    pub bytes: Option<u64>,
    /// Share of bits set.
    pub fill: Option<f64>,
    /// The number of keys estimated from the set bits; null if all bits are set.
    #[serde(serialize_with = "serialise::whole")]
    pub estimated_keys: Option<f64>,
    /// The rate to expect as it is.
    pub expected_fpr: Option<f64>,
    /// The type of the partition key, as `Statistics.db` records it: `uuid`, `text,int`; the class where it
    /// is not supported.
    pub key_type: Option<String>,
    /// Partition keys of the sstable.
    pub keys: Option<u64>,
    /// How many keys were looked up in the filter; null where it or the keys cannot be read.
    pub sampled: Option<u64>,
    /// Bits for each key.
    pub bits_per_key: Option<f64>,
    /// Bytes the filter takes in a node's memory.
    pub memory_bytes: Option<u64>,
    /// The rate recorded in `Statistics.db`.
    pub recorded_fpr: Option<f64>,
    /// The first and the last token, where the partitioner is Murmur3Partitioner.
    pub tokens: Option<[i64; 2]>,
    /// What `Scylla.db` says.
    pub scylla: Option<Box<ScyllaRecord>>,
    /// What each release of the engine that opens this sstable does with its filter.
    pub on_open: Vec<String>,
    /// The fill along the filter, if it was asked for: [`InspectOptions::strips`](crate::InspectOptions).
    #[serde(skip)]
    pub strip: Vec<f64>,
    /// How the dialect was detected.
    pub recognised: &'static str,
}

/// What `Scylla.db` says about an sstable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScyllaRecord {
    /// The release that wrote it.
    pub version: Option<String>,
    /// What wrote it: `memtable`, `compaction` and so on.
    pub origin: Option<String>,
    /// Bit set of the features that were used, in hex.
    pub features: Option<String>,
    /// The run of sstables it belongs to, in hex.
    pub run_identifier: Option<String>,
    /// Its own identifier, in hex.
    pub sstable_identifier: Option<String>,
    /// The components whose checksums are recorded; null before 2026.2.
    pub checksums: Option<Vec<String>>,
    /// Whether components are encrypted.
    pub encrypted: bool,
}

impl ScyllaRecord {
    fn of(read: &ScyllaDb) -> ScyllaRecord {
        let checksums = |digests: &Vec<fullbloom_sstable::scylla::Digest>| {
            let name = |digest: &fullbloom_sstable::scylla::Digest| {
                digest.name().map_or_else(|| format!("component {}", digest.component), str::to_owned)
            };
            digests.iter().map(name).collect()
        };
        ScyllaRecord {
            version: read.version.clone(),
            origin: read.origin.clone(),
            features: read.features.map(|set| format!("{set:#x}")),
            run_identifier: read.run_identifier.map(|id| text::hex(&id)),
            sstable_identifier: read.sstable_identifier.map(|id| text::hex(&id)),
            checksums: read.digests.as_ref().map(checksums),
            encrypted: read.has_encryption(),
        }
    }
}

impl SstableRecord {
    /// How many keys were looked up, if not all were: `verify` may find more.
    pub fn partly_sampled(&self) -> Option<u64> {
        self.sampled.filter(|sampled| self.keys.is_some_and(|keys| keys > *sampled))
    }

    /// Bits for each key by the index, or else by the estimate.
    pub fn known_bits_per_key(&self) -> Option<f64> {
        self.bits_per_key.or_else(|| bits_per_estimated_key(self.bits?, self.estimated_keys))
    }
}

impl Deref for SstableRecord {
    type Target = SstableName;

    fn deref(&self) -> &SstableName {
        &self.name
    }
}

/// Inspects one sstable: its filter, all of its index, and a few of its keys in the filter. Never fails: what
/// cannot be read is a problem.
pub(crate) fn inspect(sstable: &Sstable, wanted: Option<f64>, strips: bool) -> Found<SstableRecord> {
    let mut strip = Vec::new();
    let seen = report::inspect_with(sstable, |filter| {
        if strips {
            strip = along(filter.bits());
        }
    });
    let filter = seen.filter.as_ref();
    let mut name = SstableName::of(sstable);
    name.dialect = filter.map_or(name.dialect, |filter| filter.dialect);
    let mut problems: Vec<Problem> = seen.flags.iter().map(|flag| problems::of_flag(sstable, flag)).collect();
    for (flag, problem) in seen.flags.iter().zip(&mut problems) {
        if let Flag::KeysMissing { asked, missing } = flag {
            problem.message += problems::foreign(filter, *asked, *missing);
        }
    }
    let promise = Promise::of(sstable, wanted, seen.recorded.fpr());
    // The size of a filter cannot be judged by a part of its keys.
    let is_short = seen.flags.iter().any(|flag| matches!(flag, Flag::IndexShort(_)));
    if let (Some(filter), Some(keys), false) = (filter, seen.keys, is_short) {
        problems.extend(judge(sstable, filter, keys, &promise, None));
    }
    problems.sort_by_key(|problem| Reverse(problem.severity));
    // A filter that was copied out of its directory is not a damaged sstable.
    let is_alone = sstable.components.len() == 1;
    if is_alone {
        problems.retain(|problem| problem.code != Code::ComponentsMissing);
    }
    let state = FilterState::of(sstable, &seen);
    // A filter that was built of no keys has one or two words.
    let is_of_no_keys = is_alone && filter.is_some_and(|filter| filter.bits <= 128);
    if state == FilterState::Zeroed && seen.keys.is_none() && !is_of_no_keys {
        let why = "no bit of the filter is set: all rows are invisible";
        problems.push(Problem::at(&sstable.path(FILTER), Code::KeyMissing, why));
    }
    let record = SstableRecord {
        name,
        bits: filter.map(|f| f.bits),
        probes: filter.map(|f| f.probes),
        bytes: seen.filter_bytes,
        fill: filter.map(|f| f.fill),
        estimated_keys: filter.and_then(|f| f.estimated_keys),
        expected_fpr: filter.map(|f| f.expected_fpr),
        key_type: match recorded_key_type(sstable) {
            RecordedKeyType::Known(schema) => Some(schema.to_string()),
            RecordedKeyType::Unsupported(class) => Some(class),
            RecordedKeyType::Unknown => None,
        },
        keys: seen.keys,
        sampled: seen.sampled,
        bits_per_key: seen.bits_per_key(),
        memory_bytes: filter.map(|f| f.memory_bytes),
        recorded_fpr: seen.recorded.fpr(),
        tokens: seen.tokens.map(|TokenRange { first, last, .. }| [first, last]),
        scylla: sstable.scylla_db().map(|read| Box::new(ScyllaRecord::of(read))),
        on_open: opening::openings(sstable).iter().map(|rule| rule.on_open(sstable.dialect, state)).collect(),
        strip,
        recognised: "by the sstable version in its name; the bytes do not identify it",
    };
    Found { record, problems }
}

/// Inspects every sstable of a directory, several at once, or the one that a file belongs to.
pub(crate) fn inspect_all(
    path: &Path,
    options: &InspectOptions,
    watch: &mut dyn Watch<Inspected>,
) -> Result<Report<Inspected, InspectSummary>, Problem> {
    let one = |sstable: &Sstable| inspect(sstable, options.fpr, options.strips).map(Inspected::Sstable);
    each_sstable(
        path,
        options.snapshots,
        |_| true,
        one,
        watch,
        |found, problems| {
            let summary = InspectSummary { tables: totals(&found), ..InspectSummary::default() };
            InspectSummary::report(found, problems, summary)
        },
    )
}
