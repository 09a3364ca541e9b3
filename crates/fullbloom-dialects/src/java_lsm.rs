//! java-lsm-tree's filter: `java-lsm`.
//!
//! The bytes are those of `java.util.BitSet.toByteArray`: bits alone, least significant first, without
//! trailing zero bytes. The numbers of bits and probes are not stored. The original assumes 9585 and 6 when
//! it restores a filter, and loses most members of every filter that was not sized for 1000 keys at 0.01
//! ([`JavaLsm::as_restored_by_original`]). Here the caller gives both, and no member is lost.
//!
//! Not suitable for sequential keys. The hash is `String.hashCode`, whose values for `key1`, `key2`, … lie in
//! a few narrow bands, and the step between probes is its upper half. Sized for a rate of 0.01, with members
//! `key0` …:
//!
//! | keys | 1,000 | 10,000 | 100,000 | 1,000,000 |
//! |---|---|---|---|---|
//! | measured, `key` + number | 0.034 | 0.0033 | **0.117** | 0.017 |
//! | measured, random UUIDs | 0.0099 | 0.0100 | 0.0101 | 0.0105 |
//!
//! ```
//! use fullbloom_dialects::Filter;
//! use fullbloom_dialects::JavaLsm;
//! use fullbloom_dialects::filter::Format;
//!
//! let mut filter = Filter::<JavaLsm>::with_fpr(100, 0.01)?;
//! filter.extend(["käse", "brot"]);
//! let bytes = filter.encode(); // BitSet.toByteArray()
//! let restored = Filter::<JavaLsm>::view_exact(&bytes, 958, 6)?;
//! assert!(restored.may_contain("käse".as_bytes()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Dialect, Filter, Format, Insert, Size, View, Weakness};
use crate::hash::{java_string_hash, utf16_units};
use crate::probe::{self, Mod32};
use core::f64::consts::LN_2;
use core::ops::Range;
use fullbloom_core::error::{DecodeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{self, Geometry, Request, Target};
use fullbloom_core::wire::{Output, Stop};

/// A filter of java-lsm-tree. Keys are text in UTF-8 (see [`utf16_units`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JavaLsm {
    bit_len: u32,
    /// Reduces by `bit_len`; by one, unused, where there are no bits.
    reduce: Mod32,
    probes: u32,
}

/// The maximum number of probes: that of the smallest positive rate, 5e-324. A number given with the bytes
/// must not keep a lookup busy for seconds.
const MAX_PROBES: u32 = 1075;

/// `size` and `hashFunctions` as the constructor computes them, with Java's truncations.
///
/// Both are truncated, so a rate of 0.01 gets 6 probes instead of 7, and rates of 0.5 and more get none:
/// every key is reported present. A negative size throws in the original and is refused here.
pub fn params(keys: i32, fpr: f64) -> Result<(u32, u32), SizeError> {
    // `as` converts like Java: towards zero, saturating, NaN to 0.
    let size = (f64::from(keys.wrapping_neg()) * fpr.ln() / (LN_2 * LN_2)) as i32;
    if size < 0 {
        return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "at most 1" });
    }
    let probes = (f64::from(size) * LN_2 / f64::from(keys)) as i32;
    Ok((size as u32, probes.max(0) as u32))
}

impl JavaLsm {
    /// The filter with these two numbers. Without bits, probes must be zero.
    fn with_geometry(bit_len: u64, probes: u32) -> Result<Self, SizeError> {
        let refused = SizeError::Count {
            what: Quantity::Bits,
            got: bit_len,
            allowed: "1 to 2147483647, or 0 with 0 probes",
        };
        if probes > MAX_PROBES {
            return Err(SizeError::Count {
                what: Quantity::Probes,
                got: probes.into(),
                allowed: "at most 1075",
            });
        }
        match i32::try_from(bit_len) {
            Ok(0) if probes != 0 => Err(refused),
            Ok(bits) => {
                let reduce = Mod32::new(bits.max(1) as u32).expect("not zero");
                Ok(JavaLsm { bit_len: bits as u32, reduce, probes })
            }
            Err(_) => Err(refused),
        }
    }

