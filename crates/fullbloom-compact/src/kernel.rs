//! What up to 64 keys of the kind `compact` find in their lines: see [`probe`](crate::probe).

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use crate::probe::{LIMIT, Place, coefficients, picks, sums, u_of};
use fullbloom_core::bits::prefetch;
use fullbloom_core::kernel::Body;
use fullbloom_core::kernel::lines::Line;
use fullbloom_core::kernel::pipeline::ones;
use fullbloom_core::kernel::scalar::Scalar;

/// Keys of a group.
pub(crate) const GROUP: usize = 64;

/// The keys of a group: their places in a layer, and the numbers that choose their slots.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub(crate) places: &'a [Place; GROUP],
    pub(crate) t: &'a [u64; GROUP],
}

/// What they find, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The sums are the fingerprint.
    pub(crate) agree: u64,
    /// The priority is not below the limit.
    pub(crate) bumped: u64,
}

/// A line that the filter does not have: it keeps no keys.
pub(crate) const NOWHERE: &Line = &[0; size_of::<Line>()];

/// The line with this number, or [`NOWHERE`].
#[inline(always)]
pub(crate) fn line_at(lines: &[Line], number: u64) -> &Line {
    lines.get(number as usize).unwrap_or(NOWHERE)
}

/// Prefetches the line with this number, whether it exists or not.
#[inline(always)]
pub(crate) fn prefetch_line(lines: &[Line], number: u64) {
    prefetch::address(lines.as_ptr().wrapping_add(number as usize).cast());
}

/// What differs between CPUs.
pub(crate) trait Systems: Body {
    /// Looks a group up in lines whose columns have `W` parts. Prefetches the lines of the group at `next`:
    /// that is faster in the second-level cache, too.
    #[inline(always)]
    fn find<const W: usize>(self, lines: &[Line], keys: Keys<'_>, next: &[Place; GROUP]) -> Found {
        next.iter().for_each(|place| prefetch_line(lines, place.line()));
        self.find_first::<W>(lines, keys, GROUP)
    }

    /// Looks the first `count` keys up. Other bits of the answers are undefined.
    #[inline(always)]
    fn find_first<const W: usize>(self, lines: &[Line], keys: Keys<'_>, count: usize) -> Found {
        find_first::<W>(lines, keys, count)
    }

    /// Whether the first further columns in these bytes agree with a key.
    #[inline(always)]
    fn further_agree<const W: usize>(self, bytes: &[u8], t: u64, columns: usize) -> bool {
        further_agree::<W>(bytes, t, columns)
    }

    /// The numbers at the set bits of `chosen`, in their order. What follows them is undefined.
    #[inline(always)]
    fn pack(self, numbers: &[u64; GROUP], chosen: u64, packed: &mut [u64; GROUP]) {
        packed.iter_mut().zip(ones(chosen)).for_each(|(to, i)| *to = numbers[i]);
    }

    /// The reverse of [`pack`](Systems::pack) for bits: the lowest bits, in the places of the set bits of
    /// `chosen`.
    #[inline(always)]
    fn unpack(self, bits: u64, chosen: u64) -> u64 {
        ones(chosen).enumerate().fold(0, |unpacked, (from, to)| unpacked | (bits >> from & 1) << to)
    }
}

impl Systems for Scalar {}

/// The definition of [`Systems::find_first`].
#[inline(always)]
pub(crate) fn find_first<const W: usize>(lines: &[Line], keys: Keys<'_>, count: usize) -> Found {
    let mut found = Found { agree: 0, bumped: 0 };
    // One bit after the other: of shifts by different counts, LLVM makes vectors, and fills them byte by
    // byte.
    for (place, t) in keys.places.iter().zip(keys.t).take(count).rev() {
        let line = line_at(lines, place.line());
        let agrees = sums::<W>(line, picks::<W>(*t)) == place.fingerprint::<W>();
        found.agree = found.agree << 1 | u64::from(agrees);
        found.bumped = found.bumped << 1 | u64::from(place.priority() >= line[LIMIT]);
    }
    found
}

