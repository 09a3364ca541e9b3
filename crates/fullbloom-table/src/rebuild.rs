//! Rebuilds a table's filter from its keys and compares the bytes.
//!
//! A file does not record the bits per key of its filter, nor which releases' rules chose its entries. Both
//! are inferred from lengths and probes, and all remaining candidates are tried.

use crate::error::{Problem, TableError};
use crate::filter::build::{
    FilterBlockBuilder, FilterOptions, Finished, Layout, Partitioning, Partitions, Rules,
};
use crate::filter::{Content, Family, FullPolicy, PerBlock, Policy, TableFilter};
use crate::handle::TRAILER_LEN;
use crate::internal_key::{KeyOrder, Target};
use crate::metaindex::FilterLayout;
use crate::reader::Table;
use crate::role::Role;
use crate::source::Source;
use fullbloom::SizeError;
use fullbloom_blocks::BlockError;
use fullbloom_dialects::Name;
use fullbloom_dialects::rocksdb::{FilterType, FullFilter};
use std::cmp::Ordering;

/// The result of rebuilding a table's filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rebuilt {
    /// There is no filter, or its policy is not supported.
    Nothing,
    /// The rebuilt filter has the bytes of the old one.
    Identical {
        /// Bits per key that give them; others may too.
        bits_per_key: f64,
        /// The rules that give them, where prefixes make them differ.
        rules: Option<Rules>,
    },
    /// The same bytes, in lengths that no bits per key give: the allocator chose them
    /// (`optimize_filters_for_memory`).
    IdenticalInLength {
        /// The rules that give them, where prefixes make them differ.
        rules: Option<Rules>,
    },
    /// Other bytes: the filter is damaged, or not made from these keys.
    Differs,
}

impl Rebuilt {
    /// Whether the bytes were the same; `None` where there was nothing to compare.
    pub fn is_identical(self) -> Option<bool> {
        match self {
            Rebuilt::Nothing => None,
            Rebuilt::Identical { .. } | Rebuilt::IdenticalInLength { .. } => Some(true),
            Rebuilt::Differs => Some(false),
        }
    }
}

impl<S: Source> Table<S> {
    /// Rebuilds the filter from the keys and compares. Reads the whole table, up to four times; memory
    /// depends on the size of the filter, not of the table.
    pub fn rebuild_filter(&self) -> Result<Rebuilt, TableError> {
        let filter = self.filter()?;
        match (filter.layout(), filter.family()) {
            (None, _) | (_, Family::Unknown) => Ok(Rebuilt::Nothing),
            // The entries depend on an unknown extractor.
            _ if self.properties().prefix_extractor().is_some()
                && self.properties().prefix_filtering()
                && filter.holds().prefixes.is_none() =>
            {
                Ok(Rebuilt::Nothing)
            }
            (Some(FilterLayout::PerBlock), family) => per_block(self, &filter, family),
            (Some(layout), _) => full(self, &filter, layout == FilterLayout::Partitioned),
        }
    }
}

/// Which rules can differ for a filter: those about prefixes.
pub(crate) fn candidates<S: Source>(filter: &TableFilter<'_, S>) -> &'static [Rules] {
    match &filter.holds().prefixes {
        Some(_) => &[Rules::Since9_6, Rules::UpTo9_4, Rules::Of9_5],
        None => &[Rules::Since9_6],
    }
}

fn full<S: Source>(
    table: &Table<S>,
    filter: &TableFilter<'_, S>,
    partitioned: bool,
) -> Result<Rebuilt, TableError> {
    let mut stored = Vec::new();
    if partitioned {
        filter.for_each_partition(|key, _, content| {
            stored.push((key.to_vec(), content.to_vec()));
            Ok(())
        })?;
    } else if let Some(content) = filter.block()? {
        stored.push((Vec::new(), content.into_vec()));
    }
    let contents: Vec<&[u8]> = stored.iter().map(|(_, content)| &content[..]).collect();
    for &dialect in dialects_of(table, filter.family(), &contents) {
        for &rules in candidates(filter) {
            let named = filter.holds().prefixes.as_ref().map(|_| rules);
            let walk = |bits_per_key: f64, lengths: Option<&[&[u8]]>| {
                walk_full(table, filter, &stored, partitioned, (dialect, bits_per_key, rules), lengths)
            };
            let counts = walk(10.0, None)?.counts;
            for bits_per_key in possible_bits(dialect, filter.family(), &contents, &counts) {
                if walk(bits_per_key, None)?.contents == contents {
                    return Ok(Rebuilt::Identical { bits_per_key, rules: named });
                }
            }
            let by_allocator = matches!(dialect, Name::RocksDb | Name::RocksDbRibbon);
            if by_allocator && walk(10.0, Some(&contents))?.contents == contents {
                return Ok(Rebuilt::IdenticalInLength { rules: named });
            }
        }
    }
    Ok(Rebuilt::Differs)
}

/// The dialects that may have been requested. A Ribbon filter is marked as one; a Bloom filter in a table of
/// the Ribbon policy replaced a small Ribbon filter, or was written by a flush.
pub(crate) fn dialects_of<S: Source>(
    table: &Table<S>,
    family: Family,
    contents: &[&[u8]],
) -> &'static [Name] {
    let mut found: &[Name] = &[];
    for content in contents {
        match Content::read(content, family) {
            Content::Native(_) => found = &[Name::Native],
            Content::RocksDb(filter) => match filter.dialect() {
                Some(Name::RocksDbRibbon) => return &[Name::RocksDbRibbon],
                Some(Name::RocksDb) => found = &[Name::RocksDb],
                Some(Name::RocksDbLegacy) => found = &[Name::RocksDbLegacy],
                _ => {}
            },
            Content::Unknown => {}
        }
    }
    let ribbon = table.properties().filter_policy().is_some_and(|name| name.starts_with("ribbonfilter"));
    if ribbon && found == [Name::RocksDb] { &[Name::RocksDb, Name::RocksDbRibbon] } else { found }
}

