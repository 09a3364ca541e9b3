//! Many keys at once, in the order of their hashes.
//!
//! A set that must grow for the keys merges them, sorted, with the fingerprints of each shard. That costs the time to
//! sort them and their share of writing the lines once; inserted one by one, each would cost a search in its line and
//! several rewritings while the filter grows (200,000 keys into a set for 1,000: 10 against 29 ns a key). A filter that
//! is larger than the caches gets the keys in the order of its lines, roughly, so that lines are in the cache when the next
//! key needs them (40 million keys: 14 against 19 ns a key).

use super::batch::{CHUNK, Change};
use super::filter::{DynamicFilter, run};
use super::options::Mode;
use super::shape::{MAX_LINES, MIN_BITS, Shape, grown};
use super::shards::Shards;
use crate::slots::GROUP;
use alloc::vec::Vec;
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::Cpu;
use fullbloom_core::kernel::pipeline::hash_all;
use fullbloom_core::keys::Keys;
use fullbloom_core::memory;
use fullbloom_core::native::hashing::Hasher;
use fullbloom_core::sort::{Sorter, distribute};

/// Keys that are put in order at once: 16 MiB of them, and as much room to order them.
const MOST: usize = 1 << 21;

/// Fewer keys are inserted one by one.
const FEWEST: usize = 1 << 12;

/// Batches smaller than 1/PART of the stored keys are inserted one by one: sorting them would cost more than it saves.
const PART: u64 = 4;

/// A smaller filter is in a cache: the lines of its keys arrive in time in any order. Unit tests, which have no such
/// large ones, order the keys of small ones.
const FAR: u64 = if cfg!(test) { 256 << 10 } else { 32 << 20 };

/// Keys are ordered so that the lines of those that are inserted one after the other take this many bytes.
const NEAR: u64 = 128 << 10;

/// Hashes of a bucket on average, before the buckets are sorted.
const BUCKET: u64 = 1 << 9;

/// The most buckets: each is written to in a cache line of its own.
const MAX_BUCKET_BITS: u32 = 12;

/// Hashes and room to order them.
#[derive(Default)]
struct Buffers {
    hashes: Vec<u64>,
    /// The hashes by their first bits. Behind them is room for one chunk and one group more.
    ordered: Vec<u64>,
    /// Where the hashes with the same first bits end.
    ends: Vec<u32>,
    sorter: Sorter,
    merged: Vec<u64>,
}

impl Buffers {
    /// For this many hashes; `None` without memory for them.
    fn new(len: usize) -> Option<Buffers> {
        let zeros = |len| {
            let mut zeros = memory::vec_of(len).ok()?;
            zeros.resize(len, 0);
            Some(zeros)
        };
        Some(Buffers { hashes: zeros(len)?, ordered: zeros(len + CHUNK + GROUP)?, ..Buffers::default() })
    }

    /// Orders the first `len` hashes by their first bits, so that about `buckets` of these differ.
    fn distribute(&mut self, len: usize, buckets: u64) -> u32 {
        let bits = buckets.max(2).ilog2().min(MAX_BUCKET_BITS);
        let Buffers { hashes, ordered, ends, .. } = self;
        distribute(hashes[..len].iter(), 0, bits, ends, &mut ordered[..len]);
        bits
    }

    /// Sorts the first `len` hashes. Returns how many different ones there are, which then come first.
    fn sort(&mut self, len: usize) -> Result<usize, SizeError> {
        let bits = self.distribute(len, len as u64 / BUCKET);
        let Buffers { hashes, ordered, ends, sorter, .. } = self;
        let (mut begin, mut count) = (0, 0);
        for &end in &*ends {
            let bucket = &ordered[begin..end as usize];
            let sorted = sorter.sort(core::iter::once(bucket), bucket.len(), bits)?;
            hashes[count..][..sorted.len()].copy_from_slice(sorted);
            (begin, count) = (end as usize, count + sorted.len());
        }
        Ok(count)
    }
}

impl DynamicFilter {
    /// Inserts keys as long as there are so many that it pays to put them in order. Returns how many those are.
    pub(crate) fn insert_in_order<K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        hasher: &Hasher,
    ) -> Result<usize, SizeError> {
        let (mut start, mut buffers) = (0, None);
        loop {
            let len = MOST.min(keys.count() - start);
            // Before the shards are counted, of which a large filter has thousands.
            if len < FEWEST {
                return Ok(start);
            }
            let lines = self.array_len();
            let must_sort = self.plan.mode == Mode::Set && self.shards().pays_to_sort(len);
            if !must_sort && (lines < FAR || (len as u64) < lines / 128) {
                return Ok(start);
            }
            // Without memory for the buffers, keys are inserted in any order.
            let Some(buffers) = buffers.get_or_insert_with(|| Buffers::new(len)) else { return Ok(start) };
            hash_all(Cpu::in_use(), keys, hasher, start, &mut buffers.hashes[..len]);
            if must_sort {
                self.shards_mut().insert_sorted(buffers, len)?;
            } else {
                buffers.distribute(len, lines / NEAR);
                for at in (0..len).step_by(CHUNK) {
                    let hashes = buffers.ordered[at..].first_chunk().expect("room for a whole chunk");
                    let (len, bits) = (CHUNK.min(len - at), &mut [0; CHUNK / 64]);
                    run(Change { filter: self, hashes, len, bits, insert: true })?;
                }
            }
            start += len;
        }
    }
}

