//! Rebuilds a table's filter from its keys: at another size, after damage, or where there was none.
//!
//! Data, index and whatever else the table has keep their positions. A filter as long as the old one takes
//! its place, and nothing else changes. Any other filter is appended:
//!
//! ```text
//!   | all that was before the footer | new filter, or its partitions and their index | properties | metaindex | footer |
//! ```
//!
//! The old filter remains as unused bytes.

use crate::block::IndexFormat;
use crate::block_builder::{BlockBuilder, IndexBlockBuilder};
use crate::bytes::{cursor, put_varint};
use crate::compression::Compression;
use crate::error::{Problem, TableError};
use crate::filter::build::Rules;
use crate::filter::{Family, PerBlock, Policy, TableFilter};
use crate::footer::Footer;
use crate::handle::{Handle, TRAILER_LEN};
use crate::metaindex::{FilterLayout, LONGEST_NAME};
use crate::reader::Table;
use crate::rebuild::{
    candidates, dialects_of, possible_bits, possible_bits_per_block, walk_full, walk_per_block,
};
use crate::role::Role;
use crate::source::Source;
use crate::writer::{Output, encode_metaindex, trailer};
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::Name;
use std::collections::BTreeMap;
use std::io::Write;

/// The size of a new filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FilterSize {
    /// The size of the old filter: its length and probes give its bits per key, even if it is damaged.
    AsBefore,
    /// This many bits for each key.
    BitsPerKey(f64),
    /// The fewest bits that give this rate.
    Fpr(f64),
}

/// A filter built from a table's keys, and not yet in the table.
#[derive(Debug)]
pub struct NewFilter {
    layout: FilterLayout,
    dialect: Name,
    bits_per_key: Option<f64>,
    policy: String,
    policy_property: &'static str,
    /// The filter, or the partitions.
    contents: Vec<Vec<u8>>,
    /// The keys of the partitions in the index over them.
    keys: Vec<Vec<u8>>,
    entries: u64,
    /// Bytes of the old ones.
    old_len: Option<u64>,
    /// Where the old ones are, if the new ones are as long.
    places: Option<Vec<Handle>>,
    /// The table has the same bytes, with right checksums.
    stored: bool,
}

impl NewFilter {
    /// The dialect of its bytes.
    pub fn dialect(&self) -> Name {
        self.dialect
    }

    /// How it is laid out.
    pub fn layout(&self) -> FilterLayout {
        self.layout
    }

    /// Bits per key; `None` for lengths that the engine's allocator once chose and that are kept.
    pub fn bits_per_key(&self) -> Option<f64> {
        self.bits_per_key
    }

    /// Entries of the filter.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of it, without the index over partitions.
    pub fn byte_len(&self) -> u64 {
        self.contents.iter().map(|content| content.len() as u64).sum()
    }

    /// Bytes of the old one; `None` if there was none.
    pub fn old_byte_len(&self) -> Option<u64> {
        self.old_len
    }

    /// Whether the table has this filter already, byte for byte and with right checksums.
    pub fn is_stored(&self) -> bool {
        self.stored
    }

    /// Whether it takes the place of the old one, so that the file keeps its length.
    pub fn fits_in_place(&self) -> bool {
        self.places.is_some()
    }
}

/// The old filter, as far as it can be read.
struct Old {
    layout: FilterLayout,
    family: Family,
    /// Keys in the top-level index (empty for a single filter), and contents.
    stored: Vec<(Vec<u8>, Vec<u8>)>,
    handles: Vec<Handle>,
}

/// A candidate for the old filter.
struct Guess {
    /// Bytes that differ from what is stored.
    apart: usize,
    /// Dialect and bits per key; `None` in lengths that the allocator chose.
    policy: Option<(Name, f64)>,
    made: Vec<Vec<u8>>,
    entries: u64,
}

impl<S: Source> Table<S> {
    /// Rebuilds the filter in the layout and the dialect of the old one. A table that has none gets a full
    /// filter (`rocksdb`), one of LevelDB's a per-block one (`leveldb`).
    ///
    /// Data blocks are checked as they are read; the old filter may be damaged.
    pub fn make_filter(&self, size: FilterSize) -> Result<NewFilter, TableError> {
        self.new_filter(size).map_err(|error| match error.path() {
            Some(_) => error,
            None => self.error(error.into_problem()),
        })
    }

