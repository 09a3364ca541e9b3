//! From bits per key to lengths and probes, and back: RocksDB's `CalculateSpace`, `ApproximateNumEntries`
//! and `EstimatedFpRate` for the three types.

use super::ribbon;
use super::{TRAILER, rate};
use fullbloom_core::error::{Quantity, SizeError};
use fullbloom_core::sizing::{Geometry, MillibitsPerKey, blocked_fpr, collision_fpr, combine};

/// The maximum data length of a FastLocalBloom filter: the last whole block below 2^32.
pub(crate) const MAX_FAST_LOCAL: u64 = 0xffff_ffc0;

/// The maximum number of bits in the legacy rule, so that its 32-bit arithmetic does not wrap.
const MAX_LEGACY_BITS: u64 = 0xffff_0000;

/// The three types of full filters that a policy can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilterType {
    /// `rocksdb-legacy`: `NewBloomFilterPolicy` below `format_version` 5.
    Legacy,
    /// `rocksdb`: `NewBloomFilterPolicy` from `format_version` 5 on.
    FastLocal,
    /// `rocksdb-ribbon`: `NewRibbonFilterPolicy`, at levels that use Ribbon.
    Ribbon,
}

/// A filter policy: the type of the filters and the bits per key.
///
/// ```
/// use fullbloom_dialects::rocksdb::{FilterType, Policy};
/// let bloom = Policy::new(FilterType::FastLocal, 10.0)?;
/// assert_eq!(bloom.content_len(1000), 1285);          // 20 blocks of 64 bytes and the trailer
/// assert_eq!(bloom.approximate_keys(4096), 3225);
/// let ribbon = Policy::new(FilterType::Ribbon, 10.0)?;
/// assert_eq!(ribbon.content_len(1000), 885);          // the same rate in 30 % less memory
/// # Ok::<(), fullbloom_dialects::SizeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    pub(crate) filter_type: FilterType,
    pub(crate) bits: MillibitsPerKey,
    pub(crate) line_len: u32,
}

/// The filter that will be stored for a number of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Legacy { lines: u32 },
    FastLocal { data_len: u64 },
    Ribbon { slots: u32, data_len: u64 },
}

impl Space {
    /// Length of the filter with its trailer.
    pub(crate) fn content_len(self, line_len: u32) -> u64 {
        let data_len = match self {
            Space::Legacy { lines } => u64::from(lines) * u64::from(line_len),
            Space::FastLocal { data_len } | Space::Ribbon { data_len, .. } => data_len,
        };
        data_len + TRAILER as u64
    }
}

impl Policy {
    /// The policy with this option; [`SizeError::NoFilter`] below 0.5, where RocksDB stores no filter.
    pub fn new(filter_type: FilterType, bits_per_key: f64) -> Result<Policy, SizeError> {
        Ok(Policy { filter_type, bits: MillibitsPerKey::new(bits_per_key)?, line_len: 64 })
    }

    /// The policy with the fewest bits per key, in steps of one tenth from 1 to 100, whose expected rate at
    /// this many keys is at most `fpr`.
    ///
    /// RocksDB has no such option; the steps are our choice. The legacy filter rounds to whole bits anyway.
    pub fn for_fpr(filter_type: FilterType, keys: u64, fpr: f64) -> Result<Policy, SizeError> {
        if !(fpr > 0.0 && fpr < 1.0) {
            return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr < 1" });
        }
        for tenths in 10..=1000u32 {
            let policy = Policy::new(filter_type, f64::from(tenths) / 10.0)?;
            if policy.fpr_with(keys) <= fpr {
                return Ok(policy);
            }
        }
        Err(SizeError::Unreachable { fpr, max_bits_per_key: 100.0 })
    }

    /// The same policy for a machine with cache lines of this many bytes, which the legacy filter follows: 64
    /// (x86-64, most ARM), 128 (POWER, some ARM) or 256 (s390x). The other types ignore it.
    pub fn with_line_len(self, line_len: u32) -> Result<Policy, SizeError> {
        if ![64, 128, 256].contains(&line_len) {
            let allowed = "64, 128 or 256";
            return Err(SizeError::Count { what: Quantity::LineLen, got: line_len.into(), allowed });
        }
        Ok(Policy { line_len, ..self })
    }

