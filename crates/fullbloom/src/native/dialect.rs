//! The native dialect: the facts a filter stores besides its bits.

use super::exceptions::Exceptions;
use super::filter::MAX_LABEL;
use super::format::{self, DecodedKind, Encoder};
use super::guard::Except;
use super::hashing::{Hasher, Hashing, Secret};
use super::key_type;
use super::pipeline;
use super::shape::Shape;
use super::sizing::Sizing;
use crate::bits;
use crate::dialect::Name;
use crate::error::{DecodeError, MergeError, SizeError};
use crate::filter::{Check, Dialect, Format, Insert, Size};
use crate::kernel::lines::Line;
use crate::kernel::pipeline::Answers;
use crate::keys::Keys;
use crate::probe::lines;
use crate::sealed::Sealed;
use crate::sizing::{self as rates, Geometry, Request, estimated_keys};
use crate::typed::{KeyField, KeyForm, KeyType};
use crate::wire::{Output, Stop};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use core::ops::Range;

/// fullbloom's own dialect, kind `fast`.
///
/// Most programs use [`NativeFilter`](super::NativeFilter), which is `Filter<Native>`.
#[derive(Debug, Clone)]
pub struct Native {
    pub(super) shape: Shape,
    pub(super) hasher: Hasher,
    pub(super) head: Head,
    pub(super) exceptions: Option<Arc<Exceptions>>,
    /// Keyed, with an unknown secret: the check value of the right secret.
    pub(super) locked: Option<u64>,
}

/// The facts that a file stores besides the shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    pub(super) hashing: Hashing,
    pub(super) expected_keys: u64,
    pub(super) keys: u64,
    /// `keys` is an estimate, not a count of insertions, after a merge or an intersection.
    pub(super) estimated: bool,
    pub(super) store_secret: bool,
    /// The type of its keys, if that is known.
    pub(super) key_type: Option<KeyType>,
    /// The form that its keys were brought into.
    pub(super) key_form: KeyForm,
    /// The field of a line that its keys were taken from, if that is known.
    pub(super) key_field: Option<KeyField>,
    /// The leading bits of the hash that are used: 64, or fewer in a filter of fingerprints.
    pub(super) hash_bits: u32,
    pub(super) label: String,
}

impl Head {
    /// The facts of an empty filter.
    pub(super) fn new(hashing: Hashing, expected_keys: u64) -> Head {
        Head {
            hashing,
            expected_keys,
            keys: 0,
            estimated: false,
            store_secret: false,
            key_type: None,
            key_form: KeyForm::default(),
            key_field: None,
            hash_bits: 64,
            label: String::new(),
        }
    }

    /// The hash function of a filter with these facts.
    pub(super) fn hasher(&self) -> Hasher {
        Hasher::new(&self.hashing).leading(self.hash_bits)
    }

    /// `Ok` when both hash keys in the same way, and keys have the same form and no types with different
    /// bytes.
    pub(super) fn same_hash(&self, other: &Head) -> Result<(), MergeError> {
        if let (Some(ours), Some(theirs)) = (self.key_type, other.key_type)
            && key_type::require(Some(ours), theirs).is_err()
        {
            return MergeError::require_equal("the key type", ours, theirs);
        }
        MergeError::require_equal("the form of keys", self.key_form, other.key_form)?;
        MergeError::require_equal("bits of the hash", self.hash_bits, other.hash_bits)?;
        match (&self.hashing, &other.hashing) {
            (Hashing::Seed(ours), Hashing::Seed(theirs)) => {
                MergeError::require_equal("the seed", ours, theirs)
            }
            (Hashing::Secret(ours), Hashing::Secret(theirs)) if ours == theirs => Ok(()),
            (Hashing::Secret(_), Hashing::Secret(_)) => {
                MergeError::require_equal("the secret", "one", "another")
            }
            (Hashing::Seed(_), _) => MergeError::require_equal("the hash", "seeded", "keyed"),
            (Hashing::Secret(_), _) => MergeError::require_equal("the hash", "keyed", "seeded"),
        }
    }

    /// Keeps the field that the keys of one of them were taken from: of lines, it must then be said which part
    /// is the key.
    pub(super) fn merge_key_field(&mut self, other: &Head) {
        self.key_field = self.key_field.or(other.key_field);
    }

    /// Whether there are more keys than expected; of an estimate, more than three standard deviations more.
    pub(super) fn is_overfull(&self) -> bool {
        let deviation = if self.estimated { 3 * self.expected_keys.isqrt() } else { 0 };
        self.expected_keys > 0 && self.keys > self.expected_keys.saturating_add(deviation)
    }

    /// Takes the secret, if it is the one with this check value.
    pub(super) fn unlock(&mut self, expected: u64, secret: &Secret) -> Result<(), DecodeError> {
        if secret.check() != expected {
            return Err(DecodeError::Unknown { what: "this is not the filter's secret" });
        }
        self.hashing = Hashing::Secret(secret.clone());
        Ok(())
    }

