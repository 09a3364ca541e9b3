#![allow(unsafe_code)]
//! The lines of a fast filter, for insertions and lookups by many threads.

use super::shape::Shape;
use crate::bits::Owned;
use crate::bits::atomic::{self, AtomicBits, Locks, Mask};
use crate::bits::prefetch;
use crate::kernel::lines::OneKey as _;
use crate::probe::lines::{LINE, Lines, block_of};
use core::sync::atomic::{AtomicU64, Ordering};

/// Words of a line.
const WORDS: usize = LINE / 8;

/// Insertions lock the block of their key, so that one thread writes to it at a time; lookups lock nothing.
#[derive(Debug)]
pub struct SharedLines {
    shape: Shape,
    bits: AtomicBits,
    locks: Locks,
}

impl SharedLines {
    /// Over the array of a filter of this shape.
    pub fn new(shape: Shape, bits: Owned) -> SharedLines {
        debug_assert_eq!(bits.len() as u64, shape.byte_len());
        SharedLines { shape, bits: AtomicBits::new(bits), locks: Locks::new(shape.blocks) }
    }

    /// Sets all bits of this hash. Returns true if at least one was clear.
    #[inline]
    pub fn insert(&self, hash: u64) -> bool {
        // Repeated keys wait for nobody.
        if self.test(hash) {
            return false;
        }
        let (shape, words) = (&self.shape, self.bits.words());
        self.locks.hold(block_of(hash, shape.blocks), || {
            // SAFETY: the line is in the block whose lock is held. All writes hold it: `bits` and `locks` are
            // private, and no other method writes through a shared reference.
            let set =
                shape.inlined.and_then(|kernel| unsafe { kernel.set_shared(words, hash, shape.probes) });
            set.unwrap_or_else(|| atomic::set(words, self.bits_of(hash)))
        })
    }

    /// Whether all bits of this hash are set.
    #[inline]
    pub fn test(&self, hash: u64) -> bool {
        let (shape, words) = (&self.shape, self.bits.words());
        let tested = shape.inlined.and_then(|kernel| kernel.test_shared(words, hash, shape.probes));
        tested.unwrap_or_else(|| self.contains_bits(hash))
    }

    #[inline(never)]
    fn contains_bits(&self, hash: u64) -> bool {
        atomic::contains(self.bits.words(), self.bits_of(hash))
    }

    /// Prefetches the lines of this hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        for (line, _) in Lines::new(self.shape.layout, self.shape.blocks, hash) {
            prefetch::read(self.bits.words(), line as usize * WORDS);
        }
    }

    /// The words as they are now, in the byte order of this machine; in memory they are the bytes of the array.
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.bits.words().iter().map(|word: &AtomicU64| word.load(Ordering::Acquire))
    }

    /// Clears all bits.
    pub fn clear(&mut self) {
        self.bits.exclusive().fill(0);
    }

    /// The array, once no other thread can access it.
    pub fn into_inner(self) -> Owned {
        self.bits.into_inner()
    }

    /// The bits of a hash as (word, bit) pairs.
    #[inline(always)]
    fn bits_of(&self, hash: u64) -> impl Iterator<Item = (usize, Mask)> {
        let probes = self.shape.layout.line_probes();
        Lines::new(self.shape.layout, self.shape.blocks, hash).flat_map(move |(line, mark)| {
            let first_word = line as usize * WORDS;
            mark.bits(probes).map(move |bit| (first_word + bit as usize / 64, Mask::of_bit(bit % 64)))
        })
    }
}
