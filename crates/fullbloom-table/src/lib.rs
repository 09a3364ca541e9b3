//! Filters inside sorted tables: read and written as LevelDB and RocksDB do.
//!
//! | what | where |
//! |---|---|
//! | read `.sst` and `.ldb` files, format_version 0 to 7 | [`Table`] |
//! | ask a table's filter as the engine's read path does | [`Table::filter`], [`TableFilter`] |
//! | look at a filter, verify it, build it again | [`Table::inspect`], [`Table::verify`], [`Table::rebuild_filter`] |
//! | filter blocks without a table: the crate `fullbloom-blocks` | [`filter::build`], [`filter`] |
//! | write tables that RocksDB ingests and LevelDB opens | [`writer::TableWriter`] |
//! | a block cache that builders can borrow from | [`BlockCache`] |
//! | the read path over many tables, counting what filters save | [`Tables`] |
//! | the tables of a database by level | [`database`], [`manifest`] |
//!
//! ```no_run
//! use fullbloom_table::Table;
//!
//! let table = Table::open("000123.sst")?;
//! let filter = table.filter()?;
//! if filter.may_contain(b"user:17")? {
//!     println!("{:?}", table.get(b"user:17")?);
//! }
//! let verified = table.verify(10_000)?; // looks up every key, and 10,000 absent ones
//! assert_eq!(verified.missing, 0);
//! # Ok::<(), fullbloom_table::TableError>(())
//! ```
//!
//! Bytes from files are not trusted: lengths are checked against the file before memory is allocated,
//! compressed blocks cannot expand without bounds ([`Limits`]), and every error names the file and the
//! position.

#[cfg(target_family = "wasm")]
extern crate fullbloom_zstd as zstd;

mod cache;
pub mod checksum;
pub mod compression;
mod contents;
pub mod database;
pub mod error;
pub mod filter;
pub mod footer;
pub mod index;
mod inspect;
mod kept;
mod keys;
mod lookup;
pub mod manifest;
mod memtable;
pub mod metaindex;
mod properties;
mod reader;
mod rebuild;
mod refilter;
mod role;
mod separator;
mod source;
mod tables;
mod verify;
mod wal;
pub mod writer;

pub use cache::{BlockCache, CacheCounts};
pub use compression::Limits;
pub use contents::Contents;
pub use error::{Problem, TableError};
pub use filter::TableFilter;
use fullbloom_blocks::bytes;
pub use fullbloom_blocks::{EnginePrefix, PrefixExtractor, UnknownExtractor};
#[doc(no_inline)]
pub use fullbloom_blocks::{block, block_builder, handle, internal_key};
pub use inspect::Inspection;
pub use keys::{RangeDeletion, TableEntries, TableKeys};
pub use lookup::{Found, KeyRange};
pub use memtable::MemTable;
pub use properties::Properties;
pub use reader::{Keep, KeyForm, Reads, Table, TableOptions};
pub use rebuild::Rebuilt;
pub use refilter::{FilterSize, NewFilter};
pub use role::Role;
pub use source::{PlainFile, Source};
pub use tables::{Member, ReadCounts, Tables};
pub use verify::Verification;
pub use wal::{LogEnd, LogWrite, WriteKind, read_log};
