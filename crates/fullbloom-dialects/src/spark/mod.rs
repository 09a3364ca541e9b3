//! Spark's `org.apache.spark.util.sketch.BloomFilter`, as `writeTo` writes it: `spark` (V1) and `spark-2`
//! (V2).
//!
//! ```text
//!   V1  | 1: i32 | probes: i32 | words: i32 | 8 * words bytes: i64 each |               all big-endian
//!   V2  | 2: i32 | probes: i32 | seed: i32 | words: i32 | 8 * words bytes: i64 each |
//! ```
//!
//! Both hash a key twice by [`murmur3_32_spark`](crate::hash::murmur3_32_spark), the second time with the
//! first hash as seed. V1 walks in 32 bits and reaches no position from 2^31 on, so its rate rises once the
//! array is longer than that (2.2·10^8 keys at 0.01); V2 (Spark 4) walks in 64 bits. Releases before 4 refuse
//! V2.
//!
//! Keys are bytes and UTF-8 texts. Spark hashes integers of every width as longs: pass their eight
//! little-endian bytes.
//!
//! ```
//! use fullbloom_dialects::{Filter, View};
//! use fullbloom_dialects::{Spark, Spark2};
//!
//! let mut filter = Filter::<Spark>::with_fpr(1_000, 0.03)?;
//! filter.insert(&7i64.to_le_bytes());
//! assert!(Filter::<Spark>::view(&filter.encode())?.may_contain(&7i64.to_le_bytes()));
//!
//! let seeded = Filter::<Spark2>::with_seed(64_000, 5, 42)?;
//! assert_eq!(seeded.encode()[..12], [0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 42]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod sketch;

pub use sketch::optimal_probes;
pub use sketch::{Spark, Spark2};
