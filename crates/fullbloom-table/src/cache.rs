//! A block cache: plain blocks of many tables in a fixed number of bytes.
//!
//! ```text
//!   high pool   filters, top-level indexes, index blocks   ── evicted blocks go to ────►  low pool   data blocks
//!   pinned      entries of the high pool that stay until their table is dropped
//!   reserved    bytes lent to filter builders: taken from the low pool, which makes room
//! ```
//!
//! Underneath are two caches of the `quick_cache` crate, which prefer frequently used blocks (a clock with a
//! history of evicted keys) over recently used ones.

use crate::handle::Handle;
use crate::kept::KeptBlock;
use crate::role::Role;
use fullbloom_dialects::rocksdb::Reservation;
use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A block of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    table: u64,
    offset: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    block: Arc<KeptBlock>,
    pinned: bool,
}

#[derive(Debug, Clone, Copy)]
struct Charge;

impl Weighter<Key, Entry> for Charge {
    /// A weight of zero would never be evicted.
    fn weight(&self, _: &Key, entry: &Entry) -> u64 {
        entry.block.byte_len().max(1) as u64
    }
}

/// Collects blocks evicted from the high pool.
#[derive(Debug, Clone, Copy)]
struct Spill;

impl Lifecycle<Key, Entry> for Spill {
    type RequestState = Vec<(Key, Entry)>;

    fn is_pinned(&self, _: &Key, entry: &Entry) -> bool {
        entry.pinned
    }

    fn begin_request(&self) -> Self::RequestState {
        Vec::new()
    }

    fn on_evict(&self, state: &mut Self::RequestState, key: Key, entry: Entry) {
        state.push((key, entry));
    }
}

/// Hashes a block's position: two numbers, of which a file can choose one. The multiplier is secret, so that
/// nobody can force collisions; a general hash would take as long as the rest of a lookup.
#[derive(Debug, Clone, Copy)]
struct PlaceHash {
    state: u64,
    multiplier: u64,
}

impl BuildHasher for PlaceHash {
    type Hasher = PlaceHash;

    fn build_hasher(&self) -> PlaceHash {
        *self
    }
}

impl Hasher for PlaceHash {
    #[inline]
    fn write_u64(&mut self, n: u64) {
        let product = u128::from(self.state ^ n) * u128::from(self.multiplier);
        self.state = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

type Pool = Cache<Key, Entry, Charge, PlaceHash, Spill>;

/// A cache of blocks, shared by any number of tables.
pub struct BlockCache {
    high: Pool,
    low: Pool,
    low_capacity: u64,
    reserved: AtomicU64,
    next_table: AtomicU64,
    hits: Counts,
    misses: Counts,
}

/// Counts of a cache's lookups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounts {
    /// Blocks found in the cache.
    pub hits: u64,
    /// Blocks that had to be read.
    pub misses: u64,
}

/// One counter for each role.
#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; Role::ALL.len()]);

impl Counts {
    pub(crate) fn add(&self, role: Role, n: u64) {
        self.0[role as usize].fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn of(&self, role: Role) -> u64 {
        self.0[role as usize].load(Ordering::Relaxed)
    }
}

impl BlockCache {
    /// A cache of this many bytes, half of them kept for filters and indexes.
    pub fn new(capacity: u64) -> Arc<BlockCache> {
        Self::with_high_ratio(capacity, 0.5)
    }

    /// A cache that keeps this share of its bytes, 0 to 1, for filters and indexes.
    pub fn with_high_ratio(capacity: u64, ratio: f64) -> Arc<BlockCache> {
        let ratio = if ratio >= 0.0 { ratio.min(1.0) } else { 0.0 };
        let high = (capacity as f64 * ratio) as u64;
        let low = capacity.saturating_sub(high);
        Arc::new(BlockCache {
            high: pool(high),
            low: pool(low),
            low_capacity: low,
            reserved: AtomicU64::new(0),
            next_table: AtomicU64::new(0),
            hits: Counts::default(),
            misses: Counts::default(),
        })
    }

