//! Many keys at once into a set that must grow for them: they are sorted, and merged with the fingerprints of
//! each shard. And many keys at once into a filter that is larger than the caches: they are distributed, so
//! that those whose lines are near each other are inserted one after the other.
//!
//! A sorted key costs the time to sort it and its share of writing the lines once. Inserted one by one, it
//! would cost a search in its line, and several rewritings while the filter grows. If there is room for the
//! keys, that is as fast or faster.

use super::shape::{MAX_LINES, MIN_BITS, Shape, grown};
use super::shards::Shards;
use alloc::vec::Vec;
use fullbloom_core::error::SizeError;

/// Keys that are sorted at once: 16 MiB of them, and as much room to sort.
pub(crate) const MOST: usize = 1 << 21;

/// Fewer keys are inserted one by one.
const FEWEST: usize = 1 << 12;

/// So are fewer than this part of the keys that are there.
const PART: u64 = 4;

/// A smaller filter is in a cache: the lines of its keys arrive in time in any order. In unit tests, which
/// have no such large ones, distributing is tried with small ones.
const FAR: u64 = if cfg!(test) { 256 << 10 } else { 32 << 20 };

/// Keys are distributed so that the lines of those that are inserted one after the other take this many
/// bytes.
const NEAR: u64 = 128 << 10;

/// Whether it pays to distribute this many keys over the lines of a filter, which take this many bytes.
pub(crate) fn pays_to_distribute(keys: usize, lines: u64) -> bool {
    lines >= FAR && keys as u64 >= lines / 128
}

/// Room for hashes, and to sort them.
#[derive(Default)]
pub(crate) struct Buffers {
    pub(crate) hashes: Vec<u64>,
    spare: Vec<u64>,
    merged: Vec<u64>,
}

impl Buffers {
    /// For this many hashes; `None` without memory for them.
    pub(crate) fn new(len: usize) -> Option<Buffers> {
        let mut buffers = Buffers::default();
        for buffer in [&mut buffers.hashes, &mut buffers.spare] {
            buffer.try_reserve_exact(len).ok()?;
            buffer.resize(len, 0);
        }
        Some(buffers)
    }

    /// Distributes hashes over lines that take this many bytes.
    pub(crate) fn distribute(&mut self, len: usize, lines: u64) -> &[u64] {
        let bits = (lines / NEAR).max(2).ilog2().min(MAX_BITS);
        distribute(&self.hashes[..len], &mut self.spare, bits);
        &self.spare
    }
}

impl Shards {
    /// Whether it pays to sort this many keys.
    pub(crate) fn pays_to_sort(&self, keys: usize) -> bool {
        let (known, more) = (self.keys(), keys as u64);
        let room: u64 = self.shards().iter().map(|shard| shard.limit).sum();
        keys >= FEWEST && more >= known / PART && known + more > room
    }

    /// Inserts the fingerprints of these hashes into a set, whose order they lose.
    pub(crate) fn insert_sorted(&mut self, buffers: &mut Buffers, len: usize) -> Result<(), SizeError> {
        let (hashes, spare) = (&mut buffers.hashes[..len], &mut buffers.spare[..len]);
        hashes.iter_mut().for_each(|hash| *hash &= self.mask());
        sort(hashes, spare);
        let (mut rest, mut entry) = (&*hashes, 0);
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
                self.merge_into(number, own, &mut buffers.merged)?;
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

/// Hashes of a bucket on average, after the first distribution.
const BUCKET_BITS: u32 = 9;

/// More hashes than this in a place where one is expected are sorted in another way.
const CROWDED: u32 = 32;

/// Sorts hashes: by their first bits into buckets, and each bucket by its next bits into places for one hash.
/// Then few are not in order. Hashes are distributed evenly; others are sorted too, but slower.
fn sort(hashes: &mut [u64], spare: &mut [u64]) {
    let first_bits = (hashes.len().max(1).ilog2().saturating_sub(BUCKET_BITS)).clamp(1, MAX_BITS);
    let ends = distribute(hashes, spare, first_bits);
    let mut begin = 0;
    for end in &ends[..1 << first_bits] {
        let range = begin..*end as usize;
        sort_bucket(&spare[range.clone()], &mut hashes[range], first_bits);
        begin = *end as usize;
    }
}

/// The most first bits that hashes are distributed by.
const MAX_BITS: u32 = 12;

/// Copies hashes into buckets by so many of their first bits. Returns where each bucket ends.
fn distribute(hashes: &[u64], to: &mut [u64], bits: u32) -> [u32; 1 << MAX_BITS] {
    let mut ends = [0; 1 << MAX_BITS];
    let bucket = |hash: u64| (hash >> (64 - bits)) as usize % (1 << MAX_BITS);
    hashes.iter().for_each(|hash| ends[bucket(*hash)] += 1);
    begins(&mut ends[..1 << bits]);
    for hash in hashes {
        let end = &mut ends[bucket(*hash)];
        to[*end as usize] = *hash;
        *end += 1;
    }
    ends
}

fn sort_bucket(from: &[u64], to: &mut [u64], first_bits: u32) {
    const PLACES: usize = 1 << BUCKET_BITS;
    let mut ends = [0u32; PLACES];
    let place = |hash: u64| (hash << first_bits >> (64 - BUCKET_BITS)) as usize % PLACES;
    from.iter().for_each(|hash| ends[place(*hash)] += 1);
    let is_crowded = ends.iter().any(|count| *count > CROWDED);
    begins(&mut ends);
    for hash in from {
        let end = &mut ends[place(*hash)];
        to[*end as usize] = *hash;
        *end += 1;
    }
    if is_crowded {
        return to.sort_unstable();
    }
    for i in 1..to.len() {
        let (hash, mut at) = (to[i], i);
        while at > 0 && to[at - 1] > hash {
            to[at] = to[at - 1];
            at -= 1;
        }
        to[at] = hash;
    }
}

/// Turns numbers into where each begins if they are laid out one after the other.
fn begins(counts: &mut [u32]) {
    counts.iter_mut().fold(0, |begin, count| begin + core::mem::replace(count, begin));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_any_distribution_are_sorted() {
        let mix =
            |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i >> 7).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        for len in [0, 1, 2, 33, 512, 4_096, 70_000] {
            for shape in 0..5 {
                let mut hashes: Vec<u64> = (0..len as u64)
                    .map(|i| match shape {
                        0 => mix(i),
                        1 => mix(i) >> 40,
                        2 => mix(i) & 7 << 61,
                        3 => u64::MAX - i,
                        _ => mix(i % 100),
                    })
                    .collect();
                let mut expected = hashes.clone();
                expected.sort_unstable();
                sort(&mut hashes, &mut alloc::vec![0; len]);
                assert!(hashes == expected, "{len} {shape}");
            }
        }
    }

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
