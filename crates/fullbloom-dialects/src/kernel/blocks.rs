#![allow(unsafe_code)]
//! The blocks of a filter, and the block that a key falls into.

use super::Block;
use core::marker::PhantomData;
use fullbloom_core::bits::prefetch;
use fullbloom_core::kernel::pipeline::{CHUNK, is_near};

/// The addresses of a filter's blocks `B`, for finding and prefetching them, not for reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<B = Block> {
    base: *const u8,
    count: u32,
    /// Whether the array is so large that prefetching pays off.
    far: bool,
    /// Whether blocks straddle two cache lines.
    straddling: bool,
    block: PhantomData<B>,
}

/// A block of bits, and the halves of a hash that choose the block and the bits in it.
pub(crate) trait Halves: Copy {
    /// The half that chooses the block.
    fn place(hash: u64) -> u32;
    /// The half that chooses the bits.
    fn probes(hash: u64) -> u32;
}

impl Halves for Block {
    #[inline(always)]
    fn place(hash: u64) -> u32 {
        hash as u32
    }

    #[inline(always)]
    fn probes(hash: u64) -> u32 {
        (hash >> 32) as u32
    }
}

impl<B: Halves> Places<B> {
    /// `None` for zero blocks, and for 2^32 or more.
    #[inline(always)]
    fn of(blocks: &[B]) -> Option<Places<B>> {
        let base = blocks.as_ptr().cast::<u8>();
        let straddling = !base.addr().is_multiple_of(size_of::<B>());
        let count = u32::try_from(blocks.len()).ok().filter(|&count| count > 0)?;
        Some(Places { base, count, far: !is_near(size_of_val(blocks)), straddling, block: PhantomData })
    }

    /// The byte offset of this hash's block; always inside the array.
    #[inline(always)]
    fn offset(&self, hash: u64) -> u64 {
        let number = (u64::from(B::place(hash)) * u64::from(self.count)) >> 32;
        number * size_of::<B>() as u64
    }

    /// Prefetches the blocks of a chunk, if that pays off.
    #[inline(always)]
    pub(crate) fn prefetch(&self, offsets: &Offsets) {
        if !self.far {
            return;
        }
        for offset in offsets.0 {
            prefetch::address(self.base.wrapping_add(offset as usize));
        }
        if self.straddling {
            let last = self.base.wrapping_add(size_of::<B>() - 1);
            // Opaque to the optimiser; otherwise the loop above keeps all addresses for this one, which
            // hardly ever runs.
            for offset in core::hint::black_box(offsets).0 {
                prefetch::address(last.wrapping_add(offset as usize));
            }
        }
    }
}

/// The offsets of the blocks of a chunk of keys.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Offsets([u64; CHUNK]);

impl Offsets {
    pub(crate) const EMPTY: Offsets = Offsets([0; CHUNK]);

    /// The offsets for the keys with these hashes.
    #[inline(always)]
    pub(crate) fn find<B: Halves>(&mut self, places: Places<B>, hashes: &[u64; CHUNK]) {
        for (offset, hash) in self.0.iter_mut().zip(hashes) {
            *offset = places.offset(*hash);
        }
    }

    /// The number of the block of key `i`.
    #[inline(always)]
    pub(crate) fn index<B>(&self, i: usize) -> usize {
        self.0[i] as usize / size_of::<B>()
    }
}

/// A filter to test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter<'a, B = Block> {
    pub(crate) places: Places<B>,
    blocks: &'a [B],
    pub(crate) probes: u32,
}

impl<'a, B: Halves> Filter<'a, B> {
    /// `None` for zero blocks, and for 2^32 or more.
    #[inline(always)]
    pub(crate) fn new(blocks: &'a [B], probes: u32) -> Option<Self> {
        Places::of(blocks).map(|places| Filter { places, blocks, probes })
    }

    /// The block of key `i` of a chunk.
    ///
    /// # Safety
    /// The offsets must have been computed with this filter's places.
    #[inline(always)]
    pub(crate) unsafe fn block(&self, offsets: &Offsets, i: usize) -> &'a B {
        let block = self.blocks.as_ptr().wrapping_byte_add(offsets.0[i] as usize);
        // SAFETY: `Places::offset` returns the block size times a number below the number of blocks.
        unsafe { &*block }
    }
}

/// A filter to fill.
#[derive(Debug)]
pub(crate) struct FilterMut<'a, B = Block> {
    pub(crate) places: Places<B>,
    pub(crate) blocks: &'a mut [B],
    pub(crate) probes: u32,
}

impl<'a, B: Halves> FilterMut<'a, B> {
    /// `None` for zero blocks, and for 2^32 or more.
    #[inline(always)]
    pub(crate) fn new(blocks: &'a mut [B], probes: u32) -> Option<Self> {
        Places::of(blocks).map(|places| FilterMut { places, blocks, probes })
    }
}
