//! The facts about a table's filter that need no lookups.

use crate::error::TableError;
use crate::filter::{Content, Family, Holds, PerBlock};
use crate::metaindex::FilterLayout;
use crate::reader::Table;
use crate::source::Source;
use fullbloom::sizing::Geometry;
use fullbloom_dialects::Filter;
use fullbloom_dialects::Name;
use fullbloom_dialects::filter::{Dialect, Format};
use fullbloom_dialects::rocksdb::FullFilter;
use fullbloom_dialects::{LevelDb, RocksDbBlock};

/// A table's filter in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// Distinct user keys in the table.
    pub keys: u64,
    /// How the filter is laid out; `None` without one.
    pub layout: Option<FilterLayout>,
    /// The dialect of its bytes, or of most partitions if they differ; `None` if unknown.
    pub dialect: Option<Name>,
    /// The policy's name in the metaindex.
    pub policy: Option<String>,
    /// The policy's name in the properties.
    pub policy_property: Option<String>,
    /// Partitions, or filters of a per-block filter block that hold keys; 1 for a full filter.
    pub partitions: u64,
    /// Bytes of the filter, the top-level index or the offsets included.
    pub bytes: u64,
    /// Bits of all its arrays.
    pub bits: u64,
    /// Bits that are set.
    pub set_bits: u64,
    /// Probes for a key, the most of any partition.
    pub probes: u32,
    /// Probes for a key, the fewest of any partition.
    pub fewest_probes: u32,
    /// Entries of the filter, if the properties record them.
    pub entries: Option<u64>,
    /// The rate to expect of an absent key, over the partitions by their bits.
    pub expected_fpr: f64,
    /// The number of entries estimated from the bits.
    pub estimated_entries: Option<f64>,
    /// Whether the filter holds whole keys, prefixes, or both.
    pub holds: Holds,
    /// The prefix extractor as the properties name it.
    pub prefix_extractor: Option<String>,
    /// Data blocks that the index leads to.
    pub data_blocks: u64,
}

impl Inspection {
    /// Share of bits set; 0 without bits.
    pub fn fill(&self) -> f64 {
        if self.bits == 0 { 0.0 } else { self.set_bits as f64 / self.bits as f64 }
    }

    /// Bits of the filter for each entry, or for each key if the entries are unknown.
    pub fn bits_per_key(&self) -> Option<f64> {
        let keys = self.entries.filter(|&entries| entries > 0).unwrap_or(self.keys);
        (keys > 0 && self.bits > 0).then(|| self.bits as f64 / keys as f64)
    }
}

/// Hashes looked up in all filters of a per-block filter block together. Fewer under the fuzzer, where the
/// number only affects the time.
const ASKED: u32 = if cfg!(fuzzing) { 1 << 10 } else { 1 << 20 };

/// Sums over partitions.
#[derive(Default)]
struct Sums {
    partitions: u64,
    bits: u64,
    set_bits: u64,
    /// Fewest and most.
    probes: Option<(u32, u32)>,
    weighted_fpr: f64,
    estimated: Option<f64>,
    /// Bits of each dialect seen.
    dialects: Vec<(Name, u64)>,
}

impl Sums {
    fn add<D: Dialect, S: AsRef<[u8]>>(&mut self, filter: &Filter<D, S>) {
        let (set_bits, estimated, fpr) = filter.occupancy();
        self.sum(D::NAME, filter.geometry(), set_bits, estimated, fpr);
    }

    fn sum(&mut self, name: Name, geometry: Geometry, set_bits: u64, estimated: Option<f64>, fpr: f64) {
        let bits = geometry.bit_len;
        self.partitions += 1;
        self.bits += bits;
        self.set_bits += set_bits;
        let (fewest, most) = self.probes.unwrap_or((geometry.probes, geometry.probes));
        self.probes = Some((fewest.min(geometry.probes), most.max(geometry.probes)));
        self.weighted_fpr += fpr * bits as f64;
        let before = if self.partitions == 1 { Some(0.0) } else { self.estimated };
        self.estimated = before.zip(estimated).map(|(a, b)| a + b);
        match self.dialects.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += bits,
            None => self.dialects.push((name, bits)),
        }
    }

    /// Filters of a per-block filter block are many and small: each gets a share of the [`ASKED`] lookups
    /// instead of those of a single filter.
    fn add_per_block(&mut self, block: &PerBlock<impl AsRef<[u8]>>, family: Family) {
        let parts = || block.filters().filter(|part| !part.is_empty());
        let asked = (ASKED / parts().count().max(1) as u32).max(64);
        for part in parts() {
            match family {
                Family::LevelDb => self.add_asked::<LevelDb>(part, asked),
                _ => self.add_asked::<RocksDbBlock>(part, asked),
            }
        }
    }

    fn add_asked<D: Format + Dialect<Hash = u32>>(&mut self, part: &[u8], asked: u32) {
        // An engine treats a filter that it cannot read as "maybe".
        let Ok(view) = Filter::<D>::view(part) else {
            self.bits += 8 * part.len() as u64;
            self.weighted_fpr += 8.0 * part.len() as f64;
            return;
        };
        const GOLDEN: u32 = 0x9e37_79b9;
        // Other hashes for each filter, and not 0: all its probes are at one position, so that it passes as
        // often as that bit is set, which is far more often than other hashes do.
        let first = (self.partitions as u32).wrapping_mul(asked) | 1;
        let hashes = (0..asked).map(|i| first.wrapping_add(i).wrapping_mul(GOLDEN));
        let hit = hashes.filter(|hash| view.may_contain_raw(*hash)).count();
        let fpr = hit as f64 / f64::from(asked);
        self.sum(D::NAME, view.geometry(), view.count_ones(), view.estimated_keys(), fpr);
    }

    fn add_full(&mut self, content: &[u8], family: Family) {
        match Content::read(content, family) {
            Content::RocksDb(FullFilter::Legacy(filter)) => self.add(&filter),
            Content::RocksDb(FullFilter::FastLocal(filter)) => self.add(&filter),
            Content::RocksDb(FullFilter::Ribbon(filter)) => self.add(&filter),
            Content::Native(filter) => {
                let fpr = filter.expected_fpr();
                self.sum(Name::Native, filter.geometry(), filter.count_ones(), filter.estimated_keys(), fpr);
            }
            Content::RocksDb(FullFilter::Nothing) => self.partitions += 1,
            Content::RocksDb(FullFilter::Everything) | Content::Unknown => {
                self.partitions += 1;
                // Every key passes: its weight is its size.
                self.bits += 8 * content.len() as u64;
                self.weighted_fpr += 8.0 * content.len() as f64;
            }
        }
    }
}

