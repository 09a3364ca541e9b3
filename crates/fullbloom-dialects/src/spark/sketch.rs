//! Both versions of Spark's filter.

use crate::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Counted, Dialect, Filter, Format, Insert, Size, Weakness};
use crate::hash::murmur3_32_spark;
use crate::probe::{self, BitLen};
use core::f64::consts::LN_2;
use core::marker::PhantomData;
use core::ops::Range;
use fullbloom_core::bits::BIG_ENDIAN_WORDS;
use fullbloom_core::error::{DecodeError, MergeError, Quantity, SizeError};
use fullbloom_core::keys::{KeyHasher, TakesIntegers};
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{
    Geometry, Request, Target, classic_bits, collision_fpr, combine, estimated_keys, estimated_keys_within,
    modulo_fill, modulo_fpr, stepped_fpr,
};
use fullbloom_core::wire::{Cursor, Output, Stop};

/// Version 1: Spark 2.0 and later.
pub type Spark = Sketch<V1>;
/// Version 2: Spark 4 and later.
pub type Spark2 = Sketch<V2>;

/// The maximum length of a Java array.
const MAX_WORDS: u64 = i32::MAX as u64;

/// More probes than the smallest positive rate needs. A number in a file must not keep a lookup busy for
/// seconds.
const MAX_PROBES: u32 = 1075;

/// The rules in which the two versions differ.
pub trait Version: Copy + Send + Sync + Sealed + 'static {
    /// The dialect's name.
    const NAME: Name;
    /// The first number of the file.
    const NUMBER: i32;
    /// The number of values that a position is reduced from; `None` if it is too large to matter.
    const RANGE: Option<u64>;
    /// Whether the file stores a seed. Without one, the seed is 0, whatever Spark was given.
    const SEEDED: bool;
    /// The positions of a key in an array of `bit_len` bits.
    fn positions(hash: [u32; 2], probes: u32, bit_len: BitLen) -> impl Iterator<Item = u64>;
}

/// Selects the rules of [`Spark`] at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V1;
/// Selects the rules of [`Spark2`] at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V2;

impl Sealed for V1 {}
impl Sealed for V2 {}

impl Version for V1 {
    const NAME: Name = Name::Spark;
    const NUMBER: i32 = 1;
    const RANGE: Option<u64> = Some(1 << 31);
    const SEEDED: bool = false;

    #[inline(always)]
    fn positions([h1, h2]: [u32; 2], probes: u32, bit_len: BitLen) -> impl Iterator<Item = u64> {
        probe::complement32(h1, h2, probes, bit_len.narrow)
    }
}

impl Version for V2 {
    const NAME: Name = Name::Spark2;
    const NUMBER: i32 = 2;
    const RANGE: Option<u64> = None;
    const SEEDED: bool = true;

    #[inline(always)]
    fn positions([h1, h2]: [u32; 2], probes: u32, bit_len: BitLen) -> impl Iterator<Item = u64> {
        let [base, step] = [h1, h2].map(|h| i64::from(h as i32));
        probe::complement64(base.wrapping_mul(i64::from(i32::MAX)), step, probes, bit_len.wide)
    }
}

/// A filter of Spark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sketch<V> {
    words: u32,
    bit_len: BitLen,
    probes: u32,
    seed: i32,
    version: PhantomData<V>,
}

impl<V: Version> Sketch<V> {
    /// The filter with this many bits, whole words of 64, and 1 to 1075 probes.
    fn with_geometry(bit_len: u64, probes: u32) -> Result<Self, SizeError> {
        if bit_len == 0 || !bit_len.is_multiple_of(64) || bit_len / 64 > MAX_WORDS {
            let allowed = "a multiple of 64, at most 64 * (2^31 - 1)";
            return Err(SizeError::Count { what: Quantity::Bits, got: bit_len, allowed });
        }
        if !(1..=MAX_PROBES).contains(&probes) {
            return Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed: "1..=1075" });
        }
        let words = (bit_len / 64) as u32;
        let bit_len = BitLen::new(bit_len).expect("one word to 2^31 - 1 words");
        Ok(Sketch { words, bit_len, probes, seed: 0, version: PhantomData })
    }

    /// `create(expectedNumItems, numBits)`: the filter for this many keys and bits.
    fn with_bits(keys: u64, bits: u64) -> Result<Self, SizeError> {
        if bits == 0 {
            return Err(SizeError::Count { what: Quantity::Bits, got: 0, allowed: "1 or more" });
        }
        let words = bits.div_ceil(64);
        if words > MAX_WORDS {
            return Err(SizeError::TooLarge { bit_len: bits, limit: 64 * MAX_WORDS });
        }
        Self::with_geometry(64 * words, optimal_probes(keys, bits))
    }

    #[inline(always)]
    fn positions(&self, hash: [u32; 2]) -> impl Iterator<Item = u64> {
        V::positions(hash, self.probes, self.bit_len).map(|position| position ^ BIG_ENDIAN_WORDS)
    }
}

impl Filter<Spark2> {
    /// The filter with this many bits, whole words of 64, and 1 to 1075 probes, whose hashes start from this
    /// seed.
    pub fn with_seed(bit_len: u64, probes: u32, seed: i32) -> Result<Self, SizeError> {
        Filter::from_dialect(Sketch { seed, ..Sketch::with_geometry(bit_len, probes)? })
    }
}

impl<S: AsRef<[u8]>> Filter<Spark2, S> {
    /// The seed of the hashes; 0 unless given.
    pub fn seed(&self) -> i32 {
        self.dialect().seed
    }
}

