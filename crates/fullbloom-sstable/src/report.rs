//! What is in an sstable's filter, without looking up every key.

use crate::compression;
use crate::digests::{self, Which};
use crate::expected::index_short;
use crate::family;
use crate::filter_db::FilterFile;
use crate::flag::Flag;
use crate::keys::{Ends, Keys, Scan};
use crate::sstable::{COMPRESSION_INFO, FILTER, INDEX, PARTITIONS, STATISTICS, Scylla, Sstable, Toc};
use crate::statistics::{self, Validation};
use crate::tokens::TokenRange;
use crate::version::Version;
use crate::{ComponentError, filter_db::FilterProblem, replace};
use fullbloom::FileError;
use fullbloom::error::FileCause;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use std::ops::ControlFlow;

/// How many keys are looked up to see whether the filter contains them at all. In the wrong family 99 of 100
/// are missing; one damaged page of a filter of a megabyte loses about one key in fifty.
const SAMPLE: u64 = 512;

/// Components without which neither the keys nor the rate of an sstable are known.
const NEEDED: [&str; 3] = [INDEX, PARTITIONS, STATISTICS];

/// The needed components that `TOC.txt` lists and that are missing.
pub(crate) fn lost(sstable: &Sstable) -> impl Iterator<Item = &'static str> + '_ {
    let is_lost = |name: &&str| sstable.lists(name) == Some(true) && !sstable.has(name);
    NEEDED.into_iter().filter(is_lost)
}

/// The inspection of one sstable.
#[derive(Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// Number of partition keys; `None` where they cannot be read to the end (a flag says why).
    pub keys: Option<u64>,
    /// The filter, where it can be read.
    pub filter: Option<FilterFacts>,
    /// Bytes of `Filter.db`, if it exists.
    pub filter_bytes: Option<u64>,
    /// The rate at which the sstable was written.
    pub recorded: Recorded,
    /// The tokens it covers, where the partitioner is Murmur3Partitioner.
    pub tokens: Option<TokenRange>,
    /// How many keys were looked up in the filter; `None` where it or the keys cannot be read.
    pub sampled: Option<u64>,
    /// The problems that were found.
    pub flags: Vec<Flag>,
}

/// The numbers of one filter.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FilterFacts {
    /// The family it was read as.
    pub dialect: Name,
    /// Length of the array in bits.
    pub bits: u64,
    /// Probes per key.
    pub probes: u32,
    /// Share of bits set.
    pub fill: f64,
    /// The expected rate at this fill.
    pub expected_fpr: f64,
    /// How many keys the set bits suggest; `None` when all are set.
    pub estimated_keys: Option<f64>,
    /// Bytes it takes in a node's memory.
    pub memory_bytes: u64,
}

/// What `Statistics.db` records about the rate.
#[derive(Debug)]
#[non_exhaustive]
pub enum Recorded {
    /// The rate and the partitioner.
    Found(Validation),
    /// The file has no such part: Cassandra rebuilds the filter.
    Nothing,
    /// There is no such file.
    Missing,
    /// Versions before `ka` keep it in a form that is not read.
    NotRead,
    /// The file is encrypted.
    Encrypted,
    /// The file cannot be read (a flag says why).
    Unreadable,
}

impl Recorded {
    /// The rate, if it is known.
    pub fn fpr(&self) -> Option<f64> {
        match self {
            Recorded::Found(validation) => Some(validation.fpr),
            _ => None,
        }
    }
}

impl Inspection {
    /// Bits of the filter for each key; `None` without keys or filter.
    pub fn bits_per_key(&self) -> Option<f64> {
        match (self.filter, self.keys) {
            (Some(filter), Some(keys)) if keys > 0 => Some(filter.bits as f64 / keys as f64),
            _ => None,
        }
    }
}

/// Inspects one sstable: reads its filter and all of its index, and looks up a few of its keys in the filter.
///
/// Never fails: what cannot be read becomes a flag.
pub fn inspect(sstable: &Sstable) -> Inspection {
    inspect_with(sstable, |_| ())
}

