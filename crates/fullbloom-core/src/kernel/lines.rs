#![allow(unsafe_code)]
//! The bits of one key in one line of the native layout: testing and setting them, on any kernel.
//!
//! [`Scalar`] is the definition, bit by bit. The kernels with vectors treat the eight lanes of a line at once
//! (`x86_64/lines.rs`, `aarch64/lines.rs`). The loops over many keys are in `native/shape.rs`; they are
//! compiled for each kernel by [`Cpu::run`].

use super::{Body, Cpu, scalar::Scalar};
use crate::bits::prefetch;
use crate::probe::lines::{self, Mark};
use core::sync::atomic::AtomicU64;

/// 512 bits: one cache line.
pub type Line = [u8; lines::LINE];

/// Hashes in a chunk of a batch: one bit each in a word of answers.
pub const CHUNK: usize = 64;

/// The number of lanes of a line in which a key has a bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probes {
    pub count: u32,
    /// For each first lane, the lanes that a key uses: their top bits are set.
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
    pub rows: &'static Rows,
}

/// The cyclic runs of one number of lanes, by first lane. The top bit of a word is set if the run has its
/// lane.
#[derive(Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct Rows {
    runs: [[u32; 8]; 8],
    /// The bits of a field that are a shift count, in every lane: read by the assembly, behind the runs.
    shifts: [u32; 8],
}

const _: () = assert!(core::mem::offset_of!(Rows, shifts) == 256, "where the assembly reads them");

/// The runs of 1 to 8 lanes.
static ROWS: [Rows; 8] = {
    let mut all = [const { Rows { runs: [[0; 8]; 8], shifts: [31; 8] } }; 8];
    let mut i = 0;
    while i < 512 {
        let (lanes, first, lane) = (i / 64 + 1, i / 8 % 8, i % 8);
        if (lane + 8 - first) % 8 < lanes {
            all[i / 64].runs[first][lane] = 1 << 31;
        }
        i += 1;
    }
    all
};

impl Probes {
    /// For 1 to 8 probes.
    pub fn new(count: u32) -> Probes {
        Probes { count, rows: &ROWS[count as usize - 1] }
    }

    /// The lanes that this key uses, as words whose top bit says so.
    #[inline(always)]
    pub fn row(self, mark: Mark) -> &'static [u32; 8] {
        &self.rows.runs[mark.first as usize & 7]
    }

    /// Byte `i`: the lanes of a key whose first lane is `i`, as bits.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn runs(self) -> u64 {
        let run = 0xff >> (8 - self.count);
        u64::from_le_bytes(core::array::from_fn(|first| u8::rotate_left(run, first as u32)))
    }
}

/// What a kernel does with the bits of one key in its line. The results equal those of [`Scalar`].
pub trait Lines: Body {
    /// Whether all bits of this key are set.
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool;

    /// Sets the bits of this key. Returns true if at least one was clear.
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool;

    /// Bit `i` of the result: whether all bits of hash `i` are set, where a key has one line. Prefetches the lines
    /// of `next`.
    ///
    /// # Panics
    /// If there are no lines.
    #[inline(always)]
    fn test_chunk(
        self,
        lines: &[Line],
        now: &[u64; CHUNK],
        next: Option<&[u64; CHUNK]>,
        probes: Probes,
    ) -> u64 {
        let mut present = 0;
        for (i, &hash) in now.iter().enumerate().rev() {
            if let Some(next) = next {
                prefetch::line(lines, line_of(lines, next[i]));
            }
            let found = self.test(&lines[line_of(lines, hash)], Mark::of(hash), probes);
            present = present << 1 | u64::from(found);
        }
        present
    }
}

/// The line of a hash, where a key has one.
#[inline(always)]
pub fn line_of(lines: &[Line], hash: u64) -> usize {
    lines::block_of(hash, lines.len() as u64) as usize
}

impl Lines for Scalar {
    #[inline(always)]
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool {
        mark.bits(probes.count).fold(1, |all, bit| all & line[bit as usize >> 3] >> (bit & 7)) & 1 != 0
    }

    #[inline(always)]
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool {
        let mut changed = false;
        for bit in mark.bits(probes.count) {
            let byte = &mut line[bit as usize >> 3];
            let mask = 1 << (bit & 7);
            changed |= *byte & mask == 0;
            *byte |= mask;
        }
        changed
    }
}

/// One key, from its hash, in the code of the caller: a call would cost as much as the work.
pub trait OneKey: Lines {
    /// Whether all bits of this hash are set in its line. False if there are no lines.
    #[inline(always)]
    fn test_hash(self, lines: &[Line], hash: u64, probes: Probes) -> bool {
        let line = lines.get(line_of(lines, hash));
        line.is_some_and(|line| self.test(line, Mark::of(hash), probes))
    }

    /// Sets all bits of this hash in its line. Returns true if at least one was clear.
    ///
    /// # Panics
    /// If there are no lines.
    #[inline(always)]
    fn set_hash(self, lines: &mut [Line], hash: u64, probes: Probes) -> bool {
        let line = line_of(lines, hash);
        self.set(&mut lines[line], Mark::of(hash), probes)
    }

    /// As [`test_hash`](OneKey::test_hash), in lines that another thread may be changing, given as their words.
    /// `None` if the kernel has only instructions that the compiler knows: such loads must not race with
    /// stores.
    #[inline(always)]
    fn test_shared(self, _words: &[AtomicU64], _hash: u64, _probes: Probes) -> Option<bool> {
        None
    }

    /// As [`set_hash`](OneKey::set_hash), in lines that other threads may be reading. `None` as of
    /// [`test_shared`](OneKey::test_shared).
    ///
    /// # Safety
    /// No other thread writes to this hash's line.
    #[inline(always)]
    unsafe fn set_shared(self, _words: &[AtomicU64], _hash: u64, _probes: Probes) -> Option<bool> {
        None
    }
}

impl OneKey for Scalar {}

/// The kernel that code for any CPU of this architecture can have inlined.
#[cfg(target_arch = "x86_64")]
pub type Inlined = super::x86_64::Avx2;
#[cfg(target_arch = "aarch64")]
pub type Inlined = super::aarch64::Neon;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub type Inlined = Scalar;

impl Cpu {
    /// The inlined kernel, if this CPU has what it needs.
    #[inline(always)]
    pub fn inlined(self) -> Option<Inlined> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(kernel) => Some(kernel),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(kernel) => Some(kernel.into()),
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(kernel) => Some(kernel),
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            Cpu::Scalar(kernel) => Some(kernel),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