    /// Bytes of the blocks in the cache now.
    pub fn used(&self) -> u64 {
        self.high.weight() + self.low.weight()
    }

    /// Bytes lent to builders now.
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Hits and misses of blocks with this role.
    pub fn counts(&self, role: Role) -> CacheCounts {
        CacheCounts { hits: self.hits.of(role), misses: self.misses.of(role) }
    }

    /// Removes all blocks that are not pinned.
    pub fn clear(&self) {
        self.low.clear();
        self.high.retain(|_, entry| entry.pinned);
    }

    fn get(&self, key: Key, role: Role) -> Option<Arc<KeptBlock>> {
        let found = self.high.get(&key).or_else(|| self.low.get(&key)).map(|entry| entry.block);
        let counts = if found.is_some() { &self.hits } else { &self.misses };
        counts.add(role, 1);
        found
    }

    fn insert(&self, key: Key, block: Arc<KeptBlock>, role: Role, pinned: bool) {
        let entry = Entry { block, pinned };
        if pinned || is_high(role) {
            for (key, spilled) in self.high.insert_with_lifecycle(key, entry) {
                self.low.insert(key, spilled);
            }
        } else {
            self.low.insert(key, entry);
        }
    }
}

fn is_high(role: Role) -> bool {
    role.is_filter() || matches!(role, Role::Index | Role::IndexPartition | Role::Dictionary)
}

/// A pool of few shards when it is small: a block larger than its shard is never kept.
fn pool(capacity: u64) -> Pool {
    const SHARD: u64 = 4 << 20;
    let options = OptionsBuilder::new()
        .shards((capacity / SHARD).clamp(1, 16) as usize)
        .estimated_items_capacity((capacity / 4096).clamp(16, 1 << 20) as usize)
        .weight_capacity(capacity)
        .build()
        .expect("all three options are set");
    let random = RandomState::new();
    let hash = PlaceHash { state: random.hash_one(0), multiplier: random.hash_one(1) | 1 };
    Cache::with_options(options, Charge, hash, Spill)
}

/// Builders borrow from the low pool, which evicts to make room; the total lent cannot exceed it.
impl Reservation for BlockCache {
    fn reserve(&self, bytes: u64) -> bool {
        let room = |reserved: u64| reserved.checked_add(bytes).filter(|&sum| sum <= self.low_capacity);
        match self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room) {
            Ok(before) => {
                self.low.set_capacity(self.low_capacity - before - bytes);
                true
            }
            Err(_) => false,
        }
    }

    fn release(&self, bytes: u64) {
        let left = |reserved: u64| Some(reserved.saturating_sub(bytes));
        let before = self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).unwrap_or(0);
        self.low.set_capacity(self.low_capacity - before.saturating_sub(bytes));
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockCache({} bytes used, {} reserved)", self.used(), self.reserved())
    }
}

/// One table's part of a cache; its pinned blocks are released with it.
#[derive(Debug)]
pub(crate) struct Share {
    cache: Arc<BlockCache>,
    table: u64,
    pinned: std::sync::Mutex<Vec<u64>>,
}

impl Share {
    pub(crate) fn new(cache: Arc<BlockCache>) -> Share {
        let table = cache.next_table.fetch_add(1, Ordering::Relaxed);
        Share { cache, table, pinned: std::sync::Mutex::default() }
    }

    fn key(&self, handle: Handle) -> Key {
        Key { table: self.table, offset: handle.offset }
    }

    pub(crate) fn get(&self, handle: Handle, role: Role) -> Option<Arc<KeptBlock>> {
        self.cache.get(self.key(handle), role)
    }