/// A full filter, or the partitions, of a table.
#[derive(Default)]
pub(crate) struct Walked {
    pub(crate) contents: Vec<Vec<u8>>,
    /// Entries of each filter.
    pub(crate) counts: Vec<u64>,
}

/// Builds all filters of the table, with the same partition boundaries as the stored ones.
pub(crate) fn walk_full<S: Source>(
    table: &Table<S>,
    filter: &TableFilter<'_, S>,
    stored: &[(Vec<u8>, Vec<u8>)],
    partitioned: bool,
    (dialect, bits_per_key, rules): (Name, f64, Rules),
    lengths: Option<&[&[u8]]>,
) -> Result<Walked, TableError> {
    let policy = Policy::new(dialect, bits_per_key).map_err(Problem::from)?;
    let layout = match partitioned {
        true => Layout::Partitioned(Partitioning { with_index: true, ..Partitioning::default() }),
        false => Layout::Full,
    };
    let options =
        FilterOptions { holds: filter.holds().clone(), layout, rules, ..FilterOptions::new(policy) };
    let mut builder = FilterBlockBuilder::new(options).map_err(Problem::from)?;
    if let Some(lengths) = lengths {
        builder.fix_lengths(lengths.iter().map(|content| content.len() as u64).collect());
    }
    let order = table.order().unwrap_or(KeyOrder::BYTEWISE);
    let mut current = 0;
    let mut entries = table.entries()?;
    while entries.advance()? {
        let key = entries.filter_key();
        // A key after the open partition's own key belongs to the next partition, or to the last one.
        while current + 1 < stored.len()
            && Target::newest(key).order(order, &stored[current].0, table.index_user_keys()) == Ordering::Less
        {
            builder.cut_before_next(&stored[current].0);
            current += 1;
        }
        builder.add(key)?;
    }
    let all_entries = builder.entries();
    Ok(match builder.finish() {
        Ok(Finished::None) => Walked::default(),
        Ok(Finished::Block(block)) => Walked { contents: vec![block], counts: vec![all_entries] },
        Ok(Finished::Partitions(Partitions { partitions })) => Walked {
            counts: partitions.iter().map(|partition| partition.entries).collect(),
            contents: partitions.into_iter().map(|partition| partition.content).collect(),
        },
        // The stored length is impossible for this kind of filter: the bytes differ, which is not the
        // caller's error.
        Err(BlockError::Size(SizeError::Count { .. })) => Walked::default(),
        Err(error) => return Err(error.into()),
    })
}

/// The few bits per key that give these lengths and probes, one for each distinguishable case.
pub(crate) fn possible_bits(dialect: Name, family: Family, contents: &[&[u8]], counts: &[u64]) -> Vec<f64> {
    // Ten, then whole numbers, tenths and hundredths: the most usual values first.
    let whole = [10].into_iter().chain((1..=100).filter(|n| *n != 10)).map(f64::from);
    let tenths = (10..=1000).filter(|n| n % 10 != 0).map(|n| f64::from(n) / 10.0);
    let hundredths = (100..=10_000).filter(|n| n % 10 != 0).map(|n| f64::from(n) / 100.0);
    let filters: Vec<Stored> = contents.iter().map(|content| Stored::of(content, family)).collect();
    let fits = |bits_per_key: &f64| {
        let policy = Policy::new(dialect, *bits_per_key).and_then(|policy| policy.full());
        let Ok(policy) = policy else { return false };
        let mut counted = filters.iter().zip(counts).filter(|(_, count)| **count > 0);
        counted.all(|(stored, &count)| stored.fits(&policy, *bits_per_key, count))
    };
    const MOST: usize = 12;
    whole.chain(tenths).chain(hundredths).filter(fits).take(MOST).collect()
}

