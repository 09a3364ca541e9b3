//! The traits of a dialect. Implemented by the types in this crate, and sealed.

use crate::Name;
use crate::kernel::each;
use core::cell::Cell;
use core::fmt;
use core::ops::Range;
use fullbloom_core::bits;
use fullbloom_core::error::{DecodeError, MergeError, SizeError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::{KeyHasher, Keys};
use fullbloom_core::part::Check;
use fullbloom_core::sealed::{Sealed, Words};
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{self, Geometry, Request};
use fullbloom_core::wire::{Output, Stop};

/// The bits of a filter, whose set bits are counted once for all that follows from them.
#[derive(Debug)]
pub struct Counted<'a> {
    bits: &'a [u8],
    set_bits: Cell<Option<u64>>,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(bits: &'a [u8]) -> Counted<'a> {
        Counted { bits, set_bits: Cell::new(None) }
    }

    /// The bytes of the bit array.
    pub fn bits(&self) -> &'a [u8] {
        self.bits
    }

    /// The number of set bits, counted by [`Dialect::count_ones`] at most once.
    pub fn set_bits<D: Dialect>(&self, dialect: &D) -> u64 {
        let set_bits = self.set_bits.get().unwrap_or_else(|| dialect.count_ones(self.bits));
        self.note(set_bits);
        set_bits
    }

    /// The number of set bits among the first `len`, which are counted apart unless they are all.
    pub(crate) fn set_in_first<D: Dialect>(&self, dialect: &D, len: u64) -> u64 {
        match len == dialect.geometry().bit_len {
            true => self.set_bits(dialect),
            false => bits::count_ones(self.bits, len),
        }
    }

    /// Notes the number of set bits, for a rate that is computed from parts of the array.
    pub(crate) fn note(&self, set_bits: u64) {
        self.set_bits.set(Some(set_bits));
    }
}

/// One system's exact rule from a key to an answer. A value of it is bound to one geometry.
///
/// Methods that take `bits` may rely on a check by [`Filter`](crate::Filter): there are
/// [`byte_len`](Dialect::byte_len) bytes.
pub trait Dialect: Clone + Send + Sync + Sealed {
    /// The dialect's name.
    const NAME: Name;

    /// Whether a filter of more bits per key can have a higher rate: its array stops growing at some size,
    /// but its probes do not.
    const RATE_NOT_MONOTONIC: bool = false;

    /// The hash of a key, computed once. It is enough to look the key up in every filter of this dialect.
    type Hash: Copy + Default + Send + Sync + Words;

    /// The type that hashes keys; for most dialects, the dialect itself.
    type Hasher: KeyHasher<Hash = Self::Hash> + Clone;

    /// The value that hashes keys.
    fn hasher(&self) -> &Self::Hasher;

    /// The shape of the filter.
    fn geometry(&self) -> Geometry;

    /// Whether a key with this hash may be present.
    fn test(&self, bits: &[u8], hash: Self::Hash) -> bool;

    /// Prefetches the cache lines that [`test`](Dialect::test) will read.
    fn prefetch(&self, bits: &[u8], hash: Self::Hash);

    /// Calls `visit` with each bit that [`test`](Dialect::test) examines, as a position in the array, in the
    /// order of the probes. Returns false if lookups of this dialect do not test single bits.
    fn visit_probes(&self, hash: Self::Hash, visit: &mut dyn FnMut(u64)) -> bool {
        let _ = (hash, visit);
        false
    }

    /// Tests many keys. `answers` has one place per key.
    #[doc(hidden)]
    #[inline]
    fn test_batch<K: Keys<Self::Hasher> + ?Sized>(&self, bits: &[u8], keys: &K, answers: Answers<'_>) {
        each::test(self, bits, keys, answers);
    }

    /// The expected rate of these bits: every probe of an absent key hits a set bit with probability `fill`.
    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        if probes == 0 {
            return 1.0;
        }
        let fill = bits.set_bits(self) as f64 / bit_len.max(1) as f64;
        fill.powf(f64::from(probes))
    }

    /// The number of distinct keys, estimated from these bits; `None` when it cannot be estimated.
    fn keys_of(&self, bits: &Counted<'_>) -> Option<f64> {
        let Geometry { bit_len, probes, .. } = self.geometry();
        sizing::estimated_keys(bits.set_bits(self), bit_len, probes)
    }

    /// The expected rate with this many distinct keys, by the dialect's own model.
    fn fpr_with(&self, keys: f64) -> f64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        sizing::classic_fpr(keys, bit_len, probes)
    }

    /// Selects whether keys are hashed as numbers or as bytes, in the systems that have a separate hash for
    /// numbers. Numbers are given as their bytes ([`Name::key`]).
    fn set_numbers(&mut self, numbers: bool) {
        let _ = numbers;
    }

    /// Number of set bits. Reads the whole array.
    fn count_ones(&self, bits: &[u8]) -> u64 {
        bits::count_ones(bits, self.geometry().bit_len)
    }

    /// A known case in which the format misses the rate it promises.
    fn weakness(&self) -> Option<Weakness> {
        None
    }

    /// Bytes the array occupies in memory.
    fn byte_len(&self) -> u64 {
        self.geometry().byte_len()
    }
}

