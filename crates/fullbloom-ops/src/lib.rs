//! What operators do with Bloom filters, as a library: paths in, records out.
//!
//! ```text
//!   path ─► Place ─┬─► inspect ─┐
//!                  ├─► verify   ├─► Report { places: records, problems, summary } ─► text, JSON, HTML, Python
//!                  ├─► rebuild  │
//!                  └─► plan ────┘
//! ```
//!
//! Records derive [`serde::Serialize`]; `docs/json.md` describes the JSON, and a schema is beside it. Nothing
//! here prints: long work reports to the caller through [`Watch`].
//!
//! | module | what is there |
//! |---|---|
//! | [`place`] | path → [`Place`]: filter file, table, database, sstable, data directory, Parquet file |
//! | [`problem`] | the one table of problem codes and severities |
//! | [`report`] | the shape that all commands share, and how a command ends |
//! | [`mod@inspect`], [`mod@verify`], [`mod@rebuild`], [`mod@plan`] | the four commands: each dispatches on the place |
//! | [`look`] | one file without a file system: inspection, and lookups of keys |
//! | [`next`] | what to type next: commands in the order of what they gain |
//! | [`cluster`] | what `inspect` reported on many nodes, side by side |
//! | [`which`](mod@which), [`keys`] | the filters that may hold a key; the keys of a place |
//! | [`KeySpec`] | how keys are written, type by type |
//! | [`filter`] | filter files: bytes → filter → record; lookups of the caller's keys |
//! | [`table`], [`database`] | LevelDB's and RocksDB's tables, alone and by level; memory split over levels |
//! | [`sstable`] | sstables of Cassandra, ScyllaDB and DataStax: thresholds, what each engine does with a rebuilt filter, what a rate costs |
//! | `parquet` | column chunks, with the feature `parquet` |
//! | [`text`] | numbers and names as people read them |
//!
//! Functions that judge bytes take bytes: [`filter::inspect_bytes`], [`table::inspect`], [`table::verify`].
//!
//! ```
//! use fullbloom_ops::{InspectOptions, Place, inspect};
//!
//! # let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/databases/rocksdb");
//! let place = Place::detect(root, None);
//! let report = inspect(&place, &InspectOptions::default(), &mut ())?;
//! assert_eq!(report.found.len(), 4);
//! assert_eq!(report.problems().count(), 0);
//! # Ok::<(), fullbloom_ops::Problem>(())
//! ```

mod advice;
pub mod cluster;
mod cql;
pub mod database;
mod engine;
pub mod filter;
mod hex;
pub mod inspect;
mod key_spec;
mod keys;
pub mod look;
mod lookup_keys;
pub mod next;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod place;
pub mod plan;
mod pool;
pub mod problem;
pub mod rebuild;
pub mod report;
mod serialise;
pub mod sstable;
pub mod table;
pub mod text;
pub mod verify;
pub mod which;

pub use cql::Conditions;
pub use inspect::{InspectOptions, InspectReport, Inspected, inspect};
pub use key_spec::{KeySpec, KeyText};
pub use keys::{EachKey, KeysFound, KeysOptions, keys};
pub use look::{Look, LookOptions};
pub use lookup_keys::LookupKeys;
pub use place::{Place, PlaceKind};
pub use plan::{PlacePlan, PlaceWish, PlanReport, Wish, plan, plan_from};
pub use problem::{Code, Need, Problem, Severity};
pub use rebuild::{RebuildOptions, RebuildReport, Rebuilt, rebuild};
pub use report::{Found, Report, Status, Watch};
pub use verify::{Verified, VerifyOptions, VerifyReport, verify};
pub use which::{WhichOptions, WhichReport, which};
