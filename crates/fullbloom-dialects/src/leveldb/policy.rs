//! The filter of both policies.

use super::rate;
use crate::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Counted, Dialect, Filter, Format, Insert, Size, View};
use crate::hash::{bloom32_leveldb, bloom32_rocksdb};
use crate::probe::{self, Mod32};
use core::marker::PhantomData;
use core::ops::Range;
use fullbloom_core::error::{DecodeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{self, Geometry, MillibitsPerKey, Request, Target};
use fullbloom_core::wire::{Output, Stop};

/// 0.69 rather than ln 2: LevelDB writes the literal and truncates the product.
const PROBES_PER_BIT: f64 = 0.69;

/// A larger number of probes marks a future encoding, which matches every key.
const MAX_PROBES: u32 = 30;

/// A filter of few keys gets at least this many bits: with fewer its rate would be far from any target.
const MIN_BITS: u64 = 64;

/// Positions are 32-bit, and the array consists of whole bytes.
const MAX_BITS: u64 = (1 << 32) - 8;

/// The rules in which LevelDB and RocksDB differ.
pub trait Tail: Copy + Send + Sync + Sealed + 'static {
    /// The dialect's name.
    const NAME: Name;
    /// The hash of a key, with this system's quirks.
    fn hash(key: &[u8]) -> u32;
    /// Bits per key, rounded by its policy.
    fn whole_bits_per_key(requested: f64) -> Result<u32, SizeError>;
}

/// Tail bytes are unsigned; bits per key is an integer option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsigned;

/// Tail bytes are signed; bits per key is rounded by RocksDB's rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed;

/// LevelDB's policy filter, `leveldb.BuiltinBloomFilter2`.
pub type LevelDb = Policy<Unsigned>;

/// RocksDB's per-block policy filter, `rocksdb.BuiltinBloomFilter` in tables of 6.x and older.
pub type RocksDbBlock = Policy<Signed>;

impl Sealed for Unsigned {}
impl Sealed for Signed {}

impl Tail for Unsigned {
    const NAME: Name = Name::LevelDb;

    #[inline(always)]
    fn hash(key: &[u8]) -> u32 {
        bloom32_leveldb(key)
    }

    fn whole_bits_per_key(requested: f64) -> Result<u32, SizeError> {
        if requested >= 0.0 && requested <= f64::from(i32::MAX) && requested.fract() == 0.0 {
            return Ok(requested as u32);
        }
        Err(SizeError::Value {
            what: Quantity::BitsPerKey,
            got: requested,
            allowed: "a whole number, as in LevelDB's option",
        })
    }
}

impl Tail for Signed {
    const NAME: Name = Name::RocksDbBlock;

    #[inline(always)]
    fn hash(key: &[u8]) -> u32 {
        bloom32_rocksdb(key)
    }

    fn whole_bits_per_key(requested: f64) -> Result<u32, SizeError> {
        MillibitsPerKey::new(requested).map(MillibitsPerKey::whole_bits)
    }
}

/// The shared body of the two dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy<T> {
    bit_len: Mod32,
    /// Zero, or more than 30, matches every key.
    probes: u8,
    tail: PhantomData<T>,
}

impl<T: Tail> Policy<T> {
    /// The geometry with these numbers: whole bytes, at least one; `probes` as stored.
    fn with_geometry(bit_len: u64, probes: u32) -> Result<Self, SizeError> {
        let allowed = "whole bytes, 8 bits to 2^32 - 8";
        let refused = SizeError::Count { what: Quantity::Bits, got: bit_len, allowed };
        let Some(reduce) = u32::try_from(bit_len).ok().filter(|n| n % 8 == 0).and_then(Mod32::new) else {
            return Err(refused);
        };
        let Ok(stored) = u8::try_from(probes) else {
            return Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed: "0 to 255" });
        };
        Ok(Policy { bit_len: reduce, probes: stored, tail: PhantomData })
    }

    #[inline(always)]
    fn positions(&self, hash: u32) -> impl Iterator<Item = u64> {
        probe::wrapping32(hash, hash.rotate_right(17), self.effective_probes(), self.bit_len)
    }

    /// Stored probe counts above 30 are reserved and match every key, as does zero.
    #[inline(always)]
    fn effective_probes(&self) -> u32 {
        let probes = u32::from(self.probes);
        if probes > MAX_PROBES { 0 } else { probes }
    }
}

impl<T: Tail> Sealed for Policy<T> {}

impl<T: Tail> KeyHasher for Policy<T> {
    type Hash = u32;

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u32 {
        T::hash(key)
    }
}

impl<T: Tail> Dialect for Policy<T> {
    const NAME: Name = T::NAME;
    type Hash = u32;
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(self.bit_len.divisor().into(), self.effective_probes())
    }

    by_positions!();

    /// Measured by filling and querying filters: takes some 5 ms, and up to 0.1 s with millions of keys or
    /// low rates.
    fn fpr_with(&self, keys: f64) -> f64 {
        rate::fpr_with(self, keys)
    }

    /// Measured on the bits themselves, with 2^17 hashes, or more where few hit.
    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        rate::fpr_of(self, bits)
    }
}

