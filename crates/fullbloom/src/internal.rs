//! What the other crates of this project use of the core: byte readers, walks, replacing files, journals, slices.
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
    pub use crate::sniff::{How, candidates, dialect, recognise};
}

/// Cassandra's sizing rules, for planning and judging its filters.
pub mod cassandra {
    pub use crate::dialect::cassandra::sizing;
}

/// The textbook number of bits.
pub mod sizing {
    pub use crate::sizing::rate::classic_bits;
}

/// Details of RocksDB's full filters.
pub mod rocksdb {
    pub use crate::dialect::rocksdb::full::{MATCHES_EVERYTHING, sniff};
    pub use crate::dialect::rocksdb::reservation::BUCKET;
}

/// What the drop-in replacements of libbloom share with its dialects.
pub mod libbloom {
    pub use crate::dialect::libbloom::hashes::hash_with_len;
    pub use crate::dialect::libbloom::sizing::{computed_1_6, computed_2_0, params_1_6, params_2_0};
    #[cfg(target_arch = "x86_64")]
    pub use crate::kernel::gather::{Array, Gather, all_set};
    pub use crate::probe::{stepping_reduced, wrapping32_by};
}
