//! libbloom: `libbloom` (2.0, with its save file) and `libbloom-1` (1.6, raw bits).
//!
//! Both hash a key twice with MurmurHash2 and step from the first hash by the second. 1.6 lets the sum wrap at
//! 2^32 and 2.0 does not, so the same keys give different bits, and a filter cannot move between the two.
//!
//! ```
//! use fullbloom::Filter;
//! use fullbloom::dialect::{Libbloom, Libbloom1};
//!
//! let mut filter = Filter::<Libbloom>::with_fpr(1000, 0.01)?;
//! assert!(filter.insert(b"hello world")); // bloom_add returns 0: at least one bit was new
//! let file = filter.encode(); // what bloom_save writes, with a NULL where the saver's pointer was
//! assert!(Filter::<Libbloom>::decode(&file)?.may_contain(b"hello world"));
//!
//! let mut raw = Filter::<Libbloom1>::with_fpr(1000, 0.01)?;
//! raw.insert(b"hello world");
//! assert_ne!(raw.bits(), filter.bits());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod rate;
pub mod raw;
mod save_file;
pub mod sizing;
mod v1;

pub use save_file::Libbloom;
pub use v1::Libbloom1;

use crate::hash::murmur2_libbloom;

/// The fixed seed of the first hash.
const SEED: u32 = 0x9747_b28c;

/// The two hashes of a key; the second is seeded with the first.
#[inline(always)]
fn hash(key: &[u8]) -> [u32; 2] {
    let a = murmur2_libbloom(key, SEED);
    [a, murmur2_libbloom(key, a)]
}