    pub(crate) fn insert(&self, handle: Handle, block: Arc<KeptBlock>, role: Role, pinned: bool) {
        if pinned {
            self.pinned.lock().unwrap_or_else(|held| held.into_inner()).push(handle.offset);
        }
        self.cache.insert(self.key(handle), block, role, pinned);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let pinned = self.pinned.get_mut().unwrap_or_else(|held| held.into_inner());
        for &offset in pinned.iter() {
            self.cache.high.remove(&Key { table: self.table, offset });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::Decoded;
    use fullbloom_dialects::rocksdb::reservation::BUCKET;

    fn block(len: usize) -> Arc<KeptBlock> {
        KeptBlock::new(vec![0; len], |_| Decoded::Nothing)
    }

    fn at(offset: u64) -> Handle {
        Handle { offset, size: 1 }
    }

    #[test]
    fn tables_do_not_see_each_others_blocks_and_counts_go_by_role() {
        let cache = BlockCache::new(1 << 20);
        let (one, two) = (Share::new(Arc::clone(&cache)), Share::new(Arc::clone(&cache)));
        one.insert(at(7), block(100), Role::Data, false);
        assert!(one.get(at(7), Role::Data).is_some());
        assert!(two.get(at(7), Role::Data).is_none());
        assert!(one.get(at(8), Role::FilterPartition).is_none());
        assert_eq!(cache.counts(Role::Data), CacheCounts { hits: 1, misses: 1 });
        assert_eq!(cache.counts(Role::FilterPartition), CacheCounts { hits: 0, misses: 1 });
        assert_eq!(cache.used(), 100);
    }

    #[test]
    fn data_blocks_do_not_push_filters_out_and_spilled_filters_live_on_as_low() {
        let cache = BlockCache::new(200_000);
        let table = Share::new(Arc::clone(&cache));
        for i in 0..90 {
            table.insert(at(i), block(1000), Role::FilterPartition, false);
        }
        for i in 1000..3000 {
            table.insert(at(i), block(1000), Role::Data, false);
        }
        let kept = (0..90).filter(|&i| table.get(at(i), Role::FilterPartition).is_some()).count();
        assert_eq!(kept, 90);
        assert!(cache.used() <= 200_000);
        cache.clear();
        for i in 0..150 {
            table.insert(at(i), block(1000), Role::FilterPartition, false);
        }
        let kept = (0..150).filter(|&i| table.get(at(i), Role::FilterPartition).is_some()).count();
        assert!(kept > 140, "{kept} of 150 kept in two pools of 100");
    }

    #[test]
    fn pinned_blocks_stay_until_their_table_goes() {
        let cache = BlockCache::new(100_000);
        let table = Share::new(Arc::clone(&cache));
        table.insert(at(0), block(10_000), Role::FilterIndex, true);
        for i in 1..1000 {
            table.insert(at(i), block(1000), Role::FilterPartition, false);
        }
        cache.clear();
        assert!(table.get(at(0), Role::FilterIndex).is_some());
        assert_eq!(cache.used(), 10_000);
        drop(table);
        assert_eq!(cache.used(), 0);
    }

    #[test]
    fn what_builders_borrow_is_taken_from_data_blocks_and_given_back() {
        let cache = BlockCache::new(4 * BUCKET);
        let table = Share::new(Arc::clone(&cache));
        for i in 0..1000 {
            table.insert(at(i), block(1000), Role::Data, false);
        }
        assert!(cache.used() > BUCKET);
        assert!(cache.reserve(BUCKET));
        assert!(cache.used() <= BUCKET);
        assert!(cache.reserve(BUCKET));
        assert!(!cache.reserve(BUCKET), "half of the cache is not for lending");
        assert_eq!(cache.reserved(), 2 * BUCKET);
        cache.release(2 * BUCKET);
        assert_eq!(cache.reserved(), 0);
        for i in 0..1000 {
            table.insert(at(i), block(1000), Role::Data, false);
        }
        assert!(cache.used() > BUCKET);
    }
}
