//! libbloom: `libbloom` (2.0, with its save file) and `libbloom-1` (1.6, raw bits).
//!
//! Both hash a key twice with MurmurHash2 and step from the first hash by the second. 1.6 lets the sum wrap
//! at 2^32 and 2.0 does not, so the same keys give different bits, and a filter cannot move between the two.
//!
//! ```
//! use fullbloom::Filter;
//! use fullbloom::dialect::{Libbloom, Libbloom1};
//!
//! let mut filter = Filter::<Libbloom>::with_fpr(1000, 0.01)?;
//! assert!(filter.insert(b"hello world")); // bloom_add returns 0: at least one bit was new
//! let file = filter.encode(); // the bytes of bloom_save, with NULL in place of the saver's pointer
//! assert!(Filter::<Libbloom>::decode(&file)?.may_contain(b"hello world"));
//!
//! let mut raw = Filter::<Libbloom1>::with_fpr(1000, 0.01)?;
//! raw.insert(b"hello world");
//! assert_ne!(raw.bits(), filter.bits());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod rate;
mod save_file;
pub mod sizing;
mod v1;

pub use save_file::Libbloom;
pub use v1::Libbloom1;

use crate::hash::murmur2_libbloom_from;

/// The fixed seed of the first hash.
const SEED: u32 = 0x9747_b28c;

/// The two hashes of a key; the second is seeded with the first.
#[inline(always)]
fn hash(key: &[u8]) -> [u32; 2] {
    parts::hash(key, key.len() as u32)
}

/// The parts that the crate `fullbloom-libbloom` needs to answer from a C struct: the hash, the walks and the
/// gather kernel. Not part of the public interface.
#[doc(hidden)]
pub mod parts {
    use super::{SEED, murmur2_libbloom_from};

    #[cfg(target_arch = "x86_64")]
    pub use crate::kernel::gather::{Array, Gather, all_set};
    pub use crate::probe::{stepping_reduced, wrapping32_by};

    /// The two hashes of a key, with a separate length that is mixed into them: a C caller may pass a
    /// negative length and no bytes.
    #[inline(always)]
    pub fn hash(key: &[u8], len: u32) -> [u32; 2] {
        let a = murmur2_libbloom_from(SEED ^ len, key);
        [a, murmur2_libbloom_from(a ^ len, key)]
    }
}