/// As [`inspect`], and lets the caller look at the filter while it is open.
pub fn inspect_with(sstable: &Sstable, look: impl FnOnce(&AnyFilter)) -> Inspection {
    let mut flags = Vec::new();
    let statistics = Statistics::read(sstable);
    let recorded = statistics.recorded.unwrap_or_else(|e| {
        flags.push(Flag::Statistics(e));
        Recorded::Unreadable
    });
    if sstable.lacks_toc() {
        flags.push(Flag::TocMissing);
    }
    if let Toc::Unreadable(e) = &sstable.toc {
        flags.push(Flag::Toc(e.to_string()));
    }
    if let Scylla::Unreadable(e) = &sstable.scylla {
        flags.push(Flag::ScyllaUnreadable(e.to_string()));
    }
    if replace::is_interrupted(sstable) {
        flags.push(Flag::DigestMissing);
    }
    flags.extend(digests::mismatches(sstable, Which::AtLoading).into_iter().map(Flag::Digest));
    flags.extend(lost(sstable).map(Flag::ComponentLost));
    let of_no_own = |name: &&str| *name != FILTER && !NEEDED.contains(name);
    let missing: Vec<String> = sstable.missing().filter(of_no_own).map(str::to_owned).collect();
    if !missing.is_empty() {
        flags.push(Flag::ComponentsMissing(missing));
    }
    if sstable.has(FILTER) && sstable.lists(FILTER) == Some(false) {
        flags.push(Flag::NotListed);
    }
    let mut filter_bytes = None;
    let mut file = match FilterFile::open(sstable) {
        Ok(file) => {
            filter_bytes = Some(file.file_len());
            Some(file)
        }
        Err(problem) => {
            filter_bytes = filter_bytes.or(match problem {
                FilterProblem::Empty => Some(0),
                FilterProblem::Truncated { have, .. } => Some(have),
                _ => sstable.byte_len(FILTER),
            });
            flags.push(Flag::Filter(problem));
            None
        }
    };
    flags.extend(file.as_mut().and_then(|file| file.problem.take()).map(Flag::Filter));
    let view = file.as_ref().map(|file| &file.filter);
    let filter = view.map(FilterFacts::of);
    if let Some(view) = view {
        look(view);
    }
    let counted = scan(sstable, file.as_ref(), &mut flags);
    let (keys, ends, asked) =
        counted.map_or_else(Default::default, |(keys, ends, asked)| (Some(keys), ends, Some(asked)));
    if let Some(keys) = keys {
        flags.extend(index_short(sstable, keys, &ends, statistics.partitions, view).map(Flag::IndexShort));
    }
    let tokens = match &recorded {
        Recorded::Found(validation) => TokenRange::of(&validation.partitioner, &ends),
        _ => None,
    };
    let sampled = asked.filter(|_| filter.is_some());
    Inspection { keys, filter, filter_bytes, recorded, tokens, sampled, flags }
}

impl FilterFacts {
    pub(crate) fn of(filter: &AnyFilter) -> FilterFacts {
        let (geometry, occupancy) = (filter.geometry(), filter.occupancy());
        FilterFacts {
            dialect: filter.dialect(),
            bits: geometry.bit_len,
            probes: geometry.probes,
            fill: occupancy.fill,
            expected_fpr: occupancy.expected_fpr,
            estimated_keys: occupancy.estimated_keys,
            memory_bytes: geometry.byte_len(),
        }
    }
}

/// The rate at which the sstable was written.
pub fn recorded(sstable: &Sstable) -> Result<Recorded, FileError> {
    Statistics::read(sstable).recorded
}

/// The fields of `Statistics.db` that reports use.
pub(crate) struct Statistics {
    /// The rate at which the sstable was written.
    pub(crate) recorded: Result<Recorded, FileError>,
    /// The number of its partitions.
    pub(crate) partitions: Option<u64>,
}

