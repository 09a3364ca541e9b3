//! Building one filter on many machines: the array is divided into slices, each slice is filled on any
//! machine, and the file is assembled from them.
//!
//! ```text
//!   keys of one machine ─► Scatter: hashes, by slice ──┐ sent to
//!   keys of another     ─► Scatter: hashes, by slice ──┤ whoever has the slice
//!                                                      ▼
//!                              Slice: bits, their number, checksums ─► header, then the bits of all slices = the file
//! ```
//!
//! All lines of a key are in one block, and so in one slice. Hashes may arrive in any order and repeat: the file
//! equals, byte for byte, that of a filter into which the keys were inserted on one machine.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use fullbloom_core::bits::{self, Owned};
use fullbloom_core::error::{KeysError, Quantity, SizeError};
use fullbloom_core::kernel::lines::CHUNK;
use fullbloom_core::keys::Keys;
use fullbloom_core::native::format::{Encoder, checksums, chunk_len};
use fullbloom_core::native::hashing::{Hasher, Hashing};
use fullbloom_core::native::head::Head;
use fullbloom_core::native::shape::Shape;
use fullbloom_core::native::sizing::{MAX_BITS, Sizing};
use fullbloom_core::probe::lines::block_of;
use fullbloom_core::typed::KeyType;

/// The number of hashes a [`Scatter`] remembers, so that it does not send them again soon: 256 KiB, half of a
/// small core's private cache.
const RECENT: usize = 1 << 15;

/// The division of a filter's array into slices.
///
/// ```
/// use fullbloom::{Filter, Hashing, keys::Column};
/// use fullbloom_any::slices::{Scatter, Slicing};
/// use fullbloom::sizing::{Request, Sizing, Target};
///
/// let sizing = Sizing::new(&Request { expected_keys: 300_000, target: Target::Fpr(0.01) })?;
/// let slicing = Slicing::new(&sizing, Hashing::default(), 64 << 10)?;
/// let keys: Vec<u64> = (0..300_000).collect();
/// let mut scatter = Scatter::new(&slicing);
/// scatter.insert_batch(&Column(&keys))?;
///
/// let (mut facts, mut bits) = (Vec::new(), Vec::new());
/// for (number, hashes) in (0..).zip(scatter.take()) {
///     let mut slice = slicing.slice(number)?; // on another machine
///     slice.insert_hashes(&hashes)?;
///     facts.push(slice.facts());
///     bits.extend_from_slice(slice.bits());
/// }
/// let file = [slicing.header(&facts)?, bits].concat();
///
/// let mut whole = Filter::with_sizing(&sizing, Hashing::default())?;
/// whole.insert_batch(&Column(&keys))?;
/// assert!(file == whole.encode());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Slicing {
    shape: Shape,
    hasher: Hasher,
    head: Head,
    /// Blocks in a slice, as a power of two.
    blocks_shift: u32,
}

impl Slicing {
    /// Slices of this many bytes, rounded up to a power of two, and at least the range of one checksum of the
    /// file (64 KiB in files below 16 GiB). The last slice may be shorter.
    pub fn new(sizing: &Sizing, hashing: Hashing, slice_bytes: u64) -> Result<Slicing, SizeError> {
        if sizing.blocks == 0 || sizing.blocks > MAX_BITS / sizing.layout.block_len() {
            let allowed = "at least one, and at most 32 TiB of them";
            return Err(SizeError::Count { what: Quantity::Blocks, got: sizing.blocks, allowed });
        }
        let shape = Shape::new(sizing.layout, sizing.blocks);
        let bytes = slice_bytes.clamp(1, 1 << 45).next_power_of_two().max(chunk_len(shape.byte_len()));
        let block_bytes = sizing.layout.block_len() / 8;
        let head = Head::new(hashing, sizing.expected_keys);
        let hasher = head.hasher();
        Ok(Slicing { shape, hasher, head, blocks_shift: (bytes / block_bytes).ilog2() })
    }

    /// Records the type of the keys in the file.
    #[must_use]
    pub fn with_key_type(mut self, key_type: KeyType) -> Slicing {
        self.head.set_key_type(Some(key_type));
        self
    }

    /// How many slices there are.
    pub fn count(&self) -> u64 {
        self.shape.blocks.div_ceil(1 << self.blocks_shift)
    }

    /// Length in bytes of all slices together.
    pub fn byte_len(&self) -> u64 {
        self.shape.byte_len()
    }

    /// The number of the slice that a hash falls into.
    #[inline(always)]
    pub fn slice_of(&self, hash: u64) -> u64 {
        block_of(hash, self.shape.blocks) >> self.blocks_shift
    }

