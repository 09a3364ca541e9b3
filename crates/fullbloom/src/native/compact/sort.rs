//! Sorting one bucket, which fits into the cache, and dropping its duplicates.

use super::scatter::Bucket;
use crate::error::SizeError;
use std::vec::Vec;

/// Memory that is used again for every bucket.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    from: Vec<u64>,
    to: Vec<u64>,
    counts: Vec<u32>,
}

/// Fewer numbers are sorted by comparisons.
const FEW: usize = 200;

/// The most bits of a digit of several.
const MAX_DIGIT: u32 = 11;

impl Sorter {
    /// The numbers of all parts, sorted, each once. They have their `bits` top bits in common.
    #[inline(always)]
    pub(super) fn sort(&mut self, parts: Vec<Bucket>, bits: u32) -> Result<Bucket, SizeError> {
        let count = parts.iter().map(Bucket::len).sum();
        let mut all = Bucket::default();
        parts.into_iter().for_each(|part| all.append(part));
        let Sorter { from, to, counts } = self;
        // One pass leaves about one number for each value of its digit.
        let (passes, digit) = match count {
            0..FEW => (0, 0),
            FEW..0x1_0000 => (1, count.ilog2() + 1),
            // So many digits that two different numbers seldom agree in all of them.
            0x1_0000..0x2_0000 => (2, MAX_DIGIT),
            _ => (3, (count.ilog2() + 8).div_ceil(3).min(MAX_DIGIT)),
        };
        let refused = |_| SizeError::Memory { bytes: 8 * count as u64 };
        if passes == 0 || count > u32::MAX as usize {
            from.clear();
            from.try_reserve(count).map_err(refused)?;
            all.chunks().iter().for_each(|chunk| from.extend_from_slice(chunk));
            from.sort_unstable();
            from.dedup();
        } else {
            // What is in the memory already does not matter.
            for memory in [&mut *from, &mut *to].into_iter().take(passes as usize) {
                memory.try_reserve(count.saturating_sub(memory.len())).map_err(refused)?;
                memory.resize(count, 0);
            }
            for place in (0..passes).rev() {
                let digit = Digit { skip: bits + digit * place, bits: digit };
                if place + 1 == passes {
                    digit.pass(all.chunks().iter().flatten(), counts, from);
                } else {
                    digit.pass(from.iter(), counts, to);
                    core::mem::swap(from, to);
                }
            }
            order_rest(from);
        }
        all.replace(from);
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

    /// Orders by this digit.
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

/// Sorts numbers that are in the order of all digits, and drops duplicates. Not many of them agree in all
/// digits, unless there are many duplicates.
#[inline(always)]
fn order_rest(numbers: &mut Vec<u64>) {
    let (mut equal, mut moves) = (false, 0);
    for i in 1..numbers.len() {
        if numbers[i - 1] < numbers[i] {
            continue;
        }
        let number = numbers[i];
        let mut at = i;
        while at > 0 && numbers[at - 1] > number {
            numbers[at] = numbers[at - 1];
            at -= 1;
            moves += 1;
        }
        numbers[at] = number;
        equal |= at > 0 && numbers[at - 1] == number;
        if moves > 16 * numbers.len() {
            numbers.sort_unstable();
            equal = true;
            break;
        }
    }
    if equal {
        numbers.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::compact::scatter::Lane;

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