    /// The filter that the original restores from these bytes: always 9585 bits and 6 probes.
    pub fn as_restored_by_original(bytes: &[u8]) -> View<'_, JavaLsm> {
        let (bit_len, probes) = params(1000, 0.01).expect("the original's own numbers");
        let dialect = Self::with_geometry(bit_len.into(), probes).expect("not zero bits");
        Filter { dialect, bits: bytes }
    }

    #[inline(always)]
    fn positions(&self, hash: i32) -> impl Iterator<Item = u64> {
        let step = (hash as u32 >> 16) as i32;
        probe::int32(hash, step, self.probes, self.reduce)
    }
}

impl Sealed for JavaLsm {}

impl KeyHasher for JavaLsm {
    type Hash = i32;

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> i32 {
        java_string_hash(utf16_units(key))
    }
}

impl Dialect for JavaLsm {
    const NAME: Name = Name::JavaLsm;
    type Hash = i32;
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(self.bit_len.into(), self.probes)
    }

    /// Bits past the end of the bytes are zero and therefore not stored.
    #[inline]
    fn test(&self, bits: &[u8], hash: i32) -> bool {
        self.positions(hash)
            .all(|at| bits.get((at >> 3) as usize).is_some_and(|byte| byte >> (at & 7) & 1 == 1))
    }

    by_positions!(all but test);

    fn weakness(&self) -> Option<Weakness> {
        let why = "sequential keys (key1, key2, …) are not spread evenly: the rate may be 12 times the expected one";
        Some(Weakness { why, with_all_keys: false })
    }

    /// For keys whose hashes are spread evenly; sequential keys are far off, see the module's table.
    fn fpr_with(&self, keys: f64) -> f64 {
        let spread = sizing::modulo_fpr(keys, 1 << 31, self.bit_len.into(), self.probes);
        sizing::combine(spread, sizing::collision_fpr(keys, 32))
    }
}

impl Insert for JavaLsm {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: i32) -> bool {
        probe::set_all(bits, self.positions(hash))
    }
}

impl Size for JavaLsm {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let fpr = match request.target {
            Target::Fpr(fpr) if fpr > 0.0 && fpr <= 1.0 => fpr,
            Target::Fpr(fpr) => {
                return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr <= 1" });
            }
            Target::BitsPerKey(bits) => {
                let fpr = (-bits * LN_2 * LN_2).exp();
                if !(fpr > 0.0 && fpr < 1.0) {
                    let allowed = "above 0, below 1550";
                    return Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits, allowed });
                }
                fpr
            }
            Target::Exact { bit_len, probes } => return Self::with_geometry(bit_len, probes),
        };
        let Ok(keys) = i32::try_from(request.expected_keys) else {
            let allowed = "below 2^31, as in java-lsm-tree";
            return Err(SizeError::Count {
                what: Quantity::ExpectedKeys,
                got: request.expected_keys,
                allowed,
            });
        };
        let (bit_len, probes) = params(keys, fpr)?;
        Self::with_geometry(bit_len.into(), probes)
    }
}

impl Format for JavaLsm {
    const RAW: bool = true;

    fn decode(_: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        Err(DecodeError::Unknown {
            what: "java-lsm-tree stores only bits: the numbers of bits and probes must be given",
        })
    }

    fn decode_exact(
        bytes: &[u8],
        bit_len: u64,
        probes: u32,
        _: Check,
    ) -> Result<(Self, Range<usize>), DecodeError> {
        let dialect = Self::with_geometry(bit_len, probes).map_err(DecodeError::Geometry)?;
        let (have, most) = (bytes.len() as u64, dialect.byte_len());
        if have > most {
            return Err(DecodeError::Trailing { at: most, extra: have - most });
        }
        Ok((dialect, 0..bytes.len()))
    }

    /// Zero bytes at the end are not stored.
    fn least_len(&self) -> u64 {
        0
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        let len = bits.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        out.write_all(&bits[..len])
    }

    fn encoded_len(&self) -> u64 {
        self.byte_len()
    }
}
