//! Everything of a filter but its bits.

use crate::pipeline;
use alloc::sync::Arc;
use core::ops::Range;
use fullbloom_core::bits;
use fullbloom_core::error::{DecodeError, MergeError};
use fullbloom_core::kernel::lines::OneKey as _;
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::Keys;
use fullbloom_core::native::exceptions::Exceptions;
use fullbloom_core::native::format::{self, Decoded, Encoder};
use fullbloom_core::native::hashing::{Hasher, Hashing, Secret};
use fullbloom_core::native::head::{Head, lines, lines_mut};
use fullbloom_core::native::key_type;
use fullbloom_core::native::shape::Shape;
use fullbloom_core::native::sizing::Sizing;
use fullbloom_core::part::Check;
use fullbloom_core::probe::lines::{LINE, Lines};
use fullbloom_core::sizing::{self as rates, Geometry};

/// The shape, the hash and the header of a filter. The methods that take `bits` rely on their length, which
/// [`Filter`](crate::Filter) has checked.
#[derive(Debug, Clone)]
pub struct Native {
    pub(crate) shape: Shape,
    pub(crate) hasher: Hasher,
    pub(crate) head: Head,
    /// The number of keys that the file says, until a bit changes.
    pub(crate) keys: Option<u64>,
}

impl Native {
    /// Of an empty filter of this size.
    pub(crate) fn new(sizing: &Sizing, hashing: Hashing) -> Native {
        let head = Head::new(hashing, sizing.expected_keys);
        Native::from_parts(Shape::new(sizing.layout, sizing.blocks), head)
    }

    /// Of a filter with this header. With exceptions or an unknown secret, lookups take the slower path.
    pub(crate) fn from_parts(shape: Shape, head: Head) -> Native {
        let shape = match (head.takes_keys(), shape.inlined) {
            (false, _) => shape.not_inlined(),
            (true, Some(_)) => shape,
            (true, None) => Shape::new(shape.layout, shape.blocks),
        };
        Native { shape, hasher: head.hasher(), head, keys: None }
    }

    /// Reads a file. Returns the location of the bits too.
    pub(crate) fn decode(file: &[u8], check: Check) -> Result<(Native, Range<usize>), DecodeError> {
        let decoded = format::decode(file)?;
        if check == Check::All {
            decoded.verify(file)?;
        }
        Ok((Native::of_file(&decoded, file)?, decoded.bits.range()))
    }

    /// Of a file whose sections are known.
    pub(crate) fn of_file(decoded: &Decoded, file: &[u8]) -> Result<Native, DecodeError> {
        let (head, shape, keys) = decoded.fast(file)?;
        Ok(Native { keys: Some(keys), ..Native::from_parts(shape, head) })
    }

    pub(crate) fn encoder<'a>(&'a self, bits: &'a [u8]) -> Encoder<'a> {
        Encoder::fast(&self.head, &self.shape, bits, self.stored_keys(bits))
    }