    fn new_filter(&self, size: FilterSize) -> Result<NewFilter, TableError> {
        let filter = TableFilter::of(self);
        let (family, holds) = self.filter_terms();
        let properties = self.properties();
        if properties.prefix_extractor().is_some()
            && properties.prefix_filtering()
            && holds.prefixes.is_none()
        {
            return Err(Problem::Input { why: "the table's prefix extractor is not known by name" }.into());
        }
        let old = self.old_filter(family)?;
        let is_known = |old: &Old| match old.layout {
            FilterLayout::PerBlock => !matches!(family, Family::Native | Family::Unknown),
            FilterLayout::Full | FilterLayout::Partitioned => {
                matches!(family, Family::RocksDb | Family::Native)
            }
        };
        match &old {
            Some(old) if !is_known(old) => {
                Err(Problem::Input { why: "the policy of the table's filter is not known" }.into())
            }
            // Keys belong to partitions by their order.
            Some(Old { layout: FilterLayout::Partitioned, .. }) if self.order().is_none() => {
                Err(Problem::Input { why: "the order of the table's keys is not known by name" }.into())
            }
            Some(old) if old.layout == FilterLayout::PerBlock => self.new_per_block(&filter, Some(old), size),
            None if self.footer().format_version == 0 && properties.is_empty() => {
                self.new_per_block(&filter, None, size)
            }
            _ => self.new_full(&filter, old.as_ref(), size),
        }
    }

    fn old_filter(&self, family: Family) -> Result<Option<Old>, TableError> {
        let Some(entry) = &self.metaindex().filter else { return Ok(None) };
        let mut old = Old { layout: entry.layout, family, stored: Vec::new(), handles: Vec::new() };
        if entry.layout == FilterLayout::Partitioned {
            TableFilter::of(self).for_each_handle(|key, handle| {
                let content = self.read_damaged(handle, Role::FilterPartition)?.unwrap_or_default();
                old.stored.push((key.to_vec(), content));
                old.handles.push(handle);
                Ok(())
            })?;
        } else {
            let content = self.read_damaged(entry.handle, Role::Filter)?.unwrap_or_default();
            old.stored.push((Vec::new(), content));
            old.handles.push(entry.handle);
        }
        Ok(Some(old))
    }

    fn new_per_block(
        &self,
        filter: &TableFilter<'_, S>,
        old: Option<&Old>,
        size: FilterSize,
    ) -> Result<NewFilter, TableError> {
        let dialect = match old {
            Some(Old { family: Family::RocksDb | Family::LevelDbSigned, .. }) => Name::RocksDbBlock,
            _ => Name::LevelDb,
        };
        let walk = |bits: f64| walk_per_block(self, filter, dialect, bits);
        let (bits, (block, entries)) = match (size, old) {
            (FilterSize::AsBefore, Some(old)) => {
                let stored = &old.stored[0].1;
                let mut fits = None;
                for bits in possible_bits_per_block(stored, old.family).map(f64::from) {
                    let made = walk(bits)?;
                    if made.0.len() == stored.len() {
                        fits = Some((bits, made));
                        break;
                    }
                }
                fits.ok_or(NO_SIZE)?
            }
            (FilterSize::AsBefore, None) => return Err(NO_FILTER.into()),
            (FilterSize::BitsPerKey(bits), _) => (bits, walk(bits)?),
            (FilterSize::Fpr(fpr), _) => {
                let (block, entries) = walk(10.0)?;
                let made = PerBlock::new(&block, Family::LevelDb);
                let filters = made.filters().filter(|part| !part.is_empty()).count().max(1);
                // LevelDB's rate rises with the keys of a filter, and each of these has few.
                let bits = bits_for(fpr, dialect, entries / filters as u64)?;
                (bits, walk(bits)?)
            }
        };
        self.made(FilterLayout::PerBlock, Policy::new(dialect, bits), old, vec![block], entries)
    }