    /// The requested type.
    pub fn filter_type(&self) -> FilterType {
        self.filter_type
    }

    /// The bits per key, within the limits of RocksDB: 1 to 100.
    pub fn bits_per_key(&self) -> f64 {
        self.bits.bits_per_key()
    }

    /// The filter stored for this many keys. A Ribbon filter's length is rounded pseudo-randomly, by the
    /// upper half of its first hash; `bias` is that half.
    pub(crate) fn space(&self, keys: u64, bias: u32) -> Space {
        match self.filter_type {
            FilterType::Legacy => Space::Legacy { lines: self.legacy_lines(keys) },
            FilterType::FastLocal => Space::FastLocal { data_len: self.fast_local_len(keys) },
            FilterType::Ribbon => {
                let bloom = self.fast_local_len(keys);
                match ribbon::sizing::space(keys, self.one_in(), bias) {
                    // Rounding to whole blocks of 128 slots wastes much in small Ribbon filters.
                    Some((slots, data_len)) if slots >= ribbon::sizing::SMALL || data_len <= bloom => {
                        Space::Ribbon { slots, data_len }
                    }
                    _ => Space::FastLocal { data_len: bloom },
                }
            }
        }
    }

    /// An odd number of lines: the line is the hash modulo this number, and with a power of two in it the
    /// line and the first bit would come from the same bits of the hash.
    pub(crate) fn legacy_lines(&self, keys: u64) -> u32 {
        if keys == 0 {
            return 0;
        }
        let bits = keys.saturating_mul(self.bits.whole_bits().into()).min(MAX_LEGACY_BITS);
        (bits.div_ceil(u64::from(self.line_len) * 8) | 1) as u32 // below 2^23
    }

    /// Bytes of data of FastLocalBloom for this many keys.
    pub(crate) fn fast_local_len(&self, keys: u64) -> u64 {
        let millibits = keys.saturating_mul(self.bits.millibits().into());
        millibits.div_ceil(8000).min(MAX_FAST_LOCAL).next_multiple_of(64)
    }

    /// The inverse of Ribbon's target rate: that of FastLocalBloom at the same bits per key.
    fn one_in(&self) -> f64 {
        1.0 / rate::cache_local(self.bits.bits_per_key(), fast_local_probes(self.bits.millibits().into()))
    }

    /// The shape of the filter stored for this many keys; for zero keys, no bits and no probes.
    pub fn geometry(&self, keys: u64) -> Geometry {
        if keys == 0 {
            return Geometry::whole(0, 0);
        }
        let (line_len, legacy_probes) = (u64::from(self.line_len), self.legacy_probes());
        let blocked = |bit_len, block_len, probes| Geometry { bit_len, block_len, probes };
        match self.space(keys, 0) {
            Space::Legacy { lines } => blocked(u64::from(lines) * 8 * line_len, 8 * line_len, legacy_probes),
            Space::FastLocal { data_len } => blocked(8 * data_len, 512, self.fast_local_probes()),
            Space::Ribbon { slots, data_len } => {
                Geometry::whole(8 * data_len, ribbon::sizing::columns(slots, data_len))
            }
        }
    }

    /// RocksDB's `CalculateSpace`: length of the filter with its trailer. A real Ribbon filter may have 16
    /// bytes more or less, depending on the first key's hash. For zero keys the Bloom types return 5, a bare
    /// trailer, which is not stored since 9.6.
    pub fn content_len(&self, keys: u64) -> u64 {
        if self.filter_type == FilterType::Ribbon && keys == 0 {
            return 0;
        }
        self.space(keys, 0).content_len(self.line_len)
    }

    /// RocksDB's `ApproximateNumEntries`: how many keys a filter of at most this length, trailer included,
    /// can hold. RocksDB divides partitioned filters by it.
    pub fn approximate_keys(&self, content_len: u64) -> u64 {
        match self.filter_type {
            FilterType::Legacy => {
                let bits = content_len.saturating_mul(8).min(MAX_LEGACY_BITS);
                let most = bits / u64::from(self.bits.whole_bits()) + 1;
                // At most two lines' worth of steps: rounding to an odd number of lines adds no more.
                (1..=most).rev().find(|&keys| self.content_len(keys) <= content_len).unwrap_or(0)
            }
            FilterType::FastLocal => self.fast_local_keys(content_len),
            FilterType::Ribbon => {
                let (slots, keys) = ribbon::sizing::approximate_keys(content_len, self.one_in());
                if slots < ribbon::sizing::SMALL { keys.max(self.fast_local_keys(content_len)) } else { keys }
            }
        }
    }

