//! Sizing arithmetic, without any bits: requests, geometries and expected rates.
//!
//! Each dialect has its own rule from a [`Request`] to a [`Geometry`], in its own module, because that rule
//! determines its bytes. The shared parts are here.

pub mod bits_per_key;
mod lines;
#[cfg(not(feature = "std"))]
pub mod math;
pub mod rate;

pub use bits_per_key::MillibitsPerKey;
pub use lines::Layout;
pub use rate::{
    blocked_fpr, classic_bits, collision_fpr, combine, estimated_keys_within, modulo_fill, modulo_fpr,
    split_block_fpr, stepped_fpr,
};
pub use rate::{classic_fpr, estimated_keys};

/// The requested size of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// How many keys will be inserted.
    pub expected_keys: u64,
    /// The cost per key, or the rate at which absent keys may be reported present.
    pub target: Target,
}

/// The second number of a [`Request`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The false-positive rate wanted, in (0, 1).
    Fpr(f64),
    /// Bits to spend for each key.
    BitsPerKey(f64),
    /// The geometry itself.
    Exact {
        /// Length of the array in bits.
        bit_len: u64,
        /// Probes per key.
        probes: u32,
    },
}

/// The shape of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Length of the array in bits.
    pub bit_len: u64,
    /// Length in bits of the aligned group one key's probes stay in; `bit_len` when they may fall anywhere.
    pub block_len: u64,
    /// Positions tested for each key. With zero probes every key is reported present.
    pub probes: u32,
}

impl Geometry {
    /// A geometry whose probes may fall anywhere in the array.
    pub fn whole(bit_len: u64, probes: u32) -> Geometry {
        Geometry { bit_len, block_len: bit_len, probes }
    }

    /// A geometry whose probes stay in aligned groups of `block_len` bits.
    pub fn blocked(bit_len: u64, block_len: u64, probes: u32) -> Geometry {
        Geometry { bit_len, block_len, probes }
    }

    /// Whole bytes needed for `bit_len` bits.
    pub fn byte_len(&self) -> u64 {
        self.bit_len.div_ceil(8)
    }
}
