//! The files of poppy, version 2: `poppy`.
//!
//! ```text
//!    0  version: u8 = 2       8  expected keys: u64    40      cache bits: u64, then the cache
//!    1  opt: u8, 0..=3       16  rate: f64             48 + c  buckets: u64, then 4096 bytes each
//!    2  reserved, 6 bytes    24  probes: u64           …       data: whatever follows
//!                            32  count: u64            all little-endian
//! ```
//!
//! CIRCL's successor of DCSO's format ([`dcso`](super::dcso), which poppy calls version 1). All probes of a
//! key stay in one bucket of 32,768 bits; with `opt` 2 and 3 a cache of one bit per key is looked up first.
//!
//! **Keys of at most eight bytes are not hashed** but padded with zeros, so `a` and `a\0` are one key, and
//! anyone who chooses such keys chooses their bits. The first bit is then given by the first fifteen bits of
//! the key itself. So among keys that begin with the same two characters, all bits of a bucket follow from
//! fifteen bits of a second hash. An absent key shares all its bits with a present one with probability
//! 1/32,768 for each key in its bucket. This raises a requested rate of 1 % to 10 %. Decimal numbers as text
//! (a hundred beginnings) have a rate about 0.1 % above the promised one; sequential numbers as eight bytes
//! have one and a half times the promised rate. The expected rate is that of longer keys.
//!
//! poppy refuses a new key once `count` has reached the expected keys ([`Filter::try_insert`] does the same).
//! The other insertion methods continue: the filter holds all its keys, at a worse rate.
//!
//! ```
//! use fullbloom_dialects::{Filter, View};
//! use fullbloom_dialects::Poppy;
//! use fullbloom_dialects::poppy::Opt;
//!
//! let mut filter = Filter::from_dialect(Poppy::with_params(2, 0.01, Opt::None)?)?;
//! assert_eq!((filter.try_insert(b"one"), filter.try_insert(b"one")), (Ok(true), Ok(false)));
//! filter.insert(b"two");
//! assert!(filter.try_insert(b"three").is_err());
//! assert_eq!(Filter::<Poppy>::view(&filter.encode())?.count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Name;
use crate::filter::{Check, Counted, Dialect, Doubt, Filter, Format, Insert, Size, Weakness};
use crate::hash::wyhash_poppy;
use crate::probe::{self, Mod64};
use core::f64::consts::LN_2;
use core::fmt;
use core::ops::Range;
use fullbloom_core::bits::{self, prefetch};
use fullbloom_core::error::{DecodeError, MergeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{
    Geometry, Request, Target, blocked_fpr, collision_fpr, combine, estimated_keys,
};
use fullbloom_core::wire::{Cursor, Output, Stop};

const SEED: u64 = 0x706f_7070_7953_3d42;

const VERSION: u8 = 2;
/// Bits of a bucket.
const BUCKET: u64 = 32_768;
const BUCKET_BYTES: u64 = BUCKET / 8;

/// The offset of the count. From here on the file changes with the keys, and is stored unchanged.
const COUNT_AT: usize = 32;
/// The offset of the cache relative to that: after the count and the number of cache bits.
const CACHE_AT: usize = 16;

/// More probes than the smallest allowed rate needs. A number in a file must not keep a lookup busy for
/// seconds.
const MAX_PROBES: u64 = 1075;

/// How probes, cache and buckets were chosen. It does not affect lookups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Opt {
    /// The filter has no cache.
    None = 0,
    /// The same filter as [`Opt::None`].
    Space = 1,
    /// A cache, and a power of two of buckets.
    Speed = 2,
    /// The filter has a cache.
    Best = 3,
}

impl Opt {
    const ALL: [Opt; 4] = [Opt::None, Opt::Space, Opt::Speed, Opt::Best];
}

/// A filter of poppy.
///
/// Its array is stored as in the file, from the count on: count, cache, buckets, data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poppy {
    opt: Opt,
    expected_keys: u64,
    fpr: f64,
    probes: u32,
    /// Zero, or a power of two.
    cache_len: u64,
    buckets: Mod64,
    data_len: u64,
    numbers: bool,
}

/// The numbers that define a filter.
pub struct Params {
    /// Probes per key.
    pub probes: u64,
    /// Buckets of 32,768 bits.
    pub buckets: u64,
    /// Bits of the cache: zero, or whole bytes.
    pub cache_bits: u64,
}

