//! `rocksdb-legacy`: the full Bloom filter below `format_version` 5.
//!
//! ```text
//!   | lines … | probes: u8, 1 – 127 | lines: u32 |
//! ```
//!
//! The length of a line is not stored. It is the cache line of the writer's machine, so a reader must accept
//! any power of two. One 32-bit hash chooses the line and the first bit, without mixing in between. This
//! raises the rate a little at any size; from some millions of keys on, hash collisions raise it more.

use super::{FilterType, Policy, TRAILER, rate, split};
use crate::Name;
use crate::filter::{Check, Counted, Dialect, Doubt, Format, Insert, Size};
use crate::hash::bloom32_rocksdb;
use crate::probe::{self, Mod32};
use core::ops::{Range, RangeInclusive};
use fullbloom_core::bits::prefetch;
use fullbloom_core::error::{DecodeError, MergeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
use fullbloom_core::sizing::{Geometry, Request, Target};
use fullbloom_core::wire::{Output, Stop};

/// Probe counts that RocksDB reads; it writes at most 30. Higher values are negative as a signed byte:
/// markers of newer filters.
const PROBES: RangeInclusive<u32> = 1..=127;

/// The longest line: the 32-bit hash must be able to address its bits. (RocksDB shifts by 32 there, which is
/// undefined.)
const MAX_LOG2_LINE: u32 = 28;

/// RocksDB's legacy full filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RocksDbLegacy {
    lines: Mod32,
    log2_line: u8,
    probes: u8,
}

impl RocksDbLegacy {
    /// A filter of this many lines of `line_len` bytes (a power of two), and 1 to 127 probes.
    pub fn with_lines(lines: u32, line_len: u64, probes: u32) -> Result<RocksDbLegacy, SizeError> {
        if !line_len.is_power_of_two() || line_len.ilog2() > MAX_LOG2_LINE {
            let allowed = "a power of two up to 2^28";
            return Err(SizeError::Count { what: Quantity::LineLen, got: line_len, allowed });
        }
        let data_len = u64::from(lines) * line_len;
        let Some(by) = Mod32::new(lines).filter(|_| data_len + TRAILER as u64 <= u32::MAX.into()) else {
            let allowed = "1 or more, below 2^32 bytes in all";
            return Err(SizeError::Count { what: Quantity::Lines, got: lines.into(), allowed });
        };
        if !PROBES.contains(&probes) {
            return Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed: "1 to 127" });
        }
        Ok(RocksDbLegacy { lines: by, log2_line: line_len.ilog2() as u8, probes: probes as u8 })
    }

    /// Reads the trailer as RocksDB does. Returns an error where RocksDB would answer "maybe" to every key,
    /// and where its 32-bit product of lines and 64 wraps to the true length, so that it would read out of
    /// bounds.
    pub(crate) fn read(data: &[u8], trailer: [u8; TRAILER]) -> Result<RocksDbLegacy, DecodeError> {
        let data_len = data.len() as u64;
        let [probes, lines @ ..] = trailer;
        let lines = u32::from_le_bytes(lines);
        if !PROBES.contains(&probes.into()) {
            let (got, allowed) = (probes.into(), "1..=127");
            return Err(DecodeError::Value { field: "probes", at: data_len, got, allowed });
        }
        let line_len = data_len / u64::from(lines.max(1));
        let refused = || DecodeError::Value {
            field: "lines",
            at: data_len + 1,
            got: lines.into(),
            allowed: "the length divided by a power of two",
        };
        if line_len * u64::from(lines) != data_len {
            return Err(refused());
        }
        RocksDbLegacy::with_lines(lines, line_len, probes.into()).map_err(|_| refused())
    }

    #[inline(always)]
    fn line_start(&self, hash: u32) -> u64 {
        u64::from(self.lines.reduce(hash)) << self.log2_line
    }

    #[inline(always)]
    fn positions(&self, hash: u32) -> impl Iterator<Item = u64> + use<> {
        let start = self.line_start(hash) << 3;
        let mask = ((8u64 << self.log2_line) - 1) as u32;
        let step = hash.rotate_right(17);
        let mut at = hash;
        (0..self.probes).map(move |_| {
            let position = start | u64::from(at & mask);
            at = at.wrapping_add(step);
            position
        })
    }

    /// Number of lines.
    pub fn lines(&self) -> u32 {
        self.lines.divisor()
    }

    /// Bytes of a line.
    pub fn line_len(&self) -> u64 {
        1 << self.log2_line
    }
}

impl Sealed for RocksDbLegacy {}

/// Hashes keys by [`bloom32_rocksdb`].
#[derive(Debug, Clone, Copy)]
pub struct Bloom32;

impl Sealed for Bloom32 {}

impl KeyHasher for Bloom32 {
    type Hash = u32;

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u32 {
        bloom32_rocksdb(key)
    }
}

