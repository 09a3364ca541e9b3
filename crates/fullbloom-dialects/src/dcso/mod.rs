//! The `.bloom` files of DCSO's bloom, version 1: `dcso`.
//!
//! ```text
//!    0  flags: u64 = 1        24  probes: u64         48  words: u64 each, ceil(bits / 64) of them
//!    8  expected keys: u64    32  bits: u64           …   data: whatever follows
//!   16  rate: f64             40  count: u64          all little-endian
//! ```
//!
//! Used by CIRCL hashlookup, Plaso and other forensic tools. `count` is the number of insertions that changed
//! a bit. The data are arbitrary bytes chosen by the writer, kept unchanged. Compressed files (`.bloom.gz`)
//! are this format in gzip.
//!
//! Keys are text by convention, and the file does not say which kind: hashlookup uses SHA-1 as 40 upper-case
//! hex digits.
//!
//! **Not every size reaches its rate**: where the number of bits is a power of two times a small odd number,
//! the generator of positions repeats itself, and a filter sized for 0.01 may have a rate of 0.24
//! ([`Dcso::collapses`]). One key more or less avoids it. The first releases (2017) had another layout
//! without a version, which no program reads any more.
//!
//! ```
//! use fullbloom_dialects::{Filter, View};
//! use fullbloom_dialects::Dcso;
//!
//! let mut filter = Filter::<Dcso>::with_fpr(100_000, 0.01)?;
//! filter.insert(b"DA39A3EE5E6B4B0D3255BFEF95601890AFD80709");
//! let filter = filter.with_data(b"source: example")?;
//! let bytes = filter.encode();
//! let view = Filter::<Dcso>::view(&bytes)?;
//! assert_eq!((view.count(), view.data()), (1, &b"source: example"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod rate;

use super::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Counted, Dialect, Doubt, Filter, Format, Insert, Size, Weakness};
use crate::hash::fnv1_64;
use crate::probe::{self, Mod64};
use core::f64::consts::LN_2;
use core::ops::Range;
use fullbloom_core::bits;
use fullbloom_core::error::{DecodeError, MergeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{Geometry, Request, Target, estimated_keys};
use fullbloom_core::wire::{Cursor, Output, Stop};

/// The largest prime below 2^64. Reducing by it changes only 59 values.
const MODULUS: u64 = u64::MAX - 58;
/// -1469: the step of the generator.
const MULTIPLIER: u64 = u64::MAX - 1468;

/// The flags: version 1 and nothing else.
const FLAGS: u64 = 1;
/// The offset of the count, which changes with the keys and is kept with the words.
const COUNT_AT: usize = 40;
/// Length of the count, which precedes the words.
const COUNT: usize = 8;

/// The number of probes for the smallest positive rate. A number in a file must not keep a lookup busy for
/// seconds.
const MAX_PROBES: u64 = 1075;

/// A filter of DCSO's bloom.
///
/// Its array is stored as in the file, from the count on: count, words, data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dcso {
    expected_keys: u64,
    fpr: f64,
    probes: u32,
    bits: u64,
    /// Reduces by `bits`. Without bits it reduces by one and is not used.
    reduce: Mod64,
    data_len: u64,
}

/// Bits and probes of a filter for these numbers: bits are rounded down, probes up.
/// 3 keys at a rate of 0.9 get none of either: such a filter reports every key present.
pub fn params(keys: u64, fpr: f64) -> (u64, u64) {
    let bits = (keys as f64 * fpr.ln() / LN_2.powi(2)).ceil().abs();
    let probes = (LN_2 * bits / keys as f64).ceil();
    (bits as u64, probes as u64)
}

impl Dcso {
    /// The filter that `create -n keys -p fpr` makes.
    pub fn with_params(expected_keys: u64, fpr: f64) -> Result<Self, SizeError> {
        if expected_keys == 0 {
            // The original writes a file that it cannot read back.
            return Err(SizeError::Count { what: Quantity::ExpectedKeys, got: 0, allowed: "1 or more" });
        }
        if !(fpr > 0.0 && fpr <= 1.0) {
            return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr <= 1" });
        }
        let (bits, probes) = params(expected_keys, fpr);
        Self::with_all(expected_keys, fpr, bits, probes.min(MAX_PROBES) as u32)
    }

    fn with_all(expected_keys: u64, fpr: f64, bits: u64, probes: u32) -> Result<Self, SizeError> {
        const LIMIT: u64 = 1 << 56; // so that lengths in bytes and in bits cannot wrap
        if bits > LIMIT {
            return Err(SizeError::TooLarge { bit_len: bits, limit: LIMIT });
        }
        let reduce = Mod64::new(bits.max(1)).expect("not zero");
        Ok(Dcso { expected_keys, fpr, probes, bits, reduce, data_len: 0 })
    }

