//! The Bloom filters in Parquet files: finds them, reads them, and checks that every value of their column is
//! found.
//!
//! ```text
//!   file ─► footer (parquet crate) ─► column chunks ─► filter bytes ─► View<Parquet>     inspect
//!                                                 └─► values of the column ─► all found?  verify
//! ```
//!
//! Files are not trusted: the position of a filter is checked against the file before it is read, and a panic
//! of the parquet crate on damaged pages becomes an error.

mod error;
mod file;
mod footer;
mod pages;
mod source;
mod thrift;
mod types;
mod values;
mod verify;

pub use error::Error;
pub use file::{File, MAGIC, is_parquet};
pub use footer::Chunk;
pub use source::Source;
pub use types::PhysicalType;
pub use verify::{Options, Verified};