/// What a stored filter reveals about its bits per key.
struct Stored {
    len: u64,
    /// Of a Bloom filter.
    probes: Option<u32>,
    /// Bits of a native filter, which come in lines of 512.
    bits: Option<u64>,
}

impl Stored {
    fn of(content: &[u8], family: Family) -> Stored {
        let (probes, bits) = match Content::read(content, family) {
            Content::RocksDb(FullFilter::Legacy(filter)) => (Some(filter.geometry().probes), None),
            Content::RocksDb(FullFilter::FastLocal(filter)) => (Some(filter.geometry().probes), None),
            Content::Native(filter) => (None, Some(filter.geometry().bit_len)),
            Content::RocksDb(_) | Content::Unknown => (None, None),
        };
        Stored { len: content.len() as u64, probes, bits }
    }

    fn fits(&self, policy: &FullPolicy, bits_per_key: f64, count: u64) -> bool {
        let same_len =
            |slack: u64| policy.content_len(count).is_ok_and(|len| len.abs_diff(self.len) <= slack);
        match policy {
            // Its length is rounded by its first hash, and its small filters are Bloom filters.
            FullPolicy::RocksDb(policy) if policy.filter_type() == FilterType::Ribbon => same_len(16),
            FullPolicy::RocksDb(policy) => {
                same_len(0) && self.probes.is_none_or(|probes| policy.geometry(1).probes == probes)
            }
            // Planning is slow, so only likely numbers are tried.
            FullPolicy::Native { .. } => {
                let near = |bits: u64| (bits as f64 - bits_per_key * count as f64).abs() <= 64.0 * 512.0;
                self.bits.is_none_or(near) && same_len(0)
            }
        }
    }
}

fn per_block<S: Source>(
    table: &Table<S>,
    filter: &TableFilter<'_, S>,
    family: Family,
) -> Result<Rebuilt, TableError> {
    let Some(stored) = filter.block()? else { return Ok(Rebuilt::Nothing) };
    let dialect = if family == Family::LevelDb { Name::LevelDb } else { Name::RocksDbBlock };
    for bits in possible_bits_per_block(&stored, family) {
        let (rebuilt, _) = walk_per_block(table, filter, dialect, bits.into())?;
        if rebuilt == *stored {
            return Ok(Rebuilt::Identical { bits_per_key: bits.into(), rules: None });
        }
    }
    Ok(Rebuilt::Differs)
}

/// Bits per key that give the probes of a per-block filter block: bits per key times 0.69, truncated, so at
/// most two settings give the same number below the limit of 30.
pub(crate) fn possible_bits_per_block(stored: &[u8], family: Family) -> impl Iterator<Item = u32> {
    let probes = PerBlock::new(stored, family).filters().find_map(|filter| filter.last().copied());
    (1..=100u32).filter(move |bits| {
        let expected = ((f64::from(*bits) * 0.69) as u8).clamp(1, 30);
        probes.is_none_or(|probes| probes == expected)
    })
}

/// Builds the per-block filter block of the table, empty without keys; returns it with its number of entries.
pub(crate) fn walk_per_block<S: Source>(
    table: &Table<S>,
    filter: &TableFilter<'_, S>,
    dialect: Name,
    bits_per_key: f64,
) -> Result<(Vec<u8>, u64), TableError> {
    let policy = Policy::new(dialect, bits_per_key).map_err(Problem::from)?;
    let options = FilterOptions { holds: filter.holds().clone(), ..FilterOptions::new(policy) };
    let mut builder = FilterBlockBuilder::new(options).map_err(Problem::from)?;
    builder.start_block(0)?;
    let mut blocks = table.data_blocks()?;
    while let Some(handle) = blocks.advance()? {
        let contents = table.block(handle, Role::Data).map_err(|problem| table.error(problem))?;
        let mut entries = contents.entries();
        while entries.advance().map_err(|problem| table.error(problem))? {
            builder.add(table.filter_key_of(entries.key()))?;
        }
        builder.start_block(handle.offset + handle.size + TRAILER_LEN)?;
    }
    let entries = builder.entries();
    match builder.finish()? {
        Finished::Block(block) => Ok((block, entries)),
        Finished::None | Finished::Partitions(_) => Ok((Vec::new(), entries)),
    }
}
