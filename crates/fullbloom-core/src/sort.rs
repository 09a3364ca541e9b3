//! Sorting hashes and dropping repeated ones.
//!
//! Hashes are distributed evenly: one pass by their next digit leaves groups of a few dozen, which stay in the
//! first-level cache. The place of a hash in its group is how many others are less, counted for 16 hashes at a time. Other
//! numbers are sorted, too, but slower.

use crate::error::SizeError;
use alloc::vec::Vec;

/// Sorts buckets, in memory that is used again for each of them.
#[derive(Debug, Default)]
pub struct Sorter {
    from: Vec<u64>,
    to: Vec<u64>,
    ends: Vec<u32>,
}

/// Fewer hashes are sorted by comparisons.
const FEW: usize = 200;

/// The average length of a group is between this and its double.
const GROUP: usize = 12;

/// The longest group whose hashes are counted.
const LONGEST: usize = 128;

/// The most bits of a digit: as many cache lines are written at once.
const MAX_DIGIT: u32 = 12;

impl Sorter {
    /// `count` hashes in slices, which have their first `skip` bits in common: sorted, each once.
    #[inline(always)]
    pub fn sort<'a>(
        &mut self,
        hashes: impl Iterator<Item = &'a [u64]> + Clone,
        count: usize,
        skip: u32,
    ) -> Result<&[u64], SizeError> {
        let Sorter { from, to, ends } = self;
        let refused = |_| SizeError::Memory { bytes: 8 * count as u64 };
        if count < FEW || count > u32::MAX as usize {
            from.clear();
            from.try_reserve(count).map_err(refused)?;
            hashes.for_each(|some| from.extend_from_slice(some));
            from.sort_unstable();
            from.dedup();
            return Ok(from);
        }
        // What is in the memory already does not matter.
        for memory in [&mut *from, &mut *to] {
            memory.try_reserve(count.saturating_sub(memory.len())).map_err(refused)?;
            memory.resize(count, 0);
        }
        let bits = (count / GROUP).ilog2().min(MAX_DIGIT);
        distribute(hashes.flatten(), skip, bits, ends, from);
        let (mut start, mut len) = (0, 0);
        for &end in &*ends {
            let group = &mut from[start..end as usize];
            start = end as usize;
            len += order(group, skip + bits, &mut to[len..]);
        }
        Ok(&to[..len])
    }
}

/// Orders hashes by `bits` bits after the first `skip`; `ends` has the end of each group afterwards.
#[inline(always)]
pub fn distribute<'a>(
    hashes: impl Iterator<Item = &'a u64> + Clone,
    skip: u32,
    bits: u32,
    ends: &mut Vec<u32>,
    to: &mut [u64],
) {
    let digit = |hash: u64| (hash << skip >> (64 - bits)) as usize;
    ends.clear();
    ends.resize(1 << bits, 0);
    hashes.clone().for_each(|&hash| ends[digit(hash)] += 1);
    // From the number of hashes with each digit to the place of the first of them.
    let mut sum = 0;
    ends.iter_mut().for_each(|count| sum += core::mem::replace(count, sum));
    hashes.for_each(|&hash| {
        let at = &mut ends[digit(hash)];
        to[*at as usize] = hash;
        *at += 1;
    });
}

/// Writes the numbers of a group, which have `skip` top bits in common, in order and each once, and returns
/// how many these are. `to` has room for all.
#[inline(always)]
fn order(group: &mut [u64], skip: u32, to: &mut [u64]) -> usize {
    let count = group.len();
    if count <= LONGEST && order_by_counting(group, skip, &mut to[..count]) {
        return count;
    }
    // Two agree in their next 16 bits: perhaps they are duplicates.
    group.sort_unstable();
    let mut len = 0;
    for &number in &*group {
        if len == 0 || to[len - 1] != number {
            to[len] = number;
            len += 1;
        }
    }
    len
}

/// Numbers that are placed at a time.
const LANES: usize = 16;

/// Orders at most [`LONGEST`] numbers by the 16 bits after the first `skip`, unless two agree in them.
#[inline(always)]
fn order_by_counting(group: &[u64], skip: u32, to: &mut [u64]) -> bool {
    let mut parts = [i16::MAX; LONGEST];
    for (part, number) in parts.iter_mut().zip(group) {
        *part = ((number << skip >> 48) as i32 + i32::from(i16::MIN)) as i16;
    }
    let mut sum = 0;
    for (own, numbers) in parts.as_chunks::<LANES>().0.iter().zip(group.chunks(LANES)) {
        let mut less = [0i16; LANES];
        for other in &parts[..group.len().min(LONGEST)] {
            for (less, own) in less.iter_mut().zip(own) {
                *less += i16::from(other < own);
            }
        }
        for (place, number) in less.iter().zip(numbers) {
            sum += *place as usize;
            to[*place as usize] = *number;
        }
    }
    // With equal parts, places are missing.
    2 * sum == group.len() * group.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::Lane;

    #[test]
    fn all_sizes_are_sorted_and_every_number_is_there_once() {
        let mut sorter = Sorter::default();
        let mut state = 7u64;
        for count in [0, 1, 2, 199, 200, 511, 512, 513, 5000, 140_000] {
            for (bits, distinct) in [(0, u64::MAX), (3, u64::MAX), (0, 50), (7, 3000)] {
                let mut lane = Lane::new(bits);
                let mut expected = Vec::new();
                for i in 0..count {
                    state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i);
                    let number = (state ^ state >> 31) % distinct;
                    let number = number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    lane.add(&[number]).unwrap();
                    expected.push(number);
                }
                expected.sort_unstable();
                expected.dedup();
                let mut sorted = Vec::new();
                for bucket in lane.take().unwrap() {
                    let chunks = bucket.chunks().iter().map(Vec::as_slice);
                    sorted.extend_from_slice(sorter.sort(chunks, bucket.count(), bits).unwrap());
                }
                assert_eq!(sorted, expected, "{count} numbers, {bits} bits");
            }
        }
    }

    #[test]
    fn numbers_that_differ_only_at_the_bottom_are_sorted() {
        let numbers: Vec<u64> = (0..4000u64).rev().collect();
        let mut sorter = Sorter::default();
        let sorted = sorter.sort(numbers.chunks(300), numbers.len(), 0).unwrap();
        assert!(sorted.iter().copied().eq(0..4000));
    }
}