    /// Gives a locked filter its secret. Fails when it is the secret of another filter.
    pub(crate) fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        self.head.unlock(secret)?;
        *self = Native { keys: self.keys, ..Native::from_parts(self.shape, self.head.clone()) };
        Ok(())
    }

    /// The same with these exceptions, or without any.
    pub(crate) fn with_exceptions(self, exceptions: Option<Exceptions>) -> Native {
        let head = Head { exceptions: exceptions.map(Arc::new), ..self.head };
        Native { keys: self.keys, ..Native::from_parts(self.shape, head) }
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.shape.geometry()
    }

    #[inline(always)]
    pub(crate) fn test(&self, bits: &[u8], hash: u64) -> bool {
        match self.shape.inlined {
            Some(kernel) => kernel.test_hash(lines(bits), hash, self.shape.probes),
            None => self.test_any(bits, hash),
        }
    }

    #[cold]
    fn test_any(&self, bits: &[u8], hash: u64) -> bool {
        self.head.locked.is_some() || (self.shape.test_any(lines(bits), hash) && !self.head.excepts(hash))
    }

    pub(crate) fn test_batch<K: Keys<Hasher> + ?Sized>(
        &self,
        bits: &[u8],
        keys: &K,
        mut answers: Answers<'_>,
    ) {
        match self.head.locked {
            Some(_) => answers.fill(keys.count(), true),
            None => pipeline::test(self, bits, keys, answers),
        }
    }

    /// Sets the bits of this hash. Returns true if at least one was clear.
    #[inline(always)]
    pub(crate) fn set(&mut self, bits: &mut [u8], hash: u64) -> bool {
        self.keys = None;
        match self.shape.inlined {
            Some(kernel) => kernel.set_hash(lines_mut(bits), hash, self.shape.probes),
            None => self.set_any(bits, hash),
        }
    }

    #[cold]
    fn set_any(&self, bits: &mut [u8], hash: u64) -> bool {
        self.head.assert_takes_keys();
        self.shape.set_any(lines_mut(bits), hash)
    }

    /// Sets the bits of many keys.
    pub(crate) fn set_batch<K: Keys<Hasher> + ?Sized>(&mut self, bits: &mut [u8], keys: &K) {
        self.keys = None;
        self.head.assert_takes_keys();
        pipeline::set(self, bits, keys);
    }

    /// Sets the bits of many keys in order. `new` receives which of them changed a bit.
    pub(crate) fn set_batch_new<K: Keys<Hasher> + ?Sized>(
        &mut self,
        bits: &mut [u8],
        keys: &K,
        new: Answers<'_>,
    ) {
        self.keys = None;
        self.head.assert_takes_keys();
        pipeline::set_new(self, bits, keys, new);
    }

    /// Prefetches the first line of this hash.
    #[inline(always)]
    pub(crate) fn prefetch_first(&self, bits: &[u8], hash: u64) {
        if let Some((line, _)) = Lines::new(self.shape.layout, self.shape.blocks, hash).next() {
            bits::prefetch::read(bits, line as usize * LINE);
        }
    }

    /// Prefetches the lines of this hash.
    pub(crate) fn prefetch(&self, bits: &[u8], hash: u64) {
        for (line, _) in Lines::new(self.shape.layout, self.shape.blocks, hash) {
            bits::prefetch::read(bits, line as usize * LINE);
        }
    }

    /// The positions of the bits of this hash.
    pub(crate) fn positions(&self, hash: u64) -> impl Iterator<Item = u64> {
        let probes = self.shape.layout.line_probes();
        Lines::new(self.shape.layout, self.shape.blocks, hash).flat_map(move |(line, mark)| {
            mark.bits(probes).map(move |bit| 8 * LINE as u64 * line + u64::from(bit))
        })
    }

    pub(crate) fn count_ones(&self, bits: &[u8]) -> u64 {
        bits::count_ones(bits, self.geometry().bit_len)
    }

    /// The probability, over all hashes, that one is reported present. Without exceptions it is exact;
    /// exceptions reject a part of the other false positives, too, which is counted on average.
    pub(crate) fn fpr_of(&self, bits: &[u8]) -> f64 {
        let (set_bits, share) = self.shape.occupancy_now(lines(bits));
        self.head.fpr(share, self.shape.keys_of(set_bits))
    }

    pub(crate) fn fpr_with(&self, keys: f64) -> f64 {
        let spread = self.shape.layout.fpr_with(keys, self.shape.blocks);
        rates::combine(spread, rates::collision_fpr(keys, self.head.hash_bits))
    }

    /// The number of keys, as a file stores it.
    pub(crate) fn stored_keys(&self, bits: &[u8]) -> u64 {
        self.keys.unwrap_or_else(|| self.shape.stored_keys(self.count_ones(bits)))
    }

    /// The number of keys, estimated from the bits; `None` when all bits are set.
    pub(crate) fn keys_of(&self, bits: &[u8]) -> Option<f64> {
        self.shape.keys_of(self.count_ones(bits))
    }

    /// Whether there are more keys than expected, by more than three standard deviations of the estimate.
    pub(crate) fn is_overfull(&self, bits: &[u8]) -> bool {
        self.head.exceeds(self.stored_keys(bits))
    }

    pub(crate) fn mergeable(&self, other: &Native) -> Result<(), MergeError> {
        if !self.head.takes_keys() || !other.head.takes_keys() {
            let why = "one has exceptions, or its secret is not known";
            return Err(MergeError::Unsupported { dialect: "native", why });
        }
        let (ours, theirs) = (self.geometry(), other.geometry());
        MergeError::require_equal("bits", ours.bit_len, theirs.bit_len)?;
        MergeError::require_equal("bits in a block", ours.block_len, theirs.block_len)?;
        MergeError::require_equal("probes", ours.probes, theirs.probes)?;
        self.head.same_hash(&other.head)
    }

    /// Adds the keys of another filter, after [`mergeable`](Native::mergeable) returned `Ok`.
    pub(crate) fn merge(&mut self, ours: &mut [u8], other: &Native, theirs: &[u8]) {
        let empty = |bits: &[u8]| bits.iter().all(|byte| *byte == 0);
        self.head.key_type = match (self.head.key_type, other.head.key_type) {
            (ours_type, theirs_type) if empty(ours) => ours_type.or(theirs_type),
            (ours_type, _) if empty(theirs) => ours_type,
            (ours_type, theirs_type) => key_type::common(ours_type, theirs_type),
        };
        self.head.merge_key_field(&other.head);
        self.keys = None;
        bits::or_into(ours, theirs);
    }

    /// Keeps the bits that both have, after [`mergeable`](Native::mergeable) returned `Ok`.
    pub(crate) fn intersect(&mut self, ours: &mut [u8], other: &Native, theirs: &[u8]) {
        self.keys = None;
        bits::and_into(ours, theirs);
        self.head.key_type = self.head.key_type.or(other.head.key_type);
    }
}
