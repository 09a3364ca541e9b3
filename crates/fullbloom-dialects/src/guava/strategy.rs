//! Both strategies of Guava's filter.

use crate::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Counted, Dialect, Format, Insert, Size, Weakness};
use crate::hash::murmur3_128;
use crate::probe::{self, BitLen};
use core::f64::consts::LN_2;
use core::marker::PhantomData;
use core::ops::Range;
use fullbloom_core::bits::BIG_ENDIAN_WORDS;
use fullbloom_core::error::{DecodeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{
    self, Geometry, Request, Target, classic_bits, estimated_keys_within, modulo_fill, modulo_fpr,
};
use fullbloom_core::wire::{Cursor, Output, Stop};

/// Guava's filter with the strategy MURMUR128_MITZ_64, its default.
pub type Guava = Funnelled<Mitz64>;
/// Guava's filter with the strategy MURMUR128_MITZ_32.
pub type Guava32 = Funnelled<Mitz32>;

/// The maximum length of a Java array.
const MAX_WORDS: u64 = i32::MAX as u64;
const HEADER: u64 = 6;

/// The rules in which the two strategies differ.
pub trait Strategy: Copy + Send + Sync + Sealed + 'static {
    /// The dialect's name.
    const NAME: Name;
    /// The number in the first byte.
    const ORDINAL: u8;
    /// The number of values that a position is reduced from; `None` if it is too large to matter.
    const RANGE: Option<u64>;
    /// The positions of a key in an array of `bit_len` bits.
    fn positions(hash: [u64; 2], probes: u32, bit_len: BitLen) -> impl Iterator<Item = u64>;
}

/// Selects the rules of [`Guava`] at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mitz64;
/// Selects the rules of [`Guava32`] at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mitz32;

impl Sealed for Mitz64 {}
impl Sealed for Mitz32 {}

impl Strategy for Mitz64 {
    const NAME: Name = Name::Guava;
    const ORDINAL: u8 = 1;
    const RANGE: Option<u64> = None;

    #[inline(always)]
    fn positions([h1, h2]: [u64; 2], probes: u32, bit_len: BitLen) -> impl Iterator<Item = u64> {
        probe::masked64(h1, h2, probes, bit_len.wide)
    }
}

impl Strategy for Mitz32 {
    const NAME: Name = Name::Guava32;
    const ORDINAL: u8 = 0;
    const RANGE: Option<u64> = Some(1 << 31);

    #[inline(always)]
    fn positions([h1, _]: [u64; 2], probes: u32, bit_len: BitLen) -> impl Iterator<Item = u64> {
        probe::complement32(h1 as u32, (h1 >> 32) as u32, probes, bit_len.narrow)
    }
}

/// A filter of Guava.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Funnelled<T> {
    words: u32,
    bit_len: BitLen,
    probes: u8,
    strategy: PhantomData<T>,
}

impl<T: Strategy> Funnelled<T> {
    /// The filter with this many bits (whole 64-bit words) and 1 to 255 probes.
    fn with_geometry(bit_len: u64, probes: u32) -> Result<Self, SizeError> {
        if bit_len == 0 || !bit_len.is_multiple_of(64) || bit_len / 64 > MAX_WORDS {
            let allowed = "a multiple of 64, at most 64 * (2^31 - 1)";
            return Err(SizeError::Count { what: Quantity::Bits, got: bit_len, allowed });
        }
        let words = (bit_len / 64) as u32;
        let bit_len = BitLen::new(bit_len).expect("one word to 2^31 - 1 words");
        match u8::try_from(probes) {
            Ok(probes @ 1..) => Ok(Funnelled { words, bit_len, probes, strategy: PhantomData }),
            _ => Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed: "1..=255" }),
        }
    }

    #[inline(always)]
    fn positions(&self, hash: [u64; 2]) -> impl Iterator<Item = u64> {
        T::positions(hash, self.probes.into(), self.bit_len).map(|position| position ^ BIG_ENDIAN_WORDS)
    }
}

/// `optimalNumOfHashFunctions` of current releases: it depends on the rate alone.
///
/// Older releases computed it from the rounded number of bits, which differs for very few keys. A reader
/// takes the number from the file.
pub fn optimal_probes(fpr: f64) -> u32 {
    (-fpr.ln() / LN_2 + 0.5).floor().max(1.0) as u32
}

impl<T: Strategy> Sealed for Funnelled<T> {}

