//! Cassandra's `Filter.db`, in the six families of its sstable versions.
//!
//! | dialect | versions | Cassandra | hash | first position, step | array on disk |
//! |---|---|---|---|---|---|
//! | [`Cassandra`] | `na` – `nc`, `oa`, `pa`; `da`, `ea` | 4.0 – 6.0 | Murmur3 | h2, h1 | bytes |
//! | [`Cassandra3`] | `ma` – `me` | 3.0 – 3.11 | Murmur3 | h2, h1 | big-endian words |
//! | [`Cassandra2`] | `ia` – `lb` | 1.2 – 2.2 | Murmur3 | h1, h2 | big-endian words |
//! | [`Cassandra1`] | `f` – `hf` | 0.7.1 – 1.1 | Murmur2, 64 bits | H1, H2 | big-endian words |
//! | [`Cassandra07`] | `c` – `e` | 0.7.0 | Murmur2, 32 bits | hash1, hash2 | Java object stream |
//! | [`Cassandra0`] | `a`, `b` | 0.3 – 0.7 beta | the same, over UTF-16 | hash1, hash2 | Java object stream |
//!
//! The bytes do not show which of the first four families they are; only the version letters in the file's
//! name do (`Descriptor::parse` reads them). They have no checksum either: a bit
//! that flips from one to zero hides keys, and nothing in the file shows it.
//!
//! ```
//! use fullbloom_dialects::{Filter, View};
//! use fullbloom_dialects::Cassandra;
//!
//! let mut filter = Filter::<Cassandra>::with_fpr(3, 0.01)?;
//! filter.extend(["a", "b", "c"]);
//! let filter_db = filter.encode(); // the Filter.db of Cassandra 4 to 6
//! assert_eq!(filter_db[8..], [0x84, 0x00, 0x91, 0x80, 0x4c, 0x00, 0x38, 0x08]);
//! assert!(Filter::<Cassandra>::view(&filter_db)?.may_contain(b"b"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bit_set;
#[cfg(feature = "std")]
pub mod descriptor;
pub mod sizing;
pub mod words;

pub use bit_set::{Cassandra0, Cassandra07};
pub use words::{Cassandra, Cassandra1, Cassandra2, Cassandra3};

use fullbloom_core::error::{Quantity, SizeError};
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;

/// Bits per key as a target number of whole buckets, as in Cassandra.
fn whole_target(bits_per_key: f64) -> Result<u32, SizeError> {
    if bits_per_key >= 1.0 && bits_per_key <= f64::from(i32::MAX) && bits_per_key.fract() == 0.0 {
        return Ok(bits_per_key as u32);
    }
    let allowed = "a whole number from 1 (more than 20 count as 20)";
    Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits_per_key, allowed })
}
