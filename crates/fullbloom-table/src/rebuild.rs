//! A table's filter made again from the table's keys: the same bytes, where the rules allow only one.
//!
//! A file does not say how many bits per key its filter was given, nor by which releases' rules its entries were
//! chosen. Both show in lengths and probes: what they leave possible is tried.

use crate::error::{Problem, TableError};
use crate::filter::build::{
    FilterBlockBuilder, FilterOptions, Finished, Layout, Partitioning, Partitions, Rules,
};
use crate::filter::{Family, PerBlock, Policy, TableFilter};
use crate::handle::TRAILER_LEN;
use crate::index::Target;
use crate::internal_key::KeyOrder;
use crate::metaindex::FilterLayout;
use crate::reader::Table;
use crate::role::Role;
use crate::source::Source;
use fullbloom::SizeError;
use fullbloom::dialect::Name;
use fullbloom::rocksdb::{FullFilter, Kind};
use std::cmp::Ordering;

/// What came of building a table's filter again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rebuilt {
    /// There is no filter, or its policy is not known here.
    Nothing,
    /// The same bytes.
    Identical {
        /// Bits per key that give them; others may too.
        bits_per_key: f64,
        /// The rules that give them.
        rules: Rules,
    },
    /// The same bytes, in lengths that no bits per key give: the allocator chose them
    /// (`optimize_filters_for_memory`).
    IdenticalInLength {
        /// The rules that give them.
        rules: Rules,
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
    /// Builds the filter again from the keys and compares. Reads the whole table, up to four times; memory goes by
    /// the filter, not by the table.
    pub fn rebuild_filter(&self) -> Result<Rebuilt, TableError> {
        let filter = self.filter()?;
        match (filter.layout(), filter.family()) {
            (None, _) | (_, Family::Unknown) => Ok(Rebuilt::Nothing),
            // The entries depend on an extractor that nobody here knows.
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
fn candidates<S: Source>(filter: &TableFilter<'_, S>) -> &'static [Rules] {
    match filter.holds().prefixes {
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
    let Some(kind) = kind_of(table, &contents) else { return Ok(Rebuilt::Differs) };
    for &rules in candidates(filter) {
        let walk = |bits_per_key: f64, lengths: Option<&[&[u8]]>| {
            walk_full(table, filter, &stored, partitioned, (kind, bits_per_key, rules), lengths)
        };
        let counts = walk(10.0, None)?.counts;
        for bits_per_key in possible_bits(kind, &contents, &counts) {
            if walk(bits_per_key, None)?.contents == contents {
                return Ok(Rebuilt::Identical { bits_per_key, rules });
            }
        }
        if kind != Kind::Legacy && walk(10.0, Some(&contents))?.contents == contents {
            return Ok(Rebuilt::IdenticalInLength { rules });
        }
    }
    Ok(Rebuilt::Differs)
}

/// What was asked for: Ribbon if any filter is one, or if the table says so and all are the Bloom filters that small
/// Ribbon filters become.
fn kind_of<S: Source>(table: &Table<S>, contents: &[&[u8]]) -> Option<Kind> {
    let mut found = None;
    for content in contents {
        match FullFilter::read(content) {
            FullFilter::Ribbon(_) => return Some(Kind::Ribbon),
            FullFilter::FastLocal(_) => found = Some(Kind::FastLocal),
            FullFilter::Legacy(_) => found = Some(Kind::Legacy),
            FullFilter::Nothing | FullFilter::Everything => {}
        }
    }
    let ribbon = table.properties().filter_policy().is_some_and(|name| name.starts_with("ribbonfilter"));
    if ribbon && found == Some(Kind::FastLocal) { Some(Kind::Ribbon) } else { found }
}

#[derive(Default)]
struct Walked {
    contents: Vec<Vec<u8>>,
    /// Entries of each filter.
    counts: Vec<u64>,
}

/// Builds all filters of the table, cut where the stored ones are.
fn walk_full<S: Source>(
    table: &Table<S>,
    filter: &TableFilter<'_, S>,
    stored: &[(Vec<u8>, Vec<u8>)],
    partitioned: bool,
    (kind, bits_per_key, rules): (Kind, f64, Rules),
    lengths: Option<&[&[u8]]>,
) -> Result<Walked, TableError> {
    let dialect = match kind {
        Kind::Legacy => Name::RocksDbLegacy,
        Kind::FastLocal => Name::RocksDb,
        Kind::Ribbon => Name::RocksDbRibbon,
    };
    let policy = Policy::new(dialect, bits_per_key).map_err(Problem::from)?;
    let layout = match partitioned {
        true => Layout::Partitioned(Partitioning { with_index: true, ..Partitioning::default() }),
        false => Layout::Full,
    };
    let options = FilterOptions { holds: filter.holds(), layout, rules, ..FilterOptions::new(policy) };
    let mut builder = FilterBlockBuilder::new(options).map_err(Problem::from)?;
    if let Some(lengths) = lengths {
        builder.fix_lengths(lengths.iter().map(|content| content.len() as u64).collect());
    }
    let order = table.order().unwrap_or(KeyOrder::BYTEWISE);
    let mut current = 0;
    let mut entries = table.entries()?;
    while entries.advance()? {
        let key = entries.filter_key();
        // A key behind the open partition's own key belongs to the next; behind the last, still to the last.
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
        // A stored length that no filter of this kind can have: not identical, and no error of the caller's.
        Err(error) if matches!(error.problem(), Problem::Size(SizeError::Count { .. })) => Walked::default(),
        Err(error) => return Err(error),
    })
}

/// Bits per key that give these lengths and probes, one for each way they can be told apart; few.
fn possible_bits(kind: Kind, contents: &[&[u8]], counts: &[u64]) -> Vec<f64> {
    // Ten, then whole numbers, then tenths, then hundredths, as people choose them.
    let whole = [10].into_iter().chain((1..=100).filter(|n| *n != 10)).map(f64::from);
    let tenths = (10..=1000).filter(|n| n % 10 != 0).map(|n| f64::from(n) / 10.0);
    let hundredths = (100..=10_000).filter(|n| n % 10 != 0).map(|n| f64::from(n) / 100.0);
    let fits = |bits_per_key: &f64| {
        let Ok(policy) = fullbloom::rocksdb::Policy::new(kind, *bits_per_key) else { return false };
        contents.iter().zip(counts).filter(|(_, count)| **count > 0).all(|(content, &count)| {
            let len = content.len() as u64;
            let probes = match FullFilter::read(content) {
                FullFilter::Legacy(filter) => Some(filter.geometry().probes),
                FullFilter::FastLocal(filter) => Some(filter.geometry().probes),
                _ => None,
            };
            let promised = policy.content_len(count);
            // A Ribbon filter's length is rounded by its first hash.
            let slack = if kind == Kind::Ribbon { 16 } else { 0 };
            let same_probes =
                probes.is_none_or(|probes| kind == Kind::Ribbon || policy.geometry(1).probes == probes);
            same_probes && promised.abs_diff(len) <= slack
        })
    };
    const MOST: usize = 12;
    whole.chain(tenths).chain(hundredths).filter(fits).take(MOST).collect()
}

fn per_block<S: Source>(
    table: &Table<S>,
    filter: &TableFilter<'_, S>,
    family: Family,
) -> Result<Rebuilt, TableError> {
    let Some(stored) = filter.block()? else { return Ok(Rebuilt::Nothing) };
    let dialect = if family == Family::LevelDb { Name::LevelDb } else { Name::RocksDbBlock };
    let block = PerBlock::new(&stored, family);
    let probes = block.filters().find_map(|filter| filter.last().copied());
    // Probes are bits per key times 0.69, cut off: two settings at most give the same, until they stop at 30.
    let fits = |bits: &u32| {
        let expected = ((f64::from(*bits) * 0.69) as u8).clamp(1, 30);
        probes.is_none_or(|probes| probes == expected)
    };
    for bits in (1..=100u32).filter(fits) {
        let policy = Policy::new(dialect, bits.into()).map_err(Problem::from)?;
        let options = FilterOptions { holds: filter.holds(), ..FilterOptions::new(policy) };
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
        if matches!(builder.finish()?, Finished::Block(rebuilt) if rebuilt == *stored) {
            return Ok(Rebuilt::Identical { bits_per_key: bits.into(), rules: Rules::UpTo9_4 });
        }
    }
    Ok(Rebuilt::Differs)
}