impl Dialect for RocksDbLegacy {
    const NAME: Name = Name::RocksDbLegacy;
    const RATE_NOT_MONOTONIC: bool = true;
    type Hash = u32;
    type Hasher = Bloom32;

    #[inline(always)]
    fn hasher(&self) -> &Bloom32 {
        &Bloom32
    }

    fn geometry(&self) -> Geometry {
        let block_len = 8 * self.line_len();
        Geometry { bit_len: u64::from(self.lines()) * block_len, block_len, probes: self.probes.into() }
    }

    #[inline(always)]
    fn test(&self, bits: &[u8], hash: u32) -> bool {
        probe::all_set(bits, self.positions(hash))
    }

    #[inline(always)]
    fn prefetch(&self, bits: &[u8], hash: u32) {
        let start = self.line_start(hash) as usize;
        if self.log2_line <= 6 {
            prefetch::read(bits, start);
            prefetch::read(bits, start + (1 << self.log2_line) - 1);
        } else {
            probe::prefetch_all(bits, self.positions(hash));
        }
    }

    fn visit_probes(&self, hash: u32, visit: &mut dyn FnMut(u64)) -> bool {
        self.positions(hash).for_each(visit);
        true
    }

    /// RocksDB's own model.
    fn fpr_with(&self, keys: f64) -> f64 {
        // Past the number of bits, the terms of the formula add up to slightly more than 1.
        rate::legacy(keys, self.byte_len(), self.probes.into()).min(1.0)
    }

    /// Measured on the filter itself, with hashes spread evenly over all 2^32. No formula is accurate,
    /// because the probes of one key are equally spaced and some spacings fall on few bits. 1,024 hashes per
    /// line, 2^14 to 2^20 in total, give the rate to within 1 % from 1,000 lines on, at 10 bits per key.
    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        const GOLDEN: u32 = 0x9e37_79b9;
        let lookups = self.lines().saturating_mul(1024).clamp(1 << 14, 1 << 20);
        let hit = (0..lookups).filter(|i| self.test(bits.bits(), i.wrapping_mul(GOLDEN))).count();
        hit as f64 / f64::from(lookups)
    }
}

impl Insert for RocksDbLegacy {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: u32) -> bool {
        probe::set_all(bits, self.positions(hash))
    }

    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        MergeError::require_equal("line length", self.line_len(), other.line_len())?;
        MergeError::require_equal("lines", self.lines(), other.lines())?;
        MergeError::require_equal("probes", self.probes, other.probes)
    }
}

impl Size for RocksDbLegacy {
    /// As RocksDB does on a machine with 64-byte cache lines. The number of keys is an expectation, and must
    /// not be zero. If the keys need more than 2^32 bits, they get 2^32, as in RocksDB, at a worse rate.
    fn size(request: &Request) -> Result<Self, SizeError> {
        let keys = request.expected_keys;
        let policy = match request.target {
            Target::Exact { bit_len, probes } => {
                let lines = u32::try_from(bit_len / 512).unwrap_or(0);
                if u64::from(lines) * 512 != bit_len {
                    let allowed = "whole lines of 512, below 2^35";
                    return Err(SizeError::Count { what: Quantity::Bits, got: bit_len, allowed });
                }
                return RocksDbLegacy::with_lines(lines, 64, probes);
            }
            Target::BitsPerKey(requested) => Policy::new(FilterType::Legacy, requested)?,
            Target::Fpr(fpr) => Policy::for_fpr(FilterType::Legacy, keys, fpr)?,
        };
        super::require_keys(keys)?;
        RocksDbLegacy::with_lines(policy.legacy_lines(keys), 64, policy.legacy_probes())
    }
}

impl Format for RocksDbLegacy {
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let (data, trailer) = split(bytes)?;
        Ok((Self::read(data, trailer)?, 0..data.len()))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        let [l0, l1, l2, l3] = self.lines().to_le_bytes();
        out.write_all(&bits[..self.byte_len() as usize])?;
        out.write_all(&[self.probes, l0, l1, l2, l3])
    }

    fn encoded_len(&self) -> u64 {
        self.byte_len() + TRAILER as u64
    }

    /// RocksDB reads 31 to 127 probes, any number of lines and lines of any length, but writes none of these.
    fn doubt(&self) -> Option<Doubt> {
        let at = self.byte_len();
        let (probes, lines, line_len) = (self.probes, self.lines(), self.line_len());
        let (field, at, got, allowed) = if probes > 30 {
            ("probes", at, i128::from(probes), "1..=30, as RocksDB writes")
        } else if lines % 2 == 0 {
            ("lines", at + 1, lines.into(), "an odd number, as RocksDB writes")
        } else if !(64..=256).contains(&line_len) {
            ("lines", at + 1, lines.into(), "lines of 64, 128 or 256 bytes, as RocksDB writes")
        } else {
            return None;
        };
        // RocksDB itself answers from such a filter, and so do we.
        Some(Doubt { cause: DecodeError::Value { field, at, got, allowed }, may_lose_keys: false })
    }
}