/// The lookups of a dialect whose method `positions` gives the bits of a hash, as positions in one array. For
/// `impl Dialect`.
macro_rules! by_positions {
    () => {
        #[inline(always)]
        fn test(&self, bits: &[u8], hash: Self::Hash) -> bool {
            $crate::probe::all_set(bits, self.positions(hash))
        }

        by_positions!(all but test);
    };
    (all but test) => {
        #[inline(always)]
        fn prefetch(&self, bits: &[u8], hash: Self::Hash) {
            $crate::probe::prefetch_all(bits, self.positions(hash));
        }

        fn visit_probes(&self, hash: Self::Hash, visit: &mut dyn FnMut(u64)) -> bool {
            self.positions(hash).for_each(visit);
            true
        }
    };
}
pub(crate) use by_positions;

/// A dialect whose filters accept keys one by one, in any order.
pub trait Insert: Dialect {
    /// Sets the bits of this hash. Returns true if at least one was clear.
    fn set(&mut self, bits: &mut [u8], hash: Self::Hash) -> bool;

    /// Sets the bits of many keys.
    #[doc(hidden)]
    #[inline]
    fn set_batch<K: Keys<Self::Hasher> + ?Sized>(&mut self, bits: &mut [u8], keys: &K) {
        each::set(self, bits, keys, None);
    }

    /// Sets the bits of many keys in order. `new` has one place per key and receives whether the key changed
    /// a bit.
    #[doc(hidden)]
    #[inline]
    fn set_batch_new<K: Keys<Self::Hasher> + ?Sized>(&mut self, bits: &mut [u8], keys: &K, new: Answers<'_>) {
        each::set(self, bits, keys, Some(new));
    }

    /// Removes all keys.
    fn clear(&mut self, bits: &mut [u8]) {
        bits.fill(0);
    }

    /// Adds the keys of another filter's bits, after [`mergeable`](Insert::mergeable) returned `Ok`. On an
    /// error nothing has changed.
    fn merge(&mut self, ours: &mut [u8], other: &Self, theirs: &[u8]) -> Result<(), MergeError> {
        let _ = other;
        bits::or_into(ours, theirs);
        Ok(())
    }

    /// Keeps only the bits that another filter has too, after [`mergeable`](Insert::mergeable) returned `Ok`.
    fn intersect(&mut self, ours: &mut [u8], other: &Self, theirs: &[u8]) {
        let _ = other;
        bits::and_into(ours, theirs);
    }

    /// Whether the union of two filters' bits is the filter of the union of their keys.
    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        let (ours, theirs) = (self.geometry(), other.geometry());
        MergeError::require_equal("bits", ours.bit_len, theirs.bit_len)?;
        MergeError::require_equal("probes", ours.probes, theirs.probes)
    }
}

/// A dialect that can be sized from a [`Request`], by its system's own rule.
pub trait Size: Dialect {
    /// The geometry for this request.
    fn size(request: &Request) -> Result<Self, SizeError>;
}

/// A dialect whose bytes contain everything that lookups need.
pub trait Format: Dialect {
    /// Whether the bytes are only the array: they are read with the numbers of bits and probes, by
    /// [`decode_exact`](Format::decode_exact).
    const RAW: bool = false;

    /// Decodes and checks everything but the bits, and the bits too if `check` says so. Returns the dialect,
    /// and the range of the array in `bytes`.
    ///
    /// Strict: damaged or truncated bytes, and bytes after the filter, are refused. A dialect whose bytes are
    /// only the array always refuses; it has [`decode_exact`](Format::decode_exact).
    fn decode(bytes: &[u8], check: Check) -> Result<(Self, Range<usize>), DecodeError>;

    /// As [`decode`](Format::decode), with the numbers of bits and probes given by the caller. Where the
    /// bytes contain them too, both must agree.
    fn decode_exact(
        bytes: &[u8],
        bit_len: u64,
        probes: u32,
        check: Check,
    ) -> Result<(Self, Range<usize>), DecodeError> {
        let (dialect, range) = Self::decode(bytes, check)?;
        DecodeError::require_given(bit_len, probes, &dialect.geometry())?;
        Ok((dialect, range))
    }

    /// Writes the whole encoded filter.
    #[doc(hidden)]
    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop>;

    /// Length of the encoded filter in bytes; an upper bound where it depends on the bits.
    fn encoded_len(&self) -> u64;

    /// Whether the encoded filter contains a secret, so that only its owner should be able to read it.
    fn stores_secret(&self) -> bool {
        false
    }

    /// An inconsistency in the decoded fields that the system would not have written, although the filter can
    /// answer.
    fn doubt(&self) -> Option<Doubt> {
        None
    }

    /// The minimum number of bytes that may hold the array. A format that drops trailing zero bytes has fewer
    /// than [`byte_len`](Dialect::byte_len).
    fn least_len(&self) -> u64 {
        self.byte_len()
    }
}

/// An inconsistency in a filter's fields, which its system would not write.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Doubt {
    /// The field, and its expected value.
    pub cause: DecodeError,
    /// Whether keys of the filter are reported absent if that field is the damaged one.
    pub may_lose_keys: bool,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

/// A format misses the rate it promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Weakness {
    /// Why, and what to do about it.
    pub why: &'static str,
    /// True: with all keys. False: only with some keys.
    pub with_all_keys: bool,
}

impl Weakness {
    /// The weakness of an array with more bits than its positions reach, if the dialect has such a limit.
    pub(crate) fn beyond(range: Option<u64>, bit_len: u64) -> Option<Weakness> {
        let why = "positions from 2^31 on are never reached: a filter of more bits has a higher rate than it was sized for";
        range.filter(|range| bit_len > *range).map(|_| Weakness { why, with_all_keys: true })
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why)
    }
}