impl Statistics {
    /// Reads the file once.
    pub(crate) fn read(sstable: &Sstable) -> Statistics {
        let without = |recorded| Statistics { recorded, partitions: None };
        let Some(layout) = Version::of(sstable.format, &sstable.version).statistics else {
            return without(Ok(Recorded::NotRead));
        };
        let map = match sstable.open(STATISTICS) {
            Ok(map) => map,
            Err(ComponentError::File(e)) if !is_not_found(&e) => return without(Err(e)),
            Err(ComponentError::Encrypted { .. }) => return without(Ok(Recorded::Encrypted)),
            Err(_) => return without(Ok(Recorded::Missing)),
        };
        let recorded = match statistics::validation(map.as_ref(), layout) {
            // DataStax Enterprise encrypts the parts too, from `ba` on.
            Err(_) if is_encrypted_by_datastax(sstable) => Ok(Recorded::Encrypted),
            Err(e) => Err(FileError::decode(&sstable.path(STATISTICS), e)),
            Ok(found) => Ok(found.map_or(Recorded::Nothing, Recorded::Found)),
        };
        let partitions = statistics::partitions(map.as_ref(), layout).ok().flatten();
        Statistics { recorded, partitions }
    }
}

fn is_encrypted_by_datastax(sstable: &Sstable) -> bool {
    sstable.open(COMPRESSION_INFO).is_ok_and(|map| compression::is_encrypted(map.as_ref()))
}

fn is_not_found(e: &FileError) -> bool {
    matches!(e.cause(), FileCause::Io(io) if io.kind() == std::io::ErrorKind::NotFound)
}

/// Counts the keys, and looks the first of them up in the filter. Returns their number, the first and the
/// last, and how many were looked up.
fn scan(sstable: &Sstable, file: Option<&FilterFile>, flags: &mut Vec<Flag>) -> Option<(u64, Ends, u64)> {
    let counted = count(sstable, file.map(|file| &file.filter));
    let (keys, Counted { total, scan, ends, asked, missing }) = match counted {
        Ok((keys, counted)) => (keys, counted),
        // A flag of its own says that the component is lost.
        Err(ComponentError::Missing { component }) if lost(sstable).any(|name| name == component) => {
            return None;
        }
        Err(e) => {
            flags.push(Flag::Keys(e));
            return None;
        }
    };
    if scan.out_of_order > 0 {
        flags.push(Flag::IndexOutOfOrder { entries: scan.out_of_order });
    }
    let unread_as_labelled = file.is_some_and(|file| file.filter.dialect() != sstable.dialect);
    if let (Some(file), true) = (file, missing > 0 || unread_as_labelled) {
        match family::that_have_all(file, &keys, sstable.dialect, asked) {
            Ok(reads_as) if !reads_as.is_empty() => {
                flags.push(Flag::Mislabelled { says: sstable.dialect, reads_as, asked });
            }
            Ok(_) if missing > 0 => flags.push(Flag::KeysMissing { asked, missing }),
            Ok(_) => {}
            Err(e) => flags.push(Flag::Keys(e)),
        }
    }
    Some((total, ends, asked))
}

struct Counted {
    total: u64,
    scan: Scan,
    ends: Ends,
    asked: u64,
    missing: u64,
}

fn count<'s>(
    sstable: &'s Sstable,
    filter: Option<&AnyFilter>,
) -> Result<(Keys<'s>, Counted), ComponentError> {
    let keys = Keys::open(sstable)?;
    let recorded = keys.recorded_len()?;
    let (mut asked, mut missing, mut ends) = (0, 0, Ends::default());
    let scan = keys.visit(|batch| {
        ends.extend(batch);
        let sampled = batch.len().min((SAMPLE - asked) as usize);
        for key in &batch[..sampled] {
            missing += u64::from(filter.is_some_and(|filter| !filter.may_contain(key)));
        }
        asked += sampled as u64;
        match recorded.is_some() && asked == SAMPLE {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    let total = recorded.unwrap_or(scan.keys);
    let ends = keys.recorded_ends().unwrap_or(ends);
    Ok((keys, Counted { total, scan, ends, asked, missing }))
}
