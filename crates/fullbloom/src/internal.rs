//! What the other crates of this project, and the tests, use of the core: byte readers, walks, replacing
//! files, journals, slices.
//!
//! Not part of the public interface: anything here may change in any version.

/// Positions of probes.
pub mod probe {
    pub use crate::probe::{Mod32, Mod63, int32, long64, stepping64, wrapping32};
}

/// Reading and writing bytes.
pub mod wire {
    pub use crate::wire::{Cursor, Origin, put_varint, put_zigzag};
}

/// One filter built on several machines, in slices of its array.
pub mod slices {
    pub use crate::native::slices::{Scatter, Slice, SliceError, SliceFacts, Slicing};
}

/// The keys that were added to a dynamic filter since it was saved.
#[cfg(feature = "std")]
pub mod journal {
    pub use crate::native::journal::{Journal, JournalWriter, read_with_journal};
}

/// Work spread over threads.
#[cfg(feature = "std")]
pub mod threads {
    pub use crate::threads::{on_threads, start};
}

/// One writer at a time for a file.
#[cfg(feature = "std")]
pub mod claim {
    pub use crate::claim::{Claim, Prepared};
}

/// Files replaced atomically, with backups.
#[cfg(feature = "std")]
pub mod replace {
    pub use crate::replace::{
        Output, Replacement, Written, is_same_file, is_second_name, link_or_copy, move_over, newest_backup,
        restore,
    };
}

/// The dialect of a file, from its name and bytes.
#[cfg(feature = "std")]
pub mod sniff {
    pub use crate::any::read::candidates;
    pub use crate::sniff::{How, dialect, recognise};
}

/// Cassandra's sizing rules, for planning and judging its filters; the names of its files; the four families
/// that store plain words.
pub mod cassandra {
    #[cfg(feature = "std")]
    pub use crate::dialect::cassandra::descriptor::{Descriptor, NotAnSstable, TableFormat};
    pub use crate::dialect::cassandra::words::{Family, V1, V2, V3, V4, Words};

    /// The sizing rules.
    pub mod sizing {
        pub use crate::dialect::cassandra::sizing::*;
    }
}

/// The two policies of LevelDB and RocksDB.
pub mod leveldb {
    pub use crate::dialect::leveldb::policy::{Policy, Signed, Tail, Unsigned};
}

/// The sizing formulas of the dialects, apart from the limits of a filter that can be built.
pub mod sizing {
    use crate::dialect::{dcso, guava, java_lsm, orc, parquet, poppy, spark};
    use crate::error::SizeError;
    pub use crate::sizing::rate::classic_bits;

    /// Bits and probes of `dcso`.
    pub fn dcso_params(keys: u64, fpr: f64) -> (u64, u64) {
        dcso::params(keys, fpr)
    }

    /// Bits and probes of `java-lsm`.
    pub fn java_lsm_params(keys: i32, fpr: f64) -> Result<(u32, u32), SizeError> {
        java_lsm::params(keys, fpr)
    }

    /// Probes, buckets and bits of the cache of `poppy`.
    pub fn poppy_params(keys: u64, fpr: f64, opt: poppy::Opt) -> (u64, u64, u64) {
        let poppy::Params { probes, buckets, cache_bits } = poppy::params(keys, fpr, opt);
        (probes, buckets, cache_bits)
    }

    /// Probes of `guava`.
    pub fn guava_probes(fpr: f64) -> u32 {
        guava::optimal_probes(fpr)
    }

    /// Probes of `spark`.
    pub fn spark_probes(keys: u64, bits: u64) -> u32 {
        spark::optimal_probes(keys, bits)
    }

    /// Bits of `orc`, in whole words.
    pub fn orc_bits(bits: u64) -> Option<u64> {
        orc::rounded_bits(bits)
    }

    /// Bits of `parquet` before they are rounded.
    pub fn parquet_bits(keys: u64, fpr: f64) -> u64 {
        parquet::optimal_bits(keys, fpr)
    }

    /// Bytes of `parquet`, rounded.
    pub fn parquet_bytes(bytes: u64) -> u64 {
        parquet::rounded_bytes(bytes)
    }
}

/// What the command needs to size a filter by bits alone, or by memory.
pub mod plan {
    pub use crate::any::build::probes_for;
    pub use crate::any::plan::target_within;
}

/// The entries of a dynamic filter.
pub mod dynamic {
    use crate::error::SizeError;
    use crate::native::{DynamicFilter, Fingerprint};

    /// Its fingerprints, in the order of the file.
    pub fn fingerprints<S: AsRef<[u8]>>(
        filter: &DynamicFilter<S>,
    ) -> Result<impl Iterator<Item = Fingerprint> + '_, SizeError> {
        filter.fingerprints()
    }
}

/// Parquet's header.
pub mod parquet {
    use crate::error::DecodeError;

    /// The header at the beginning of these bytes: its own length, and the length of the blocks that follow.
    pub fn header(bytes: &[u8]) -> Result<(u64, u64), DecodeError> {
        crate::dialect::parquet::header(bytes)
    }
}

/// Details of RocksDB's full filters.
pub mod rocksdb {
    pub use crate::dialect::rocksdb::full::{MATCHES_EVERYTHING, sniff};
    pub use crate::dialect::rocksdb::reservation::BUCKET;
    pub use crate::sizing::bits_per_key::MillibitsPerKey;
}

/// What the drop-in replacements of libbloom share with its dialects.
pub mod libbloom {
    pub use crate::dialect::libbloom::hashes::hash_with_len;
    pub use crate::dialect::libbloom::sizing::{computed_1_6, computed_2_0, params_1_6, params_2_0};
    #[cfg(target_arch = "x86_64")]
    pub use crate::kernel::gather::{Array, Gather, all_set};
    pub use crate::probe::{stepping_reduced, wrapping32_by};
}