/// The numbers that poppy computes for this request.
pub fn params(expected_keys: u64, fpr: f64, opt: Opt) -> Params {
    let keys = expected_keys as f64;
    let in_bucket = (BUCKET as f64 * LN_2.powi(2) / fpr.ln()).abs() as u64; // 2^64 - 1 at a rate of 1
    let mut buckets = (keys / in_bucket as f64).ceil() as u64;
    let mut probes = (LN_2 * BUCKET as f64 / in_bucket as f64).ceil() as u64;
    let mut cache_bits = 0;
    if matches!(opt, Opt::Speed | Opt::Best) {
        let bits = expected_keys.checked_next_power_of_two().unwrap_or(u64::MAX);
        cache_bits = bits.div_ceil(8).saturating_mul(8);
        let bits = bits as f64;
        let cache_probes = (LN_2 * bits / keys).ceil();
        let passing = (1.0 - (-cache_probes * keys / bits).exp()).powf(cache_probes);
        probes = (LN_2 * passing * (BUCKET as f64 / in_bucket as f64).round()).ceil() as u64;
    }
    if opt == Opt::Speed {
        buckets = buckets.checked_next_power_of_two().unwrap_or(u64::MAX);
    }
    Params { probes, buckets, cache_bits }
}

/// poppy accepts no more keys: their number has reached the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyKeys;

impl fmt::Display for TooManyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the filter holds all the keys it was sized for")
    }
}

impl core::error::Error for TooManyKeys {}

impl Poppy {
    /// The filter for this many keys, at least one, at this rate.
    pub fn with_params(expected_keys: u64, fpr: f64, opt: Opt) -> Result<Self, SizeError> {
        if expected_keys == 0 {
            // poppy builds a filter that accepts no key.
            return Err(SizeError::Count { what: Quantity::ExpectedKeys, got: 0, allowed: "1 or more" });
        }
        if !(f64::MIN_POSITIVE..=1.0).contains(&fpr) {
            let allowed = "2.2250738585072014e-308 to 1";
            return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed });
        }
        let Params { probes, buckets, cache_bits } = params(expected_keys, fpr, opt);
        Self::with_all(opt, expected_keys, fpr, probes, cache_bits / 8, buckets)
    }

    fn with_all(
        opt: Opt,
        expected_keys: u64,
        fpr: f64,
        probes: u64,
        cache_len: u64,
        buckets: u64,
    ) -> Result<Self, SizeError> {
        const LIMIT: u64 = 1 << 40; // so that lengths in bytes and in bits cannot wrap
        if buckets > LIMIT || cache_len > LIMIT * BUCKET_BYTES {
            let bit_len = buckets.saturating_mul(BUCKET);
            return Err(SizeError::TooLarge { bit_len, limit: LIMIT * BUCKET });
        }
        let Some(buckets) = Mod64::new(buckets) else {
            return Err(SizeError::Count { what: Quantity::Buckets, got: 0, allowed: "1 or more" });
        };
        let probes = probes.min(MAX_PROBES) as u32;
        Ok(Poppy { opt, expected_keys, fpr, probes, cache_len, buckets, data_len: 0, numbers: false })
    }

    /// The number of keys it was sized for.
    pub fn expected_keys(&self) -> u64 {
        self.expected_keys
    }

    /// The rate it was sized for.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// How probes, cache and buckets were chosen.
    pub fn opt(&self) -> Opt {
        self.opt
    }

    fn cache(&self) -> Range<usize> {
        CACHE_AT..CACHE_AT + self.cache_len as usize
    }

    fn buckets(&self) -> Range<usize> {
        let start = self.cache().end + 8;
        start..start + (self.buckets.divisor() * BUCKET_BYTES) as usize
    }

    /// The part of the hash that chooses the bucket and the bit of the cache.
    #[inline(always)]
    fn spread(hash: u64) -> u64 {
        let mut b = hash;
        b ^= b << 12;
        b ^= b >> 25;
        b ^= b << 27;
        b.wrapping_mul(2_685_821_657_736_338_717)
    }

    /// The position of the key's cache bit in the stored array.
    #[inline(always)]
    fn cache_position(&self, hash: u64) -> Option<u64> {
        let mask = (8 * self.cache_len).checked_sub(1)?;
        Some(8 * CACHE_AT as u64 + (Self::spread(hash) & mask))
    }

    /// The positions of the key's bits in its bucket, in the stored array.
    #[inline(always)]
    fn positions(&self, hash: u64) -> impl Iterator<Item = u64> {
        let bucket = self.buckets.reduce(Self::spread(hash));
        let start = 8 * self.buckets().start as u64 + bucket * BUCKET;
        let (mut h1, mut h2) = (hash, 0);
        (0..u64::from(self.probes)).map(move |i| {
            if i > 0 {
                if i == 1 {
                    h2 = wyhash_poppy(&hash.to_be_bytes(), SEED);
                }
                h1 = h1.wrapping_add(h2);
                h2 = h2.wrapping_add(i);
            }
            start + h1 % BUCKET
        })
    }

    /// The number of keys estimated from the bits of each bucket, each truncated, as poppy counts after a
    /// merge.
    fn counted(&self, bits: &[u8]) -> u64 {
        let of_bucket = |bucket: &[u8]| {
            let ones = bits::count_ones(bucket, BUCKET) as f64;
            let m = BUCKET as f64;
            (-(m * (1.0 - ones / m).ln()) / f64::from(self.probes)) as u64
        };
        let buckets = bits[self.buckets()].chunks_exact(BUCKET_BYTES as usize);
        buckets.map(of_bucket).fold(0, u64::saturating_add)
    }
}

