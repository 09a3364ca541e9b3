//! Everything of a filter but its bits.

use crate::pipeline;
use alloc::sync::Arc;
use core::ops::Range;
use fullbloom_core::bits;
use fullbloom_core::error::{DecodeError, MergeError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::Keys;
use fullbloom_core::native::exceptions::Exceptions;
use fullbloom_core::native::format::{self, Encoder};
use fullbloom_core::native::hashing::{Hasher, Hashing, Secret};
use fullbloom_core::native::head::{Head, lines, lines_mut};
use fullbloom_core::native::key_type;
use fullbloom_core::native::shape::Shape;
use fullbloom_core::native::sizing::Sizing;
use fullbloom_core::part::Check;
use fullbloom_core::probe::lines::{LINE, Lines};
use fullbloom_core::sizing::{self as rates, Geometry, estimated_keys};

/// The shape, the hash and the header of a filter. The methods that take `bits` rely on their length, which
/// [`Filter`](crate::Filter) has checked.
#[derive(Debug, Clone)]
pub struct Native {
    pub(crate) shape: Shape,
    pub(crate) hasher: Hasher,
    pub(crate) head: Head,
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
        Native { shape, hasher: head.hasher(), head }
    }

    /// Reads a file. Returns the location of the bits too.
    pub(crate) fn decode(file: &[u8], check: Check) -> Result<(Native, Range<usize>), DecodeError> {
        let decoded = format::decode(file)?;
        if check == Check::All {
            decoded.verify(file)?;
        }
        let (head, shape) = decoded.fast(file)?;
        Ok((Native::from_parts(shape, head), decoded.bits.range()))
    }

    pub(crate) fn encoder<'a>(&'a self, bits: &'a [u8]) -> Encoder<'a> {
        Encoder::fast(&self.head, &self.shape, bits)
    }

    /// Gives a locked filter its secret. Fails when it is the secret of another filter.
    pub(crate) fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        self.head.unlock(secret)?;
        *self = Native::from_parts(self.shape, self.head.clone());
        Ok(())
    }

    /// The same with these exceptions, or without any.
    pub(crate) fn with_exceptions(self, exceptions: Option<Exceptions>) -> Native {
        let head = Head { exceptions: exceptions.map(Arc::new), ..self.head };
        Native::from_parts(self.shape, head)
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

    #[inline(never)]
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
        let new = match self.shape.inlined {
            Some(kernel) => kernel.set_hash(lines_mut(bits), hash, self.shape.probes),
            None => self.set_any(bits, hash),
        };
        self.head.keys = self.head.keys.saturating_add(u64::from(new));
        new
    }

    #[inline(never)]
    fn set_any(&mut self, bits: &mut [u8], hash: u64) -> bool {
        self.head.assert_takes_keys();
        self.shape.set_any(lines_mut(bits), hash)
    }

    /// Sets the bits of many keys in order. `new` receives which of them changed a bit.
    pub(crate) fn set_batch<K: Keys<Hasher> + ?Sized>(
        &mut self,
        bits: &mut [u8],
        keys: &K,
        new: Option<Answers<'_>>,
    ) {
        self.head.assert_takes_keys();
        pipeline::set(self, bits, keys, new);
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
        let spread = self.shape.fpr_now(lines(bits)) * self.head.kept_share();
        let keys = self.head.keys as f64;
        match self.head.hash_bits {
            64 => spread,
            shortened => rates::combine(spread, rates::collision_fpr(keys, shortened)),
        }
    }

    pub(crate) fn fpr_with(&self, keys: f64) -> f64 {
        let spread = self.shape.layout.fpr_with(keys, self.shape.blocks);
        rates::combine(spread, rates::collision_fpr(keys, self.head.hash_bits))
    }

    /// The number of keys, estimated from the bits; `None` when all bits are set.
    pub(crate) fn keys_of(&self, bits: &[u8]) -> Option<f64> {
        let Geometry { bit_len, probes, .. } = self.geometry();
        estimated_keys(self.count_ones(bits), bit_len, probes)
    }

    fn estimate(&self, bits: &[u8]) -> u64 {
        self.keys_of(bits).map_or(u64::MAX, |keys| (keys + 0.5) as u64)
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
    ///
    /// The number of keys that the two share is unknown: the count becomes an estimate, unless one of them
    /// has no bit that the other has not.
    pub(crate) fn merge(&mut self, ours: &mut [u8], other: &Native, theirs: &[u8]) {
        let (our_keys, their_keys) = (self.head.keys, other.head.keys);
        let (our_ones, their_ones) = (self.count_ones(ours), self.count_ones(theirs));
        bits::or_into(ours, theirs);
        let ones = self.count_ones(ours);
        self.head.key_type = match (self.head.key_type, other.head.key_type) {
            (ours, theirs) if our_keys == 0 => ours.or(theirs),
            (ours, _) if their_keys == 0 => ours,
            (ours, theirs) => key_type::common(ours, theirs),
        };
        self.head.merge_key_field(&other.head);
        if ones == our_ones {
            return;
        }
        (self.head.keys, self.head.estimated) = if ones == their_ones {
            (their_keys, other.head.estimated)
        } else {
            let most = our_keys.saturating_add(their_keys);
            (self.estimate(ours).clamp(our_keys.max(their_keys), most), true)
        };
    }

    /// Keeps the bits that both have, after [`mergeable`](Native::mergeable) returned `Ok`.
    pub(crate) fn intersect(&mut self, ours: &mut [u8], other: &Native, theirs: &[u8]) {
        let most = self.head.keys.min(other.head.keys);
        bits::and_into(ours, theirs);
        self.head.keys = self.estimate(ours).min(most);
        self.head.estimated = true;
        self.head.key_type = self.head.key_type.or(other.head.key_type);
    }
}
