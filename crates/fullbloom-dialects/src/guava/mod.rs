//! Guava's `BloomFilter`, as `writeTo` writes it: `guava` and `guava-32`.
//!
//! ```text
//!   | strategy: u8 | probes: u8 | words: i32 BE | 8 * words bytes: i64 BE each |
//! ```
//!
//! Both hash a key by Murmur3 x64 128. [`Guava`] (MURMUR128_MITZ_64, ordinal 1, the default since Guava 12)
//! walks with both halves in 64 bits; [`Guava32`] (MURMUR128_MITZ_32, ordinal 0) uses the two 32-bit halves
//! of the first and reaches no position from 2^31 on. Positions are reduced by the length in whole words, not
//! by the requested bits.
//!
//! Keys are the bytes that the funnel produces: UTF-8 for `stringFunnel(UTF_8)`, UTF-16 little-endian for
//! `unencodedCharsFunnel`, 4 or 8 little-endian bytes for `integerFunnel` and `longFunnel`.
//!
//! ```
//! use fullbloom_dialects::{Filter, View};
//! use fullbloom_dialects::Guava;
//!
//! let mut filter = Filter::<Guava>::with_fpr(100, 0.01)?;
//! filter.insert("straße".as_bytes());
//! let bytes = filter.encode(); // the bytes of writeTo
//! assert_eq!(bytes[..6], [1, 7, 0, 0, 0, 15]);
//! assert!(Filter::<Guava>::view(&bytes)?.may_contain("straße".as_bytes()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod strategy;

pub use strategy::optimal_probes;
pub use strategy::{Guava, Guava32};
