//! fullbloom: the Bloom filters of storage engines, bit for bit.
#![warn(missing_docs)]

pub mod any;
mod bits;
pub mod dialect;
pub mod error;
pub mod file;
mod filter;
pub mod hash;
pub mod probe;
pub mod sizing;
pub mod sniff;
mod wire;

pub use bits::Owned;
pub use dialect::*;
pub use error::{DecodeError, FileError, MergeError, SizeError};
pub use filter::{Dialect, Filter, Format, Insert, Size, View};