impl<T: Strategy> KeyHasher for Funnelled<T> {
    type Hash = [u64; 2];

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> [u64; 2] {
        murmur3_128(key)
    }
}

impl<T: Strategy> Dialect for Funnelled<T> {
    const NAME: Name = T::NAME;
    const RATE_NOT_MONOTONIC: bool = T::RANGE.is_some();
    type Hash = [u64; 2];
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(u64::from(self.words) * 64, self.probes.into())
    }

    by_positions!();

    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        let range = T::RANGE.unwrap_or(bit_len);
        modulo_fill(range, bit_len, |n| bits.set_in_first(self, n)).powf(probes.into())
    }

    fn keys_of(&self, bits: &Counted<'_>) -> Option<f64> {
        let Geometry { bit_len, probes, .. } = self.geometry();
        estimated_keys_within(T::RANGE, bit_len, probes, |n| bits.set_in_first(self, n))
    }

    fn weakness(&self) -> Option<Weakness> {
        Weakness::beyond(T::RANGE, self.geometry().bit_len)
    }

    fn fpr_with(&self, keys: f64) -> f64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        match T::RANGE {
            // The old strategy uses 64 bits of the hash.
            Some(range) => {
                sizing::combine(modulo_fpr(keys, range, bit_len, probes), sizing::collision_fpr(keys, 64))
            }
            None => sizing::classic_fpr(keys, bit_len, probes),
        }
    }
}

impl<T: Strategy> Insert for Funnelled<T> {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: [u64; 2]) -> bool {
        probe::set_all(bits, self.positions(hash))
    }
}

impl<T: Strategy> Size for Funnelled<T> {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let keys = request.expected_keys.max(1); // as create() does
        if keys > i64::MAX as u64 {
            let allowed = "below 2^63, as in Guava";
            return Err(SizeError::Count { what: Quantity::ExpectedKeys, got: keys, allowed });
        }
        let (fpr, what, got) = match request.target {
            Target::Fpr(fpr) => (fpr, Quantity::Fpr, fpr),
            Target::BitsPerKey(bits) => ((-bits * LN_2 * LN_2).exp(), Quantity::BitsPerKey, bits),
            Target::Exact { bit_len, probes } => return Self::with_geometry(bit_len, probes),
        };
        if !(fpr > 0.0 && fpr < 1.0) {
            let allowed = if what == Quantity::Fpr { "0 < fpr < 1" } else { "above 0, below 1550" };
            return Err(SizeError::Value { what, got, allowed });
        }
        let bits = classic_bits(keys, fpr);
        if bits == 0 {
            let (got, allowed) = (request.expected_keys, "enough for one bit at this rate");
            return Err(SizeError::Count { what: Quantity::ExpectedKeys, got, allowed });
        }
        let words = bits.div_ceil(64);
        if words > MAX_WORDS {
            return Err(SizeError::TooLarge { bit_len: bits, limit: 64 * MAX_WORDS });
        }
        Self::with_geometry(64 * words, optimal_probes(fpr)).map_err(|error| match error {
            SizeError::Count { what: Quantity::Probes, .. } => {
                SizeError::Value { what, got, allowed: "a rate reachable with 255 probes" }
            }
            error => error,
        })
    }
}

impl<T: Strategy> Format for Funnelled<T> {
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let strategy = cursor.u8("strategy")?;
        if strategy != T::ORDINAL {
            let allowed = if T::ORDINAL == 1 { "1: MURMUR128_MITZ_64" } else { "0: MURMUR128_MITZ_32" };
            return Err(DecodeError::Value { field: "strategy", at: 0, got: strategy.into(), allowed });
        }
        let probes = cursor.u8("probes")?;
        if probes == 0 {
            return Err(DecodeError::Value { field: "probes", at: 1, got: 0, allowed: "1..=255" });
        }
        let words = cursor.i32_be("words")?;
        if words < 1 {
            let allowed = "1..=2147483647";
            return Err(DecodeError::Value { field: "words", at: 2, got: words.into(), allowed });
        }
        let array = cursor.take("bits", words as u64 * 8)?;
        cursor.finish()?;
        let dialect = Self::with_geometry(words as u64 * 64, probes.into()).map_err(DecodeError::Geometry)?;
        Ok((dialect, array))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(&[T::ORDINAL, self.probes])?;
        out.write_all(&self.words.to_be_bytes())?;
        out.write_all(bits)
    }

    fn encoded_len(&self) -> u64 {
        HEADER + 8 * u64::from(self.words)
    }
}
