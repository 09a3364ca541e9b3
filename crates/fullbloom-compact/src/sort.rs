//! Sorting one bucket and dropping its duplicates.
//!
//! The numbers are random: a pass by their next digit leaves groups of a few dozen, which stay in the
//! first-level cache. The place of a number in its group is how many others are less, counted for 16 numbers
//! at a time.

use super::scatter::Bucket;
use fullbloom_core::error::SizeError;
use std::vec::Vec;

/// Memory that is used again for every bucket.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    from: Vec<u64>,
    to: Vec<u64>,
    counts: Vec<u32>,
}

/// Fewer numbers are sorted by comparisons.
const FEW: usize = 200;

/// The average length of a group is between this and its double.
const GROUP: usize = 12;

/// The longest group whose numbers are counted.
const LONGEST: usize = 128;

/// The most bits of the digit: as many lines are written at once.
const MAX_DIGIT: u32 = 12;

impl Sorter {
    /// The numbers of all parts, sorted, each once. They have their `bits` top bits in common.
    #[inline(always)]
    pub(crate) fn sort(&mut self, parts: Vec<Bucket>, bits: u32) -> Result<Bucket, SizeError> {
        let count: usize = parts.iter().map(Bucket::len).sum();
        let mut all = Bucket::default();
        parts.into_iter().for_each(|part| all.append(part));
        let Sorter { from, to, counts } = self;
        let refused = |_| SizeError::Memory { bytes: 8 * count as u64 };
        if count < FEW || count > u32::MAX as usize {
            from.clear();
            from.try_reserve(count).map_err(refused)?;
            all.chunks().iter().for_each(|chunk| from.extend_from_slice(chunk));
            from.sort_unstable();
            from.dedup();
            all.replace(from);
            return Ok(all);
        }
        // What is in the memory already does not matter.
        for memory in [&mut *from, &mut *to] {
            memory.try_reserve(count.saturating_sub(memory.len())).map_err(refused)?;
            memory.resize(count, 0);
        }
        let digit = Digit { skip: bits, bits: (count / GROUP).ilog2().min(MAX_DIGIT) };
        digit.pass(all.chunks().iter().flatten(), counts, from);
        let (mut start, mut len) = (0, 0);
        for &end in &*counts {
            let group = &mut from[start..end as usize];
            start = end as usize;
            len += order(group, bits + digit.bits, &mut to[len..]);
        }
        all.replace(&to[..len]);
        Ok(all)
    }
}

/// So many bits of a number, below the first `skip`.
#[derive(Clone, Copy)]
struct Digit {
    skip: u32,
    bits: u32,
}

impl Digit {
    #[inline(always)]
    fn of(self, number: u64) -> usize {
        (number << self.skip >> (64 - self.bits)) as usize
    }

    /// Orders by this digit; `counts` has the end of each group afterwards.
    #[inline(always)]
    fn pass<'a>(self, numbers: impl Iterator<Item = &'a u64> + Clone, counts: &mut Vec<u32>, to: &mut [u64]) {
        counts.clear();
        counts.resize(1 << self.bits, 0);
        numbers.clone().for_each(|&number| counts[self.of(number)] += 1);
        // From the number of each digit to the place of its first number.
        let mut sum = 0;
        counts.iter_mut().for_each(|count| sum += core::mem::replace(count, sum));
        numbers.for_each(|&number| {
            let at = &mut counts[self.of(number)];
            to[*at as usize] = number;
            *at += 1;
        });
    }
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
    use crate::scatter::Lane;

    #[test]
    fn all_sizes_are_sorted_and_every_number_is_there_once() {
        let mut sorter = Sorter::default();
        let mut state = 7u64;
        for count in [0, 1, 2, 199, 200, 511, 512, 513, 5000, 140_000] {
            for (bits, distinct) in [(0, u64::MAX), (3, u64::MAX), (0, 50), (7, 3000)] {
                let mut lanes = [Lane::new(bits), Lane::new(bits)];
                let mut expected = Vec::new();
                for i in 0..count {
                    state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i);
                    let number = (state ^ state >> 31) % distinct;
                    let number = number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    lanes[i as usize % 2].add(&[number]).unwrap();
                    expected.push(number);
                }
                expected.sort_unstable();
                expected.dedup();
                let [mut first, mut second] = lanes;
                let pairs = first.take().unwrap().into_iter().zip(second.take().unwrap());
                let mut sorted = Vec::new();
                for (one, two) in pairs {
                    let bucket = sorter.sort(vec![one, two], bits).unwrap();
                    bucket.chunks().iter().for_each(|chunk| sorted.extend_from_slice(chunk));
                }
                assert_eq!(sorted, expected, "{count} numbers, {bits} bits");
            }
        }
    }

    #[test]
    fn numbers_that_differ_only_at_the_bottom_are_sorted() {
        let numbers: Vec<u64> = (0..4000u64).rev().collect();
        let mut bucket = Bucket::default();
        bucket.extend(&numbers).unwrap();
        let sorted = Sorter::default().sort(vec![bucket], 0).unwrap();
        assert!(sorted.chunks().iter().flatten().copied().eq(0..4000));
    }
}
