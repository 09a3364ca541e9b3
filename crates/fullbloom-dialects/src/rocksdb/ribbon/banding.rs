//! Incremental Gaussian elimination: one equation per key, in a band of 128 slots.
//!
//! An equation says that the xor of some slots, of 128 beginning at `start`, is the key's result. Its first
//! coefficient is always 1, so it can be stored at its first slot; if that slot is taken, the two equations
//! are added, which moves the first coefficient to a later slot. If all coefficients of an equation vanish,
//! it is a repeated key; or, if its result does not vanish too, this attempt has failed and another seed is
//! tried.

use super::query::{Equation, Seed};
use super::sizing::BLOCK;
use alloc::vec::Vec;
use fullbloom_core::bits::prefetch;
use fullbloom_core::error::SizeError;

/// Memory for one slot while building: its coefficients and its result.
const SLOT_BYTES: u64 = 16 + 4;

/// Bytes for this many slots.
pub(crate) fn memory(slots: u32) -> u64 {
    u64::from(slots) * SLOT_BYTES
}

/// The equations by their first slot; coefficients are 0 for a slot without one.
pub(crate) struct Banding {
    coefficients: Vec<u128>,
    results: Vec<u32>,
}

/// How many keys ahead the slot of a key is prefetched.
const AHEAD: usize = 16;

impl Banding {
    /// A system without equations over this many slots: whole blocks, at least one.
    pub(crate) fn new(slots: u32) -> Result<Banding, SizeError> {
        let refused = |_| SizeError::Memory { bytes: memory(slots) };
        let (mut coefficients, mut results) = (Vec::new(), Vec::new());
        coefficients.try_reserve_exact(slots as usize).map_err(refused)?;
        results.try_reserve_exact(slots as usize).map_err(refused)?;
        coefficients.resize(slots as usize, 0);
        results.resize(slots as usize, 0);
        Ok(Banding { coefficients, results })
    }

    /// The first of the 256 seeds, beginning at `first`, with which these hashes can be solved.
    pub(crate) fn find_seed<'a, I>(&mut self, first: u8, hashes: impl Fn() -> I) -> Option<u8>
    where
        I: Iterator<Item = &'a [u64]>,
    {
        (0..=255u8).map(|i| first.wrapping_add(i)).find(|&ordinal| {
            self.coefficients.fill(0);
            self.results.fill(0);
            hashes().all(|group| self.add(Seed::new(ordinal), group))
        })
    }

    /// Adds the equations of these hashes. Returns false if one contradicts an earlier one.
    fn add(&mut self, seed: Seed, hashes: &[u64]) -> bool {
        let starts = (self.coefficients.len() - BLOCK as usize + 1) as u64;
        let prefetch_slot = |banding: &Banding, hash| {
            let start = seed.start(hash, starts);
            prefetch::read(&banding.coefficients, start);
            prefetch::read(&banding.results, start);
        };
        for &hash in hashes.iter().take(AHEAD) {
            prefetch_slot(self, hash);
        }
        hashes.iter().enumerate().all(|(i, &hash)| {
            if let Some(&later) = hashes.get(i + AHEAD) {
                prefetch_slot(self, later);
            }
            self.add_equation(seed.equation(hash, starts))
        })
    }

    #[inline(always)]
    fn add_equation(&mut self, equation: Equation) -> bool {
        let Equation { start: mut slot, mut coefficients, mut result } = equation;
        loop {
            // In bounds: a coefficient's slot is at most 127 after a start, and starts leave one block free.
            let (stored, stored_result) = (&mut self.coefficients[slot], &mut self.results[slot]);
            if *stored == 0 {
                (*stored, *stored_result) = (coefficients, result);
                return true;
            }
            coefficients ^= *stored;
            result ^= *stored_result;
            if coefficients == 0 {
                return result == 0;
            }
            let moved = coefficients.trailing_zeros();
            slot += moved as usize;
            coefficients >>= moved;
        }
    }

    /// The equations of a block's slots, in order.
    pub(crate) fn block(&self, block: u32) -> impl DoubleEndedIterator<Item = (u128, u32)> + '_ {
        let range = block as usize * BLOCK as usize..(block as usize + 1) * BLOCK as usize;
        self.coefficients[range.clone()].iter().copied().zip(self.results[range].iter().copied())
    }
}
