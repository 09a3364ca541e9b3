//! Batches of any dialect: each key's memory is asked for while earlier keys are worked on.

use super::{Answers, Dialect, Insert};

/// How many keys ahead of its test a key's cache lines are asked for in batches.
const AHEAD: usize = 16;

/// Arrays up to this size are in the second cache: asking for their memory ahead costs more than it brings.
const IN_CACHE: usize = 512 << 10;

/// What happens to a hash in a [`ring`].
enum Step<H> {
    /// It entered: ask for its memory.
    Coming(H),
    /// It leaves, [`AHEAD`] hashes later: use its memory.
    Arrived(H),
}

/// Passes hashes through a ring, so that each one's memory is on its way while earlier ones are worked on.
#[inline(always)]
fn ring<H: Copy + Default>(mut hashes: impl Iterator<Item = H>, mut step: impl FnMut(Step<H>)) {
    let mut slots = [H::default(); AHEAD];
    let mut inside = 0;
    for (slot, hash) in slots.iter_mut().zip(hashes.by_ref()) {
        step(Step::Coming(hash));
        *slot = hash;
        inside += 1;
    }
    let mut next = 0;
    for hash in hashes {
        let slot = &mut slots[next];
        step(Step::Arrived(*slot));
        step(Step::Coming(hash));
        *slot = hash;
        next = (next + 1) % AHEAD;
    }
    // When hashes followed, the ring is full and its oldest entry is at `next`; else that is 0.
    for i in 0..inside {
        step(Step::Arrived(slots[(next + i) % AHEAD]));
    }
}

#[inline(always)]
pub(super) fn test_ring<D: Dialect>(
    dialect: &D,
    bits: &[u8],
    hashes: impl Iterator<Item = D::Hash>,
    mut answers: Answers<'_>,
) {
    answers.clear();
    if bits.len() <= IN_CACHE {
        return hashes.enumerate().for_each(|(i, hash)| answers.put(i, dialect.test(bits, hash)));
    }
    let mut i = 0;
    ring(hashes, |step| match step {
        Step::Coming(hash) => dialect.prefetch(bits, hash),
        Step::Arrived(hash) => {
            answers.put(i, dialect.test(bits, hash));
            i += 1;
        }
    });
}

#[inline(always)]
pub(super) fn set_ring<D: Insert>(dialect: &D, bits: &mut [u8], hashes: impl Iterator<Item = D::Hash>) {
    if bits.len() <= IN_CACHE {
        return hashes.for_each(|hash| {
            dialect.set(bits, hash);
        });
    }
    ring(hashes, |step| match step {
        Step::Coming(hash) => dialect.prefetch(bits, hash),
        Step::Arrived(hash) => {
            dialect.set(bits, hash);
        }
    });
}