impl<S: Source> Table<S> {
    /// Inspects the filter. Reads all of it, and the whole table only if the number of keys is not recorded.
    pub fn inspect(&self) -> Result<Inspection, TableError> {
        let filter = self.filter()?;
        let mut sums = Sums::default();
        let mut bytes = filter.block()?.map_or(0, |block| block.len() as u64);
        match filter.layout() {
            None => {}
            Some(FilterLayout::Full) => {
                if let Some(content) = filter.block()? {
                    sums.add_full(&content, filter.family());
                }
            }
            Some(FilterLayout::Partitioned) => filter.for_each_partition(|_, _, content| {
                bytes += content.len() as u64;
                sums.add_full(content, filter.family());
                Ok(())
            })?,
            Some(FilterLayout::PerBlock) => {
                if let Some(block) = filter.block()? {
                    sums.add_per_block(&PerBlock::new(&block, filter.family()), filter.family());
                }
            }
        }
        let properties = self.properties();
        Ok(Inspection {
            keys: self.count_keys()?,
            layout: filter.layout(),
            dialect: sums.dialects.iter().max_by_key(|(_, bits)| *bits).map(|(name, _)| *name),
            policy: self.metaindex().filter.as_ref().map(|entry| entry.policy.clone()),
            policy_property: properties.filter_policy(),
            partitions: sums.partitions,
            bytes,
            bits: sums.bits,
            set_bits: sums.set_bits,
            probes: sums.probes.map_or(0, |(_, most)| most),
            fewest_probes: sums.probes.map_or(0, |(fewest, _)| fewest),
            entries: properties.filter_entries().filter(|_| filter.layout().is_some()),
            expected_fpr: if sums.bits == 0 { 1.0 } else { sums.weighted_fpr / sums.bits as f64 },
            estimated_entries: sums.estimated,
            holds: filter.holds().clone(),
            prefix_extractor: properties.prefix_extractor(),
            data_blocks: self.count_blocks()?,
        })
    }

    /// Data blocks that the index leads to; they are not read.
    fn count_blocks(&self) -> Result<u64, TableError> {
        let mut blocks = self.data_blocks()?;
        let mut count = 0;
        while blocks.advance()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Distinct user keys. Recorded for a filter of whole keys; else they are counted.
    fn count_keys(&self) -> Result<u64, TableError> {
        let properties = self.properties();
        let full = matches!(
            self.metaindex().filter.as_ref().map(|entry| entry.layout),
            Some(FilterLayout::Full | FilterLayout::Partitioned)
        );
        if full
            && properties.whole_key_filtering()
            && properties.prefix_extractor().is_none()
            && let Some(entries) = properties.filter_entries()
        {
            return Ok(entries);
        }
        let mut keys = self.keys()?;
        let mut count = 0;
        while keys.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_dialects::rocksdb::{Builder, FilterType, Policy};

    #[test]
    fn partitions_with_different_probes_give_a_range() {
        let keys: Vec<Vec<u8>> = (0..1000).map(|i| format!("{i}").into_bytes()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let partition = |bits: f64| {
            let mut builder = Builder::new(Policy::new(FilterType::FastLocal, bits).unwrap());
            builder.add_batch(keys.as_slice()).unwrap();
            builder.finish().unwrap()
        };
        let mut sums = Sums::default();
        for bits in [10.0, 5.0, 16.0] {
            sums.add_full(&partition(bits), Family::RocksDb);
        }
        let (fewest, most) = sums.probes.unwrap();
        assert_eq!((fewest, most), (3, 9));
        assert_eq!(sums.partitions, 3);
    }
}
