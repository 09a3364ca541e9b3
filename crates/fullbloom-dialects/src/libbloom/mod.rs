//! libbloom: `libbloom` (2.0, with its save file) and `libbloom-1` (1.6, raw bits).
//!
//! Both hash a key twice with MurmurHash2 and step from the first hash by the second. 1.6 lets the sum wrap
//! at 2^32 and 2.0 does not, so the same keys give different bits, and a filter cannot move between the two.
//!
//! ```
//! use fullbloom_dialects::Filter;
//! use fullbloom_dialects::{Libbloom, Libbloom1};
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

pub mod hashes;
mod rate;
mod save_file;
pub mod sizing;
mod v1;

pub use save_file::Libbloom;
pub use v1::Libbloom1;

use hashes::hash;