    fn new_full(
        &self,
        filter: &TableFilter<'_, S>,
        old: Option<&Old>,
        size: FilterSize,
    ) -> Result<NewFilter, TableError> {
        let none = Vec::new();
        let stored = old.map_or(&none, |old| &old.stored);
        let contents: Vec<&[u8]> = stored.iter().map(|(_, content)| &content[..]).collect();
        let layout = old.map_or(FilterLayout::Full, |old| old.layout);
        let partitioned = layout == FilterLayout::Partitioned;
        let family = old.map_or(Family::RocksDb, |old| old.family);
        let dialects = match dialects_of(self, family, &contents) {
            // Nothing could be read: use what the policy makes today.
            [] if family == Family::Native => &[Name::Native],
            [] => &[Name::RocksDb],
            found => found,
        };
        let walk = |dialect, bits: f64, rules, lengths| {
            walk_full(self, filter, stored, partitioned, (dialect, bits, rules), lengths)
        };
        let dialect = dialects[0];
        let bits = match size {
            FilterSize::AsBefore if old.is_none() => return Err(NO_FILTER.into()),
            FilterSize::AsBefore => None,
            FilterSize::BitsPerKey(bits) => Some(bits),
            FilterSize::Fpr(fpr) => {
                let entries = walk(dialect, 10.0, Rules::default(), None)?.counts.iter().sum();
                Some(bits_for(fpr, dialect, entries)?)
            }
        };
        if let Some(bits) = bits {
            let made = walk(dialect, bits, Rules::default(), None)?;
            let entries = made.counts.iter().sum();
            return self.made(layout, Policy::new(dialect, bits), old, made.contents, entries);
        }
        let same_lengths =
            |made: &[Vec<u8>]| made.iter().map(Vec::len).eq(contents.iter().map(|old| old.len()));
        // The rules and bits whose bytes are closest to the stored ones: damage changes few bytes.
        let mut best: Option<Guess> = None;
        for &dialect in dialects {
            for &rules in candidates(filter) {
                let counts = walk(dialect, 10.0, rules, None)?.counts;
                let entries = counts.iter().sum::<u64>();
                let mut consider = |policy, made: Vec<Vec<u8>>| {
                    if same_lengths(&made) {
                        let apart = differing_bytes(&made, &contents);
                        if best.as_ref().is_none_or(|best| apart < best.apart) {
                            best = Some(Guess { apart, policy, made, entries });
                        }
                    }
                };
                for bits in possible_bits(dialect, family, &contents, &counts) {
                    consider(Some((dialect, bits)), walk(dialect, bits, rules, None)?.contents);
                }
                if matches!(dialect, Name::RocksDb | Name::RocksDbRibbon) {
                    consider(None, walk(dialect, 10.0, rules, Some(&contents))?.contents);
                }
            }
        }
        let Guess { policy, made, entries, .. } = best.ok_or(NO_SIZE)?;
        let (asked, bits) = policy.unwrap_or((dialect, 10.0));
        let mut new = self.made(layout, Policy::new(asked, bits), old, made, entries)?;
        new.bits_per_key = policy.map(|(_, bits)| bits);
        Ok(new)
    }

    fn made(
        &self,
        layout: FilterLayout,
        policy: Result<Policy, fullbloom::SizeError>,
        old: Option<&Old>,
        contents: Vec<Vec<u8>>,
        entries: u64,
    ) -> Result<NewFilter, TableError> {
        let policy = policy.map_err(Problem::from)?;
        if contents.is_empty() || contents.iter().all(Vec::is_empty) {
            return Err(Problem::Input { why: "the table has no keys for a filter" }.into());
        }
        let places = old.filter(|old| {
            old.stored.iter().map(|(_, content)| content.len()).eq(contents.iter().map(Vec::len))
        });
        if layout == FilterLayout::Partitioned && old.is_none_or(|old| old.stored.len() != contents.len()) {
            return Err(Problem::Input {
                why: "the partitions of the table's filter are not those of its keys",
            }
            .into());
        }
        let stored = old.is_some_and(|old| {
            let role = match old.layout {
                FilterLayout::Partitioned => Role::FilterPartition,
                FilterLayout::Full | FilterLayout::PerBlock => Role::Filter,
            };
            let same = old.stored.iter().map(|(_, content)| content).eq(&contents);
            same && old.handles.iter().all(|handle| self.read(*handle, role).is_ok())
        });
        let stored_name = self.metaindex().filter.as_ref().map(|entry| entry.policy.clone());
        Ok(NewFilter {
            layout,
            dialect: policy.dialect(),
            bits_per_key: Some(policy.bits_per_key()),
            policy: stored_name.unwrap_or_else(|| policy.engine_name().to_owned()),
            policy_property: policy.property_name(),
            contents,
            keys: old.map_or_else(Vec::new, |old| old.stored.iter().map(|(key, _)| key.clone()).collect()),
            entries,
            old_len: old.map(|old| old.handles.iter().map(|handle| handle.size).sum()),
            places: places.map(|old| old.handles.clone()),
            stored,
        })
    }