impl<T: Tail> Insert for Policy<T> {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: u32) -> bool {
        probe::set_all(bits, self.positions(hash))
    }
}

impl<T: Tail> Size for Policy<T> {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let keys = request.expected_keys;
        match request.target {
            Target::BitsPerKey(requested) => {
                let bits_per_key = T::whole_bits_per_key(requested)?;
                let bit_len = keys.saturating_mul(bits_per_key.into()).max(MIN_BITS);
                if bit_len > MAX_BITS {
                    return Err(SizeError::TooLarge { bit_len, limit: MAX_BITS });
                }
                let probes = ((f64::from(bits_per_key) * PROBES_PER_BIT) as u32).clamp(1, MAX_PROBES);
                Self::with_geometry(bit_len.div_ceil(8) * 8, probes)
            }
            Target::Fpr(fpr) => Self::smallest_for(keys, fpr),
            Target::Exact { probes, .. } if !(1..=MAX_PROBES).contains(&probes) => {
                Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed: "1..=30" })
            }
            Target::Exact { bit_len, probes } => Self::with_geometry(bit_len, probes),
        }
    }
}

impl<T: Tail> Policy<T> {
    /// The systems are sized by bits per key. For a rate, the fewest whole bits that keep it are used.
    fn smallest_for(keys: u64, fpr: f64) -> Result<Self, SizeError> {
        if !(fpr > 0.0 && fpr < 1.0) {
            return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr < 1" });
        }
        const MOST: u32 = 100;
        /// Binary search over candidates; the rate falls monotonically enough for that.
        const NEAR: u32 = 8;
        let n = keys as f64;
        let sized = |bits_per_key: u32| {
            let target = Target::BitsPerKey(bits_per_key.into());
            Self::size(&Request { expected_keys: keys, target })
        };
        // Bloom's formula and equal hashes give a lower bound, which avoids measuring most candidates.
        let least = |candidate: &Self| {
            let Geometry { bit_len, probes, .. } = candidate.geometry();
            sizing::combine(sizing::classic_fpr(n, bit_len, probes) * 0.9, sizing::collision_fpr(n, 32))
        };
        let mut low = 1;
        while low <= MOST && least(&sized(low)?) > fpr {
            low += 1;
        }
        let near = low + NEAR;
        let mut high = MOST + 1;
        while low < high {
            let candidate = if low < near { low } else { low.midpoint(high) };
            match sized(candidate) {
                Ok(sized) if sized.fpr_with(n) > fpr => low = candidate + 1,
                _ => high = candidate, // keeps the rate, or is too large to build
            }
        }
        if low <= MOST {
            sized(low)
        } else {
            Err(SizeError::Unreachable { fpr, max_bits_per_key: MOST.into() })
        }
    }
}

impl<T: Tail> Format for Policy<T> {
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let Some((&probes, array)) = bytes.split_last() else {
            return Err(DecodeError::Truncated { field: "probes", at: 0, need: 1, have: 0 });
        };
        let at = array.len() as u64;
        if array.is_empty() {
            // The engines read such short bytes as "nothing is present". Damage must not become a confident
            // no.
            return Err(DecodeError::Truncated { field: "bits", at: 0, need: 1, have: 0 });
        }
        if u32::from(probes) > MAX_PROBES || probes == 0 {
            let allowed = "1..=30; the engine answers maybe to every key";
            return Err(DecodeError::Value { field: "probes", at, got: probes.into(), allowed });
        }
        let dialect = Self::with_geometry(at.saturating_mul(8), probes.into()).map_err(|_| {
            DecodeError::Value { field: "bits", at: 0, got: at.into(), allowed: "below 2^29 bytes" }
        })?;
        Ok((dialect, 0..array.len()))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(bits)?;
        out.write_all(&[self.probes])
    }

    fn encoded_len(&self) -> u64 {
        self.byte_len() + 1
    }
}

/// What the engine's reader makes of bytes it finds in a filter block.
///
/// ```
/// use fullbloom_dialects::{LevelDb, leveldb::Compatible};
/// assert!(!Compatible::<LevelDb>::read(b"").may_contain(b"key")); // as LevelDB answers
/// ```
#[derive(Debug, Clone)]
pub enum Compatible<'a, D> {
    /// Fewer than two bytes: no key matches.
    Nothing,
    /// Reserved probe counts: every key matches.
    Everything,
    /// A filter that answers from its bits.
    Filter(View<'a, D>),
}

impl<'a, T: Tail> Compatible<'a, Policy<T>> {
    /// Reads any bytes as the engine does; never fails. From 2^29 bytes on, where the engine's 32-bit numbers
    /// of bits wrap, every key matches.
    pub fn read(bytes: &'a [u8]) -> Self {
        if bytes.len() < 2 {
            return Compatible::Nothing;
        }
        Filter::<Policy<T>>::view(bytes).map_or(Compatible::Everything, Compatible::Filter)
    }

    /// The engine's answer.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        match self {
            Compatible::Nothing => false,
            Compatible::Everything => true,
            Compatible::Filter(view) => view.may_contain(key),
        }
    }
}
