//! The Bloom filters in Parquet files: looks values up in them to skip row groups, inspects them, and checks
//! that every value of their column is found.
//!
//! ```text
//!   file ─► footer (parquet crate) ─► column chunks ─► filter bytes ─► View<Parquet>     inspect
//!                                                 │              └─► values ─► row groups  prune
//!                                                 └─► values of the column ─► all found?  verify
//! ```
//!
//! [`File::prune`] gives the row groups that may contain a value; [`AsyncFile::prune`] does so for a file in
//! object storage, and reads the footer and the filters alone.
//!
//! Files are not trusted: the position of a filter is checked against the file before it is read, and a panic
//! of the parquet crate on damaged pages becomes an error.

mod distinct;
mod error;
mod file;
mod footer;
mod pages;
mod prune;
mod ranges;
mod source;
mod thrift;
mod types;
mod values;
mod verify;

pub use distinct::Distinct;
pub use error::Error;
pub use file::{File, MAGIC, is_parquet};
pub use footer::Chunk;
pub use prune::{Answer, Pruned, Query, Value};
pub use ranges::{AsyncFile, ReadRanges};
pub use source::Source;
pub use types::PhysicalType;
pub use verify::{Options, Verified};
