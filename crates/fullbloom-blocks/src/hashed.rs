//! One key and many filters: every hash function is computed at most once.

use core::cell::Cell;
use fullbloom::{Hashing, KeyHash};
use fullbloom_dialects::hash::{bloom32_leveldb, bloom32_rocksdb, xxph3_rocksdb};

/// A key that is looked up in the filters of many tables.
///
/// The tables of a database may have filters of several dialects, each with its own hash function. A hash is
/// computed when the first filter needs it, and kept for the others.
///
/// ```
/// use fullbloom_dialects::Name;
/// use fullbloom_blocks::{
///     Family, FilterBlockBuilder, FilterOptions, Finished, FullBlock, HashedKey, Holds, Policy, Question,
/// };
/// use std::sync::Arc;
///
/// let mut tables = Vec::new();
/// for table in 0..3 {
///     let mut builder = FilterBlockBuilder::new(FilterOptions::new(Policy::new(Name::RocksDb, 10.0)?))?;
///     for key in 0..1_000 {
///         builder.add(format!("table {table}, key {key:04}").as_bytes())?;
///     }
///     let Finished::Block(block) = builder.finish()? else { panic!("a full filter is one block") };
///     let cached: Arc<[u8]> = block.into(); // owned by the block cache, and parsed once
///     tables.push(FullBlock::new(cached, Family::RocksDb, Holds::default()));
/// }
/// let key = HashedKey::new(b"table 1, key 0017");
/// let found = tables.iter().filter(|filter| filter.may_match_hashed(Question::Get, &key)).count();
/// assert!(found >= 1);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct HashedKey<'k> {
    key: &'k [u8],
    xxph3: Cell<Option<u64>>,
    bloom32: Cell<Option<u32>>,
    leveldb: Cell<Option<u32>>,
    native: Cell<Option<KeyHash>>,
}

/// The hash of native filters without a seed or secret of their own.
pub(super) const DEFAULT: Hashing = Hashing::Seed(0);

fn once<H: Copy>(cell: &Cell<Option<H>>, hash: impl FnOnce() -> H) -> H {
    cell.get().unwrap_or_else(|| {
        let made = hash();
        cell.set(Some(made));
        made
    })
}

impl<'k> HashedKey<'k> {
    /// The key. Nothing is hashed yet.
    #[inline]
    pub fn new(key: &'k [u8]) -> HashedKey<'k> {
        HashedKey {
            key,
            xxph3: Cell::new(None),
            bloom32: Cell::new(None),
            leveldb: Cell::new(None),
            native: Cell::new(None),
        }
    }

    /// The key that the hash was made of.
    #[inline]
    pub fn key(&self) -> &'k [u8] {
        self.key
    }

    /// The hash of RocksDB's filters since format_version 5.
    #[inline]
    pub(super) fn xxph3(&self) -> u64 {
        once(&self.xxph3, || xxph3_rocksdb(self.key))
    }

    /// The hash of RocksDB's legacy and per-block filters.
    #[inline]
    pub(super) fn bloom32(&self) -> u32 {
        once(&self.bloom32, || bloom32_rocksdb(self.key))
    }

    /// The hash of LevelDB's filters.
    #[inline]
    pub(super) fn bloom32_leveldb(&self) -> u32 {
        once(&self.leveldb, || bloom32_leveldb(self.key))
    }

    /// The hash of native filters that have the default seed.
    #[inline]
    pub(super) fn native(&self) -> KeyHash {
        once(&self.native, || DEFAULT.hash(self.key))
    }
}