    /// Writes the table with this filter, which was built from it; returns the length of the file.
    pub fn write_with(&self, filter: &NewFilter, out: &mut dyn Write) -> Result<u64, TableError> {
        let written = match &filter.places {
            Some(places) => self.write_in_place(filter, places, out),
            None => self.write_behind(filter, out),
        };
        written.map_err(|problem| self.error(problem))
    }

    fn write_in_place(
        &self,
        filter: &NewFilter,
        places: &[Handle],
        out: &mut dyn Write,
    ) -> Result<u64, Problem> {
        let Footer { checksum, base_context_checksum, .. } = *self.footer();
        let mut blocks: Vec<(Handle, &[u8])> =
            places.iter().copied().zip(filter.contents.iter().map(|content| &content[..])).collect();
        blocks.sort_by_key(|(place, _)| place.offset);
        let mut at = 0;
        for (place, content) in blocks {
            self.copy(at..place.offset, out)?;
            let trailer = trailer(checksum, base_context_checksum, place.offset, content, 0);
            let written = out.write_all(content).and_then(|()| out.write_all(&trailer));
            written.map_err(|cause| Problem::Io { action: "write", at: place.offset, cause })?;
            at = place.offset + place.size + TRAILER_LEN;
        }
        self.copy(at..self.file_len(), out)?;
        Ok(self.file_len())
    }

    fn write_behind(&self, filter: &NewFilter, out: &mut dyn Write) -> Result<u64, Problem> {
        let footer = *self.footer();
        self.copy(0..footer.offset, out)?;
        let mut out = Output::behind(&footer, out);
        let mut len = filter.byte_len();
        let mut handles = Vec::with_capacity(filter.contents.len());
        for content in &filter.contents {
            handles.push(out.block(content, Compression::None)?);
        }
        let handle = if filter.layout == FilterLayout::Partitioned {
            let format =
                IndexFormat { delta_values: self.index_shape().format.delta_values, first_keys: false };
            let mut index = IndexBlockBuilder::new(1, format);
            filter.keys.iter().zip(&handles).for_each(|(key, handle)| index.add(key, *handle, &[]));
            let top = index.finish();
            len += top.len() as u64;
            out.block(&top, Compression::None)?
        } else {
            handles[0]
        };
        let mut named = self.named_blocks()?;
        named.retain(|name, _| {
            !FilterLayout::all().any(|layout| name.starts_with(layout.prefix().as_bytes()))
        });
        named.insert([filter.layout.prefix(), &filter.policy].concat().into_bytes(), handle);
        if let Some(properties) = self.properties_with(filter, len)? {
            let old = [&b"rocksdb.properties"[..], b"rocksdb.stats"]
                .into_iter()
                .find(|name| named.contains_key(*name));
            let handle = out.block(&properties, Compression::None)?;
            named.insert(old.unwrap_or(b"rocksdb.properties").to_vec(), handle);
        }
        let is_leveldb = self.properties().is_empty();
        let metaindex = encode_metaindex(named, if is_leveldb { 16 } else { 1 });
        let metaindex = out.block(&metaindex, Compression::None)?;
        let mut bytes = Vec::new();
        Footer { metaindex, offset: out.offset(), ..footer }.encode(&mut bytes);
        out.write(&bytes)?;
        Ok(out.offset())
    }