impl Shards {
    /// Whether it pays to sort this many keys.
    fn pays_to_sort(&self, keys: usize) -> bool {
        let (known, more) = (self.keys(), keys as u64);
        let room: u64 = self.shards().iter().map(|shard| shard.limit).sum();
        more >= known / PART && known + more > room
    }

    /// Inserts the fingerprints of these hashes into a set.
    fn insert_sorted(&mut self, buffers: &mut Buffers, len: usize) -> Result<(), SizeError> {
        buffers.hashes[..len].iter_mut().for_each(|hash| *hash &= self.mask());
        let count = buffers.sort(len)?;
        let Buffers { hashes, merged, .. } = buffers;
        let (mut rest, mut entry) = (&hashes[..count], 0);
        while entry < self.entries() {
            let (number, entries) = self.number_at(entry);
            let shard = &self.shards()[number];
            let (bits, depth) = (shard.shape.bits, shard.depth);
            // The hashes of this shard: those with its prefix.
            let last = shard.prefix << (64 - depth - 1) << 1 | u64::MAX >> depth;
            let (own, later) = rest.split_at(rest.partition_point(|hash| *hash <= last));
            let before = self.entries();
            if !own.is_empty() {
                let own = own.iter().map(|hash| hash << depth >> (64 - bits));
                self.merge_into(number, own, merged)?;
            }
            // The directory may have become longer.
            entry = (entry + entries) * (self.entries() / before);
            rest = later;
        }
        Ok(())
    }

    /// Merges sorted fingerprints into a shard.
    fn merge_into(
        &mut self,
        number: usize,
        new: impl Iterator<Item = u64>,
        merged: &mut Vec<u64>,
    ) -> Result<(), SizeError> {
        let items = self.items_of(number, |_| true)?;
        merged.clear();
        let more = items.len() + new.size_hint().0;
        merged.try_reserve(more).map_err(|_| SizeError::Memory { bytes: more as u64 * 8 })?;
        merge(&items, new, merged);
        self.give_buffer(items);
        self.store(number, merged)
    }

    /// Makes these the items of a shard, with as many lines or shards as they need. Without memory for them,
    /// the lines that are there take them all the same, and the list of the shard is long.
    fn store(&mut self, number: usize, items: &mut [u64]) -> Result<(), SizeError> {
        let shard = &self.shards()[number];
        let (bits, mut lines, mut limit) = (shard.shape.bits, shard.shape.main.lines, shard.limit);
        while limit < items.len() as u64 {
            lines = match grown(lines) {
                Some(lines) => lines,
                None if bits > MIN_BITS + 4 => {
                    // Two halves, which may be too many for a shard again.
                    if let Err(refused) = self.split(number, &mut []) {
                        self.refill(number, items);
                        return Err(refused);
                    }
                    let half = 1 << (bits - 1);
                    let (below, above) = items.split_at_mut(items.partition_point(|item| *item < half));
                    above.iter_mut().for_each(|item| *item -= half);
                    let other = self.shards().len() - 1;
                    let done = self.store(number, below);
                    return self.store(other, above).and(done);
                }
                None => {
                    lines = MAX_LINES;
                    break;
                }
            };
            limit = Shape::new(bits, 0, lines).limit;
        }
        if lines == self.shards()[number].shape.main.lines {
            self.refill(number, items);
            return Ok(());
        }
        self.replace(number, lines, items).inspect_err(|_| self.refill(number, items))
    }
}

/// Appends the items of both, which are sorted, to `out`, each once.
fn merge(items: &[u64], new: impl Iterator<Item = u64>, out: &mut Vec<u64>) {
    let mut at = 0;
    for next in new {
        while let Some(item) = items.get(at).filter(|item| **item < next) {
            out.push(*item);
            at += 1;
        }
        if items.get(at) != Some(&next) && out.last() != Some(&next) {
            out.push(next);
        }
    }
    out.extend_from_slice(&items[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_items_are_sorted_and_each_is_there_once() {
        let cases: [(&[u64], &[u64], &[u64]); 5] = [
            (&[], &[], &[]),
            (&[], &[1, 1, 2], &[1, 2]),
            (&[1, 5], &[], &[1, 5]),
            (&[1, 5, 9], &[0, 1, 5, 5, 6, 12], &[0, 1, 5, 6, 9, 12]),
            (&[7], &[7, 7, 8, 8], &[7, 8]),
        ];
        for (items, new, expected) in cases {
            let mut out = Vec::new();
            merge(items, new.iter().copied(), &mut out);
            assert_eq!(out, expected);
        }
    }
}