fn count_of(bits: &[u8]) -> u64 {
    bits.first_chunk().map_or(0, |count| u64::from_le_bytes(*count))
}

fn put_count(bits: &mut [u8], count: u64) {
    bits[..8].copy_from_slice(&count.to_le_bytes());
}

impl<S: AsRef<[u8]>> Filter<Poppy, S> {
    /// The number of insertions that changed a bucket; after a merge, an estimate.
    pub fn count(&self) -> u64 {
        count_of(self.bits())
    }

    /// The bytes that follow the buckets.
    pub fn data(&self) -> &[u8] {
        &self.bits()[self.dialect().buckets().end..]
    }

    /// A copy with other data.
    pub fn with_data(&self, data: &[u8]) -> Result<Filter<Poppy>, SizeError> {
        let array_len = self.dialect().buckets().end;
        let mut copy = Filter::from_dialect(Poppy { data_len: data.len() as u64, ..*self.dialect() })?;
        copy.bits.as_mut()[..array_len].copy_from_slice(&self.bits()[..array_len]);
        copy.bits.as_mut()[array_len..].copy_from_slice(data);
        Ok(copy)
    }

    /// Estimate of the keys that are in both filters.
    pub fn common_keys<T: AsRef<[u8]>>(&self, other: &Filter<Poppy, T>) -> Result<u64, MergeError> {
        self.dialect().mergeable(other.dialect())?;
        let mut both = self.bits().to_vec();
        bits::and_into(&mut both, &other.bits()[..self.dialect().buckets().end]);
        Ok(self.dialect().counted(&both))
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Filter<Poppy, S> {
    /// Inserts as poppy does. Returns true if the key changed its bucket. Refused if it would change it and
    /// `count` has reached the expected keys.
    pub fn try_insert(&mut self, key: &[u8]) -> Result<bool, TooManyKeys> {
        let hash = self.dialect().hasher().hash(key);
        let known = probe::all_set(self.bits(), self.dialect().positions(hash));
        if !known && self.count() == self.dialect().expected_keys {
            return Err(TooManyKeys);
        }
        self.dialect.set(self.bits.as_mut(), hash);
        Ok(!known)
    }
}

impl Sealed for Poppy {}

impl KeyHasher for Poppy {
    type Hash = u64;

    #[inline(always)]
    fn variant(&self) -> (u32, u64) {
        (self.numbers.into(), 0)
    }

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u64 {
        if key.len() > 8 || self.numbers {
            return wyhash_poppy(key, SEED);
        }
        key.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

impl Dialect for Poppy {
    const NAME: Name = Name::Poppy;
    type Hash = u64;
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        let bit_len = self.buckets.divisor() * BUCKET;
        Geometry { bit_len, block_len: BUCKET, probes: self.probes }
    }

    #[inline(always)]
    fn test(&self, bits: &[u8], hash: u64) -> bool {
        self.cache_position(hash).is_none_or(|at| bits::get(bits, at) == 1)
            && probe::all_set(bits, self.positions(hash))
    }

    #[inline(always)]
    fn prefetch(&self, bits: &[u8], hash: u64) {
        if let Some(at) = self.cache_position(hash) {
            prefetch::read(bits, (at >> 3) as usize);
        }
        probe::prefetch_all(bits, self.positions(hash));
    }

    fn visit_probes(&self, hash: u64, visit: &mut dyn FnMut(u64)) -> bool {
        self.cache_position(hash).into_iter().chain(self.positions(hash)).for_each(visit);
        true
    }

    /// The mean over the buckets, for the keys that pass the cache.
    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        let buckets = bits.bits()[self.buckets()].chunks_exact(BUCKET_BYTES as usize);
        let mut set_bits = 0;
        let rates = buckets.map(|bucket| {
            let ones = bits::count_ones(bucket, BUCKET);
            set_bits += ones;
            (ones as f64 / BUCKET as f64).powf(self.probes.into())
        });
        let sum: f64 = rates.sum();
        bits.note(set_bits);
        let passing = match self.cache_len {
            0 => 1.0,
            len => bits::count_ones(&bits.bits()[self.cache()], 8 * len) as f64 / (8 * len) as f64,
        };
        passing * sum / self.buckets.divisor() as f64
    }

    fn keys_of(&self, bits: &Counted<'_>) -> Option<f64> {
        estimated_keys(bits.set_bits(self), self.geometry().bit_len, self.probes)
    }

    fn fpr_with(&self, keys: f64) -> f64 {
        let passing = match self.cache_len {
            0 => 1.0,
            len => -(-keys / (8 * len) as f64).exp_m1(),
        };
        let spread = passing * blocked_fpr(keys, self.buckets.divisor(), BUCKET as u32, self.probes);
        combine(spread, collision_fpr(keys, 64))
    }

    fn weakness(&self) -> Option<Weakness> {
        let why = "keys of at most 8 bytes are not hashed: where they begin with the same two characters, up to \
            one absent key in ten is reported present; the expected rate is that of longer keys";
        Some(Weakness { why, with_all_keys: false })
    }

    fn set_numbers(&mut self, numbers: bool) {
        self.numbers = numbers;
    }

    fn count_ones(&self, bits: &[u8]) -> u64 {
        bits::count_ones(&bits[self.buckets()], self.geometry().bit_len)
    }

    fn byte_len(&self) -> u64 {
        self.buckets().end as u64 + self.data_len
    }
}

impl Insert for Poppy {
    /// Also true when only the cache's bit was clear: the key was not present then either. poppy does not
    /// count such a key.
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: u64) -> bool {
        let changed = probe::set_all(bits, self.positions(hash));
        if changed {
            put_count(bits, count_of(bits).wrapping_add(1));
        }
        self.cache_position(hash).is_some_and(|at| bits::set(bits, at) == 1) || changed
    }

    /// As in poppy: the cache keeps its bits, and the data are kept.
    fn clear(&mut self, bits: &mut [u8]) {
        put_count(bits, 0);
        bits[self.buckets()].fill(0);
    }

    /// The count becomes an estimate. Our data are kept and theirs dropped.
    fn merge(&mut self, ours: &mut [u8], _: &Self, theirs: &[u8]) -> Result<(), MergeError> {
        for part in [self.cache(), self.buckets()] {
            bits::or_into(&mut ours[part.clone()], &theirs[part]);
        }
        put_count(ours, self.counted(ours));
        Ok(())
    }

    /// The count becomes an estimate. Our data are kept and theirs dropped.
    fn intersect(&mut self, ours: &mut [u8], _: &Self, theirs: &[u8]) {
        for part in [self.cache(), self.buckets()] {
            bits::and_into(&mut ours[part.clone()], &theirs[part]);
        }
        put_count(ours, self.counted(ours));
    }

    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        MergeError::require_equal("opt", self.opt as u8, other.opt as u8)?;
        MergeError::require_equal("expected_keys", self.expected_keys, other.expected_keys)?;
        MergeError::require_equal("fpr", self.fpr, other.fpr)?;
        MergeError::require_equal("probes", self.probes, other.probes)?;
        MergeError::require_equal("bytes of the cache", self.cache_len, other.cache_len)?;
        MergeError::require_equal("buckets", self.buckets.divisor(), other.buckets.divisor())
    }
}