    /// All blocks that the metaindex names. Engines name a dozen blocks; a file that names thousands, or by
    /// long names that share their beginnings, could take more memory than it has bytes.
    fn named_blocks(&self) -> Result<BTreeMap<Vec<u8>, Handle>, Problem> {
        const MOST: usize = 1000;
        let block = self.block(self.footer().metaindex, Role::Metaindex)?;
        let mut named = BTreeMap::new();
        let mut entries = block.entries();
        while entries.advance()? {
            if named.len() == MOST || entries.key().len() > LONGEST_NAME {
                return Err(Problem::Input { why: "the metaindex names more than engines write" });
            }
            let handle = Handle::decode(&mut cursor(entries.value(), block.at()))?;
            named.insert(entries.key().to_vec(), handle);
        }
        Ok(named)
    }

    /// The properties, updated for the new filter; `None` if there are none.
    ///
    /// They are copied one by one: names share their beginnings, so that all of them could be far larger than
    /// the block.
    fn properties_with(&self, filter: &NewFilter, len: u64) -> Result<Option<Vec<u8>>, Problem> {
        let properties = self.properties();
        let Some(mut entries) = properties.entries() else { return Ok(None) };
        let number = |value: u64| {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            bytes
        };
        let mut ours = BTreeMap::from([("rocksdb.filter.size", number(len))]);
        // Old releases do not write it.
        if properties.filter_entries().is_some() {
            ours.insert("rocksdb.num.filter_entries", number(filter.entries));
        }
        if properties.filter_policy().is_none() {
            ours.insert("rocksdb.filter.policy", filter.policy_property.as_bytes().to_vec());
        }
        let mut ours = ours.into_iter().peekable();
        let mut block = BlockBuilder::new(i32::MAX as u32);
        while entries.advance()? {
            let mut is_ours = false;
            while let Some((name, value)) = ours.next_if(|(name, _)| name.as_bytes() <= entries.key()) {
                is_ours = name.as_bytes() == entries.key();
                block.add(name.as_bytes(), &value);
            }
            if !is_ours {
                block.add(entries.key(), entries.value());
            }
        }
        ours.for_each(|(name, value)| block.add(name.as_bytes(), &value));
        Ok(Some(block.finish()))
    }

    fn copy(&self, range: std::ops::Range<u64>, out: &mut dyn Write) -> Result<(), Problem> {
        const PIECE: u64 = 1 << 20;
        let mut at = range.start;
        while at < range.end {
            let len = PIECE.min(range.end - at);
            let io = |action| move |cause| Problem::Io { action, at, cause };
            let bytes = self.source().read(at, len as usize).map_err(io("read"))?;
            out.write_all(&bytes).map_err(io("write"))?;
            at += len;
        }
        Ok(())
    }
}

const NO_FILTER: Problem =
    Problem::Input { why: "the table has no filter: give its size, as bits per key or as a rate" };

const NO_SIZE: Problem = Problem::Input {
    why: "the old filter does not reveal its bits per key: give its size, as bits per key or as a rate",
};

fn differing_bytes(made: &[Vec<u8>], stored: &[&[u8]]) -> usize {
    let pairs = made.iter().zip(stored);
    pairs.map(|(made, stored)| made.iter().zip(*stored).filter(|(a, b)| a != b).count()).sum()
}

/// The fewest bits per key that have the rate: in tenths, or whole bits for dialects that take no others.
fn bits_for(fpr: f64, dialect: Name, entries: u64) -> Result<f64, Problem> {
    let expected_keys = entries.max(1);
    let plan = |target| any::plan(dialect, &Request { expected_keys, target }).map_err(Problem::from);
    let first = plan(Target::Fpr(fpr))?.geometry.bit_len as f64 / expected_keys as f64;
    // Small filters are rounded up, which more keys do not need.
    let first = first.min(100.0);
    let parts = if matches!(dialect, Name::LevelDb | Name::RocksDbBlock) { 1.0 } else { 10.0 };
    let mut bits = (first * parts).floor().max(1.0);
    while bits < 100.0 * parts && plan(Target::BitsPerKey(bits / parts))?.expected_fpr > fpr {
        bits += 1.0;
    }
    Ok(bits / parts)
}
