//! The Bloom filters in Parquet files: where they are, what they hold, and whether every value of their column is found.
//!
//! ```text
//!   file ─► footer (parquet crate) ─► column chunks ─► filter bytes ─► View<Parquet>     inspect
//!                                                 └─► values of the column ─► all found?  verify
//! ```
//!
//! Files are hostile: the place of a filter is compared with the file before it is read, and a panic of the parquet crate
//! on damaged pages is an error here.

mod error;
mod file;
mod values;
mod verify;

pub use error::Error;
pub use file::{Chunk, File, is_parquet};
pub use parquet::basic::Type;
pub use verify::{Options, Verified};