    /// Sets the label. At most 65,535 bytes are kept.
    pub(super) fn set_label(&mut self, label: &str) {
        let end = (0..=label.len().min(MAX_LABEL)).rev().find(|&end| label.is_char_boundary(end));
        self.label = label[..end.unwrap_or(0)].to_owned();
    }
}

/// The array as lines. `bits` has the length given by the shape, as [`Filter`](crate::Filter) has checked.
#[inline(always)]
pub(super) fn lines(bits: &[u8]) -> &[Line] {
    bits.as_chunks().0
}

/// As [`lines`], mutable.
#[inline(always)]
pub(super) fn lines_mut(bits: &mut [u8]) -> &mut [Line] {
    bits.as_chunks_mut().0
}

impl Native {
    /// The dialect value of an empty filter of this size.
    pub(super) fn new(sizing: &Sizing, hashing: Hashing) -> Native {
        let head = Head::new(hashing, sizing.expected_keys);
        Native::from_parts(Shape::new(sizing.layout, sizing.blocks), head)
    }

    pub(super) fn from_parts(shape: Shape, head: Head) -> Native {
        Native { shape, hasher: head.hasher(), head, exceptions: None, locked: None }
    }

    /// Adds exceptions, and the check value of an unknown secret. Lookups then take the slower path.
    pub(super) fn closed(mut self, exceptions: Option<Exceptions>, locked: Option<u64>) -> Native {
        self.exceptions = exceptions.map(Arc::new);
        self.locked = locked;
        if !self.takes_keys() {
            self.shape = self.shape.not_inlined();
        }
        self
    }

    /// Whether keys can be inserted: it has no exceptions, and if it is keyed, its secret is known.
    pub(super) fn takes_keys(&self) -> bool {
        self.exceptions.is_none() && self.locked.is_none()
    }

    /// A key inserted under another hash than the filter's own would be lost, and so might a key among the
    /// exceptions.
    pub(super) fn assert_takes_keys(&self) {
        assert!(self.locked.is_none(), "the filter is locked: its secret is not known");
        assert!(self.exceptions.is_none(), "a filter with exceptions takes no more keys");
    }

    /// Gives a locked filter its secret. Fails when it is the secret of another filter.
    pub(super) fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        let Some(expected) = self.locked else { return Ok(()) };
        self.head.unlock(expected, secret)?;
        self.hasher = self.head.hasher();
        self.locked = None;
        if self.takes_keys() {
            self.shape = Shape::new(self.shape.layout, self.shape.blocks);
        }
        Ok(())
    }

    /// Whether a key that the bits report present is one of the exceptions.
    #[inline]
    pub(super) fn excepts(&self, hash: u64) -> bool {
        self.exceptions.as_ref().is_some_and(|exceptions| exceptions.excepts(hash))
    }

    #[inline(never)]
    fn test_any(&self, bits: &[u8], hash: u64) -> bool {
        self.locked.is_some() || (self.shape.test_any(lines(bits), hash) && !self.excepts(hash))
    }

    #[inline(never)]
    fn set_any(&mut self, bits: &mut [u8], hash: u64) -> bool {
        self.assert_takes_keys();
        self.shape.set_any(lines_mut(bits), hash)
    }

    pub(super) fn encoder<'a>(&'a self, bits: &'a [u8]) -> Encoder<'a> {
        Encoder::fast(self, bits)
    }
}

impl Sealed for Native {}

impl Except for Native {
    fn is_open(&self) -> bool {
        self.takes_keys()
    }

    fn member_count(&self) -> u64 {
        self.head.keys
    }

    fn exceptions(&self) -> Option<&Exceptions> {
        self.exceptions.as_deref()
    }

    fn with(self, exceptions: Option<Exceptions>) -> Native {
        let Native { shape, head, locked, .. } = self;
        let shape = Shape::new(shape.layout, shape.blocks);
        Native::from_parts(shape, head).closed(exceptions, locked)
    }
}

impl Dialect for Native {
    const NAME: Name = Name::Native;
    type Hash = u64;
    type Hasher = Hasher;

    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    #[inline(always)]
    fn hash_variant(&self) -> (u32, u64) {
        self.head.hashing.variant(self.head.hash_bits)
    }

    fn geometry(&self) -> Geometry {
        self.shape.geometry()
    }

    #[inline(always)]
    fn test(&self, bits: &[u8], hash: u64) -> bool {
        match self.shape.inlined {
            Some(kernel) => kernel.test_hash(lines(bits), hash, self.shape.probes),
            None => self.test_any(bits, hash),
        }
    }

    fn prefetch(&self, bits: &[u8], hash: u64) {
        for (line, _) in lines::Lines::new(self.shape.layout, self.shape.blocks, hash) {
            bits::prefetch::read(bits, line as usize * lines::LINE);
        }
    }

    fn visit_probes(&self, hash: u64, visit: &mut dyn FnMut(u64)) -> bool {
        let probes = self.shape.layout.line_probes();
        for (line, mark) in lines::Lines::new(self.shape.layout, self.shape.blocks, hash) {
            mark.bits(probes).for_each(|bit| visit(8 * lines::LINE as u64 * line + u64::from(bit)));
        }
        self.locked.is_none()
    }