    /// The hashes of many keys, in the form that slices accept.
    ///
    /// # Panics
    /// If the length of `hashes` is not the number of keys.
    pub fn hash_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K, hashes: &mut [u64]) {
        assert_eq!(keys.count(), hashes.len(), "one hash for each key");
        keys.hash_into(&self.hasher, 0, hashes, false);
    }

    /// One slice, empty.
    pub fn slice(&self, number: u64) -> Result<Slice, SizeError> {
        if number >= self.count() {
            let allowed = "less than the number of slices";
            return Err(SizeError::Count { what: Quantity::Slice, got: number, allowed });
        }
        let blocks = self.blocks(number);
        let block_bytes = self.shape.layout.block_len() / 8;
        let bits = Owned::zeroed((blocks.end - blocks.start) * block_bytes)?;
        Ok(Slice { shape: self.shape, blocks, bits })
    }

    fn blocks(&self, number: u64) -> Range<u64> {
        let first = number << self.blocks_shift;
        first..(first + (1 << self.blocks_shift)).min(self.shape.blocks)
    }

    /// The header of the file of slices with these facts, in order; the bits of the slices follow it.
    pub fn header(&self, facts: &[SliceFacts]) -> Result<Vec<u8>, SliceError> {
        if facts.len() as u64 != self.count() {
            return Err(SliceError::Count { got: facts.len() as u64, expected: self.count() });
        }
        let chunk = chunk_len(self.shape.byte_len());
        let mut sums = Vec::new();
        for (number, facts) in (0..).zip(facts) {
            let blocks = self.blocks(number);
            let bytes = (blocks.end - blocks.start) * (self.shape.layout.block_len() / 8);
            let (got, expected) = (facts.sums.len() as u64, bytes.div_ceil(chunk) * 4);
            if got != expected {
                return Err(SliceError::Sums { slice: number, got, expected });
            }
            sums.extend_from_slice(&facts.sums);
        }
        let set_bits = facts.iter().fold(0u64, |sum, facts| sum.saturating_add(facts.set_bits));
        Ok(Encoder::fast(&self.head, &self.shape, &[], self.shape.stored_keys(set_bits)).header(&sums))
    }
}

/// One slice of a filter's array, and the keys whose bits are in it.
#[derive(Debug)]
pub struct Slice {
    shape: Shape,
    blocks: Range<u64>,
    bits: Owned,
}

impl Slice {
    /// Adds the keys of these hashes. If one belongs to another slice, none is added.
    pub fn insert_hashes(&mut self, hashes: &[u64]) -> Result<(), SliceError> {
        let strays = |hash: &u64| !self.blocks.contains(&block_of(*hash, self.shape.blocks));
        if let Some(at) = hashes.iter().position(strays) {
            return Err(SliceError::Stray { at, hash: hashes[at] });
        }
        let lines = self.bits.as_mut().as_chunks_mut().0;
        self.shape.set_part(lines, self.blocks.start, hashes, &[]);
        Ok(())
    }

    /// The bits, as in the file.
    pub fn bits(&self) -> &[u8] {
        self.bits.as_ref()
    }

    /// The facts of the slice for the header of the file. Reads all its bits.
    pub fn facts(&self) -> SliceFacts {
        let chunk = chunk_len(self.shape.byte_len());
        let set_bits = bits::count_ones(self.bits(), 8 * self.bits().len() as u64);
        SliceFacts { set_bits, sums: checksums(&[self.bits()], chunk as usize) }
    }
}

/// The facts of a slice that the header of a file needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceFacts {
    /// How many of its bits are set.
    pub set_bits: u64,
    /// The checksums of its chunks, one after the other, four bytes each.
    pub sums: Vec<u8>,
}

/// The keys of one machine, hashed and sorted by slice.
///
/// A key that repeats soon is left out: it would set no bit.
#[derive(Debug)]
pub struct Scatter {
    slicing: Slicing,
    runs: Vec<Vec<u64>>,
    /// The last hash for each value of the low bits.
    recent: Vec<u64>,
    waiting: usize,
}

impl Scatter {
    /// A `Scatter` without keys.
    pub fn new(slicing: &Slicing) -> Scatter {
        let runs = vec![Vec::new(); slicing.count() as usize];
        // The complement of a slot's own number is never a hash that is looked up in that slot.
        let recent = (0..RECENT as u64).map(|place| !place).collect();
        Scatter { slicing: slicing.clone(), runs, recent, waiting: 0 }
    }

    /// Adds many keys. Null keys are left out.
    ///
    /// # Errors
    /// If the keys are hashes with another seed or secret. None is added.
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<(), KeysError> {
        keys.require(&self.slicing.hasher, None)?;
        let mut hashes = [0; CHUNK];
        for start in (0..keys.count()).step_by(CHUNK) {
            let len = (keys.count() - start).min(CHUNK);
            keys.hash_into(&self.slicing.hasher, start, &mut hashes[..len], false);
            let kept = keys.validity().map_or(len, |validity| validity.keep_valid(start, &mut hashes[..len]));
            for &hash in &hashes[..kept] {
                let recent = &mut self.recent[hash as usize % RECENT];
                if *recent != hash {
                    *recent = hash;
                    self.runs[self.slicing.slice_of(hash) as usize].push(hash);
                    self.waiting += 1;
                }
            }
        }
        Ok(())
    }

    /// Hashes waiting to be taken, eight bytes each.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes the hashes of each slice, first slice first; many may be empty. No hashes wait afterwards.
    pub fn take(&mut self) -> Vec<Vec<u64>> {
        self.waiting = 0;
        self.runs.iter_mut().map(core::mem::take).collect()
    }
}

/// Slices that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SliceError {
    /// The number of slices is wrong.
    Count {
        /// Slices given.
        got: u64,
        /// Slices expected.
        expected: u64,
    },
    /// The number of checksums of a slice does not match its number of chunks.
    Sums {
        /// Number of the slice.
        slice: u64,
        /// Bytes of checksums given.
        got: u64,
        /// Bytes of checksums expected.
        expected: u64,
    },
    /// A hash belongs to another slice.
    Stray {
        /// Its index among those given.
        at: usize,
        /// The hash.
        hash: u64,
    },
}

impl fmt::Display for SliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SliceError::Count { got, expected } => write!(f, "{got} slices given of {expected}"),
            SliceError::Sums { slice, got, expected } => {
                write!(f, "slice {slice} has {got} bytes of checksums, not {expected}")
            }
            SliceError::Stray { at, hash } => {
                write!(f, "hash {at}, {hash:#018x}, falls into another slice")
            }
        }
    }
}

impl core::error::Error for SliceError {}
