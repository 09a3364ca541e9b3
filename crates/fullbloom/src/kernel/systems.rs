#![allow(unsafe_code)]
//! Lines of the kind `compact`: the parities of a line's columns under a key's coefficients.
//!
//! ```text
//!   a line       byte k, 0 to 62: slot k of the eight columns        byte 63: the limit
//!                the parities: the xor of the bytes that the coefficients choose, one bit for each column
//!
//!   further      word j: the 63 slots of column j                    bit j of the parities: parity(word j & coefficients)
//! ```
//!
//! Where a column has more than 63 slots, it has `W` words of coefficients, 1, 2, 4 or 8, and `W` bits of each byte, or
//! `W` consecutive words. Its parity is the xor of theirs. [`Scalar`] is the definition. On x86-64 every kernel with AVX2
//! runs the AVX2 body.

use super::Cpu;
use super::lines::Line;
use super::scalar::Scalar;
use crate::probe::systems::coefficients;

/// What a line says about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tested {
    /// Bit `j * W + v`: the parity of the slots of column `j` that word `v` of the coefficients chooses.
    pub(crate) parities: u8,
    /// The limit of the line: keys of a lower priority belong to it.
    pub(crate) limit: u8,
}

impl Tested {
    /// The bits that are not zero: where the parity of a column differs from its bit of the fingerprint. Bit
    /// `j * W` belongs to column `j`.
    #[inline(always)]
    pub(crate) fn wrong<const W: usize>(self, fingerprint: u8) -> u8 {
        wrong::<W>(self.parities, fingerprint)
    }
}

/// As [`Tested::wrong`].
#[inline(always)]
pub(crate) fn wrong<const W: usize>(parities: u8, fingerprint: u8) -> u8 {
    let mut folded = parities;
    let mut step = 1;
    while step < W {
        folded ^= folded >> step;
        step *= 2;
    }
    (folded ^ fingerprint) & column_bits(W)
}

/// The bits of the fingerprint that belong to a column: one in `words`.
#[inline(always)]
pub(crate) const fn column_bits(words: usize) -> u8 {
    match words {
        1 => 0xff,
        2 => 0x55,
        4 => 0x11,
        _ => 0x01,
    }
}

/// The byte of a line that is its limit.
pub(crate) const LIMIT: usize = 63;

/// The keys that batches test at a time.
pub(crate) const KEYS: usize = 16;

/// Sixteen keys and their lines.
pub(crate) struct Chunk<'a> {
    pub(crate) lines: [&'a Line; KEYS],
    /// The number that the coefficients follow from.
    pub(crate) t: &'a [u64; KEYS],
    pub(crate) fingerprints: &'a [u8; KEYS],
    pub(crate) priorities: &'a [u8; KEYS],
}

/// The operations on lines of linear systems.
pub(crate) trait Systems: Copy {
    /// Tests one line. The top bits of the coefficients are zero.
    fn tested<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested;

    /// The parities of eight words of further columns.
    fn parities<const W: usize>(self, words: &Line, coefficients: &[u64; W]) -> u8;

    /// Bit `i` of the results: whether all columns agree with the fingerprint of key `i`, and whether the key belongs to
    /// its line.
    #[inline(always)]
    fn test_chunk<const W: usize>(self, chunk: &Chunk<'_>) -> (u64, u64) {
        let (mut agree, mut here) = (0, 0);
        for i in 0..KEYS {
            let tested = self.tested(chunk.lines[i], &coefficients::<W>(chunk.t[i]));
            agree |= u64::from(tested.wrong::<W>(chunk.fingerprints[i]) == 0) << i;
            here |= u64::from(chunk.priorities[i] < tested.limit) << i;
        }
        (agree, here)
    }
}

impl Systems for Scalar {
    #[inline(always)]
    fn tested<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested {
        let (eights, _) = line.as_chunks();
        let mut parities = 0;
        for (v, word) in coefficients.iter().enumerate() {
            let chosen = eights.iter().zip(word.to_le_bytes()).map(|(slots, byte)| {
                // A copy of the byte for each slot, of which one bit is kept; then all bits of it, or none.
                let copies = u64::from(byte).wrapping_mul(0x0101_0101_0101_0101);
                let one_each = copies & 0x8040_2010_0804_0201;
                let ones = one_each.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101;
                u64::from_le_bytes(*slots) & ones.wrapping_mul(0xff)
            });
            let sum = chosen.fold(0, |sum, slots| sum ^ slots);
            parities |= xor_of_bytes(sum) & column_bits(W) << v;
        }
        Tested { parities, limit: line[LIMIT] }
    }

    #[inline(always)]
    fn parities<const W: usize>(self, words: &Line, coefficients: &[u64; W]) -> u8 {
        let mut parities = 0;
        for (j, bytes) in words.as_chunks().0.iter().enumerate() {
            let ones = (u64::from_le_bytes(*bytes) & coefficients[j % W]).count_ones();
            parities |= (ones as u8 & 1) << j;
        }
        parities
    }
}

/// The xor of the eight bytes of a word.
#[inline(always)]
pub(super) fn xor_of_bytes(word: u64) -> u8 {
    let word = word ^ word >> 32;
    let word = word ^ word >> 16;
    (word ^ word >> 8) as u8
}

