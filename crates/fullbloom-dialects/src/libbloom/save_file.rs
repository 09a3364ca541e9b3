//! libbloom 2.0 and its save file.
//!
//! ```text
//!    0  "libbloom2"            27  bytes: u64       51  ready: u8     59  bits per key: f64
//!    9  struct size: u16 = 64  35  probes: u8       52  major: u8 = 2 67  the saver's pointer
//!   11  expected keys: u32     43  rate: f64        53  minor: u8     75  the bit array
//!   19  bits: u64                                                     all little-endian
//! ```

use super::{rate, sizing};
use crate::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Counted, Dialect, Doubt, Format, Insert, Size};
#[cfg(target_arch = "x86_64")]
use crate::kernel::gather;
use crate::probe::{self, Mod32};
use core::ops::Range;
use fullbloom_core::error::{DecodeError, MergeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
use fullbloom_core::sizing::{Geometry, Request, Target, estimated_keys};
use fullbloom_core::wire::{Cursor, Output, Stop};

const MAGIC: &[u8; 9] = b"libbloom2";
/// `sizeof(struct bloom)` on 64-bit Linux.
const STRUCT_LEN: u16 = 64;
const HEADER_LEN: usize = 75;
const MAJOR: u8 = 2;

/// A filter of libbloom 2.0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Libbloom {
    entries: u32,
    error: f64,
    bit_len: u64,
    byte_len: u64,
    probes: u8,
    minor: u8,
    bits_per_key: f64,
    /// Reduces by `bit_len` if that fits in 32 bits.
    narrow: Option<Mod32>,
}

impl Libbloom {
    /// The filter that `bloom_init2` creates.
    pub fn with_params(entries: u32, error: f64) -> Result<Self, SizeError> {
        let params = sizing::params_2_0(entries, error)?;
        if params.bits == 0 {
            // The original divides by zero at the first key.
            return Err(SizeError::Value {
                what: Quantity::Fpr,
                got: error,
                allowed: "far enough below 1 for one bit",
            });
        }
        Ok(Libbloom {
            entries,
            error,
            bit_len: params.bits,
            byte_len: params.bytes,
            probes: params.hashes,
            minor: 0,
            bits_per_key: params.bpe,
            narrow: narrow(params.bits),
        })
    }

    /// The number of keys it was sized for.
    pub fn expected_keys(&self) -> u32 {
        self.entries
    }

    /// The rate it was sized for.
    pub fn fpr(&self) -> f64 {
        self.error
    }

    #[inline(always)]
    fn positions(&self, [a, b]: [u32; 2]) -> impl Iterator<Item = u64> {
        probe::stepping64(a, b, self.probes.into(), self.bit_len, self.narrow)
    }
}

fn narrow(bit_len: u64) -> Option<Mod32> {
    u32::try_from(bit_len).ok().and_then(Mod32::new)
}

impl Sealed for Libbloom {}

impl KeyHasher for Libbloom {
    type Hash = [u32; 2];

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> [u32; 2] {
        super::hash(key)
    }
}

impl Dialect for Libbloom {
    const NAME: Name = Name::Libbloom;
    type Hash = [u32; 2];
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(self.bit_len, self.probes.into())
    }

    #[inline(always)]
    fn test(&self, bits: &[u8], hash: [u32; 2]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(answer) = gather::test::<false>(bits, self.bit_len, hash, self.probes.into()) {
            return answer;
        }
        probe::all_set(bits, self.positions(hash))
    }

    by_positions!(all but test);

    fn fpr_with(&self, keys: f64) -> f64 {
        rate::fpr_with(keys, self.bit_len, self.probes.into())
    }

    /// By the uneven model where the array is long enough for it.
    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        match self.keys_of(bits) {
            Some(keys) => self.fpr_with(keys),
            None => 1.0,
        }
    }

    fn keys_of(&self, bits: &Counted<'_>) -> Option<f64> {
        let (set_bits, probes) = (bits.set_bits(self), self.probes.into());
        if rate::is_uneven(self.bit_len, probes) {
            return rate::keys_for(set_bits, self.bit_len, probes);
        }
        estimated_keys(set_bits, self.bit_len, probes)
    }

    fn byte_len(&self) -> u64 {
        self.byte_len
    }
}

impl Insert for Libbloom {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: [u32; 2]) -> bool {
        probe::set_all(bits, self.positions(hash))
    }

    /// The conditions of `bloom_merge`, and in addition equal bits and probes, which it does not check.
    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        MergeError::require_equal("expected_keys", self.entries, other.entries)?;
        MergeError::require_equal("fpr", self.error, other.error)?;
        MergeError::require_equal("minor version", self.minor, other.minor)?;
        MergeError::require_equal("bytes", self.byte_len, other.byte_len)?;
        MergeError::require_equal("bits", self.bit_len, other.bit_len)?;
        MergeError::require_equal("probes", self.probes, other.probes)
    }
}

