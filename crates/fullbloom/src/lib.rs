//! fullbloom: the Bloom filters of storage engines, bit for bit.
#![warn(missing_docs)]

pub mod any;
mod bits;
pub mod dialect;
pub mod error;
mod filter;
pub mod hash;
mod kernel;
pub mod probe;
pub mod sizing;
mod wire;

pub use bits::Owned;
pub use dialect::*;
pub use error::{DecodeError, FileError, MergeError, SizeError};
pub use filter::{Dialect, Filter, Format, Insert, Size, View};