impl Cpu {
    /// [`Systems::tested`] for a single key, with few instructions around it.
    #[inline(always)]
    pub(crate) fn tested<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested {
        match self {
            Cpu::Scalar(kernel) => kernel.tested(line, coefficients),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(kernel) => kernel.tested_inlined(line, coefficients),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(kernel) => kernel.avx2().tested_inlined(line, coefficients),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512Bitalg(kernel) => kernel.avx512().avx2().tested_inlined(line, coefficients),
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(kernel) => kernel.tested(line, coefficients),
        }
    }

    /// [`Systems::parities`] for a single key.
    #[inline(always)]
    pub(crate) fn parities<const W: usize>(self, words: &Line, coefficients: &[u64; W]) -> u8 {
        match self {
            Cpu::Scalar(kernel) => kernel.parities(words, coefficients),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(kernel) => kernel.parities(words, coefficients),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(kernel) => kernel.parities(words, coefficients),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512Bitalg(kernel) => kernel.parities(words, coefficients),
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(kernel) => kernel.parities(words, coefficients),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Body, Kernel, Task};

    /// One line in a batch, and the same bytes as further columns.
    struct One<'a, const W: usize>(&'a Line, &'a [u64; W]);
    impl<const W: usize> Task for One<'_, W> {
        type Output = (Tested, u8);

        #[inline(always)]
        fn run<B: Body>(self, kernel: B) -> (Tested, u8) {
            (kernel.tested(self.0, self.1), kernel.parities(self.0, self.1))
        }
    }

    struct Sixteen<'a, const W: usize>(Chunk<'a>);
    impl<const W: usize> Task for Sixteen<'_, W> {
        type Output = (u64, u64);

        #[inline(always)]
        fn run<B: Body>(self, kernel: B) -> (u64, u64) {
            kernel.test_chunk::<W>(&self.0)
        }
    }

    /// Bit by bit: what the documents say.
    fn by_definition<const W: usize>(line: &Line, coefficients: &[u64; W]) -> (Tested, u8) {
        let (mut parities, mut further) = (0, 0);
        for (v, word) in coefficients.iter().enumerate() {
            for k in (0..63).filter(|k| word >> k & 1 == 1) {
                parities ^= line[k] & column_bits(W) << v;
                for j in (v..8).step_by(W) {
                    further ^= (line[8 * j + k / 8] >> (k % 8) & 1) << j;
                }
            }
        }
        (Tested { parities, limit: line[63] }, further)
    }

    fn same<const W: usize>(line: &Line, coefficients: [u64; W]) {
        let expected = by_definition(line, &coefficients);
        for kernel in Kernel::available() {
            let cpu = Cpu::detect(kernel).unwrap();
            let one = (cpu.tested(line, &coefficients), cpu.parities(line, &coefficients));
            assert_eq!(one, expected, "{kernel}, one key");
            assert_eq!(cpu.run(One(line, &coefficients)), expected, "{kernel}, in a batch");
        }
    }

    fn numbers() -> impl FnMut() -> u64 {
        let mut state = 1u64;
        move || {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
            (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        }
    }

    #[test]
    fn every_kernel_gives_the_parities_of_the_definition() {
        let mut next = numbers();
        let rounds = if cfg!(miri) { 20 } else { 20_000 };
        for round in 0..rounds {
            let mut line: Line = core::array::from_fn(|_| next() as u8);
            if round < 520 {
                line = [0; 64]; // single bits
                if round > 0 {
                    line[(round / 8) % 64] = 1 << (round % 8);
                }
            }
            let mut words: [u64; 8] = core::array::from_fn(|_| next() >> 1);
            if round % 7 == 0 {
                words = [u64::MAX >> 1; 8];
            }
            same(&line, [words[0]]);
            same(&line, [words[0], words[1]]);
            same(&line, [words[0], words[1], words[2], words[3]]);
            same(&line, words);
        }
    }

    #[test]
    fn every_kernel_tests_sixteen_keys_as_one_by_one() {
        fn same<const W: usize>(chunk: &Chunk<'_>) -> (u64, u64) {
            let expected = Scalar.test_chunk::<W>(chunk);
            for kernel in Kernel::available() {
                let cpu = Cpu::detect(kernel).unwrap();
                let Chunk { lines, t, fingerprints, priorities } = *chunk;
                let copy = Chunk { lines, t, fingerprints, priorities };
                assert_eq!(cpu.run(Sixteen::<W>(copy)), expected, "{kernel}, {W} words");
            }
            expected
        }
        let mut next = numbers();
        let (mut agreed, mut were_here) = (0, 0);
        for round in 0..if cfg!(miri) { 3 } else { 3000 } {
            let lines: [Line; KEYS] = core::array::from_fn(|_| core::array::from_fn(|_| next() as u8));
            let t: [u64; KEYS] = core::array::from_fn(|_| next());
            let mut fingerprints: [u8; KEYS] = core::array::from_fn(|_| next() as u8);
            if round % 2 == 0 {
                // Those that agree, but for some keys.
                for i in (0..KEYS).filter(|i| i * 7 % 5 != round / 2 % 5) {
                    fingerprints[i] = Scalar.tested(&lines[i], &coefficients::<1>(t[i])).parities;
                }
            }
            let priorities = core::array::from_fn(|_| next() as u8);
            let chunk = Chunk {
                lines: lines.each_ref(),
                t: &t,
                fingerprints: &fingerprints,
                priorities: &priorities,
            };
            let (agree, here) = same::<1>(&chunk);
            agreed += agree.count_ones();
            were_here += here.count_ones();
            same::<2>(&chunk);
            same::<4>(&chunk);
            same::<8>(&chunk);
        }
        assert!(agreed > 10 && were_here > 10, "{agreed} {were_here}");
    }
}
