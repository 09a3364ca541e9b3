//! libbloom 1.6: it has no file format, so the bytes are the bit array and its numbers come from the caller.

use super::sizing;
use crate::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Dialect, Format, Insert, Size};
#[cfg(target_arch = "x86_64")]
use crate::kernel::gather;
use crate::probe::{self, Mod32};
use core::ops::Range;
use fullbloom_core::error::{DecodeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
use fullbloom_core::sizing::{Geometry, Request, Target, collision_fpr, combine, modulo_fpr};
use fullbloom_core::wire::{Output, Stop};

/// The maximum number of probes: that of the smallest positive rate, 5e-324. A number given with the bytes
/// must not keep a lookup busy for seconds.
const MAX_PROBES: u32 = 1075;

/// A filter of libbloom 1.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Libbloom1 {
    /// Zero in the filter without bits that a rate of 1 gives.
    bit_len: u32,
    byte_len: u32,
    /// Reduces by `bit_len`; by one, unused, where there are no bits.
    reduce: Mod32,
    probes: u32,
}

impl Libbloom1 {
    /// The filter that `bloom_init` creates.
    pub fn with_params(entries: i32, error: f64) -> Result<Self, SizeError> {
        let params = sizing::params_1_6(entries, error)?;
        let bit_len = params.bits.max(0) as u32;
        let probes = params.hashes.max(0) as u32;
        if bit_len == 0 && probes != 0 {
            // The original divides by zero at the first key.
            return Err(SizeError::Value {
                what: Quantity::Fpr,
                got: error,
                allowed: "far enough below 1 for one bit",
            });
        }
        Ok(Self::from_numbers(bit_len, params.bytes as u32, probes))
    }

    /// The filter with these numbers; `bit_len` is not 0 unless `probes` is.
    fn from_numbers(bit_len: u32, byte_len: u32, probes: u32) -> Self {
        let reduce = Mod32::new(bit_len.max(1)).expect("not zero");
        Libbloom1 { bit_len, byte_len, reduce, probes }
    }

    fn exact(bit_len: u64, probes: u32) -> Result<Self, SizeError> {
        if probes > MAX_PROBES {
            return Err(SizeError::Count {
                what: Quantity::Probes,
                got: probes.into(),
                allowed: "at most 1075",
            });
        }
        match i32::try_from(bit_len) {
            Ok(bits) if bits > 0 => Ok(Self::from_numbers(bits as u32, (bits as u32).div_ceil(8), probes)),
            Ok(0) if probes == 0 => Ok(Self::from_numbers(0, 0, 0)), // the filter for a rate of 1
            _ => Err(SizeError::Count {
                what: Quantity::Bits,
                got: bit_len,
                allowed: "1 to 2147483647, as in libbloom 1.6",
            }),
        }
    }

    #[inline(always)]
    fn positions(&self, [a, b]: [u32; 2]) -> impl Iterator<Item = u64> {
        probe::wrapping32(a, b, self.probes, self.reduce)
    }
}

impl Sealed for Libbloom1 {}

impl KeyHasher for Libbloom1 {
    type Hash = [u32; 2];

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> [u32; 2] {
        super::hash(key)
    }
}

impl Dialect for Libbloom1 {
    const NAME: Name = Name::Libbloom1;
    type Hash = [u32; 2];
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(self.bit_len.into(), self.probes)
    }

    #[inline(always)]
    fn test(&self, bits: &[u8], hash: [u32; 2]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(answer) = gather::test::<true>(bits, self.bit_len.into(), hash, self.probes) {
            return answer;
        }
        probe::all_set(bits, self.positions(hash))
    }

    by_positions!(all but test);

    fn fpr_with(&self, keys: f64) -> f64 {
        combine(modulo_fpr(keys, 1 << 32, self.bit_len.into(), self.probes), collision_fpr(keys, 64))
    }

    fn byte_len(&self) -> u64 {
        self.byte_len.into()
    }
}

impl Insert for Libbloom1 {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: [u32; 2]) -> bool {
        probe::set_all(bits, self.positions(hash))
    }
}

impl Size for Libbloom1 {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let fpr = match request.target {
            Target::Fpr(fpr) => fpr,
            Target::BitsPerKey(bits) => sizing::fpr_for_bits_per_key(bits)?,
            Target::Exact { bit_len, probes } => return Self::exact(bit_len, probes),
        };
        let Ok(entries) = i32::try_from(request.expected_keys) else {
            let allowed = "1000 to 2147483647, as in libbloom 1.6";
            return Err(SizeError::Count {
                what: Quantity::ExpectedKeys,
                got: request.expected_keys,
                allowed,
            });
        };
        Self::with_params(entries, fpr).map_err(|e| match request.target {
            Target::BitsPerKey(bits) => sizing::in_bits_per_key(bits, e),
            _ => e,
        })
    }
}

impl Format for Libbloom1 {
    const RAW: bool = true;

    fn decode(_: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        Err(DecodeError::Unknown {
            what: "libbloom 1.6 stores only bits: the numbers of bits and probes must be given",
        })
    }

    fn decode_exact(
        bytes: &[u8],
        bit_len: u64,
        probes: u32,
        _: Check,
    ) -> Result<(Self, Range<usize>), DecodeError> {
        let dialect = Self::exact(bit_len, probes).map_err(DecodeError::Geometry)?;
        Ok((dialect, 0..bytes.len()))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(bits)
    }

    fn encoded_len(&self) -> u64 {
        self.byte_len.into()
    }
}