/// `optimalNumOfHashFunctions`: from the bits, rounded half up.
pub fn optimal_probes(keys: u64, bits: u64) -> u32 {
    (bits as f64 / keys as f64 * LN_2 + 0.5).floor().max(1.0) as u32
}

impl<V: Version> Sealed for Sketch<V> {}

impl<V: Version> TakesIntegers for Sketch<V> {}

impl<V: Version> KeyHasher for Sketch<V> {
    type Hash = [u32; 2];
    /// Spark converts every integer to a long.
    const INTEGERS_ARE_LONGS: bool = true;

    #[inline(always)]
    fn variant(&self) -> (u32, u64) {
        (0, if V::SEEDED { (self.seed as u32).into() } else { 0 })
    }

    /// The second hash is seeded with the first.
    #[inline(always)]
    fn hash(&self, key: &[u8]) -> [u32; 2] {
        let h1 = murmur3_32_spark(key, if V::SEEDED { self.seed as u32 } else { 0 });
        [h1, murmur3_32_spark(key, h1)]
    }
}

impl<V: Version> Dialect for Sketch<V> {
    const NAME: Name = V::NAME;
    const RATE_NOT_MONOTONIC: bool = V::RANGE.is_some();
    type Hash = [u32; 2];
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(u64::from(self.words) * 64, self.probes)
    }

    by_positions!();

    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        if let Some(range) = V::RANGE {
            return modulo_fill(range, bit_len, |n| bits.set_in_first(self, n)).powf(probes.into());
        }
        let set = bits.set_bits(self);
        let keys = estimated_keys(set, bit_len, probes).unwrap_or(0.0); // a full filter: any number
        stepped_fpr(set as f64 / bit_len as f64, keys, bit_len, probes)
    }

    fn keys_of(&self, bits: &Counted<'_>) -> Option<f64> {
        let Geometry { bit_len, probes, .. } = self.geometry();
        estimated_keys_within(V::RANGE, bit_len, probes, |n| bits.set_in_first(self, n))
    }

    fn weakness(&self) -> Option<Weakness> {
        Weakness::beyond(V::RANGE, self.geometry().bit_len)
    }

    fn fpr_with(&self, keys: f64) -> f64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        let spread = match V::RANGE {
            Some(range) => modulo_fpr(keys, range, bit_len, probes),
            // Without wrapping, positions are equally spaced.
            None => {
                let fill = -(-f64::from(probes) * keys / bit_len as f64).exp_m1();
                stepped_fpr(fill, keys, bit_len, probes)
            }
        };
        combine(spread, collision_fpr(keys, 64))
    }
}

impl<V: Version> Insert for Sketch<V> {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: [u32; 2]) -> bool {
        probe::set_all(bits, self.positions(hash))
    }

    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        MergeError::require_equal("bits", self.geometry().bit_len, other.geometry().bit_len)?;
        MergeError::require_equal("probes", self.probes, other.probes)?;
        MergeError::require_equal("seed", self.seed, other.seed)
    }
}

impl<V: Version> Size for Sketch<V> {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let keys = request.expected_keys;
        let bits = match request.target {
            Target::Fpr(fpr) if fpr > 0.0 && fpr < 1.0 => classic_bits(keys, fpr),
            Target::Fpr(fpr) => {
                return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr < 1" });
            }
            Target::BitsPerKey(bits) if bits > 0.0 && bits < 1550.0 => (keys as f64 * bits) as u64,
            Target::BitsPerKey(bits) => {
                let allowed = "above 0, below 1550";
                return Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits, allowed });
            }
            // Spark allocates whole words for any number of bits.
            Target::Exact { bit_len, probes } => {
                return Self::with_geometry(bit_len.checked_next_multiple_of(64).unwrap_or(bit_len), probes);
            }
        };
        if keys == 0 || keys > i64::MAX as u64 {
            let allowed = "1 to 2^63 - 1, as in Spark";
            return Err(SizeError::Count { what: Quantity::ExpectedKeys, got: keys, allowed });
        }
        if bits == 0 {
            let allowed = "enough for one bit at this rate";
            return Err(SizeError::Count { what: Quantity::ExpectedKeys, got: keys, allowed });
        }
        Self::with_bits(keys, bits)
    }
}

impl<V: Version> Format for Sketch<V> {
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let version = cursor.i32_be("version")?;
        if version != V::NUMBER {
            let allowed = if V::NUMBER == 1 { "1" } else { "2" };
            return Err(DecodeError::Value { field: "version", at: 0, got: version.into(), allowed });
        }
        let probes = cursor.i32_be("probes")?;
        if !(1..=MAX_PROBES as i32).contains(&probes) {
            let allowed = "1..=1075";
            return Err(DecodeError::Value { field: "probes", at: 4, got: probes.into(), allowed });
        }
        let seed = if V::SEEDED { cursor.i32_be("seed")? } else { 0 };
        let at = cursor.at();
        let words = cursor.i32_be("words")?;
        if words < 1 {
            let allowed = "1..=2147483647";
            return Err(DecodeError::Value { field: "words", at, got: words.into(), allowed });
        }
        let array = cursor.take("bits", words as u64 * 8)?;
        cursor.finish()?;
        let dialect = Self::with_geometry(words as u64 * 64, probes as u32).map_err(DecodeError::Geometry)?;
        Ok((Sketch { seed, ..dialect }, array))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(&V::NUMBER.to_be_bytes())?;
        out.write_all(&self.probes.to_be_bytes())?;
        if V::SEEDED {
            out.write_all(&self.seed.to_be_bytes())?;
        }
        out.write_all(&self.words.to_be_bytes())?;
        out.write_all(bits)
    }

    fn encoded_len(&self) -> u64 {
        (if V::SEEDED { 16 } else { 12 }) + 8 * u64::from(self.words)
    }
}
