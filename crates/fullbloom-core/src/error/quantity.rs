//! The numbers that a request or a filter consists of.

use core::fmt;

/// Which number an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// The false-positive rate.
    Fpr,
    /// The bits for each key.
    BitsPerKey,
    /// The number of keys to size the filter for.
    ExpectedKeys,
    /// The length of the array in bits.
    Bits,
    /// The probes for each key.
    Probes,
    /// The blocks of the array.
    Blocks,
    /// The buckets for each key: Cassandra's bits.
    Buckets,
    /// The bytes of a filter of RocksDB without its trailer.
    ContentLen,
    /// The cache lines of a filter of RocksDB.
    Lines,
    /// The bytes of a cache line of RocksDB.
    LineLen,
    /// The generations of keys that expire.
    Generations,
    /// The number of keys after which a key expires.
    KeysToRemember,
    /// The time after which a key expires.
    TimeToRemember,
    /// The number of a slice of a filter that is built in parts.
    Slice,
}

impl Quantity {
    /// Its name in messages, such as `expected_keys`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Quantity::Fpr => "fpr",
            Quantity::BitsPerKey => "bits_per_key",
            Quantity::ExpectedKeys => "expected_keys",
            Quantity::Bits => "bits",
            Quantity::Probes => "probes",
            Quantity::Blocks => "blocks",
            Quantity::Buckets => "buckets",
            Quantity::ContentLen => "content_len",
            Quantity::Lines => "lines",
            Quantity::LineLen => "line_len",
            Quantity::Generations => "generations",
            Quantity::KeysToRemember => "keys to remember",
            Quantity::TimeToRemember => "time to remember",
            Quantity::Slice => "slice",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