    fn fast_local_keys(&self, content_len: u64) -> u64 {
        let Some(data_len) = content_len.checked_sub(TRAILER as u64) else { return 0 };
        let millibits = (data_len.min(MAX_FAST_LOCAL) & !63) * 8000;
        millibits / u64::from(self.bits.millibits())
    }

    /// The expected rate of the filter stored for this many keys.
    ///
    /// For FastLocalBloom this is the exact rate: RocksDB's own estimate is low by 1 % to 6 % of the rate
    /// between 8 and 16 bits per key. For the legacy filter it is RocksDB's estimate. That is high by 5 % to
    /// 10 % for keys that its hash scatters well, and much too low for other keys, such as consecutive
    /// numbers.
    pub fn fpr_with(&self, keys: u64) -> f64 {
        match self.space(keys, 0) {
            Space::FastLocal { data_len } if keys > 0 => {
                fast_local_fpr(keys as f64, data_len / 64, self.fast_local_probes())
            }
            // Past the number of bits, the legacy estimate is slightly more than 1.
            space => self.estimated_fpr(keys, space.content_len(self.line_len)).min(1.0),
        }
    }

    /// RocksDB's `EstimatedFpRate` for a filter of this length, trailer included, with this many keys. Zero
    /// keys give 0, where RocksDB may return NaN.
    pub fn estimated_fpr(&self, keys: u64, content_len: u64) -> f64 {
        self.estimated_fpr_with(keys, content_len, false)
    }

    /// `by_length`: the number of probes follows the length and not the option, as with
    /// `optimize_filters_for_memory`.
    pub(crate) fn estimated_fpr_with(&self, keys: u64, content_len: u64, by_length: bool) -> f64 {
        let data_len = content_len.saturating_sub(TRAILER as u64);
        if keys == 0 {
            return 0.0;
        }
        if data_len == 0 {
            return 1.0;
        }
        match self.filter_type {
            FilterType::Legacy => rate::legacy(keys as f64, data_len, self.legacy_probes()),
            FilterType::Ribbon if keys <= ribbon::sizing::MAX_KEYS => {
                ribbon::sizing::fpr_with(keys, data_len)
            }
            FilterType::Ribbon | FilterType::FastLocal => {
                let by_option = self.fast_local_probes();
                let probes = if by_length { probes_by_length(keys, data_len) } else { by_option };
                rate::fast_local(keys as f64, data_len, probes)
            }
        }
    }

    pub(crate) fn legacy_probes(&self) -> u32 {
        ((f64::from(self.bits.whole_bits()) * 0.69) as u32).clamp(1, 30)
    }

    pub(crate) fn fast_local_probes(&self) -> u32 {
        fast_local_probes(self.bits.millibits().into())
    }
}

/// Upper bounds, inclusive, of the thousandths of bits per key for 1, 2, 3 … probes.
const PROBE_BOUNDS: [u64; 12] =
    [2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501];

/// FastLocalBloom's probes. A quirk: above 25.501 bits per key a formula replaces the table and begins with
/// 11 probes, one less than the table's last.
pub(crate) fn fast_local_probes(millibits: u64) -> u32 {
    match PROBE_BOUNDS.iter().position(|&bound| millibits <= bound) {
        Some(i) => i as u32 + 1,
        None if millibits > 50_000 => 24,
        None => ((millibits - 1) / 2000 - 1) as u32,
    }
}

/// The exact rate of FastLocalBloom.
pub(crate) fn fast_local_fpr(keys: f64, blocks: u64, probes: u32) -> f64 {
    combine(blocked_fpr(keys, blocks, 512, probes), collision_fpr(keys, 64))
}

/// Probes for the actual bits per key of a length.
pub(crate) fn probes_by_length(keys: u64, data_len: u64) -> u32 {
    fast_local_probes(data_len.saturating_mul(8000) / keys.max(1))
}