    /// The number of keys it was sized for.
    pub fn expected_keys(&self) -> u64 {
        self.expected_keys
    }

    /// The rate it was sized for.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// Whether the number of bits is one of those at which the format misses its rate.
    pub fn collapses(&self) -> bool {
        rate::collapses(self.bits)
    }

    /// Bytes of count and words.
    fn array_len(&self) -> usize {
        COUNT + self.bits.div_ceil(64) as usize * 8 // bounded by the actual bytes, or by the allocation
    }

    /// Positions in the stored array, which begins with the count.
    #[inline(always)]
    fn positions(&self, hash: u64) -> impl Iterator<Item = u64> {
        let (mut at, reduce) = (hash, self.reduce);
        (0..self.probes).map(move |_| {
            at = below_modulus(at.wrapping_mul(MULTIPLIER));
            reduce.reduce(at) + 8 * COUNT as u64
        })
    }
}

#[inline(always)]
fn below_modulus(n: u64) -> u64 {
    n.min(n.wrapping_sub(MODULUS)) // one conditional subtraction, without a branch
}

fn count_of(bits: &[u8]) -> u64 {
    bits.first_chunk().map_or(0, |count| u64::from_le_bytes(*count))
}

fn put_count(bits: &mut [u8], count: u64) {
    bits[..COUNT].copy_from_slice(&count.to_le_bytes());
}

impl<S: AsRef<[u8]>> Filter<Dcso, S> {
    /// The number of insertions that changed a bit; after a merge, the sum of both.
    pub fn count(&self) -> u64 {
        count_of(self.bits())
    }

    /// The bytes that follow the words.
    pub fn data(&self) -> &[u8] {
        &self.bits()[self.dialect().array_len()..]
    }

    /// A copy with other data.
    pub fn with_data(&self, data: &[u8]) -> Result<Filter<Dcso>, SizeError> {
        let array_len = self.dialect().array_len();
        let dialect = Dcso { data_len: data.len() as u64, ..*self.dialect() };
        let mut copy = Filter::from_dialect(dialect)?;
        copy.bits.as_mut()[..array_len].copy_from_slice(&self.bits()[..array_len]);
        copy.bits.as_mut()[array_len..].copy_from_slice(data);
        Ok(copy)
    }
}

impl Sealed for Dcso {}

impl KeyHasher for Dcso {
    type Hash = u64;

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u64 {
        below_modulus(fnv1_64(key))
    }
}

impl Dialect for Dcso {
    const NAME: Name = Name::Dcso;
    type Hash = u64;
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(self.bits, self.probes)
    }

    by_positions!();

    fn count_ones(&self, bits: &[u8]) -> u64 {
        bits::count_ones(&bits[COUNT..self.array_len()], self.bits)
    }

    /// Where the size collapses, 65,536 hashes are looked up.
    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        const LOOKUPS: u32 = 1 << 16;
        if self.probes == 0 {
            return 1.0;
        }
        if self.collapses() {
            let mut random = rate::Random(1);
            let yes = (0..LOOKUPS).filter(|_| self.test(bits.bits(), below_modulus(random.next()))).count();
            return yes as f64 / f64::from(LOOKUPS);
        }
        let fill = bits.set_bits(self) as f64 / self.bits.max(1) as f64;
        fill.powf(self.probes.into())
    }

    fn keys_of(&self, bits: &Counted<'_>) -> Option<f64> {
        estimated_keys(bits.set_bits(self), self.bits, self.probes)
    }

    fn fpr_with(&self, keys: f64) -> f64 {
        rate::fpr_with(keys, self.bits, self.probes)
    }

    fn weakness(&self) -> Option<Weakness> {
        let why = "at this number of bits, a power of two times a small odd number, many keys share all their positions: \
                   make it for one key more";
        self.collapses().then_some(Weakness { why, with_all_keys: true })
    }

    fn byte_len(&self) -> u64 {
        self.array_len() as u64 + self.data_len
    }
}