impl Size for Poppy {
    /// Without a cache, as by poppy's own default.
    fn size(request: &Request) -> Result<Self, SizeError> {
        match request.target {
            Target::Fpr(fpr) => Self::with_params(request.expected_keys, fpr, Opt::None),
            Target::BitsPerKey(bits) => {
                let fpr = (-bits * LN_2 * LN_2).exp();
                if !(f64::MIN_POSITIVE..1.0).contains(&fpr) {
                    let allowed = "above 0, below 1474";
                    return Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits, allowed });
                }
                Self::with_params(request.expected_keys, fpr, Opt::None)
            }
            Target::Exact { .. } => {
                let what = "its file also stores the keys and the rate, which determine bits and probes";
                Err(SizeError::Unsupported { dialect: Name::Poppy.as_str(), what })
            }
        }
    }
}

impl Format for Poppy {
    /// Refuses everything poppy refuses. In addition, refuses reserved bytes that are not zero, a cache whose
    /// length is not a power of two of bytes, zero buckets (at which poppy panics), zero expected keys, and
    /// more probes than any rate needs.
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let value = |field, at, got: u64, allowed| DecodeError::Value { field, at, got: got.into(), allowed };
        let mut cursor = Cursor::new(bytes);
        match cursor.u8("version")? {
            VERSION => {}
            other => return Err(value("version", 0, other.into(), "2")),
        }
        let opt = cursor.u8("opt")?;
        let Some(&opt) = Opt::ALL.get(usize::from(opt)) else {
            return Err(value("opt", 1, opt.into(), "0..=3"));
        };
        cursor.magic("reserved bytes", &[0; 6])?;
        let expected_keys = cursor.u64_le("expected keys")?;
        let fpr = cursor.f64_le("rate")?;
        let probes = cursor.u64_le("probes")?;
        cursor.take("count", 8)?;
        let cache_bits = cursor.u64_le("cache bits")?;
        if expected_keys == 0 {
            return Err(value("expected keys", 8, 0, "1 or more: this filter would accept no key"));
        }
        if !(f64::MIN_POSITIVE..=1.0).contains(&fpr) {
            let allowed = "the bits of a number in 2.2250738585072014e-308..=1";
            return Err(value("rate", 16, fpr.to_bits(), allowed));
        }
        if probes > MAX_PROBES {
            return Err(value("probes", 24, probes, "0..=1075"));
        }
        if cache_bits != 0 && !(cache_bits >= 8 && cache_bits.is_power_of_two()) {
            return Err(value("cache bits", 40, cache_bits, "0, or a power of two from 8 on"));
        }
        cursor.take("cache", cache_bits / 8)?;
        let at = cursor.at();
        let buckets = cursor.u64_le("buckets")?;
        if buckets == 0 {
            return Err(value("buckets", at, 0, "1 or more"));
        }
        cursor.take("bits", buckets.saturating_mul(BUCKET_BYTES))?;
        let data_len = cursor.remaining();
        let dialect = Self::with_all(opt, expected_keys, fpr, probes, cache_bits / 8, buckets);
        let dialect = dialect.map_err(DecodeError::Geometry)?;
        Ok((Poppy { data_len, ..dialect }, COUNT_AT..bytes.len()))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(&[VERSION, self.opt as u8, 0, 0, 0, 0, 0, 0])?;
        for field in [self.expected_keys, self.fpr.to_bits(), self.probes.into(), count_of(bits)] {
            out.write_all(&field.to_le_bytes())?;
        }
        out.write_all(&(8 * self.cache_len).to_le_bytes())?;
        out.write_all(&bits[self.cache()])?;
        out.write_all(&self.buckets.divisor().to_le_bytes())?;
        out.write_all(&bits[self.buckets().start..])
    }

    fn encoded_len(&self) -> u64 {
        COUNT_AT as u64 + self.byte_len()
    }

    /// Whether probes, cache and buckets follow from the stored keys, rate and `opt`.
    fn doubt(&self) -> Option<Doubt> {
        let expected = params(self.expected_keys, self.fpr, self.opt);
        let found = [self.probes.into(), 8 * self.cache_len, self.buckets.divisor()];
        let expected = [expected.probes, expected.cache_bits, expected.buckets];
        let fields = [("probes", 24), ("cache bits", 40), ("buckets", 48 + self.cache_len)];
        let mut all = fields.into_iter().zip(found).zip(expected);
        let ((field, got), expected) = all.find(|((_, got), expected)| got != expected)?;
        let cause = DecodeError::Mismatch { field: field.0, at: field.1, got, expected };
        Some(Doubt { cause, may_lose_keys: true })
    }
}