    fn test_batch<K: Keys<Hasher> + ?Sized>(&self, bits: &[u8], keys: &K, mut answers: Answers<'_>) {
        match self.locked {
            Some(_) => answers.fill(keys.count(), true),
            None => pipeline::test(self, bits, keys, answers),
        }
    }

    /// The probability, over all hashes, that one is reported present. Without exceptions it is exact;
    /// exceptions reject a part of the other false positives, too, which is counted on average.
    fn fpr_of(&self, bits: &[u8]) -> f64 {
        let kept = self.exceptions.as_ref().map_or(1.0, |exceptions| exceptions.kept_share());
        let spread = self.shape.fpr_now(lines(bits)) * kept;
        rates::combine(spread, self.shortened_fpr(self.head.keys as f64))
    }

    fn fpr_with(&self, keys: f64) -> f64 {
        let spread = self.shape.layout.fpr_with(keys, self.shape.blocks);
        rates::combine(spread, rates::collision_fpr(keys, self.head.hash_bits))
    }
}

impl Insert for Native {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: u64) -> bool {
        let new = match self.shape.inlined {
            Some(kernel) => kernel.set_hash(lines_mut(bits), hash, self.shape.probes),
            None => self.set_any(bits, hash),
        };
        self.head.keys = self.head.keys.saturating_add(u64::from(new));
        new
    }

    fn set_batch<K: Keys<Hasher> + ?Sized>(&mut self, bits: &mut [u8], keys: &K) {
        self.assert_takes_keys();
        pipeline::set(self, bits, keys, None);
    }

    fn set_batch_new<K: Keys<Hasher> + ?Sized>(&mut self, bits: &mut [u8], keys: &K, new: Answers<'_>) {
        self.assert_takes_keys();
        pipeline::set(self, bits, keys, Some(new));
    }

    fn clear(&mut self, bits: &mut [u8]) {
        self.assert_takes_keys();
        bits.fill(0);
        self.head.keys = 0;
        self.head.estimated = false;
    }

    /// The number of keys that the two share is unknown: the count becomes an estimate, unless one of them
    /// has no bit that the other has not.
    fn merge(&mut self, ours: &mut [u8], other: &Self, theirs: &[u8]) -> Result<(), MergeError> {
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
            return Ok(());
        }
        (self.head.keys, self.head.estimated) = if ones == their_ones {
            (their_keys, other.head.estimated)
        } else {
            let most = our_keys.saturating_add(their_keys);
            (self.estimate(ours).clamp(our_keys.max(their_keys), most), true)
        };
        Ok(())
    }

    fn intersect(&mut self, ours: &mut [u8], other: &Self, theirs: &[u8]) {
        let most = self.head.keys.min(other.head.keys);
        bits::and_into(ours, theirs);
        self.head.keys = self.estimate(ours).min(most);
        self.head.estimated = true;
        self.head.key_type = self.head.key_type.or(other.head.key_type);
    }

    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        if !self.takes_keys() || !other.takes_keys() {
            let why = "one has exceptions, or its secret is not known";
            return Err(MergeError::Unsupported { dialect: Name::Native.as_str(), why });
        }
        let (ours, theirs) = (self.geometry(), other.geometry());
        MergeError::require_equal("bits", ours.bit_len, theirs.bit_len)?;
        MergeError::require_equal("bits in a block", ours.block_len, theirs.block_len)?;
        MergeError::require_equal("probes", ours.probes, theirs.probes)?;
        self.head.same_hash(&other.head)
    }
}

impl Native {
    /// The rate at which absent keys have the hash of a present one, if the hash is shortened.
    fn shortened_fpr(&self, keys: f64) -> f64 {
        if self.head.hash_bits == 64 { 0.0 } else { rates::collision_fpr(keys, self.head.hash_bits) }
    }

    /// The number of keys, estimated from the bits; `u64::MAX` when all bits are set.
    fn estimate(&self, bits: &[u8]) -> u64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        let keys = estimated_keys(self.count_ones(bits), bit_len, probes);
        keys.map_or(u64::MAX, |keys| (keys + 0.5) as u64)
    }
}

impl Size for Native {
    /// The default hashing: seed 0.
    fn size(request: &Request) -> Result<Self, SizeError> {
        Ok(Native::new(&Sizing::new(request)?, Hashing::default()))
    }
}

impl Format for Native {
    fn decode(file: &[u8], check: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let decoded = format::decode(file)?;
        if check == Check::All {
            decoded.verify(file)?;
        }
        let exceptions = decoded.exceptions.map(|stored| stored.read(file));
        match decoded.kind {
            DecodedKind::Fast(head, shape) => {
                let native = Native::from_parts(shape, head).closed(exceptions, decoded.locked);
                Ok((native, decoded.bits))
            }
            other => Err(DecodeError::Kind { found: other.name(), wanted: "fast" }),
        }
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        self.encoder(bits).write_to(out)
    }

    fn encoded_len(&self) -> u64 {
        self.encoder(&[]).encoded_len()
    }

    fn stores_secret(&self) -> bool {
        self.encoder(&[]).stores_secret()
    }
}