impl Insert for Dcso {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: u64) -> bool {
        let changed = probe::set_all(bits, self.positions(hash));
        if changed {
            put_count(bits, count_of(bits).wrapping_add(1));
        }
        changed
    }

    /// The data are kept.
    fn clear(&mut self, bits: &mut [u8]) {
        bits[..self.array_len()].fill(0);
    }

    /// Counts are added, which gives an upper bound. Our data are kept and theirs dropped.
    fn merge(&mut self, ours: &mut [u8], _: &Self, theirs: &[u8]) -> Result<(), MergeError> {
        let Some(count) = count_of(ours).checked_add(count_of(theirs)) else {
            let why = "the sum of their counts exceeds 64 bits";
            return Err(MergeError::Unsupported { dialect: Name::Dcso.as_str(), why });
        };
        let words = COUNT..self.array_len();
        bits::or_into(&mut ours[words.clone()], &theirs[words]);
        put_count(ours, count);
        Ok(())
    }

    /// The count becomes the lower of both, which is an upper bound. Our data are kept and theirs dropped.
    fn intersect(&mut self, ours: &mut [u8], _: &Self, theirs: &[u8]) {
        let count = count_of(ours).min(count_of(theirs));
        let words = COUNT..self.array_len();
        bits::and_into(&mut ours[words.clone()], &theirs[words]);
        put_count(ours, count);
    }

    /// In the original's order. NaN as the rate equals no rate, not even itself.
    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        MergeError::require_equal("expected_keys", self.expected_keys, other.expected_keys)?;
        MergeError::require_equal("fpr", self.fpr, other.fpr)?;
        MergeError::require_equal("probes", self.probes, other.probes)?;
        MergeError::require_equal("bits", self.bits, other.bits)
    }
}

impl Size for Dcso {
    fn size(request: &Request) -> Result<Self, SizeError> {
        match request.target {
            Target::Fpr(fpr) => Self::with_params(request.expected_keys, fpr),
            Target::BitsPerKey(bits) => {
                let fpr = (-bits * LN_2 * LN_2).exp();
                if !(fpr > 0.0 && fpr < 1.0) {
                    let allowed = "above 0, below 1550";
                    return Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits, allowed });
                }
                Self::with_params(request.expected_keys, fpr)
            }
            Target::Exact { .. } => {
                let what = "its file also stores the keys and the rate, which determine bits and probes";
                Err(SizeError::Unsupported { dialect: Name::Dcso.as_str(), what })
            }
        }
    }
}

impl Format for Dcso {
    /// Refuses everything the original refuses. In addition, refuses flags other than version 1, more probes
    /// than any rate needs, and probes without bits, at which the original panics. The numbers may be
    /// inconsistent with each other ([`doubt`](Format::doubt) reports that).
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let flags = cursor.u64_le("flags")?;
        if flags != FLAGS {
            let allowed = "1: version 1 without flags";
            return Err(DecodeError::Value { field: "flags", at: 0, got: flags.into(), allowed });
        }
        let expected_keys = cursor.u64_le("expected keys")?;
        let fpr = cursor.f64_le("rate")?;
        let probes = cursor.u64_le("probes")?;
        let bits = cursor.u64_le("bits")?;
        cursor.take("count", COUNT as u64)?;
        if probes > MAX_PROBES || (bits == 0 && probes > 0) {
            let allowed = if bits == 0 { "0 where there are no bits" } else { "0..=1075" };
            return Err(DecodeError::Value { field: "probes", at: 24, got: probes.into(), allowed });
        }
        let words = bits.div_ceil(64);
        cursor.take("words", words.saturating_mul(8))?;
        let data_len = cursor.remaining();
        let dialect =
            Self::with_all(expected_keys, fpr, bits, probes as u32).map_err(DecodeError::Geometry)?;
        Ok((Dcso { data_len, ..dialect }, COUNT_AT..bytes.len()))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        let [keys, probes] = [self.expected_keys, self.probes.into()];
        for field in [FLAGS, keys, self.fpr.to_bits(), probes, self.bits] {
            out.write_all(&field.to_le_bytes())?;
        }
        out.write_all(bits)
    }

    fn encoded_len(&self) -> u64 {
        COUNT_AT as u64 + self.byte_len()
    }

    /// Whether bits and probes follow from the stored keys and rate. The comparison tolerates the last bit:
    /// logarithms differ between machines in their last digit.
    fn doubt(&self) -> Option<Doubt> {
        let mismatch = |field, at, got, expected| {
            Some(Doubt { cause: DecodeError::Mismatch { field, at, got, expected }, may_lose_keys: true })
        };
        if self.expected_keys == 0 {
            let cause = DecodeError::Value { field: "expected keys", at: 8, got: 0, allowed: "1 or more" };
            return Some(Doubt { cause, may_lose_keys: false });
        }
        if !(self.fpr > 0.0 && self.fpr <= 1.0) {
            let (got, allowed) = (self.fpr.to_bits().into(), "the bits of a number above 0, at most 1");
            let cause = DecodeError::Value { field: "rate", at: 16, got, allowed };
            return Some(Doubt { cause, may_lose_keys: false });
        }
        let (bits, probes) = params(self.expected_keys, self.fpr);
        if bits.abs_diff(self.bits) > 1 + bits / 1_000_000_000 {
            mismatch("bits", 32, self.bits, bits)
        } else if probes.abs_diff(self.probes.into()) > u64::from(bits != self.bits) {
            mismatch("probes", 24, self.probes.into(), probes)
        } else {
            None
        }
    }
}
