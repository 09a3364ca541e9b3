#![allow(unsafe_code)]
//! Lines of the kind `compact`: the parities of a line's eight words under a key's coefficients.
//!
//! ```text
//!   word 0     | limit bit 0 | 63 solved bits |        bit j of the parities: parity(word j & coefficients)
//!   ...                                                bit j of the limit: the top bit of word j
//!   word 7     | limit bit 7 | 63 solved bits |
//! ```
//!
//! A column of the linear system is `W` consecutive words, 1, 2, 4 or 8, and its parity is the xor of theirs.
//! [`Scalar`] is the definition. On x86-64 every kernel with AVX2 runs the AVX2 body.

use super::Cpu;
use super::lines::Line;
use super::scalar::Scalar;

/// What a line says about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tested {
    /// Bit `j`: the parity of word `j` under the coefficients.
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

/// The lines of sixteen keys, as the batches test them.
pub(crate) const KEYS: usize = 16;

/// The operations on lines of linear systems.
pub(crate) trait Systems: Copy {
    /// Tests one line. The words of a column repeat the `W` words of coefficients, whose top bits are zero.
    fn tested<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested;

    /// Bit `i` of the results: whether `a[i] == b[i]`, and whether `c[i] < d[i]`.
    #[inline(always)]
    fn compare(self, a: &[u8; KEYS], b: &[u8; KEYS], c: &[u8; KEYS], d: &[u8; KEYS]) -> (u64, u64) {
        let (mut equal, mut less) = (0, 0);
        for i in 0..KEYS {
            equal |= u64::from(a[i] == b[i]) << i;
            less |= u64::from(c[i] < d[i]) << i;
        }
        (equal, less)
    }
}

impl Systems for Scalar {
    #[inline(always)]
    fn tested<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested {
        let (mut parities, mut limit) = (0, 0);
        for (j, bytes) in line.as_chunks().0.iter().enumerate() {
            let word = u64::from_le_bytes(*bytes);
            let ones = (word & coefficients[j % W]).count_ones();
            parities |= (ones as u8 & 1) << j;
            limit |= ((word >> 63) as u8) << j;
        }
        Tested { parities, limit }
    }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Body, Kernel, Task};

    struct One<'a, const W: usize>(&'a Line, &'a [u64; W]);
    impl<const W: usize> Task for One<'_, W> {
        type Output = Tested;

        #[inline(always)]
        fn run<B: Body>(self, kernel: B) -> Tested {
            kernel.tested(self.0, self.1)
        }
    }

    fn same<const W: usize>(line: &Line, coefficients: [u64; W]) {
        let expected = Scalar.tested(line, &coefficients);
        for kernel in Kernel::available() {
            let cpu = Cpu::detect(kernel).unwrap();
            assert_eq!(cpu.tested(line, &coefficients), expected, "{kernel}, one key");
            assert_eq!(cpu.run(One(line, &coefficients)), expected, "{kernel}, in a batch");
        }
    }

    #[test]
    fn every_kernel_gives_the_parities_of_the_scalar_one() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
            (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
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
    fn every_kernel_compares_all_bytes() {
        struct Compare<'a>([&'a [u8; KEYS]; 4]);
        impl Task for Compare<'_> {
            type Output = (u64, u64);

            #[inline(always)]
            fn run<B: Body>(self, kernel: B) -> (u64, u64) {
                let [a, b, c, d] = self.0;
                kernel.compare(a, b, c, d)
            }
        }
        for seed in 0..if cfg!(miri) { 3 } else { 256u32 } {
            let bytes = |salt: u32| -> [u8; KEYS] {
                core::array::from_fn(|i| {
                    ((seed + salt) * 37 + i as u32 * 11 * salt) as u8 % 5 * 63 + salt as u8 / 3
                })
            };
            let [a, b, c, d] = [bytes(1), bytes(2), bytes(3), bytes(4)];
            let expected = Scalar.compare(&a, &b, &c, &d);
            for kernel in Kernel::available() {
                let cpu = Cpu::detect(kernel).unwrap();
                assert_eq!(cpu.run(Compare([&a, &b, &c, &d])), expected, "{kernel}");
            }
        }
    }
}