impl Size for Libbloom {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let Ok(entries) = u32::try_from(request.expected_keys) else {
            let allowed = "1000 to 4294967295, as in libbloom";
            return Err(SizeError::Count {
                what: Quantity::ExpectedKeys,
                got: request.expected_keys,
                allowed,
            });
        };
        match request.target {
            Target::Fpr(fpr) => Self::with_params(entries, fpr),
            Target::BitsPerKey(bits) => Self::with_params(entries, sizing::fpr_for_bits_per_key(bits)?)
                .map_err(|e| sizing::in_bits_per_key(bits, e)),
            Target::Exact { .. } => {
                let what = "its file also stores the keys and the rate, which determine bits and probes";
                Err(SizeError::Unsupported { dialect: "libbloom", what })
            }
        }
    }
}

impl Format for Libbloom {
    /// Accepts what `bloom_load` accepts and libbloom's functions can use. The stored numbers may be
    /// inconsistent with each other ([`doubt`](Format::doubt) reports that), but the bits must be present.
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.magic("magic", MAGIC)?;
        match cursor.u16_le("struct size")? {
            STRUCT_LEN => {}
            other => {
                let allowed = "64, the size on 64-bit little-endian systems";
                return Err(DecodeError::Value { field: "struct size", at: 9, got: other.into(), allowed });
            }
        }
        let entries = cursor.u32_le("expected keys")?;
        cursor.take("padding", 4)?;
        let bit_len = cursor.u64_le("bits")?;
        let byte_len = cursor.u64_le("bytes")?;
        let probes = cursor.u8("probes")?;
        cursor.take("padding", 7)?;
        let error = cursor.f64_le("rate")?;
        let ready = cursor.u8("ready")?;
        let major = cursor.u8("major")?;
        let minor = cursor.u8("minor")?;
        cursor.take("padding", 5)?;
        let bits_per_key = cursor.f64_le("bits per key")?;
        cursor.take("pointer", 8)?;
        if major != MAJOR {
            return Err(DecodeError::Value { field: "major", at: 52, got: major.into(), allowed: "2" });
        }
        if ready == 0 {
            return Err(DecodeError::Value {
                field: "ready",
                at: 51,
                got: 0,
                allowed: "not 0: the filter was never initialised",
            });
        }
        if bit_len == 0 {
            return Err(DecodeError::Value { field: "bits", at: 19, got: 0, allowed: "1 or more" });
        }
        if bit_len.div_ceil(8) > byte_len {
            let expected = bit_len.div_ceil(8);
            return Err(DecodeError::Mismatch { field: "bytes", at: 27, got: byte_len, expected });
        }
        let array = cursor.take("bit array", byte_len)?;
        cursor.finish()?;
        let narrow = narrow(bit_len);
        Ok((Libbloom { entries, error, bit_len, byte_len, probes, minor, bits_per_key, narrow }, array))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        let mut header = [0u8; HEADER_LEN];
        header[..9].copy_from_slice(MAGIC);
        header[9..11].copy_from_slice(&STRUCT_LEN.to_le_bytes());
        header[11..15].copy_from_slice(&self.entries.to_le_bytes());
        header[19..27].copy_from_slice(&self.bit_len.to_le_bytes());
        header[27..35].copy_from_slice(&self.byte_len.to_le_bytes());
        header[35] = self.probes;
        header[43..51].copy_from_slice(&self.error.to_le_bytes());
        header[51] = 1; // ready
        header[52] = MAJOR;
        header[53] = self.minor;
        header[59..67].copy_from_slice(&self.bits_per_key.to_le_bytes());
        out.write_all(&header)?;
        out.write_all(bits)
    }

    fn encoded_len(&self) -> u64 {
        HEADER_LEN as u64 + self.byte_len
    }

    /// Whether bits and probes are those that `bloom_init2` computes from the stored keys and rate. A file
    /// that libbloom wrote never differs; one flipped bit in these fields moves every position.
    fn doubt(&self) -> Option<Doubt> {
        let value = |field, at, got: u64, allowed| {
            let cause = DecodeError::Value { field, at, got: got.into(), allowed };
            Some(Doubt { cause, may_lose_keys: false })
        };
        let mismatch = |field, at, got, expected, may_lose_keys| {
            Some(Doubt { cause: DecodeError::Mismatch { field, at, got, expected }, may_lose_keys })
        };
        if self.entries < sizing::MIN_ENTRIES {
            return value("expected keys", 11, self.entries.into(), "1000 or more, as bloom_init2 requires");
        }
        let Ok(params) = sizing::params_2_0(self.entries, self.error) else {
            return value("rate", 43, self.error.to_bits(), "the bits of a number between 0 and 1");
        };
        let (probes, expected) = (u64::from(self.probes), u64::from(params.hashes));
        if params.bits != self.bit_len {
            mismatch("bits", 19, self.bit_len, params.bits, true)
        } else if params.bytes != self.byte_len {
            mismatch("bytes", 27, self.byte_len, params.bytes, false)
        } else if probes != expected {
            mismatch("probes", 35, probes, expected, probes > expected)
        } else {
            None
        }
    }
}
