//! The metaindex: names of everything in a table that is not data, and where each is.

use crate::block::Block;
use crate::bytes::cursor;
use crate::error::{At, Problem};
use crate::handle::Handle;

/// How a filter is laid out in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilterLayout {
    /// One filter for all keys.
    Full,
    /// One filter for each range of keys, and an index over them.
    Partitioned,
    /// One small filter for every two kibibytes of data blocks.
    PerBlock,
}

impl FilterLayout {
    /// In the order in which RocksDB looks for them.
    const SEARCHED: [(FilterLayout, &str); 3] = [
        (FilterLayout::Full, "fullfilter."),
        (FilterLayout::Partitioned, "partitionedfilter."),
        (FilterLayout::PerBlock, "filter."),
    ];

    /// All layouts that a table may have a filter in.
    pub(crate) fn all() -> impl Iterator<Item = FilterLayout> {
        Self::SEARCHED.into_iter().map(|(layout, _)| layout)
    }

    /// The text before the policy's name in the metaindex.
    pub fn prefix(self) -> &'static str {
        Self::SEARCHED.iter().find(|(layout, _)| *layout == self).map_or("", |(_, prefix)| prefix)
    }

    /// The layout's name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            FilterLayout::Full => "full",
            FilterLayout::Partitioned => "partitioned",
            FilterLayout::PerBlock => "block",
        }
    }
}

/// Where a table's filter is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterEntry {
    /// How it is laid out.
    pub layout: FilterLayout,
    /// The name of the policy that made it.
    pub policy: String,
    /// The filter block, or the top-level index over the partitions.
    pub handle: Handle,
}

/// The contents of the metaindex.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metaindex {
    /// Where the filter is, if the table has one.
    pub filter: Option<FilterEntry>,
    /// The properties; absent in LevelDB's tables.
    pub properties: Option<Handle>,
    /// The index, if it is not in the footer (format_version 6 and later).
    pub index: Option<Handle>,
    /// The compression dictionary of data blocks.
    pub dictionary: Option<Handle>,
    /// Deletions of ranges.
    pub range_deletions: Option<Handle>,
}

/// Policy names are short; a longer one is not kept.
pub(crate) const LONGEST_NAME: usize = 256;

impl Metaindex {
    pub(crate) fn decode(block: &Block<impl AsRef<[u8]>>) -> Result<Metaindex, Problem> {
        let mut found = Metaindex::default();
        let mut entries = block.entries();
        while entries.advance()? {
            let handle = || Ok(Handle::decode(&mut cursor(entries.value(), block.at()))?);
            let slot = match entries.key() {
                b"rocksdb.properties" | b"rocksdb.stats" => &mut found.properties,
                b"rocksdb.index" => &mut found.index,
                b"rocksdb.compression_dict" => &mut found.dictionary,
                b"rocksdb.range_del" => &mut found.range_deletions,
                name => {
                    found.consider_filter(name, entries.at(), handle)?;
                    continue;
                }
            };
            *slot = Some(handle()?);
        }
        Ok(found)
    }

    fn consider_filter(
        &mut self,
        name: &[u8],
        at: At,
        handle: impl Fn() -> Result<Handle, Problem>,
    ) -> Result<(), Problem> {
        let searched = FilterLayout::SEARCHED.iter().enumerate();
        let hit = searched.rev().find_map(|(rank, (layout, prefix))| {
            Some((rank, *layout, name.strip_prefix(prefix.as_bytes())?))
        });
        let Some((rank, layout, policy)) = hit else { return Ok(()) };
        if policy.len() > LONGEST_NAME {
            let got = policy.len() as i128;
            return Err(Problem::Value {
                field: "filter policy name",
                at,
                got,
                allowed: "256 bytes at most",
            });
        }
        let known = self.filter.as_ref().map(|filter| filter.layout);
        let known_rank = FilterLayout::SEARCHED.iter().position(|(layout, _)| Some(*layout) == known);
        if known_rank.is_none_or(|known| rank < known) {
            let policy = String::from_utf8_lossy(policy).into_owned();
            self.filter = Some(FilterEntry { layout, policy, handle: handle()? });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::put_varint;

    fn metaindex(names: &[&str]) -> Metaindex {
        let mut bytes = Vec::new();
        for (i, name) in names.iter().enumerate() {
            bytes.push(0);
            put_varint(&mut bytes, name.len() as u64);
            bytes.push(2);
            bytes.extend_from_slice(name.as_bytes());
            Handle { offset: i as u64, size: 7 }.encode(&mut bytes);
        }
        bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        Metaindex::decode(&Block::new(bytes, 0).unwrap()).unwrap()
    }

    #[test]
    fn a_full_filter_is_preferred_to_a_partitioned_and_that_to_a_per_block_one() {
        let found = metaindex(&["filter.a", "fullfilter.b", "partitionedfilter.c", "rocksdb.properties"]);
        let filter = found.filter.unwrap();
        assert_eq!((filter.layout, &filter.policy[..], filter.handle.offset), (FilterLayout::Full, "b", 1));
        assert_eq!(found.properties, Some(Handle { offset: 3, size: 7 }));
        let found = metaindex(&["filter.leveldb.BuiltinBloomFilter2"]).filter.unwrap();
        assert_eq!(
            (found.layout, &found.policy[..]),
            (FilterLayout::PerBlock, "leveldb.BuiltinBloomFilter2")
        );
        assert_eq!(metaindex(&["other", "rocksdb.hashindex.prefixes"]), Metaindex::default());
    }
}
