//! How RocksDB interprets the option `bits_per_key`, shared by its per-block, legacy, FastLocalBloom and
//! Ribbon filters.

use crate::error::SizeError;

/// Bits per key in thousandths, as RocksDB's policies take them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MillibitsPerKey {
    sane: f64,
    millibits: u32,
}

impl MillibitsPerKey {
    /// Below one half no filter is built (RocksDB 7.0 and later; 6.x raised it to 1). Values up to 1 count as
    /// 1. Values of 100 and more, and NaN, count as 100.
    pub fn new(requested: f64) -> Result<Self, SizeError> {
        if requested < 0.5 {
            return Err(SizeError::NoFilter { bits_per_key: requested });
        }
        let sane = if requested < 1.0 {
            1.0
        } else if requested < 100.0 {
            requested
        } else {
            100.0
        };
        // A little more than one half, so that three decimals are read exactly as written.
        Ok(MillibitsPerKey { sane, millibits: (sane * 1000.0 + 0.500001) as u32 })
    }

    /// The number clamped to its bounds, not rounded.
    pub fn bits_per_key(self) -> f64 {
        self.sane
    }

    /// Thousandths of a bit, 1,000 to 100,000.
    pub fn millibits(self) -> u32 {
        self.millibits
    }

    /// Whole bits, 1 to 100: the thousandths rounded half up.
    pub fn whole_bits(self) -> u32 {
        (self.millibits + 500) / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_per_key_are_rounded_twice_and_bounded_as_in_rocksdb() {
        let bits = MillibitsPerKey::new(7.4999).unwrap();
        assert_eq!((bits.millibits(), bits.whole_bits()), (7500, 8));
        assert_eq!(MillibitsPerKey::new(0.7).unwrap().millibits(), 1000);
        assert_eq!(MillibitsPerKey::new(f64::NAN).unwrap().millibits(), 100_000);
        assert!(MillibitsPerKey::new(0.4).is_err()); // no filter
    }
}
