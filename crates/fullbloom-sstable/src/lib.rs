//! Sstables of Cassandra, ScyllaDB and DataStax, as far as their filters are concerned: found, inspected,
//! verified, rebuilt.
//!
//! An sstable is a set of files (components) whose names begin alike. Its filter is `Filter.db`. The keys
//! that the filter must contain are in `Index.db` or are reached through the trie of `Partitions.db`.
//!
//! ```text
//!   directory ─► walk ─► Sstable ─┬─► report::inspect   the filter in numbers, and its problems
//!                                 ├─► verify::verify    every key looked up, bytes compared with a rebuilt filter
//!                                 └─► rebuild::propose ─► build ─► write (replace)
//! ```
//!
//! | component | read for | versions | decoder |
//! |---|---|---|---|
//! | `Filter.db` | the filter | all | the core crate |
//! | `Index.db` | keys | `a` – `pa`, but not `c` and `d`, whose index and filter hold different bytes | [`index`] |
//! | `Partitions.db`, `Rows.db`, `Data.db`, `CompressionInfo.db` | keys | all of BTI; ScyllaDB's `ms`, `mt` | [`bti`] |
//! | `Statistics.db` | the recorded rate, the number of partitions | `ka` and later, all of BTI | [`statistics`] |
//! | `Statistics.db` | the type of the partition key | `ma` and later, all of BTI | [`partition_key_type`] |
//! | `Summary.db` | the last key | `ka` – `pa` | |
//! | `Scylla.db` | checksums of the others | ScyllaDB | [`scylla`] |
//! | `TOC.txt` | which components there should be | all | [`toc`] |
//!
//! Format token and version letters are looked up in one place, `version.rs`. How a filter is replaced under
//! each engine is in [`replace`]. What an operator needs to know beyond the files (what is too full, what the
//! engines do with a rebuilt filter, what another rate would cost) is in the crate `fullbloom-ops`.
//!
//! Files are mapped, so memory does not grow with them. They must not be truncated meanwhile; no engine
//! truncates a finished sstable.
//!
//! ```no_run
//! use fullbloom_sstable::{pool, report, walk};
//!
//! let found = walk::find("data/ks/table-1b255f4def2540a60000000000000005".as_ref(), walk::Options::default())?;
//! let inspections = pool::in_order(&found.sstables, 2, report::inspect);
//! for (sstable, inspection) in found.sstables.iter().zip(&inspections) {
//!     println!("{} {}: {:?} keys", sstable.table_name(), sstable.id, inspection.keys);
//!     inspection.flags.iter().for_each(|flag| println!("  {flag}"));
//! }
//! # Ok::<(), fullbloom::FileError>(())
//! ```

#[cfg(target_family = "wasm")]
extern crate fullbloom_zstd as zstd;

mod absent;
pub mod bti;
mod chunks;
mod compression;
mod digests;
mod engine;
mod error;
mod expected;
mod family;
mod filter_db;
mod flag;
pub mod index;
mod key_type;
mod keys;
pub mod pool;
pub mod rebuild;
pub mod replace;
pub mod report;
mod running;
mod schema;
pub mod scylla;
pub mod sstable;
pub mod statistics;
mod summary;
pub mod toc;
mod tokens;
mod trie;
pub mod verify;
mod version;
pub mod walk;

pub use digests::DigestMismatch;
pub use engine::Engine;
pub use error::{ComponentError, RebuildError};
pub use expected::{Evidence, IndexShort};
pub use filter_db::{FAMILIES, FilterProblem};
pub use flag::Flag;
#[doc(inline)]
pub use fullbloom_dialects::cassandra::descriptor::TableFormat;
pub use key_type::{CqlType, PartitionKeyType};
pub use keys::{Keys, Scan};
pub use schema::{ColumnNames, RecordedKeyType, column_names, partition_key_type, recorded_key_type};
pub use sstable::Sstable;
pub use tokens::TokenRange;