/// The definition of [`Systems::further_agree`].
#[inline(always)]
pub(crate) fn further_agree<const W: usize>(bytes: &[u8], t: u64, columns: usize) -> bool {
    let (words, _) = bytes.as_chunks::<8>().0.as_chunks::<W>();
    let (coefficients, mut fingerprint) = (coefficients::<W>(picks::<W>(t)), u_of(t) >> 8);
    let mut wrong = 0;
    for column in words.iter().take(columns) {
        let parts = column.iter().zip(coefficients);
        let sum = parts.fold(0, |sum, (part, chosen)| sum ^ u64::from_le_bytes(*part) & chosen);
        wrong |= u64::from(sum.count_ones() & 1) ^ fingerprint;
        fingerprint >>= W;
    }
    wrong & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_core::kernel::{Cpu, Kernel, Task};
    use fullbloom_testkit::keys::SplitMix;

    /// What a kernel finds: of all keys, and of the first ones.
    struct Find<'a, const W: usize>(&'a [Line], Keys<'a>, usize);

    impl<const W: usize, B: Systems> Task<B> for Find<'_, W> {
        type Output = [Found; 2];

        #[inline(always)]
        fn run(self, kernel: B) -> [Found; 2] {
            let Find(lines, keys, count) = self;
            [kernel.find::<W>(lines, keys, keys.places), kernel.find_first::<W>(lines, keys, count)]
        }
    }

    fn finds<const W: usize>() {
        let mut random = SplitMix::new(21);
        for lines in [0, 1, 2, 100, 1000] {
            // Few different bytes: sums and fingerprints often agree. Limits of all kinds.
            let byte = |random: &mut SplitMix| 0x11 * (random.next_u64() % 3) as u8;
            let mut array: Vec<Line> =
                (0..lines).map(|_| core::array::from_fn(|_| byte(&mut random))).collect();
            array
                .iter_mut()
                .for_each(|line| line[LIMIT] = [0, 1, 128, 254, 255, 200][random.below(6) as usize]);
            for _ in 0..500 {
                // Some lines are beyond the last.
                let places: [Place; GROUP] =
                    core::array::from_fn(|_| Place::new(random.next_u64(), lines + lines / 16 + 1));
                let t: [u64; GROUP] = core::array::from_fn(|_| random.next_u64());
                let keys = Keys { places: &places, t: &t };
                let count = random.below(GROUP as u64 + 1) as usize;
                let expected = find_first::<W>(&array, keys, GROUP);
                for kernel in Kernel::available() {
                    let [all, first] = Cpu::detect(kernel).unwrap().run(Find::<W>(&array, keys, count));
                    assert_eq!(all, expected, "{kernel}, {lines} lines, {W} parts");
                    let asked = |bits: u64| bits & u64::MAX.checked_shr(64 - count as u32).unwrap_or(0);
                    assert_eq!(
                        (asked(first.agree), asked(first.bumped)),
                        (asked(expected.agree), asked(expected.bumped)),
                        "{kernel}, {lines} lines, {W} parts, {count} keys"
                    );
                }
            }
        }
    }

    #[test]
    fn every_kernel_finds_what_the_definition_says() {
        finds::<1>();
        finds::<2>();
        finds::<4>();
        finds::<8>();
    }

    struct Further<'a, const W: usize>(&'a [u8], u64, usize);

    impl<const W: usize, B: Systems> Task<B> for Further<'_, W> {
        type Output = bool;

        #[inline(always)]
        fn run(self, kernel: B) -> bool {
            let Further(bytes, t, columns) = self;
            kernel.further_agree::<W>(bytes, t, columns)
        }
    }

    /// Columns in which every third key agrees, as far as their number goes.
    fn agreements<const W: usize>() {
        let mut random = SplitMix::new(23);
        let (mut yes, mut no) = (0, 0);
        for i in 0..3000 {
            let t = random.next_u64();
            let columns = random.below(56 / W as u64 + 1) as usize;
            let mut words: Vec<u64> = (0..columns * W + 3).map(|_| random.next_u64()).collect();
            if i % 3 == 0 {
                let chosen = coefficients::<W>(picks::<W>(t));
                for (column, words) in words.chunks_exact_mut(W).take(columns).enumerate() {
                    let sum = words.iter().zip(chosen).fold(0, |sum, (word, chosen)| sum ^ word & chosen);
                    let wrong = u64::from(sum.count_ones() & 1) ^ (u_of(t) >> (8 + column * W) & 1);
                    // One chosen slot of a part that has one.
                    if let Some(part) = chosen.iter().position(|chosen| *chosen != 0) {
                        words[part] ^= (chosen[part] & chosen[part].wrapping_neg()) * wrong;
                    }
                }
            }
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            // Also with fewer bytes than the columns need.
            for len in [bytes.len(), bytes.len() / 2, 5, 0] {
                let expected = further_agree::<W>(&bytes[..len], t, columns);
                *if expected { &mut yes } else { &mut no } += 1;
                for kernel in Kernel::available() {
                    let found = Cpu::detect(kernel).unwrap().run(Further::<W>(&bytes[..len], t, columns));
                    assert_eq!(found, expected, "{kernel}, {W} parts, {columns} columns, {len} bytes");
                }
            }
        }
        assert!(yes > 1000 && no > 1000, "{yes} {no}");
    }

    #[test]
    fn every_kernel_compares_further_columns_as_the_definition_does() {
        agreements::<1>();
        agreements::<2>();
        agreements::<4>();
        agreements::<8>();
    }

    struct Pack<'a>(&'a [u64; GROUP], u64, u64);

    impl<B: Systems> Task<B> for Pack<'_> {
        type Output = (Vec<u64>, u64);

        #[inline(always)]
        fn run(self, kernel: B) -> (Vec<u64>, u64) {
            let Pack(numbers, chosen, bits) = self;
            let mut packed = [0; GROUP];
            kernel.pack(numbers, chosen, &mut packed);
            (packed[..chosen.count_ones() as usize].to_vec(), kernel.unpack(bits, chosen))
        }
    }

    #[test]
    fn every_kernel_packs_the_chosen_numbers_and_unpacks_their_bits() {
        let mut random = SplitMix::new(22);
        let numbers: [u64; GROUP] = core::array::from_fn(|_| random.next_u64());
        for i in 0..2000u64 {
            let chosen = match i {
                0..64 => 1 << i,
                64..128 => u64::MAX << (i - 64),
                128 => 0,
                _ => random.next_u64() & random.next_u64(),
            };
            let bits = random.next_u64();
            let expected: Vec<u64> = (0..64).filter(|i| chosen >> i & 1 == 1).map(|i| numbers[i]).collect();
            let mut unpacked = 0;
            for (from, to) in (0..64).filter(|i| chosen >> i & 1 == 1).enumerate() {
                unpacked |= (bits >> from & 1) << to;
            }
            for kernel in Kernel::available() {
                let found = Cpu::detect(kernel).unwrap().run(Pack(&numbers, chosen, bits));
                assert_eq!(found, (expected.clone(), unpacked), "{kernel}, {chosen:#x}");
            }
        }
    }
}
